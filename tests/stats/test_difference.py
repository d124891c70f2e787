from __future__ import annotations

import math
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binom
from scipy.stats import norm as stats_norm

from resit import stats
from resit.stats import score_tests


class TestMcNemar:
    def test_reference_values(self):
        found = stats.paired_counts(70, 45, 1319)
        assert round(found.difference, 5) == 0.01895
        assert round(found.standard_error, 5) == 0.00812
        assert found.difference / found.standard_error == pytest.approx(2.335, abs=5e-4)
        assert round(stats.mcnemar_exact(70, 45), 5) == 0.02479
        assert round(stats.mcnemar_midp(70, 45), 5) == 0.01988
        assert found.p_value == stats.mcnemar_midp(70, 45)
        assert stats.paired_counts(70, 45, 1319, exact=True).p_value == stats.mcnemar_exact(70, 45)
        assert (found.interval.low, found.interval.high) == (found.ci_low, found.ci_high)

    def test_pairing_decides_the_verdict(self):
        """peers.md 4.3; its marginals are not given, these come closest."""
        z = stats.unpaired_score_statistic(1055, 1319, 1030, 1319)
        assert z == pytest.approx(1.197, abs=2e-3)
        unpaired = stats.gap_test(1055, 1319, 1030, 1319)
        assert unpaired.p_value == pytest.approx(0.2315, abs=5e-4)
        assert not unpaired.distinguishable
        assert stats.paired_counts(70, 45, 1319).distinguishable

    def test_same_questions_compared_as_if_they_were_different(self):
        """FC-STAT-07: 150 both, 18 and 4 discordant, 48 neither."""
        assert round(stats.mcnemar_exact(18, 4), 4) == 0.0043

    @given(st.integers(0, 200), st.integers(0, 200))
    def test_agrees_with_the_binomial_distribution(self, b, c):
        n, smaller = b + c, min(b, c)
        tail, point = binom.cdf(smaller, n, 0.5), binom.pmf(smaller, n, 0.5)
        assert stats.mcnemar_exact(b, c) == pytest.approx(min(1, 2 * tail), rel=1e-9)
        assert stats.mcnemar_midp(b, c) == pytest.approx(min(1, 2 * tail - point), rel=1e-9)
        assert stats.mcnemar_midp(b, c) == stats.mcnemar_midp(c, b)

    @pytest.mark.parametrize("exact", [False, True])
    @pytest.mark.parametrize(("b", "c"), [(9, 2), (2, 9), (4, 4), (0, 0), (0, 5)])
    def test_one_sided_tails(self, b, c, exact):
        found = stats.paired_counts(b, c, 40, exact=exact)
        above = binom.sf(b, b + c, 0.5)
        point = binom.pmf(b, b + c, 0.5)
        assert found.p_greater == pytest.approx(above + (point if exact else point / 2))

    def test_nothing_discordant_is_no_evidence(self):
        found = stats.paired_counts(0, 0, 1319)
        assert found.p_value == 1
        assert found.ci_low < 0 < found.ci_high
        assert found.minimum_detectable_effect == pytest.approx(5 / 1319)

    @pytest.mark.parametrize(("b", "c", "n"), [(-1, 2, 10), (6, 5, 10), (1, 1, 0)])
    def test_refusals(self, b, c, n):
        with pytest.raises(ValueError, match=r"negative|cannot come from"):
            stats.paired_counts(b, c, n)


