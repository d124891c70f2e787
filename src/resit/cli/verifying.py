"""What `resit verifier` does: graded samples in; weights, scores and curves out."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resit import jsonl
from resit.cli import options
from resit.cli.statistics import print_json, printer
from resit.errors import UsageError
from resit.models import LikelihoodModel, Model, Setup, create, parse_model_args
from resit.records import Passage, Question
from resit.reports.claims import TaskScores, read_task, tasks_of
from resit.reports.reranking import Key, Reranking, read_verifier_scores, rerank, scores_file
from resit.reports.scores import read_scores
from resit.runs.folder import RunFolder
from resit.runs.identity import digest
from resit.runs.journal import AppendFile
from resit.verifiers.judging import Judge, RewardModel, Verifier
from resit.verifiers.solutions import Solution, divided

if TYPE_CHECKING:
    from resit.verifiers.quality import Quality
    from resit.verifiers.settings import Settings
    from resit.verifiers.training import Trained

ASKED = (
    "{question}\n\nProposed solution:\n{text}\n\nIs the proposed solution correct? Answer yes or no.\nAnswer:"
)
YES, NO = " yes", " no"
REWARD = "reward:"
_DIGITS = 8
"""Of the digest in a judge's name: by that name its scores are kept, and other weights give other ones."""


def _say(text: str) -> None:
    typer.echo(text, err=True)


@dataclass(frozen=True, slots=True)
class Training:
    """What `resit verifier train` was asked."""

    data: Sequence[Path]
    tasks: str
    rule: str
    folder: Path
    settings: Mapping[str, Any]
    baselines: bool
    as_json: bool


def train_verifier(wanted: Training) -> None:
    """Train, judge and show a verifier. Raises ResitError."""
    solutions = [
        solution
        for run in wanted.data
        for task in _tasks(run, wanted.tasks)
        for _, solution in solutions_of(run, task, wanted.rule)
    ]
    settings = _settings(wanted.settings)
    try:
        from resit.verifiers.training import train
    except ImportError as error:
        raise UsageError(f"training needs torch ({error})", "pip install 'resit[hf]'") from None
    _say(f"{len(solutions)} solutions, {sum(one.correct == 1 for one in solutions)} of them right")
    trained = train(solutions, settings, wanted.folder, _say)
    quality = _quality(wanted, settings, solutions, trained)
    card = {"settings": settings.model_dump(), "losses": trained.losses, "quality": asdict(quality)}
    jsonl.write_atomic(wanted.folder / "verifier.json", json.dumps(card, indent=2).encode() + b"\n")
    if wanted.as_json:
        print_json({"verifier": str(wanted.folder), "epochs": len(trained.losses), **asdict(quality)})
        return
    from resit.reports.verifier_table import quality_lines, quality_table

    show, say = printer()
    show(quality_table(quality))
    for line in quality_lines(quality, len(trained.losses)):
        say(line)


def _settings(values: Mapping[str, Any]) -> Settings:
    from pydantic import ValidationError

    from resit.verifiers.settings import Settings

    try:
        return Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"--{str(first['loc'][0]).replace('_', '-')}: {first['msg']}") from None


def _quality(
    wanted: Training, settings: Settings, solutions: Sequence[Solution], trained: Trained
) -> Quality:
    from resit.verifiers.baselines import brevity, log_probability
    from resit.verifiers.quality import judge

    test = trained.solutions
    beside: dict[str, Sequence[float]] = {}
    if len({one.correct > 0.5 for one in test}) < 2:
        raise UsageError(f"the {len(test)} held-out solutions are all right or all wrong: no AUC is defined")
    if wanted.baselines:
        beside["length"] = brevity(test, divided(solutions, settings.seed)["train"])
        beside["log-probability"] = log_probability(test, settings, wanted.folder, _say)
    keys = [one.question_key for one in test]
    return judge(trained.logits, trained.labels, keys, beside, seed=settings.seed)


def _tasks(run: Path, wanted: str) -> list[str]:
    """The run's tasks, or those of them that are named."""
    RunFolder.existing(run)
    there = tasks_of(run)
    names = options.names(wanted)
    if missing := [name for name in names if name not in there]:
        raise UsageError(f"{run} has no scores of {', '.join(missing)}", f"it has {', '.join(there)}")
    return names or there


def solutions_of(run: Path, task: str, rule: str) -> Iterator[tuple[Key, Solution]]:
    """The measured samples of a task with their verdicts as labels, a question's together."""
    folder = RunFolder.existing(run)
    index, labels = folder.index(), _labels(run, task, rule)
    with index.reader() as reader:
        for question in folder.questions(task):
            key = question.document.doc_hash
            for sample in reader.samples(index.offsets(task, key)):
                label = labels.get((task, key, sample.repeat))
                if label is not None:
                    text = _question_text(question)
                    yield (
                        (task, key, sample.repeat),
                        Solution(key, text, sample.text.strip(), label, sample.repeat),
                    )


def _labels(run: Path, task: str, rule: str) -> dict[Key, float]:
    found = {}
    for score in read_scores(run):
        if score.task == task and rule in score.verdicts:
            found[task, score.doc_hash, score.repeat] = score.verdicts[rule].correct
    if not found:
        raise UsageError(
            f"{run} has no verdicts of rule {rule!r} on {task}", "resit score shows which there are"
        )
    return found


