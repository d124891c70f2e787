"""gsm_fresh: deterministic, distinct, trustworthy, exemplars apart from questions."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import math
import random
import re
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resit import assets
from resit.assets import fresh
from resit.errors import AssetError, UsageError

try:
    gsm_symbolic = fresh.generator().arithmetic.gsm_symbolic
except AssetError as absent:
    pytest.skip(str(absent), allow_module_level=True)

GOLD_LINE = re.compile(r"\n#### \d+\Z")


def questions(rows: list[dict[str, Any]]) -> set[str]:
    return {row["question"] for row in rows}


def test_rows_are_shaped_like_gsm8ks() -> None:
    found = assets.load("resit/gsm_fresh", None, "test", seed=7, size=300)
    assert len(found.rows) == 300
    assert len(questions(found.rows)) == 300
    for row in found.rows:
        assert [*row] == ["question", "answer", "template"]
        assert GOLD_LINE.search(row["answer"])
        assert row["answer"].count("####") == 1
        assert "final answer" not in row["question"]
        assert row["question"] == row["question"].strip()


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**40), size=st.integers(1, 60), more=st.integers(1, 60))
def test_a_smaller_set_is_the_beginning_of_a_larger_one(seed: int, size: int, more: int) -> None:
    small = fresh.generate("test", seed=seed, size=size).rows
    assert fresh.generate("test", seed=seed, size=size + more).rows[:size] == small


def test_other_seeds_give_other_problems_even_neighbouring_ones() -> None:
    one, other = (fresh.generate("test", seed=seed, size=400).rows for seed in (1, 2))
    assert len(questions(one) & questions(other)) < 8  # some templates have few variants
    assert one != other


def test_exemplars_share_neither_questions_nor_templates_with_the_test_split() -> None:
    pool = assets.rows("resit/gsm_fresh", None, "train", seed=0, train_size=100)
    asked = assets.rows("resit/gsm_fresh", None, "test", seed=0, size=1000)
    assert len(pool) == 100
    assert not questions(pool) & questions(asked)
    assert not {row["template"] for row in pool} & {row["template"] for row in asked}
    assert len({row["template"] for row in pool}) == len(fresh.EXEMPLAR_TEMPLATES)
    assert len({row["template"] for row in asked}) > 60


def test_the_default_sets_are_the_same_everywhere() -> None:
    version = importlib.metadata.version("reasoning-gym")
    if version != "0.1.25":
        pytest.skip(f"digests are known for reasoning-gym 0.1.25, this is {version}")
    found = assets.dataset_identity("resit/gsm_fresh", None, "test")
    assert found == {
        "dataset": "resit/gsm_fresh",
        "config": None,
        "split": "test",
        "generator": "reasoning-gym 0.1.25 gsm_symbolic",
        "seed": 0,
        "rows": 1319,
        "digest": TEST_DIGEST,
    }
    assert assets.dataset_identity("gsm_fresh", None, "train")["digest"] == TRAIN_DIGEST


TEST_DIGEST = "sha256:fe67776a5418f01584cd1add6ada50ece374a9ff22f6139f42ae90ab56cc3e72"
TRAIN_DIGEST = "sha256:91ab9b11432b6f3884561cb20bc6e7788ee39d392711e8c834586061c7617365"


def test_what_was_left_out_is_counted() -> None:
    dropped = assets.load("resit/gsm_fresh", None, "test", seed=0, size=3000).dropped
    assert dropped["a step does not hold"] > 30
    assert dropped["float noise in the question"] > 10
    assert set(dropped) <= {
        "a step does not hold",
        "below zero",
        "duplicate",
        "float noise in the question",
        "not a whole number",
    }


class _Exact(ast.NodeTransformer):
    """Makes a generator that never cuts a number: `//` becomes `/`, and `int` and the like do nothing."""

    inside = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outer, self.inside = self.inside, self.inside or node.name == "generate_from_variables"
        self.generic_visit(node)
        self.inside = outer
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if self.inside and isinstance(node.op, ast.FloorDiv):
            node.op = ast.Div()
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if (
            self.inside
            and isinstance(node.func, ast.Name)
            and node.func.id in ("int", "round", "format_number")
        ):
            node.func = ast.Name("_as_it_is", ast.Load())
        return node


def generators() -> list[tuple[int, Any, Any]]:
    """(template, its generator, the same without cutting) for every template in use."""
    found = []
    for name in ("generators_00_49", "generators_50_99"):
        module = importlib.import_module(f"{gsm_symbolic.__name__}.{name}")
        tree = ast.fix_missing_locations(_Exact().visit(ast.parse(inspect.getsource(module))))
        exact: dict[str, Any] = {"_as_it_is": lambda value, *_args, **_options: value}
        exec(compile(tree, name, "exec"), exact)
        for template in gsm_symbolic.gsm_symbolic.tasks_ok:
            generate = getattr(module, f"generate_{template}", None)
            if generate:
                found.append((template, generate, exact[f"generate_{template}"]))
    return found


ROUNDS_ON_PURPOSE = 92  # its question asks for prices rounded to the nearest dollar


def test_every_gold_that_truncation_spoilt_is_found_and_no_other_dropped_for_it() -> None:
    outcomes: Counter[tuple[bool, bool]] = Counter()
    for template, generate, exact in generators():
        if template == ROUNDS_ON_PURPOSE:
            continue
        for seed in range(60):
            item = generate(random.Random(seed), 1.0)
            truth = float(exact(random.Random(seed), 1.0)["metadata"]["answer_value"])
            spoilt = not math.isclose(float(item["answer"]), truth, abs_tol=1e-6)
            outcomes[spoilt, fresh.distrust(item) == "a step does not hold"] += 1
    assert outcomes[True, True] > 50
    assert outcomes[True, False] == 0
    assert outcomes[False, True] == 0


STEPS = [
    ("3 + 4 = 7", True),
    ("3 + 4 = 8", False),
    ("78 / 12 = 6 pans", False),
    ("0.46*40 = 18 students", False),
    ("0.46*40 = 18.4 students", True),
    ("$14,500 + $500 = $15,000.", True),
    ("€48.43 - €19.43 = €29 left", True),
    ("$117.10 - $53.10 = $63 left", False),
    ("11÷2/5=27 minutes", False),
    ("14÷2/5=35 minutes", True),
    ("12/60 = 1/5 blocks", True),  # a fraction on the right is not read
    ("294 pages x 2/3 = 196 pages", True),  # nor a product with words in it
    ("7 pounds * 2 - 7 = 7 pounds", True),
    ("103 spools / 412 spools * 100% = 25%", True),
    ("100% - 50% = 50%", True),
    ("2 + 3 * 4 = 14", True),
    ("2 + 3 * 4 = 20", False),
    ("10 - 2 - 3 = 5", True),
    ("36 x 2 = 72", True),
    ("36 x 2 = 71", False),
    ("9.333333333333334 - 8 = 1.333333333333334", True),
    ("2 / 3 = 0.67", True),
    ("2 / 3 = 0.66", False),
    ("1 / 0 = 5", False),
    ("from €4.50 to €5,", True),
    ("from €4.50 to €4,", False),
    ("no numbers at all", True),
]


@pytest.mark.parametrize(("solution", "holds"), STEPS)
def test_steps(solution: str, holds: bool) -> None:
    assert fresh.steps_hold(solution) is holds


def item(answer: str, cot: str, value: object, question: str = "Why?") -> dict[str, Any]:
    return {"question": question, "answer": answer, "metadata": {"answer_cot": cot, "answer_value": value}}


ITEMS = [
    (item("1200", "so\n#### 1,200", 1200), ""),
    (item("16", "so\n#### 16.0", 16.0), ""),
    (item("many", "so\n#### many", "many"), "no number"),
    (item("7", "so 7", 7), "no number"),
    (item("7", "so\n#### 8", 7), "gold contradicts its solution"),
    (item("7", "so\n#### 7", 8), "gold contradicts its solution"),
    (item("7", "so\n#### seven", 7), "gold contradicts its solution"),
    (item("2937.5", "so\n#### 2937.5", 2937.5), "not a whole number"),
    (item("-1", "so 99 - 100 = -1\n#### -1", -1), "below zero"),
    (item("7", "3 + 3 = 7\n#### 7", 7), "a step does not hold"),
    (item("7", "so\n#### 7", 7, "What is 0.6666666666666666 of it?"), "float noise in the question"),
]


@pytest.mark.parametrize(("given_item", "reason"), ITEMS)
def test_why_a_gold_is_not_trusted(given_item: dict[str, Any], reason: str) -> None:
    assert fresh.distrust(given_item) == reason


@given(st.integers(-(10**9), 10**9), st.sampled_from("+-*/"), st.integers(1, 10**6))
def test_a_right_step_always_holds_and_a_wrong_one_never(a: int, operator: str, b: int) -> None:
    value = {"+": a + b, "-": a - b, "*": a * b, "/": Fraction(a, b)}[operator]
    if a < 0 or value < 0 or Fraction(value).denominator != 1:
        return
    assert fresh.steps_hold(f"{a} {operator} {b} = {value}")
    assert not fresh.steps_hold(f"{a} {operator} {b} = {value + 1}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "dev"}, "no split 'dev'; it has train, test"),
        ({"size": 0}, "expected size to be a whole number"),
        ({"size": "ten"}, "expected size"),
        ({"seed": 1.5}, "expected seed"),
        ({"sized": 3}, "unknown option sized"),
        ({"dataset_name": "main"}, "no configuration 'main'"),
    ],
)
def test_what_cannot_be_generated(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        assets.rows("resit/gsm_fresh", **options)
    assert message in str(raised.value)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(AssetError) as raised:
        assets.rows("resit/gsm_fresh")
    assert raised.value.hint == "pip install 'resit[fresh]'"


def test_reasoning_gym_is_imported_only_when_needed() -> None:
    code = "import resit.assets.rows, resit.assets.inventory, sys; print('reasoning_gym' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "False\n"
    )
