"""Scores of a run's task for the page: the table, the claim in one sentence, the counts, the protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from resit.errors import UsageError
from resit.reports.page.data import Counts, Figure
from resit.reports.wording import percent, points
from resit.stats import wilson_interval

TELLING = 0.01
"""From this difference on (a point) the claim says that another rule reads another score."""


def figures(results: Mapping[str, Any], task: str) -> list[Figure]:
    """One a rule and metric: first the task's own as lm-eval has them, then the rules that stand beside."""
    summary, scores = results["resit"]["tasks"][task], results["results"].get(task, {})
    rules, quoted = summary["rules"], summary["headline"]
    found: list[Figure] = []
    for key, value in scores.items():
        metric, comma, rule = key.partition(",")
        if not comma or metric.endswith("_stderr") or not isinstance(value, int | float):
            continue
        about = rules.get(rule, {})
        if metric == "exact_match" and about.get("score") == value:
            found.append(_figure(rule, rule, about, key == quoted))
        else:
            error = scores.get(f"{metric}_stderr,{rule}")
            label = rule if metric == "exact_match" else f"{rule} {metric}"
            sizes = _sizes(summary, key)
            limits = _limits(value, sizes["questions"])
            vote = {**sizes, "score": value, "standard_error": error, **limits}
            found.append(_figure(rule, label, vote, key == quoted))
    shown = {figure["rule"] for figure in found}
    found += [
        _figure(rule, rule, about, quoted == f"exact_match,{rule}")
        for rule, about in rules.items()
        if rule not in shown and "score" in about
    ]
    return found


def check_shape(results: Mapping[str, Any]) -> None:
    """Raise UsageError unless the results have all that a page shows of them."""
    try:
        for task, summary in results["resit"]["tasks"].items():
            figures(results, task)
            counts(summary)
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"the results lack what a page needs: {error}", "score the run again") from error


def _limits(value: float, questions: int) -> dict[str, float]:
    """Wilson's interval where each question gives one right or wrong, as a vote does; else none."""
    right = value * questions
    if not questions or not 0 <= value <= 1 or abs(right - round(right)) > 1e-6:
        return {}
    low, high = wilson_interval(round(right), questions)
    return {"ci_low": low, "ci_high": high}


def _sizes(summary: Mapping[str, Any], key: str) -> dict[str, Any]:
    questions, samples = summary["questions"]["scored"], summary["samples"]["scored"]
    return {"questions": summary.get("partial", {}).get(key, questions), "samples": samples}


def _figure(rule: str, label: str, about: Mapping[str, Any], quoted: bool) -> Figure:
    error = about.get("standard_error")
    return Figure(
        rule=rule,
        label=label,
        score=about["score"],
        standard_error=error if isinstance(error, float) else None,
        low=about.get("ci_low"),
        high=about.get("ci_high"),
        questions=about["questions"],
        samples=about["samples"],
        unextracted=about.get("unextracted"),
        quoted=quoted,
    )


def counts(summary: Mapping[str, Any]) -> Counts:
    """What became of the samples of a task: `summary` is its entry of `results.json`."""
    questions, samples = summary["questions"], summary["samples"]
    return Counts(
        questions=questions["scored"],
        questions_planned=questions["planned"],
        samples=samples["scored"],
        planned=samples["planned"],
        errored=samples["errored"],
        missing=samples["missing"],
        truncated=samples["truncated"],
    )


def claim(model: str, task: str, found: Sequence[Figure], counted: Counts) -> str:
    """The score in one sentence, with its interval, n and rule; and what another rule would make of it."""
    main = next((figure for figure in found if figure["quoted"]), found[0] if found else None)
    if main is None or not counted["samples"]:
        return f"{model} on {task}: nothing is measured yet. {_unmeasured(counted)}."
    asked = f"{main['questions']} questions"
    if counted["samples"] != counted["questions"]:
        asked += f", {counted['samples'] / counted['questions']:g} samples each"
    score = f"{percent(main['score'])} of {task} right{_interval(main)}"
    sentence = f"{model} answers {score}, {asked}, as {main['label']} reads it."
    others = [f for f in found if abs(f["score"] - main["score"]) >= TELLING and f is not main]
    if not others:
        return sentence
    far = max(others, key=lambda f: abs(f["score"] - main["score"]))
    distance = points(abs(far["score"] - main["score"]), signed=False)
    way = "more" if far["score"] > main["score"] else "fewer"
    return f"{sentence} {far['label']} counts {distance} points {way}."


def _interval(figure: Figure) -> str:
    if figure["low"] is None or figure["high"] is None:
        error = figure["standard_error"]
        return "" if error is None else f" (± {100 * error:.1f} standard error)"
    return f" (95 % interval {100 * figure['low']:.1f} to {100 * figure['high']:.1f} %)"


def _unmeasured(counted: Counts) -> str:
    return f"{counted['errored']} samples errored, {counted['missing']} of {counted['planned']} are missing"


def facts(about: Mapping[str, Any], dataset: Mapping[str, Any]) -> list[str]:
    """The protocol in a few words: `about` is the task's entry of `results.json`, `dataset` its identity."""
    protocol = about.get("protocol") or {}
    sampling = protocol.get("sampling") or {}
    shots, origin = protocol.get("num_fewshot"), protocol.get("imported_from")
    name = [dataset.get(key) for key in ("dataset_path", "dataset_name", "split")]
    said = [
        " ".join(str(part) for part in name if part),
        "" if shots is None else f"{shots} exemplars",
        f"at most {sampling['max_tokens']} tokens" if "max_tokens" in sampling else "",
        _temperature(sampling.get("temperature")),
        "chat template" if protocol.get("chat") else "",
        f"imported from {origin}" if origin else "",
    ]
    return [fact for fact in said if fact]


def _temperature(value: Any) -> str:
    if value is None:
        return ""
    return f"temperature {value:g}" if value else "greedy"


def flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """A nested record as names (`sampling.temperature`) and values in words."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from flat(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        for number, inner in enumerate(value, 1):
            yield from flat(inner, f"{name}.{number}")
    elif isinstance(value, list):
        yield name, ", ".join(map(_word, value)) or "none"
    else:
        yield name, _word(value)


def _word(value: Any) -> str:
    if value is None or value in ({}, []):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) and (value != value.strip() or "\n" in value or not value):
        return repr(value)
    return str(value)
