"""Many models' gaps at once, corrected for having looked often: a folder of runs, or published scores."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from statistics import NormalDist, median
from typing import TYPE_CHECKING, Any

from resit.errors import UsageError
from resit.reports.claims import MOST_QUESTIONS, read_task
from resit.reports.gaps import Gap, checked, gap_of_counts, gap_of_runs, gap_of_scores
from resit.reports.results import FILE, read_results
from resit.stats import benjamini_hochberg, holm

if TYPE_CHECKING:
    from resit.stats.correlations import Coefficient, Correlation


@dataclass(frozen=True, slots=True)
class Standing:
    """One model of the table, with its p-value adjusted for all of them."""

    gap: Gap
    p_value: float
    """Two-sided; from a printed z where the table gives one."""
    p_holm: float
    p_benjamini_hochberg: float
    reported: float | None = None
    """The gap as the table prints it."""
    covariate: float | None = None

    @property
    def value(self) -> float:
        """The gap that is correlated: the printed one where there is one."""
        return self.gap.result.difference if self.reported is None else self.reported


@dataclass(frozen=True, slots=True)
class GapLeague:
    """Gaps of many models, largest first, and their correlation with a covariate."""

    standings: list[Standing]
    correlations: list[Correlation] = field(default_factory=list)
    covariate: str | None = None

    def count(self, adjusted: str = "p_value", alpha: float = 0.05) -> int:
        """Models below alpha by that p-value: `p_value`, `p_holm` or `p_benjamini_hochberg`."""
        return sum(getattr(standing, adjusted) < alpha for standing in self.standings)

    @property
    def recomputed(self) -> tuple[int, int]:
        """Printed gaps that the printed scores give to within their rounding, and all printed gaps."""
        printed = [standing for standing in self.standings if standing.reported is not None]
        return sum(_agrees(standing) for standing in printed), len(printed)

    def as_json(self) -> dict[str, Any]:
        """`models`, counts of significant ones, the spread of the gaps, correlations."""
        gaps = [standing.value for standing in self.standings]
        return {
            "models": [_standing_json(standing) for standing in self.standings],
            "significant": self.count(),
            "significant_holm": self.count("p_holm"),
            "significant_benjamini_hochberg": self.count("p_benjamini_hochberg"),
            "median_gap": median(gaps),
            "recomputed": {"agree": self.recomputed[0], "of": self.recomputed[1]},
            "covariate": self.covariate,
            "correlations": [asdict(found) for found in self.correlations],
        }


def _agrees(standing: Standing) -> bool:
    """Three rounded numbers can be off by half a unit each; 0.0005 is half of the last printed digit."""
    assert standing.reported is not None
    return abs(standing.gap.seen_score - standing.gap.fresh_score - standing.reported) < 3 * 0.0005 + 1e-9


def _standing_json(standing: Standing) -> dict[str, Any]:
    flat = {
        **standing.gap.as_json(),
        "p_value": standing.p_value,
        "p_holm": standing.p_holm,
        "p_benjamini_hochberg": standing.p_benjamini_hochberg,
        "reported": standing.reported,
        "covariate": standing.covariate,
    }
    return {key: value for key, value in flat.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Entry:
    """What goes into the table for one model."""

    gap: Gap
    z: float | None = None
    reported: float | None = None
    covariate: float | None = None


def gap_league(entries: Sequence[Entry], covariate: str | None = None) -> GapLeague:
    """The table of these models' gaps, largest first. UsageError for no model, or too few to correlate."""
    if not entries:
        raise UsageError("no model with scores on both sets was found")
    p_values = [
        entry.gap.result.p_value if entry.z is None else 2 * NormalDist().cdf(-abs(entry.z))
        for entry in entries
    ]
    columns = zip(entries, p_values, holm(p_values), benjamini_hochberg(p_values), strict=True)
    standings = [
        Standing(e.gap, p, family, share, e.reported, e.covariate) for e, p, family, share in columns
    ]
    standings.sort(key=lambda standing: -standing.value)
    return GapLeague(standings, _correlations(standings) if covariate else [], covariate)


COEFFICIENTS: tuple[Coefficient, ...] = ("spearman", "pearson", "kendall")


def _correlations(standings: Sequence[Standing]) -> list[Correlation]:
    from resit.stats import correlation  # here, for it loads numpy

    pairs = [(s.covariate, s.value) for s in standings if s.covariate is not None]
    covariates, gaps = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return [checked(partial(correlation, covariates, gaps, kind)) for kind in COEFFICIENTS]


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a table of published scores keeps what; scores are fractions of 1 or, above 1, per cent."""

    model: str | None = None
    """None: the first column."""
    seen: str = "gsm8k"
    fresh: str = "gsm1k"
    n_seen: int = 1319
    n_fresh: int = 1205
    z: str | None = None
    """A printed z, whose p-values are then used instead of recomputed ones."""
    reported: str | None = None
    """The printed gap, to check against the scores."""
    covariate: str | None = None

    def __post_init__(self) -> None:
        """Raise UsageError for sets larger than any is."""
        if max(self.n_seen, self.n_fresh) > MOST_QUESTIONS:
            raise UsageError(f"--n-seen and --n-fresh: expected at most {MOST_QUESTIONS:,} questions")


def read_published(
    path: Path, columns: Columns, confidence: float = 0.95, margin: float | None = None
) -> GapLeague:
    """The gaps of a CSV (or, by its ending, TSV) table with a row a model.

    UsageError for a file, column or number that is not there.
    """
    rows = list(_rows(path))
    entries = [_entry(path, number, row, columns, confidence, margin) for number, row in enumerate(rows, 2)]
    return gap_league(entries, columns.covariate)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8: {error}") from error
    except csv.Error as error:
        raise UsageError(f"{path} is no CSV table: {error}") from error


def _finite(text: str) -> float:
    """The number. Raises ValueError for nan and infinities, too."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:80]!r} is not finite")
    return number


