"""The library's public face."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from resit import stats

PROMISED = {
    "benjamini_hochberg",
    "best_of_k",
    "bootstrap_interval",
    "clopper_pearson_interval",
    "clustered_standard_error",
    "consistency",
    "correlation",
    "gap_test",
    "holm",
    "jeffreys_interval",
    "maj_at_k",
    "mcnemar_exact",
    "mcnemar_midp",
    "minimum_detectable_effect",
    "paired_difference",
    "pass_at_k",
    "pass_pow_k",
    "tost",
    "wilson_interval",
}


def test_surface_is_sorted_and_complete():
    assert stats.__all__ == sorted(stats.__all__)
    assert set(stats.__all__) >= PROMISED
    for name in stats.__all__:
        assert not inspect.ismodule(getattr(stats, name)), f"a submodule hides {name}"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = stats.nothing


@pytest.mark.parametrize("name", stats.__all__)
def test_everything_public_says_what_it_returns(name):
    documented = inspect.getdoc(getattr(stats, name))
    assert documented
    assert not documented.startswith(f"{name}(")


def test_the_manual_shows_what_the_library_prints():
    manual = Path(__file__).parents[2] / "docs" / "statistics.md"
    text = manual.read_text(encoding="utf-8").replace("```", "\n")
    found = doctest.DocTestParser().get_doctest(text, {}, "statistics.md", str(manual), 0)
    assert len(found.examples) >= 3
    assert doctest.DocTestRunner().run(found).failed == 0


def test_import_loads_neither_numpy_nor_scipy_nor_any_other_room():
    code = (
        "import sys, resit.stats as s; s.wilson_interval(1, 2); s.maj_at_k([2], 2); s.gap_test(1, 2, 1, 2);"
        "print([m for m in sys.modules if m.split('.')[0] in ('numpy', 'scipy')"
        " or m.startswith('resit.') and not m.startswith('resit.stats')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