class TestScoreIntervals:
    @pytest.mark.parametrize(
        ("counts", "expected"),
        [
            ((1, 7, 21), (-0.517, -0.026)),  # Fagerland, Lydersen and Laake 2014, table IV
        ],
    )
    def test_tango_published(self, counts, expected):
        assert score_tests.paired_score_interval(*counts) == pytest.approx(expected, abs=5e-4)

    @pytest.mark.parametrize(
        ("counts", "expected"),
        [
            ((56, 70, 48, 80), (0.0533, 0.3377)),  # Newcombe 1998 (independent), table II, method 5
            ((9, 10, 3, 10), (0.1821, 0.8370)),
            ((10, 10, 0, 10), (0.6777, 1.0)),
        ],
    )
    def test_mee_published(self, counts, expected):
        assert score_tests.unpaired_score_interval(*counts) == pytest.approx(expected, abs=1e-4)

    def test_restricted_estimate_is_the_most_likely(self):
        rng = random.Random(0)
        for _ in range(300):
            n1, n2 = rng.randint(1, 60), rng.randint(1, 60)
            k1, k2, delta = rng.randint(0, n1), rng.randint(0, n2), rng.uniform(-0.98, 0.98)

            def loss(p, k1=k1, n1=n1, k2=k2, n2=n2, delta=delta):
                pairs = ((k1, p), (n1 - k1, 1 - p), (k2, p - delta), (n2 - k2, 1 - p + delta))
                return -sum(k * math.log(max(q, 1e-300)) for k, q in pairs if k)

            best = minimize_scalar(loss, bounds=(max(0, delta), min(1, 1 + delta)), method="bounded")
            found = score_tests._restricted_proportion(k1 / n1, n1, k2 / n2, n2, delta)
            assert loss(found) <= best.fun + 1e-6

    @given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 80), st.sampled_from([0.8, 0.95, 0.99]))
    def test_paired_interval_and_score_test_agree(self, b, c, concordant, confidence):
        n = max(1, b + c + concordant)
        low, high = stats.paired_score_interval(b, c, n, confidence)
        z = stats.normal_quantile(confidence)
        assert -1 <= low <= (b - c) / n <= high <= 1
        if abs(abs(stats.paired_score_statistic(b, c, n)) - z) > 1e-9:
            assert (low <= 0 <= high) == (abs(stats.paired_score_statistic(b, c, n)) <= z)

    @given(st.integers(1, 60), st.integers(1, 60), st.data())
    def test_gap_interval_and_p_value_agree(self, n1, n2, data):
        k1, k2 = data.draw(st.integers(0, n1)), data.draw(st.integers(0, n2))
        found = stats.gap_test(k1, n1, k2, n2)
        assert -1 <= found.ci_low <= found.difference + 1e-12
        assert found.difference - 1e-12 <= found.ci_high <= 1
        if abs(found.p_value - 0.05) > 1e-9:
            assert found.distinguishable == (not found.ci_low <= 0 <= found.ci_high)

    def test_swapping_sides_mirrors(self):
        low, high = stats.unpaired_score_interval(40, 50, 21, 30)
        assert stats.unpaired_score_interval(21, 30, 40, 50) == pytest.approx((-high, -low))
        low, high = stats.paired_score_interval(9, 3, 50)
        assert stats.paired_score_interval(3, 9, 50) == pytest.approx((-high, -low))


