"""Log-probabilities of texts: journaled as they come, never measured twice."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resit.errors import IdentityMismatch, ResitError, UsageError
from resit.models import create
from resit.records import Passage, TokenLikelihoods
from resit.runs import likelihoods
from resit.runs.likelihoods import FILE, measure
from resit.runs.lock import FolderLock

PASSAGES = [Passage("a", "one two"), Passage("b", "three", context="before"), Passage("c", "four five six")]


class Fluent:
    """A model of which each word has the log-probability minus its length."""

    def __init__(
        self, weights: str = "w", stop_after: int | None = None, fails: tuple[str, ...] = ()
    ) -> None:
        self.name = "fluent"
        self.weights = weights
        self.asked: list[str] = []
        self._stop_after, self._fails = stop_after, fails

    def identity(self) -> dict[str, Any]:
        return {"kind": "fluent", "weights": self.weights}

    def loglikelihoods(
        self, passages: Iterable[Passage], moments: bool = False
    ) -> Iterator[TokenLikelihoods]:
        for passage in reversed(list(passages)):
            if len(self.asked) == self._stop_after:
                raise KeyboardInterrupt
            self.asked.append(passage.key)
            if passage.key in self._fails:
                yield TokenLikelihoods(passage.key, error="too long")
                continue
            words = tuple(passage.text.split())
            scores = tuple(-float(len(word)) - 1e-9 for word in words)
            means = (-3.0,) * len(words) if moments else None
            yield TokenLikelihoods(passage.key, words, scores, (True,) * len(words), means, means)


def lines(folder: Path) -> dict[str, Any]:
    found = [json.loads(line) for line in (folder / FILE).read_text(encoding="utf-8").splitlines()]
    return {line.pop("key"): line for line in found}


def nothing(done: int, planned: int) -> None:
    """Hears nothing."""


def test_each_text_is_kept_with_what_was_found(tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    done = measure(Fluent(), PASSAGES, tmp_path / "new", lambda *seen: heard.append(seen))
    assert (done.planned, done.reused, done.errored) == (3, 0, 0)
    assert heard == [(0, 3), (1, 3), (2, 3), (3, 3)]
    found = lines(tmp_path / "new")
    assert found["b"] == {
        "context": "before",
        "text": "three",
        "pieces": ["three"],
        "logprobs": [-5.0],
        "greedy": [True],
        "mean": [-3.0],
        "deviation": [-3.0],
    }
    measure(Fluent(), PASSAGES, tmp_path / "plain", nothing, moments=False)
    assert "mean" not in lines(tmp_path / "plain")["a"]


def test_what_is_on_file_is_not_measured_again(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        measure(Fluent(stop_after=2), PASSAGES, tmp_path, nothing)
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"key": "a", "text": "one tw')  # as a killed process leaves it
    model = Fluent()
    assert measure(model, PASSAGES, tmp_path, nothing).reused == 2
    assert model.asked == ["a"]
    assert sorted(lines(tmp_path)) == ["a", "b", "c"]
    measure(model, [*PASSAGES[1:], Passage("a", "another text")], tmp_path, nothing)
    assert model.asked == ["a", "a"], "the same key with another text is another passage"


def test_where_all_is_on_file_not_even_the_model_has_to_be_able(tmp_path: Path) -> None:
    measure(Fluent(), PASSAGES, tmp_path, nothing)
    mute = Fluent()
    mute.loglikelihoods = None  # type: ignore[assignment, method-assign]
    heard: list[tuple[int, int]] = []
    done = measure(mute, PASSAGES, tmp_path, lambda *seen: heard.append(seen))
    assert (done.planned, done.reused, done.errored, heard) == (3, 3, 0, [(3, 3)])


def test_what_failed_is_owed_again(tmp_path: Path) -> None:
    assert measure(Fluent(fails=("b",)), PASSAGES, tmp_path, nothing).errored == 1
    model = Fluent()
    assert measure(model, PASSAGES, tmp_path, nothing).errored == 0
    assert model.asked == ["b"]


def test_another_model_is_refused(tmp_path: Path) -> None:
    measure(Fluent(), PASSAGES, tmp_path, nothing)
    with pytest.raises(IdentityMismatch, match="weights"):
        measure(Fluent("other"), PASSAGES, tmp_path, nothing)
    (tmp_path / "likelihoods.json").write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match="is damaged"):
        measure(Fluent(), PASSAGES, tmp_path, nothing)


def test_a_model_without_log_probabilities_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="gives no log-probabilities"):
        measure(create("scripted", {"text": "x"}), PASSAGES, tmp_path, nothing)


@pytest.mark.parametrize(("weights", "reused"), [("w", 3), ("other", None)])
def test_what_another_process_wrote_until_now_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weights: str, reused: int | None
) -> None:
    class Lock(FolderLock):
        """Lets another process finish first."""

        def __enter__(self) -> FolderLock:
            with monkeypatch.context() as patch:
                patch.setattr(likelihoods, "FolderLock", FolderLock)
                measure(Fluent(weights), PASSAGES, tmp_path, nothing)  # type: ignore[arg-type]
            return super().__enter__()

    monkeypatch.setattr(likelihoods, "FolderLock", Lock)
    model = Fluent("w")
    if reused is None:
        with pytest.raises(IdentityMismatch):
            measure(model, PASSAGES, tmp_path, nothing)  # type: ignore[arg-type]
    else:
        assert measure(model, PASSAGES, tmp_path, nothing).reused == reused  # type: ignore[arg-type]
    assert model.asked == []


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ResitError, match="cannot write"):
        measure(Fluent(), PASSAGES, tmp_path / "file" / "x", nothing)  # type: ignore[arg-type]