def _question_text(question: Question) -> str:
    """What the document asks; where it has no such field, the end of the prompt."""
    asked = question.document.fields.get("question")
    if isinstance(asked, str):
        return asked
    prompt = question.prompt if isinstance(question.prompt, str) else question.prompt[-1].content
    return prompt.rpartition("\n\n")[2]


@dataclass(frozen=True, slots=True)
class Applying:
    """What `resit verifier apply` was asked."""

    run: Path
    verifier: str
    model: str
    model_args: str
    tasks: str
    rule: str
    top: int
    confidence: float
    as_json: bool


def apply_verifier(wanted: Applying) -> None:
    """Score what lacks a score, and show the curves. Raises ResitError."""
    if bool(wanted.verifier) == bool(wanted.model):
        raise UsageError("expected --verifier or --model, one of the two")
    tasks = _tasks(wanted.run, wanted.tasks)
    with _judge(wanted) as judge:
        path = scores_file(wanted.run, judge.name)
        samples = [pair for task in tasks for pair in solutions_of(wanted.run, task, wanted.rule)]
        samples = _untaught(judge, samples)
        _score(judge, samples, path)
    verified = read_verifier_scores(path)
    found = [_reranked(wanted, task, verified, judge) for task in tasks]
    if wanted.as_json:
        print_json({"verifier": judge.name, "tasks": [one.as_json() for one in found]})
        return
    from resit.reports.verifier_table import rerank_lines, rerank_table

    show, say = printer()
    for one in found:
        show(rerank_table(one))
        for line in rerank_lines(one):
            say(line)


@contextmanager
def _judge(wanted: Applying) -> Iterator[Judge]:
    if wanted.model:
        with create(wanted.model, parse_model_args(wanted.model_args), Setup(notify=_say)) as model:
            yield Asked(wanted.model, model)
    elif wanted.verifier.startswith(REWARD):
        yield _reward_model(wanted.verifier.removeprefix(REWARD))
    else:
        yield Verifier(Path(wanted.verifier))


def _reward_model(named: str) -> RewardModel:
    from resit.models.hf import source as files

    source = files.find("reward", named)
    model = [files.weights_digest(source), files.config_digest(source)]
    whole = digest([*model, files.tokenizer_digest(source, source)])
    return RewardModel(f"{source.name}-{whole[:_DIGITS]}", source.whole())


def _untaught(judge: Judge, samples: list[tuple[Key, Solution]]) -> list[tuple[Key, Solution]]:
    """The samples of questions that the judge was not trained with."""
    kept = [(key, solution) for key, solution in samples if solution.question_key not in judge.taught]
    if not kept:
        raise UsageError(
            f"{judge.name} was trained with every question of this run: it knows their answers",
            "apply it to a run of other questions",
        )
    if len(kept) < len(samples):
        _say(
            f"{len(samples) - len(kept)} samples are left out: {judge.name} was trained with their questions"
        )
    return kept


def _score(judge: Judge, samples: Sequence[tuple[Key, Solution]], path: Path) -> None:
    """Append the scores that the file lacks."""
    jsonl.make_folder(path.parent)
    known = read_verifier_scores(path) if path.exists() else {}
    owed = [(key, solution) for key, solution in samples if key not in known]
    scores = judge.scores([solution for _, solution in owed])
    with closing(AppendFile(path)) as file:
        for done, ((key, _), score) in enumerate(zip(owed, scores, strict=True), 1):
            task, doc_hash, repeat = key
            file.append({"task": task, "doc_hash": doc_hash, "repeat": repeat, "score": score})
            if done % 100 == 0 or done == len(owed):
                _say(f"{judge.name}: {done} of {len(owed)} samples scored")


def _reranked(wanted: Applying, task: str, verified: Mapping[Key, float], judge: Judge) -> Reranking:
    whole: TaskScores = read_task(wanted.run, task, wanted.rule)
    questions = {key: found for key, found in whole.questions.items() if key not in judge.taught}
    scores = replace(whole, questions=questions)
    repeats: dict[str, list[int]] = defaultdict(list)
    for score in read_scores(wanted.run):
        if score.task == task and wanted.rule in score.verdicts:
            repeats[score.doc_hash].append(score.repeat)
    ordered = {key: sorted(numbers) for key, numbers in repeats.items()}
    return rerank(scores, ordered, verified, judge.name, wanted.top, wanted.confidence)


class Asked:
    """A backend that is asked whether a solution is right; its score is the probability of yes against no."""

    def __init__(self, kind: str, model: Model) -> None:
        if not isinstance(model, LikelihoodModel):
            raise UsageError(
                f"{kind} gives no log-probabilities, so it cannot be asked for a yes",
                "hf, vllm, llamacpp and completion servers can",
            )
        self.name = f"asked-{model.name}-{digest(model.identity())[:_DIGITS]}"
        self._model = model
        self.taught: frozenset[str] = frozenset()

    def scores(self, solutions: Sequence[Solution]) -> Iterator[float]:
        """p(yes) / (p(yes) + p(no)) of each."""
        passages = [
            Passage(f"{number}/{answer}", answer, ASKED.format(question=one.question, text=one.text))
            for number, one in enumerate(solutions)
            for answer in (YES, NO)
        ]
        found: dict[str, float] = {}
        for one in self._model.loglikelihoods(passages):
            if one.error:
                raise UsageError(f"{self.name} cannot judge sample {one.key}: {one.error}")
            found[one.key] = one.total
        for number in range(len(solutions)):
            yield 1 / (1 + math.exp(min(700.0, found[f"{number}/{NO}"] - found[f"{number}/{YES}"])))