class TestPairedDifference:
    def test_right_or_wrong_values_are_counted(self):
        first = [1.0] * 70 + [0.0] * 45 + [1.0] * 1204
        second = [0.0] * 70 + [1.0] * 45 + [1.0] * 1204
        assert stats.paired_difference(first, second) == stats.paired_counts(70, 45, 1319)

    def test_shares_use_the_paired_t(self):
        """Student's sleep data: t = 4.0621 on 9 degrees, p = .002833, interval .70-2.46 (all over ten)."""
        drug = [0.19, 0.08, 0.11, 0.01, -0.01, 0.44, 0.55, 0.16, 0.46, 0.34]
        other = [0.07, -0.16, -0.02, -0.12, -0.01, 0.34, 0.37, 0.08, 0.0, 0.2]
        found = stats.paired_difference(drug, other)
        assert found.difference / found.standard_error == pytest.approx(4.0621, abs=1e-4)
        assert found.p_value == pytest.approx(0.002833, abs=1e-6)
        assert found.p_greater == pytest.approx(0.002833 / 2, abs=1e-6)
        assert (found.ci_low, found.ci_high) == pytest.approx((0.0700114, 0.2459886), abs=1e-6)
        assert found.minimum_detectable_effect == pytest.approx(2.8016 * found.standard_error, rel=1e-4)
        assert (found.n_first, found.n_second, found.method) == (10, 10, "Student's t")

    def test_differences_without_spread(self):
        same = stats.paired_difference([0.5] * 20, [0.5] * 20)
        assert (same.p_value, same.difference) == (1.0, 0.0)
        assert same.ci_low < 0 < same.ci_high
        shifted = stats.paired_difference([0.75, 0.75], [0.25, 0.25])
        assert shifted.p_value == pytest.approx(2 * stats_norm.sf(1))
        assert shifted.ci_low < 0
        assert not shifted.distinguishable

    def test_equal_differences_by_hand(self):
        """Of .25 on ten questions: z = sqrt(10 / 4); a share z^2/(10 + z^2) of -1 or 1 makes the limits."""
        found = stats.paired_difference([0.75] * 10, [0.5] * 10)
        assert found.p_value == pytest.approx(2 * stats_norm.sf(math.sqrt(2.5)))
        assert found.p_greater == pytest.approx(stats_norm.sf(math.sqrt(2.5)))
        unseen = 1.959964**2 / (10 + 1.959964**2)
        expected = (0.25 - 1.25 * unseen, 0.25 + 0.75 * unseen)
        assert found.interval == pytest.approx(expected, abs=1e-6)
        mirrored = stats.paired_difference([0.5] * 10, [0.75] * 10)
        assert mirrored.interval == pytest.approx((-found.ci_high, -found.ci_low))
        assert mirrored.p_greater == pytest.approx(1 - found.p_greater)

    @example(1.96875, 9, 0.8)
    @given(st.floats(-3, 3), st.integers(2, 3000), st.sampled_from([0.8, 0.95, 0.99]))
    def test_equal_differences_have_one_verdict(self, value, n, confidence):
        first = [0.5 if value in (-1, 0, 1) else value] * n
        found = stats.paired_difference(first, [first[0] - value] * n, confidence)
        assert found.ci_low <= found.difference <= found.ci_high
        if abs(found.p_value - (1 - confidence)) > 1e-9:
            assert found.distinguishable == (not found.ci_low <= 0 <= found.ci_high)

    @pytest.mark.parametrize("n", [2, 10, 1319])
    def test_equal_differences_of_0_and_1_are_tangos(self, n):
        assert stats.paired_difference([0.5] * n, [0.5] * n).interval == pytest.approx(
            stats.paired_score_interval(0, 0, n)
        )
        whole = stats.paired_difference([1.5] * n, [0.5] * n)
        assert whole.interval == pytest.approx(stats.paired_score_interval(n, 0, n))
        assert whole.p_value == pytest.approx(2 * stats_norm.sf(stats.paired_score_statistic(n, 0, n)))

    def test_one_question_is_counted_or_refused(self):
        assert stats.paired_difference([1], [0]) == stats.paired_counts(1, 0, 1)
        assert stats.unpaired_difference([1], [0]) == stats.gap_test(1, 1, 0, 1)
        for compare in (stats.paired_difference, stats.unpaired_difference):
            with pytest.raises(ValueError, match="at least 2"):
                compare([0.5], [0.25])
            with pytest.raises(ValueError, match=r"cannot come from|at least one"):
                compare([], [])

    def test_lengths_must_match(self):
        with pytest.raises(ValueError, match="as many values"):
            stats.paired_difference([1, 0], [1])


class TestGap:
    def test_reference_designs(self):
        found = stats.gap_test(1055, 1319, 964, 1205)
        assert round(found.standard_error, 4) == 0.0159
        assert round(100 * found.minimum_detectable_effect, 2) == 4.47
        assert found.difference == pytest.approx(1055 / 1319 - 0.8)
        assert found.p_value > 0.9
        assert not found.distinguishable

    def test_memorisation_is_one_sided(self):
        found = stats.gap_test(1055, 1319, 900, 1205)
        assert found.p_greater == pytest.approx(found.p_value / 2)
        assert stats.gap_test(900, 1319, 964, 1205).p_greater > 0.5

    def test_perfect_scores_do_not_promise_perfect_sight(self):
        found = stats.gap_test(1319, 1319, 1205, 1205)
        assert (found.difference, found.standard_error, found.p_value) == (0, 0, 1)
        assert found.minimum_detectable_effect > 0
        assert found.ci_low < 0 < found.ci_high

    def test_one_question_is_no_perfect_sight_either(self):
        found = stats.gap_test(0, 1, 836, 1319)
        assert found.standard_error == pytest.approx(stats.single_error(1319, 836 / 1319))
        assert found.minimum_detectable_effect > 0.7  # not 3.7 points, as from the other side's error alone

    def test_unpaired_values(self):
        assert stats.unpaired_difference([1, 1, 0, 1], [0, 1, 0]) == stats.gap_test(3, 4, 1, 3)
        first, second = [0.1, 0.4, 0.5, 0.8, 0.6], [0.2, 0.1, 0.3, 0.0]
        found = stats.unpaired_difference(first, second)
        from scipy.stats import ttest_ind

        expected = ttest_ind(first, second, equal_var=False)
        assert found.p_value == pytest.approx(expected.pvalue)
        assert (found.ci_low, found.ci_high) == pytest.approx(tuple(expected.confidence_interval(0.95)))

    def test_difference_of_two_gaps_pairs_within_each_set(self):
        seen, fresh = stats.paired_counts(70, 45, 1319), stats.paired_counts(40, 52, 1205)
        found = stats.difference_of(seen, fresh)
        assert found.difference == pytest.approx(25 / 1319 + 12 / 1205)
        assert found.standard_error == pytest.approx(math.hypot(seen.standard_error, fresh.standard_error))
        assert found.standard_error < stats.gap_error(0.8, 1319, 0.8, 1205)

    def test_nothing_to_compare_is_refused(self):
        none = stats.paired_counts(0, 0, 10)
        with pytest.raises(ValueError, match="spread"):
            stats.difference_of(none, none)
        with pytest.raises(ValueError, match="constant"):
            stats.unpaired_difference([0.5, 0.5], [0.25, 0.25])


