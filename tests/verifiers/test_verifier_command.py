"""`resit verifier`, from a run's samples to curves."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resit.cli import main, verifying
from resit.records import Passage, TokenLikelihoods

pytest.importorskip("torch")
pytest.importorskip("transformers")

TASK = """\
task: sums
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
num_fewshot: 0
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
repeats: 4
metric_list: [{{metric: exact_match}}]
resit: {{options: {{gold: whole}}}}
"""

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr(sys, "argv", ["resit", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


@pytest.fixture
def sampled(command: Command, tmp_path: Path) -> Path:
    """A run of 60 sums with four samples each; wrong samples say so, in a word that can be learnt."""
    chance = random.Random(3)
    rows, texts = [], []
    for number in range(60):
        a, b = chance.randrange(1, 14), chance.randrange(1, 14)
        rows.append({"question": f"what is {a} and {b} ?", "answer": str(a + b)})
        made = []
        for _ in range(4):
            correct = chance.random() < 0.4
            word, said = ("right", a + b) if correct else ("wrong", a + b + chance.choice([1, 2]))
            made.append(f"so {a} and {b} is {word} {word} {said}")
        texts.append({"doc_id": number, "texts": made})
    for name, lines in (("data", rows), ("texts", texts)):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (tmp_path / "sums.yaml").write_text(TASK.format(data=tmp_path / "data.jsonl"), encoding="utf-8")
    status, _, err = command(
        *("run", "-M", "scripted", "-a", f"file={tmp_path / 'texts.jsonl'}", "-t", tmp_path / "sums.yaml"),
        *("-o", tmp_path / "run"),
    )
    assert status == 0, err
    return tmp_path / "run"


def test_train_then_apply(command: Command, sampled: Path, base: Path, tmp_path: Path) -> None:
    folder = tmp_path / "verifier"
    status, out, err = command(
        *("verifier", "train", "--data", sampled, "--base", base, "-o", folder),
        *("--learning-rate", 0.02, "--epochs", 12, "--json"),
    )
    assert status == 0, err
    quality = json.loads(out)
    names = [one["name"] for one in quality["discriminations"]]
    assert names == ["verifier", "length", "log-probability"]
    assert quality["discriminations"][0]["auc"] > 0.85
    assert quality["advantages"][0]["ci_low"] > 0
    assert "epoch 1 of 12: validation loss" in err
    assert json.loads((folder / "verifier.json").read_text())["quality"]["right"] == quality["right"]

    status, out, err = command("verifier", "apply", sampled, "--verifier", folder, "--top", 2, "--json")
    assert status == 0, err
    (task,) = json.loads(out)["tasks"]
    gain = task["gains"]["best"]
    assert gain["ci_low"] > 0, "the best-scored of four beats one sample"
    points = {(point["method"], point["k"]): point["estimate"]["value"] for point in task["points"]}
    assert points["best", 1] == pytest.approx(points["mean", 1])
    assert points["maj", 1] == pytest.approx(points["mean", 1])
    assert points["best", 1] < points["best", 2] < points["best", 4]
    assert {method for method, _ in points} == {"mean", "maj", "best", "weighted", "top"}

    status, out, err = command("verifier", "apply", sampled, "--verifier", folder)
    assert "samples scored" not in err, "the scores are kept"
    assert "samples are left out" in err
    assert "best-scored of 4 against one sample: +" in out


def test_a_verifier_is_no_judge_of_what_it_was_taught_with(
    command: Command, sampled: Path, base: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "verifier"
    words = ("--base", base, "-o", folder, "--epochs", 1, "--no-baselines", "--json")
    assert command("verifier", "train", "--data", sampled, *words)[0] == 0
    taught = json.loads((folder / "questions.json").read_text())
    assert 35 <= len(taught) <= 55
    _, out, _ = command("verifier", "apply", sampled, "--verifier", folder, "--json")
    (task,) = json.loads(out)["tasks"]
    assert task["points"][0]["estimate"]["questions"] == 60 - len(taught)
    everything = [
        json.loads(line)["doc_hash"] for line in (sampled / "scores.jsonl").read_text().splitlines()
    ]
    (folder / "questions.json").write_text(json.dumps(everything))
    status, _, err = command("verifier", "apply", sampled, "--verifier", folder)
    assert (status, "trained with every question" in err) == (2, True)


class Doubtful:
    """Says yes to what holds the word `right`."""

    name = "doubtful"

    def __init__(self, weights: str = "") -> None:
        self._weights = weights
        self.closed = False

    def __enter__(self) -> Doubtful:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True

    def identity(self) -> dict[str, Any]:
        return {"kind": "doubtful", "weights": self._weights}

    def loglikelihoods(
        self, passages: Iterable[Passage], moments: bool = False
    ) -> Iterator[TokenLikelihoods]:
        for passage in reversed(list(passages)):
            assert passage.context.endswith("Answer yes or no.\nAnswer:")
            likely = ("right" in passage.context) == (passage.text == " yes")
            yield TokenLikelihoods(passage.key, (passage.text,), (-0.1 if likely else -3.0,), (likely,))


def test_a_backend_can_be_asked(command: Command, sampled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Doubtful()

    def create(kind: str, args: Any, setup: Any) -> Any:
        assert (kind, args) == ("hf", {"pretrained": "x"})
        return model

    monkeypatch.setattr(verifying, "LikelihoodModel", Doubtful)
    monkeypatch.setattr(verifying, "create", create)
    status, out, err = command("verifier", "apply", sampled, "-M", "hf", "-a", "pretrained=x", "--json")
    assert status == 0, err
    (task,) = json.loads(out)["tasks"]
    points = {(point["method"], point["k"]): point["estimate"]["value"] for point in task["points"]}
    solved = 1 - 0.6**4
    assert points["best", 4] == pytest.approx(solved, abs=0.15), "whatever is right is chosen"
    assert model.closed


def test_scores_of_other_weights_are_not_taken_for_those_of_a_model_of_that_name(
    command: Command, sampled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifying, "LikelihoodModel", Doubtful)
    for weights, kept in (("first", 1), ("first", 1), ("retrained", 2)):
        monkeypatch.setattr(verifying, "create", lambda *_, weights=weights: Doubtful(weights))
        status, _, err = command("verifier", "apply", sampled, "-M", "hf", "-a", "pretrained=x", "--json")
        assert status == 0, err
        assert len(list((sampled / "verifiers").glob("asked-doubtful-*.jsonl"))) == kept


def test_a_reward_model_judges(command: Command, sampled: Path, base: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForSequenceClassification

    torch.manual_seed(1)
    config = LlamaConfig.from_pretrained(base, num_labels=1, pad_token_id=1)
    LlamaForSequenceClassification(config).save_pretrained(tmp_path / "reward")
    AutoTokenizer.from_pretrained(base).save_pretrained(tmp_path / "reward")
    status, _, err = command(
        "verifier", "apply", sampled, "--verifier", f"reward:{tmp_path / 'reward'}", "--json"
    )
    assert status == 0, err
    (kept,) = (sampled / "verifiers").glob("*.jsonl")
    scores = [json.loads(line)["score"] for line in kept.read_text().splitlines()]
    assert len(scores) == 240
    assert all(0 < score < 1 for score in scores)
    assert len(set(scores)) > 20

    torch.manual_seed(2)
    LlamaForSequenceClassification(config).save_pretrained(tmp_path / "reward")
    words = ("verifier", "apply", sampled, "--verifier", f"reward:{tmp_path / 'reward'}", "--json")
    status, _, err = command(*words)
    assert (status, "240 of 240 samples scored" in err) == (0, True), (
        "trained again, it has scores of its own"
    )
    status, _, err = command(*words)
    assert (status, "samples scored" in err) == (0, False), err
    assert len(list((sampled / "verifiers").glob("reward-*.jsonl"))) == 2


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("train", "--data", "RUN", "--base", "/absent", "-o", "V"), 6, "no language model can be loaded"),
        (
            ("train", "--data", "RUN", "--base", "x", "-o", "V", "--rule", "smell"),
            2,
            "no verdicts of rule 'smell'",
        ),
        (
            ("train", "--data", "RUN", "--base", "x", "-o", "V", "--tasks", "other"),
            2,
            "has no scores of other",
        ),
        (
            ("train", "--data", "RUN", "--base", "x", "-o", "V", "--language-loss", "1"),
            2,
            "no effect in frozen",
        ),
        (
            ("train", "--data", "RUN", "--base", "x", "-o", "V", "--mode", "full", "--layer", "1"),
            2,
            "but in frozen",
        ),
        (("train", "--data", "V", "--base", "x", "-o", "V"), 2, "is not a run folder"),
        (("apply", "V", "--verifier", "V"), 2, "is not a run folder"),
        (("apply", "RUN"), 2, "expected --verifier or --model"),
        (("apply", "RUN", "--verifier", "V"), 2, "holds no verifier"),
        (("apply", "RUN", "-M", "scripted", "-a", "text=x"), 2, "gives no log-probabilities"),
    ],
)
def test_bad_input_is_named(
    command: Command, sampled: Path, tmp_path: Path, words: tuple[str, ...], status: int, said: str
) -> None:
    places = {"RUN": sampled, "V": tmp_path / "V"}
    found, _, err = command("verifier", *(places.get(word, word) for word in words))
    assert (found, said in err) == (status, True), err


def test_without_torch_the_remedy_is_named(
    command: Command, sampled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [name for name in sys.modules if name.startswith("resit.verifiers.")]:
        if name.endswith((".saving", ".training", ".head", ".features", ".backbone")):
            monkeypatch.delitem(sys.modules, name)
    trained = ("train", "--data", sampled, "--base", "x", "-o", tmp_path / "W")
    for words in (trained, ("apply", sampled, "--verifier", tmp_path)):
        status, _, err = command("verifier", *words)
        assert status == 2, err
        assert "needs torch" in err
        assert "pip install 'resit[hf]'" in err
