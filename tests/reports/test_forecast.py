"""What a run will take, by hand."""

from __future__ import annotations

import pytest

from resit.records import Generation
from resit.reports.forecast import FleetSize, Prices, Quantity, forecast, forecast_lines


def sample(doc: int, tokens: int | None = 100, seconds: float | None = 2.0, **more: object) -> Generation:
    counted = {"prompt_tokens": 800, "cached_tokens": 600, "completion_tokens": tokens, "seconds": seconds}
    return Generation("sums", doc, f"h{doc}", 0, 0, "18", **{**counted, **more})  # type: ignore[arg-type]


EVEN = {"sums": [sample(doc) for doc in range(4)]}
UNEVEN = {"sums": [sample(doc, 50 * (doc + 1), doc + 1.0) for doc in range(4)]}


def test_tokens_time_and_cost_by_hand() -> None:
    prices = Prices(prompt=1.0, cached=0.1, completion=10.0, worker_hour=3.6)
    found = forecast(EVEN, {"sums": (1000, 4)}, FleetSize(workers=5, in_flight=8, load_seconds=20), prices)
    assert (found.questions, found.samples, found.calibrated_on) == (1000, 4000, 4)
    assert found.prompt_tokens == Quantity(3_200_000, 3_200_000, 3_200_000)
    assert found.completion_tokens == Quantity(400_000, 400_000, 400_000)
    assert found.token_cost is not None
    assert found.token_cost.estimate == pytest.approx(4000 * (200 * 1.0 + 600 * 0.1 + 100 * 10.0) / 1e6)
    assert found.worker_seconds == Quantity(1000, 1000, 1000)
    assert found.seconds == Quantity(221, 220, 222), "work / 5 and loading, and at most one sample more"
    assert found.worker_cost is not None
    assert found.worker_cost.estimate == pytest.approx(5 * 221 / 3600 * 3.6)


def test_cached_tokens_cost_as_others_without_a_price_of_their_own() -> None:
    found = forecast(EVEN, {"sums": (1, 1)}, FleetSize(), Prices(prompt=1.0, completion=0.0))
    assert found.token_cost is not None
    assert found.token_cost.estimate == pytest.approx(800 / 1e6)


def test_uneven_samples_have_an_interval() -> None:
    found = forecast(UNEVEN, {"sums": (100, 1)}, FleetSize(1, 2.0), Prices())
    tokens = found.completion_tokens
    assert tokens is not None
    assert tokens.low is not None
    assert tokens.high is not None
    assert tokens.low < tokens.estimate == 12_500 < tokens.high
    assert found.token_cost is None


def test_more_slots_than_samples_do_not_make_it_faster() -> None:
    few = forecast(EVEN, {"sums": (8, 1)}, FleetSize(1, 8.0), Prices()).seconds
    many = forecast(EVEN, {"sums": (8, 1)}, FleetSize(50, 8.0), Prices()).seconds
    assert few == many


def test_what_is_unknown_is_left_out() -> None:
    bare = {"sums": [sample(0, None, None, prompt_tokens=None, cached_tokens=None), sample(1)]}
    found = forecast(bare, {"sums": (10, 1)}, FleetSize(1, 8.0), Prices(1.0, None, 1.0))
    assert set(found.as_dict()) == {"questions", "samples", "calibrated_on", "workers"}
    lines = "\n".join(forecast_lines(found))
    assert "no time" in lines
    assert "no tokens" in lines


def test_errored_samples_are_no_measurement() -> None:
    mixed = {"sums": [*EVEN["sums"], sample(9, 0, 0.0, error="refused")]}
    whole = {"sums": (10, 1)}
    assert forecast(mixed, whole, FleetSize(1, 8.0), Prices()) == forecast(
        EVEN, whole, FleetSize(1, 8.0), Prices()
    )
    with pytest.raises(ValueError, match="no sample of sums was measured"):
        forecast({"sums": [sample(0, error="refused")]}, whole, FleetSize(), Prices())


def test_sentences() -> None:
    prices = Prices(prompt=1.0, completion=10.0)
    lines = forecast_lines(forecast(UNEVEN, {"sums": (1000, 64)}, FleetSize(4, 8.0), prices))
    assert lines[0] == (
        "64,000 samples of 1,000 questions, by 4 workers; predicted from 4 samples, 95 % intervals"
    )
    assert any(line.startswith("time") and "min" in line for line in lines)