class TestEquivalence:
    def test_normal(self):
        found = stats.tost(0.002, 0.004, 0.01)
        assert found.p_above_minus_margin == pytest.approx(0.00135, abs=1e-5)  # P(Z > 3)
        assert found.p_value == found.p_below_margin == pytest.approx(0.02275, abs=1e-5)  # P(Z > 2)
        assert found.equivalent
        assert not stats.tost(0.002, 0.004, 0.005).equivalent

    def test_student(self):
        assert stats.tost(0.0, 0.01, 0.02, degrees=9).p_value == pytest.approx(0.03827, abs=1e-4)

    @given(st.integers(0, 100), st.integers(0, 100), st.sampled_from([0.05, 0.1, 0.2]))
    def test_counts_agree_with_the_90_percent_interval(self, k1, k2, margin):
        low, high = stats.unpaired_score_interval(k1, 100, k2, 100, 0.9)
        found = stats.gap_tost(k1, 100, k2, 100, margin)
        if abs(found.p_value - 0.05) > 1e-6:
            assert found.equivalent == (-margin < low and high < margin)

    @given(st.integers(0, 30), st.integers(0, 30))
    def test_paired_counts_agree_with_the_90_percent_interval(self, b, c):
        low, high = stats.paired_score_interval(b, c, 100, 0.9)
        found = stats.paired_tost(b, c, 100, 0.1)
        if abs(found.p_value - 0.05) > 1e-6:
            assert found.equivalent == (low > -0.1 and high < 0.1)

    @pytest.mark.parametrize("margin", [0, -0.01, 1, 5])
    def test_margin_is_a_fraction(self, margin):
        with pytest.raises(ValueError, match="fraction"):
            stats.gap_tost(5, 10, 5, 10, margin)

    def test_values(self):
        assert stats.unpaired_tost([1, 0, 1], [1, 1, 0], 0.3) == stats.gap_tost(2, 3, 2, 3, 0.3)
        first, second = [0.5, 0.75, 1.0, 0.25], [0.5, 0.5, 0.75, 0.75, 0.25]
        from scipy.stats import ttest_ind

        shifted = [value + 0.4 for value in first]
        lower = ttest_ind(shifted, second, equal_var=False, alternative="greater").pvalue
        assert stats.unpaired_tost(first, second, 0.4).p_above_minus_margin == pytest.approx(lower)

    def test_needs_spread(self):
        with pytest.raises(ValueError, match="standard error"):
            stats.tost(0.0, 0.0, 0.01)


class TestMultiplicity:
    P = [0.01, 0.04, 0.03, 0.005]  # noqa: RUF012

    def test_holm(self):
        assert stats.holm(self.P) == pytest.approx([0.03, 0.06, 0.06, 0.02])

    def test_benjamini_hochberg(self):
        assert stats.benjamini_hochberg(self.P) == pytest.approx([0.02, 0.04, 0.04, 0.02])

    @given(st.lists(st.floats(0, 1), max_size=30))
    def test_order_and_bounds(self, p_values):
        from scipy.stats import false_discovery_control

        family, share = stats.holm(p_values), stats.benjamini_hochberg(p_values)
        for p, strict, loose in zip(p_values, family, share, strict=True):
            assert p <= loose + 1e-15
            assert loose <= strict + 1e-12
            assert strict <= 1
        if p_values:
            assert share == pytest.approx(list(false_discovery_control(p_values)))

    @pytest.mark.parametrize("adjust", [stats.holm, stats.benjamini_hochberg])
    def test_refuses_what_is_no_probability(self, adjust):
        assert adjust([]) == []
        with pytest.raises(ValueError, match="between 0 and 1"):
            adjust([0.5, 1.5])
        with pytest.raises(ValueError, match="between 0 and 1"):
            adjust([math.nan])
