"""Training: it learns, it stops, it goes on after an interrupt with the same weights."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from resit.errors import AssetError, IdentityMismatch, UsageError  # noqa: E402
from resit.verifiers.baselines import brevity  # noqa: E402
from resit.verifiers.head import Head, pair_loss  # noqa: E402
from resit.verifiers.judging import Verifier  # noqa: E402
from resit.verifiers.quality import judge  # noqa: E402
from resit.verifiers.saving import CHECKPOINT, HEAD, load_verifier  # noqa: E402
from resit.verifiers.settings import Settings  # noqa: E402
from resit.verifiers.solutions import Solution, divided  # noqa: E402
from resit.verifiers.training import Trainer, train  # noqa: E402

# peft asks transformers by a name that transformers is about to change
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing.:FutureWarning")

MODES: dict[str, dict[str, Any]] = {
    "frozen": {"learning_rate": 0.02, "epochs": 12},
    "lora": {"mode": "lora", "learning_rate": 0.01, "epochs": 4},
    "full": {"mode": "full", "learning_rate": 0.003, "epochs": 3, "language_loss": 0.1},
}


def silent(text: str) -> None:
    """Says nothing."""


def settings(base: Path, mode: str, **more: Any) -> Settings:
    return Settings(base=str(base), batch_size=16, **{**MODES[mode], **more})


def weights(folder: Path) -> dict[str, Any]:
    _, backbone, head = load_verifier(folder)
    return {**head.state_dict(), **backbone.model.state_dict()}


@pytest.mark.parametrize("mode", MODES)
def test_what_can_be_told_is_learnt(mode: str, base: Path, solutions, tmp_path: Path) -> None:
    if mode == "lora":
        pytest.importorskip("peft")
    trained = train(solutions(), settings(base, mode), tmp_path, silent)
    keys = [one.question_key for one in trained.solutions]
    quality = judge(trained.logits, trained.labels, keys, {})
    assert quality.discriminations[0].auc > 0.8
    again = [*Verifier(tmp_path).scores(trained.solutions)]
    expected = torch.sigmoid(torch.tensor(trained.logits)).tolist()
    assert again == pytest.approx(expected, abs=2e-3), "states are stored in half precision while training"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stop", [1, 7, 11])
def test_an_interrupted_training_ends_with_the_same_weights(
    mode: str, stop: int, base: Path, solutions, tmp_path: Path
) -> None:
    if mode == "lora":
        pytest.importorskip("peft")
    asked = settings(base, mode, epochs=2, checkpoint_steps=2)
    whole = train(solutions(), asked, tmp_path / "whole", silent)
    with pytest.raises(KeyboardInterrupt):
        train(solutions(), asked, tmp_path / "cut", silent, stop_after=stop)
    assert not (tmp_path / "cut" / HEAD).exists()
    heard: list[str] = []
    resumed = train(solutions(), asked, tmp_path / "cut", heard.append)
    assert stop < 2 or any(text.startswith("going on at epoch") for text in heard)
    assert resumed.logits == whole.logits
    one, other = weights(tmp_path / "whole"), weights(tmp_path / "cut")
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(
    ("marks", "signs"),
    [
        ("rrww", 1),
        ("wwrr", -1),
        ("wwwr", -1),
        ("rwww", 1),
        ("wwrw", -1),
        ("wwww", -1),
    ],
)
def test_one_solution_of_a_kind_says_which_way_length_points(marks: str, signs: int) -> None:
    taught = [Solution(f"q{n}", "?", "x" * (9 - n), float(mark == "r"), 0) for n, mark in enumerate(marks)]
    assert brevity([Solution("t", "?", "four", 1.0)], taught) == [signs * 4.0]


def test_pairs_of_one_question_are_ranked() -> None:
    logits = torch.tensor([2.0, 0.0, -1.0, 5.0, 1.0], requires_grad=True)
    labels = torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0])
    questions = torch.tensor([0, 0, 0, 1, 2])
    loss = pair_loss(logits, labels, questions)
    expected = (math.log1p(math.exp(-2)) + math.log1p(math.exp(-3))) / 2
    assert loss.item() == pytest.approx(expected)
    loss.backward()
    assert logits.grad is not None
    assert logits.grad[3:].tolist() == [0, 0], "questions 1 and 2 have one kind of solution"
    assert float(pair_loss(logits, labels, torch.arange(5))) == 0


def test_batches_keep_a_question_together(base: Path, solutions, tmp_path: Path, monkeypatch) -> None:
    seen: list[list[str]] = []
    asked = settings(base, "frozen", epochs=1)
    order = [
        one for part in range(2) for one in solutions(30)[part::2]
    ]  # as of two runs, one after the other
    parts = divided(order, asked.seed)["train"]
    plain = Trainer._step

    def step(self: Trainer, batch: list[int]) -> None:
        seen.append([parts[at].question_key for at in batch])
        plain(self, batch)

    monkeypatch.setattr(Trainer, "_step", step)
    train(order, asked, tmp_path, silent)
    assert max(map(len, seen)) <= 16
    assert sorted(key for batch in seen for key in batch) == sorted(one.question_key for one in parts)
    assert sum(len(set(batch)) for batch in seen) == len({one.question_key for one in parts})


def test_ranking_is_learnt_where_questions_differ_more(base: Path, solutions, tmp_path: Path) -> None:
    """With the pair loss, right solutions stand above wrong ones of their question at least as often."""
    shares = []
    for weight in (0.0, 3.0):
        trained = train(
            solutions(40), settings(base, "frozen", pair_loss=weight), tmp_path / str(weight), silent
        )
        rows = [*zip(trained.logits, trained.labels, trained.solutions, strict=True)]
        pairs = [
            one > other
            for one, right, solution in rows
            for other, wrong, beside in rows
            if right > wrong and solution.question_key == beside.question_key
        ]
        shares.append(sum(pairs) / len(pairs))
    assert shares[1] >= shares[0] > 0.5


def test_states_are_computed_once(base: Path, solutions, tmp_path: Path) -> None:
    asked = settings(base, "frozen", epochs=1)
    heard: list[str] = []
    train(solutions(), asked, tmp_path, heard.append)
    assert "states of 240 of 240" in heard
    (tmp_path / CHECKPOINT).unlink()
    note = tmp_path / "features.json"
    note.write_text(json.dumps({"solutions": 200}))
    heard.clear()
    train(solutions(), asked, tmp_path, heard.append)
    assert [text for text in heard if text.startswith("states")] == ["states of 240 of 240"]


def test_patience_ends_it(base: Path, solutions, tmp_path: Path) -> None:
    asked = settings(base, "frozen", learning_rate=5.0, epochs=50, patience=2)
    trained = train(solutions(20), asked, tmp_path, silent)
    assert trained.stopped_early
    assert len(trained.losses) < 50
    best = min(range(len(trained.losses)), key=trained.losses.__getitem__)
    assert len(trained.losses) == best + 1 + 2


def test_other_data_or_settings_need_another_folder(base: Path, solutions, tmp_path: Path) -> None:
    asked = settings(base, "frozen", epochs=1)
    train(solutions(), asked, tmp_path, silent)
    with pytest.raises(IdentityMismatch, match="other settings"):
        train(solutions(), asked.model_copy(update={"seed": 2}), tmp_path, silent)
    with pytest.raises(IdentityMismatch, match="sha256"):
        train(solutions()[:-1], asked, tmp_path, silent)


def test_what_teaches_nothing_is_refused(base: Path, solutions, tmp_path: Path) -> None:
    right = [one for one in solutions() if one.correct]
    with pytest.raises(UsageError, match="none right or none wrong"):
        train(right, settings(base, "frozen"), tmp_path, silent)


def test_what_is_no_model_is_named(base: Path, solutions, tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="no language model can be loaded"):
        train(solutions(), settings(tmp_path / "absent", "frozen"), tmp_path / "v", silent)
    with pytest.raises(UsageError, match="the model has 3 layers"):
        train(solutions(), settings(base, "frozen", layer=9), tmp_path / "v9", silent)
    with pytest.raises(UsageError, match="holds no verifier"):
        Verifier(tmp_path)


def test_the_spread_is_that_of_the_solutions_own_tokens() -> None:
    torch.manual_seed(0)
    head = Head(4)
    torch.nn.init.normal_(head.linear.weight)
    torch.nn.init.normal_(head.spread.weight)
    solutions = [torch.randn(count, 4) for count in (5, 2, 1)]
    head.standardise(solutions)
    padded = torch.nn.utils.rnn.pad_sequence(solutions, batch_first=True, padding_value=7.0)
    mask = torch.arange(5)[None] < torch.tensor([5, 2, 1])[:, None]
    together = head(padded, mask)
    for row, solution in enumerate(solutions):
        assert torch.allclose(head(solution), together[row, : len(solution)], atol=1e-5)
    together[mask].sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in head.parameters())


def test_a_head_of_another_model_is_named(base: Path, solutions, tmp_path: Path) -> None:
    train(solutions(20), settings(base, "frozen", epochs=1), tmp_path, silent)
    torch.save(Head(5).state_dict(), tmp_path / HEAD)
    with pytest.raises(UsageError, match="another model"):
        load_verifier(tmp_path)


def test_a_damaged_checkpoint_is_named(base: Path, solutions, tmp_path: Path) -> None:
    asked = settings(base, "frozen", epochs=1)
    train(solutions(), asked, tmp_path, silent)
    (tmp_path / CHECKPOINT).write_bytes(b"no checkpoint")
    with pytest.raises(UsageError, match=r"checkpoint\.pt is damaged"):
        train(solutions(), asked, tmp_path, silent)
