"""Statistics of evaluation: a pure library on counts and lists. Scores are fractions: 0.01 is one point.

Functions raise ValueError for impossible counts, and where a quantity is undefined (k > n, no sample); none
returns 0 for "unknown". Only the standard library loads with the package: numpy comes with the first
bootstrap or correlation, scipy with the first quantile that needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from resit.stats.clusters import (
    VarianceParts,
    clustered_standard_error,
    pooled_mean,
    standard_error,
    variance_parts,
)
from resit.stats.curves import CurvePoint, QuestionVotes, count_votes, sampling_curve
from resit.stats.difference import (
    Difference,
    difference_of,
    gap_test,
    mcnemar_exact,
    mcnemar_midp,
    paired_counts,
    paired_difference,
    unpaired_difference,
)
from resit.stats.equivalence import Equivalence, gap_tost, paired_tost, tost, unpaired_tost
from resit.stats.estimates import Estimate, estimate
from resit.stats.intervals import (
    Interval,
    beta_interval,
    bounded_mean_interval,
    clopper_pearson_interval,
    jeffreys_interval,
    normal_quantile,
    student_quantile,
    wilson_interval,
)
from resit.stats.multiplicity import benjamini_hochberg, holm
from resit.stats.power import (
    confirmable_margin,
    effect_factor,
    fewest_discordant,
    fresh_questions_needed,
    gap_error,
    largest_discordance,
    minimum_detectable_effect,
    paired_error,
    power_of_test,
    questions_needed,
    repeats_error,
    repeats_needed,
    single_error,
)
from resit.stats.samples import (
    agreement,
    best_of_k,
    consistency,
    g_pass_at_k,
    pass_at_k,
    pass_pow_k,
    strict_majority,
)
from resit.stats.score_tests import (
    paired_score_interval,
    paired_score_statistic,
    unpaired_score_interval,
    unpaired_score_statistic,
)
from resit.stats.totals import predicted_total
from resit.stats.votes import (
    WeightedVote,
    exact_maj_at_k,
    maj_at_k,
    maj_curve,
    top_vote_at_k,
    weighted_vote_at_k,
)

if TYPE_CHECKING:
    from resit.stats.bootstrap import bootstrap_difference, bootstrap_interval
    from resit.stats.correlations import Correlation, correlation
    from resit.stats.ranks import Separation, separation

__all__ = [
    "Correlation",
    "CurvePoint",
    "Difference",
    "Equivalence",
    "Estimate",
    "Interval",
    "QuestionVotes",
    "Separation",
    "VarianceParts",
    "WeightedVote",
    "agreement",
    "benjamini_hochberg",
    "best_of_k",
    "beta_interval",
    "bootstrap_difference",
    "bootstrap_interval",
    "bounded_mean_interval",
    "clopper_pearson_interval",
    "clustered_standard_error",
    "confirmable_margin",
    "consistency",
    "correlation",
    "count_votes",
    "difference_of",
    "effect_factor",
    "estimate",
    "exact_maj_at_k",
    "fewest_discordant",
    "fresh_questions_needed",
    "g_pass_at_k",
    "gap_error",
    "gap_test",
    "gap_tost",
    "holm",
    "jeffreys_interval",
    "largest_discordance",
    "maj_at_k",
    "maj_curve",
    "mcnemar_exact",
    "mcnemar_midp",
    "minimum_detectable_effect",
    "normal_quantile",
    "paired_counts",
    "paired_difference",
    "paired_error",
    "paired_score_interval",
    "paired_score_statistic",
    "paired_tost",
    "pass_at_k",
    "pass_pow_k",
    "pooled_mean",
    "power_of_test",
    "predicted_total",
    "questions_needed",
    "repeats_error",
    "repeats_needed",
    "sampling_curve",
    "separation",
    "single_error",
    "standard_error",
    "strict_majority",
    "student_quantile",
    "top_vote_at_k",
    "tost",
    "unpaired_difference",
    "unpaired_score_interval",
    "unpaired_score_statistic",
    "unpaired_tost",
    "variance_parts",
    "weighted_vote_at_k",
    "wilson_interval",
]

_NEED_NUMPY = {
    "Correlation": "correlations",
    "Separation": "ranks",
    "bootstrap_difference": "bootstrap",
    "bootstrap_interval": "bootstrap",
    "correlation": "correlations",
    "separation": "ranks",
}


def __getattr__(name: str) -> Any:
    if name not in _NEED_NUMPY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_NEED_NUMPY[name]}"), name)
