"""`results.json`: the table of a run, in lm-eval's shape, with what lm-eval leaves out under `resit`.

It is derived from `run.json` and the journal alone and holds no clock time, so that an interrupted
and resumed run ends with the same bytes as one that was left alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from resit import jsonl
from resit.errors import UsageError
from resit.grading.symbolic import OVERRUN
from resit.records import QuestionScore, SampleScore, ScoringRules
from resit.reports.groups import group_scores
from resit.reports.insertions import CalculatorTally
from resit.reports.repeats import question_votes, repeats_json
from resit.reports.warnings import Setting, WarningTally
from resit.stats import (
    QuestionVotes,
    bounded_mean_interval,
    standard_error,
    wilson_interval,
)

FILE = "results.json"


@dataclass(slots=True)
class RuleTally:
    """One rule's verdicts on the samples of a task."""

    questions: list[list[float]] = field(default_factory=list)
    """One list a question: the verdicts on its measured samples."""
    unextracted: int = 0
    overrun: int = 0
    """Answers that symbolic grading gave up on: not known to be wrong, so excluded and counted apart."""
    votes: list[QuestionVotes] = field(default_factory=list)
    """One entry a question."""

    def add(self, samples: Iterable[SampleScore], rule: str) -> None:
        """Count a question's measured samples."""
        judged = [sample.verdicts[rule] for sample in samples if rule in sample.verdicts]
        verdicts = [verdict for verdict in judged if verdict.reason != OVERRUN]
        self.overrun += len(judged) - len(verdicts)
        if verdicts:
            self.questions.append([verdict.correct for verdict in verdicts])
            self.unextracted += sum(verdict.extracted is None for verdict in verdicts)
            self.votes.append(question_votes(verdicts))

    def summary(self) -> dict[str, Any]:
        """Mean over questions of their mean scores, as `stats.estimate` has it, with error and interval.

        Without a measured sample there is no score, rather than one of 0.
        """
        if not self.questions:
            return {"questions": 0, "samples": 0, "unextracted": 0, "overrun": self.overrun}
        means = [math.fsum(scores) / len(scores) for scores in self.questions]
        single = all(len(scores) == 1 for scores in self.questions)
        summary: dict[str, Any] = {
            "score": math.fsum(means) / len(means),
            "standard_error": standard_error(means) if len(means) > 1 else None,
            "questions": len(means),
            "samples": sum(map(len, self.questions)),
            "unextracted": self.unextracted,
            **({"overrun": self.overrun} if self.overrun else {}),
        }
        repeats = repeats_json(self.questions, self.votes)
        if repeats:
            summary["repeats"] = repeats
        return {**summary, **score_interval(means, single)}


def score_interval(means: Sequence[float], single: bool) -> dict[str, Any]:
    """`ci_low`, `ci_high` and the `interval`'s name for one mean score a question; empty where none fits.

    `single`: each mean is of one sample.
    """
    if single and means and all(mean in (0.0, 1.0) for mean in means):
        low, high = wilson_interval(sum(means), len(means))
        return {"ci_low": low, "ci_high": high, "interval": "wilson"}
    if len(means) > 1 and all(0 <= mean <= 1 for mean in means):
        low, high = bounded_mean_interval(means)
        return {"ci_low": low, "ci_high": high, "interval": "clustered by question"}
    return {}


@dataclass(slots=True)
class TaskTally:
    """All that the table says of a task, gathered question by question."""

    rules: dict[str, RuleTally] = field(default_factory=dict)
    metrics: dict[str, list[float]] = field(default_factory=dict)
    questions: int = 0
    samples: int = 0
    truncated: int = 0
    errored: int = 0
    calculator: CalculatorTally = field(default_factory=CalculatorTally)

    def add(self, score: QuestionScore) -> None:
        """Count one question."""
        measured = [sample for sample in score.samples if sample.error is None]
        self.questions += bool(measured)
        self.samples += len(measured)
        self.errored += len(score.samples) - len(measured)
        self.truncated += sum(sample.truncated for sample in measured)
        for rule in dict.fromkeys(name for sample in measured for name in sample.verdicts):
            self.rules.setdefault(rule, RuleTally()).add(measured, rule)
        for key, value in score.metrics.items():
            self.metrics.setdefault(key, []).append(value)

    def partial(self) -> dict[str, int]:
        """How many questions stand behind each metric that not all of them have: a vote wants its samples."""
        return {key: len(values) for key, values in self.metrics.items() if len(values) < self.questions}


def build_results(
    record: Mapping[str, Any],
    tallies: Mapping[str, TaskTally],
    rules: Mapping[str, ScoringRules],
    suspicions: Mapping[str, WarningTally],
) -> dict[str, Any]:
    """The content of `results.json`: `record` is `run.json`, the tallies are those of the scored tasks."""
    tasks = record["identity"]["tasks"]
    about = {name: record.get("tasks", {}).get(name, {}) for name in tallies}
    groups = record.get("groups", {})
    scores = {name: _lm_eval_scores(name, tally, about[name]) for name, tally in tallies.items()}
    of_groups = group_scores(groups, scores)
    return {
        "results": scores,
        **({"groups": of_groups} if of_groups else {}),
        "group_subtasks": {name: list(group["members"]) for name, group in groups.items()}
        | {name: [] for name in tallies},
        "configs": {name: about[name].get("config", {}) for name in tallies},
        "versions": {name: about[name].get("version") for name in tallies},
        "n-shot": {name: about[name].get("num_fewshot") for name in tallies},
        "higher_is_better": {name: _directions(rules[name]) for name in tallies},
        "n-samples": {name: _sizes(record, name, tally) for name, tally in tallies.items()},
        "config": _config(record),
        "resit": {
            "version": record["resit"],
            "format": record["identity"]["format"],
            "digest": record["digest"],
            "tasks": {
                name: _task_summary(name, tally, record, rules[name], suspicions[name])
                for name, tally in tallies.items()
                if name in tasks
            },
        },
    }


