"""Jinja in its sandbox: strict, compiled once, and unable to reach out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit.errors import UsageError
from resit.prompts.templates import compiled, renderer


def render(template: str, columns: tuple[str, ...] = (), **fields: Any) -> Any:
    return renderer(template, frozenset(columns), "t.yaml: doc_to_text")(fields)


@pytest.mark.parametrize(
    ("template", "fields", "expected"),
    [
        ("Q: {{q}}\nA:", {"q": "x"}, "Q: x\nA:"),
        ("{{q}}\n", {"q": "x"}, "x\n"),
        ("{{q}}", {"q": "{{x}} {% raw"}, "{{x}} {% raw"),
        ("{{q}}", {"q": "<b> & 'c'"}, "<b> & 'c'"),
        ("{{q | regex_replace('[0-9]+', 'N')}}", {"q": "1 and 22"}, "N and N"),
        ("{{q | regex_replace('[0-9]', 'N', 1)}}", {"q": "1 and 22"}, "N and 22"),
        ("{{q if q is defined else 'none'}}", {}, "none"),
        ("[{{q if q is defined}}]", {}, "[]"),
        ("{{a.split('####')[-1].strip()}}", {"a": "x\n#### 7"}, "7"),
        ("{{n | string}}{{n + 1}}", {"n": 1}, "12"),
        # FC-FS-04: a label is cut off by its name, never by a count of characters
        (
            "{{a.removeprefix('Step-by-Step Answer:').lstrip()}}",
            {"a": "Step-by-Step Answer: 6 boxes of 2 is 12."},
            "6 boxes of 2 is 12.",
        ),
        ("{{a.removeprefix('Step-by-Step Answer:').lstrip()}}", {"a": "6 boxes."}, "6 boxes."),
    ],
)
def test_rendering(template: str, fields: dict[str, Any], expected: str) -> None:
    assert render(template, **fields) == expected


def test_a_columns_name_gives_the_cell_itself() -> None:
    assert render("answer", ("answer",), answer=[1, 2]) == [1, 2]
    assert render("answer", (), answer=[1, 2]) == "answer"
    assert renderer(3, frozenset(), "t")({}) == 3


@pytest.mark.parametrize(
    ("template", "columns", "said"),
    [
        ("{{ q", (), "the template does not compile"),
        ("{{ q | nofilter }}", (), "the template does not compile: No filter named 'nofilter'"),
        ("{{ gone }}", (), "the template cannot be rendered: 'gone' is undefined"),
        ("{{ q.gone }}", (), "the template cannot be rendered"),
        ("{{ 1 / 0 }}", (), "the template cannot be rendered: division by zero"),
        ("other", ("other",), "expected a column 'other', found q"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", (), "access to attribute '__class__'"),
        ("{{ q.__init__.__globals__ }}", (), "access to attribute '__init__'"),
        ("{{ cycler.__init__.__globals__.os.system('true') }}", (), "access to attribute '__init__'"),
        ("{% include 'secrets' %}", (), "the template cannot be rendered"),
        ("{{ '{0.__class__}'.format(q) }}", (), "access to attribute '__class__'"),
    ],
)
def test_what_cannot_or_must_not_be_rendered(template: str, columns: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        render(template, columns, q="x")
    assert said in str(caught.value)
    assert str(caught.value).startswith("t.yaml: doc_to_text: ")


def test_a_template_is_compiled_once() -> None:
    source = "compiled once: {{q}}"
    before = compiled.cache_info().misses
    assert [render(source, q=i) for i in range(5)] == [f"compiled once: {i}" for i in range(5)]
    assert compiled.cache_info().misses == before + 1


@given(text=st.text())
def test_a_documents_text_is_never_a_template(text: str) -> None:
    assert render("{{q}}", q=text) == text


def test_the_callable_is_called_with_the_document(make_task: Callable[..., Any]) -> None:
    from resit.tasks.functions import Function

    function = Function("utils.f", "utils.py", "0", lambda fields: fields["q"].upper())
    assert renderer(function, frozenset(), "t")({"q": "x"}) == "X"