def _entry(
    path: Path, line: int, row: Mapping[str, str], columns: Columns, confidence: float, margin: float | None
) -> Entry:
    def require(column: str) -> None:
        if column not in row:
            raise UsageError(f"{path} has no column {column!r}", f"it has {', '.join(map(str, row))}")

    def number(column: str) -> float:
        value = optional(column)
        if value is None:
            raise UsageError(f"{path}, line {line}: the column {column!r} is empty")
        return value

    def optional(column: str | None) -> float | None:
        if column is None:
            return None
        require(column)
        try:
            return _finite(row[column]) if (row[column] or "").strip() else None
        except ValueError:
            raise UsageError(
                f"{path}, line {line}: {column} = {row[column][:80]!r} is not a number",
                "leave the cell empty where it is not known",
            ) from None

    named = columns.model or next(iter(row))
    require(named)
    scale = 100.0 if max(number(columns.seen), number(columns.fresh)) > 1 else 1.0
    gap = gap_of_counts(
        (number(columns.seen) / scale * columns.n_seen, columns.n_seen),
        (number(columns.fresh) / scale * columns.n_fresh, columns.n_fresh),
        model=row[named] or f"line {line}",
        names=(columns.seen, columns.fresh),
        confidence=confidence,
        margin=margin,
    )
    reported = optional(columns.reported)
    return Entry(
        gap, optional(columns.z), None if reported is None else reported / scale, optional(columns.covariate)
    )


def read_folder(
    folder: Path,
    seen_task: str,
    fresh_task: str,
    *,
    rule: str = "robust",
    covariates: Mapping[str, float] | None = None,
    confidence: float = 0.95,
    margin: float | None = None,
    across_protocols: bool = False,
) -> GapLeague:
    """The gap of every model that has a scored run of both tasks somewhere below a folder.

    UsageError when a model has several runs of a task, or none has both; IdentityMismatch as `gap_of_runs`.
    """
    runs: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.glob(f"**/{FILE}")):
        results = read_results(path.parent)
        model = results.get("config", {}).get("model_name") or path.parent.name
        for task in {seen_task, fresh_task} & results.get("resit", {}).get("tasks", {}).keys():
            other = runs.setdefault(model, {}).setdefault(task, path.parent)
            if other != path.parent:
                raise UsageError(
                    f"{model} has two runs of {task}: {other} and {path.parent}", "keep one of them there"
                )
    entries = []
    for model, tasks in runs.items():
        if len(tasks) == 2:
            sides = (read_task(tasks[task], task, rule) for task in (seen_task, fresh_task))
            gap = gap_of_scores(
                *sides, confidence=confidence, margin=margin, across_protocols=across_protocols
            )
            entries.append(Entry(gap, covariate=(covariates or {}).get(model)))
    return gap_league(entries, "log-likelihood" if covariates else None)


def gap_of_paths(
    paths: Sequence[Path],
    tasks: tuple[str | None, str | None] = (None, None),
    rule: str = "robust",
    confidence: float = 0.95,
    margin: float | None = None,
    covariates: Path | None = None,
    *,
    across_protocols: bool = False,
) -> Gap | GapLeague:
    """The gap of (SEEN, FRESH) run folders or of one run with both tasks; of a folder of runs, the table.

    UsageError where that is not what the paths are, or tasks are not named where they must be;
    IdentityMismatch as `gap_of_runs`.
    """
    of_runs = partial(
        gap_of_runs, rule=rule, confidence=confidence, margin=margin, across_protocols=across_protocols
    )
    if len(paths) not in (1, 2):
        raise UsageError(f"expected SEEN and FRESH run folders, or one folder, found {len(paths)} paths")
    seen_task, fresh_task = tasks
    if len(paths) == 2:
        return of_runs(paths[0], paths[1], seen_task, fresh_task)
    if not seen_task or not fresh_task:
        raise UsageError(
            f"{paths[0]} alone does not say which tasks are seen and fresh",
            "name --seen-task and --fresh-task",
        )
    if (paths[0] / FILE).exists():
        return of_runs(paths[0], paths[0], seen_task, fresh_task)
    return read_folder(
        paths[0],
        seen_task,
        fresh_task,
        rule=rule,
        covariates=read_covariates(covariates) if covariates else None,
        confidence=confidence,
        margin=margin,
        across_protocols=across_protocols,
    )


def read_covariates(path: Path) -> dict[str, float]:
    """Model to number from a two-column CSV or TSV file without a header.

    UsageError where it is no such file.
    """
    delimiter = "\t" if path.suffix == ".tsv" else ","
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return {row[0]: _finite(row[1]) for row in csv.reader(file, delimiter=delimiter) if row}
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, IndexError, csv.Error) as error:
        raise UsageError(f"{path}: expected two columns, a model and a number ({error})") from error