def only_tasks(results: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The results of some tasks; groups and settings of the run stay as they are."""
    tasks = results["resit"]["tasks"]
    left_out = [name for name in tasks if name not in names]
    by_task = ("results", "configs", "versions", "n-shot", "higher_is_better", "n-samples", "group_subtasks")
    kept = {key: _without(results[key], left_out) if key in by_task else results[key] for key in results}
    return {**kept, "resit": {**results["resit"], "tasks": _without(tasks, left_out)}}


def _without(entries: Mapping[str, Any], left_out: Collection[str]) -> dict[str, Any]:
    return {name: entry for name, entry in entries.items() if name not in left_out}


def _lm_eval_scores(name: str, tally: TaskTally, about: Mapping[str, Any]) -> dict[str, Any]:
    scores: dict[str, Any] = {"name": name, "alias": about.get("alias", name), "sample_len": tally.questions}
    for key, values in tally.metrics.items():
        metric, _, filter_name = key.partition(",")
        scores[key] = math.fsum(values) / len(values)
        error = standard_error(values) if len(values) > 1 else "N/A"
        scores[f"{metric}_stderr,{filter_name}"] = error
    return scores


def _directions(rules: ScoringRules) -> dict[str, bool]:
    return {metric.name: metric.higher_is_better for metric in rules.metrics}


def _sizes(record: Mapping[str, Any], name: str, tally: TaskTally) -> dict[str, int]:
    original = record.get("plan", {}).get(name, {}).get("documents", tally.questions)
    return {"original": original, "effective": tally.questions}


def _config(record: Mapping[str, Any]) -> dict[str, Any]:
    identity, model = record["identity"], record.get("model", {})
    return {
        "model": model.get("kind"),
        "model_args": model.get("args"),
        "model_name": model.get("name"),
        "random_seed": identity.get("seed"),
        "fewshot_seed": identity.get("fewshot_seed"),
        "system_instruction": identity.get("system_instruction"),
        "apply_chat_template": identity.get("chat") is not None,
    }


def _task_summary(
    name: str, tally: TaskTally, record: Mapping[str, Any], rules: ScoringRules, suspicions: WarningTally
) -> dict[str, Any]:
    about = record.get("tasks", {}).get(name, {})
    plan = record.get("plan", {}).get(name, {})
    planned = plan.get("questions", tally.questions) * plan.get("repeats", 1)
    quoted = headline(rules, tally)
    return {
        "protocol_digest": about.get("protocol_digest"),
        "protocol": about.get("protocol"),
        "headline": quoted,
        "questions": {"planned": plan.get("questions", tally.questions), "scored": tally.questions},
        "samples": {
            "planned": planned,
            "scored": tally.samples,
            "errored": tally.errored,
            "missing": max(0, planned - tally.samples - tally.errored),
            "truncated": tally.truncated,
        },
        "rules": {rule: counts.summary() for rule, counts in tally.rules.items()},
        **({"partial": partial} if (partial := tally.partial()) else {}),
        **({"calculator": counted} if (counted := tally.calculator.summary()) else {}),
        "warnings": suspicions.warnings(_setting(record, name, quoted, planned)),
    }


def _setting(record: Mapping[str, Any], name: str, quoted: str, planned: int) -> Setting:
    protocol = record.get("tasks", {}).get(name, {}).get("protocol") or {}
    sampling = record["identity"]["tasks"].get(name, {}).get("sampling") or protocol.get("sampling") or {}
    return Setting(
        headline=quoted.partition(",")[2],
        temperature=sampling.get("temperature"),
        max_tokens=sampling.get("max_tokens"),
        planned=planned,
    )


def headline(rules: ScoringRules, tally: TaskTally) -> str:
    """The `metric,filter` that the task is quoted by."""
    return rules.headline or next(iter(tally.metrics), "")


def write_results(run: Path, results: Mapping[str, Any]) -> None:
    """Replace the run's `results.json` in one step."""
    text = json.dumps(results, ensure_ascii=False, indent=2) + "\n"
    jsonl.write_atomic(run / FILE, text.encode("utf-8", "backslashreplace"))


def read_results(run: Path) -> dict[str, Any]:
    """The run's `results.json`; UsageError when it has not been scored or is damaged."""
    path = run / FILE
    try:
        found = jsonl.decode(path.read_bytes())
        _check_shape(found)
    except FileNotFoundError:
        raise UsageError(f"{run} has no {FILE}", f"score it first: resit score {run}") from None
    except NotADirectoryError:
        raise UsageError(f"{run} is a file, not a run's folder") from None
    except ValueError as error:
        raise UsageError(f"{path} is damaged: {error}", f"rebuild it: resit score {run}") from error
    return found


def _check_shape(results: Mapping[str, Any]) -> None:
    ours = results.get("resit", {})
    tasks = ours.get("tasks", {}) if isinstance(ours, dict) else None
    if not isinstance(tasks, dict) or not all(isinstance(about, dict) for about in tasks.values()):
        raise ValueError("expected an object for each task under resit.tasks")
