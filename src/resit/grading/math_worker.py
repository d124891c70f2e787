"""The process in which math-verify and sympy run, so that they can be killed: `python -m …math_worker`.

Reads one JSON object a line and answers with one. It is never imported by the rest of Resit.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any

MEMORY_BYTES = 3 * 2**30
_BARE = 200
_PROSE = re.compile(r"\n|answer|[a-z]{2,} [a-z]{2,} [a-z]{2,}", re.IGNORECASE)
"""A short response without prose is an expression itself, in no delimiters."""


def _limit_memory() -> None:
    """So that a huge power ends this process before it ends the machine."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _verify(request: dict[str, Any]) -> dict[str, Any]:
    """math-verify's own parse and comparison of a response with a gold expression."""
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

    configs = [LatexExtractionConfig(), ExprExtractionConfig()]
    gold = parse(_as_latex(request["gold"]), configs, parsing_timeout=None)
    bare = len(request["answer"]) <= _BARE and not _PROSE.search(request["answer"])
    answer = parse(_as_latex(request["answer"]), configs, parsing_timeout=None) if bare else []
    answer = answer or parse(request["answer"], configs, parsing_timeout=None)
    if not gold:
        return {"error": "the gold answer cannot be parsed"}
    equal = bool(verify(gold, answer, timeout_seconds=None)) if answer else False
    return {"extracted": str(answer[-1]) if answer else None, "equal": equal}


def _as_latex(text: str) -> str:
    return text if "$" in text or "\\boxed" in text else f"\\boxed{{{text}}}"


def _same(request: dict[str, Any]) -> dict[str, Any]:
    """Whether two expressions differ by 0, symbolically or numerically to 1e-3 (DeepSeek-Math's test)."""
    from latex2sympy2_extended import latex2sympy  # type: ignore[import-untyped]
    from sympy import N, simplify, sympify  # type: ignore[import-untyped]

    def read(text: str) -> Any:
        if any(mark in text for mark in ("_", "'", '"', "**")):
            return None
        with contextlib.suppress(Exception):
            return latex2sympy(text)
        with contextlib.suppress(Exception):
            return sympify(text, evaluate=True) if text.isascii() and "__" not in text else None
        return None

    left, right = read(request["left"]), read(request["right"])
    if left is None or right is None:
        return {"equal": False}
    with contextlib.suppress(Exception):
        if simplify(left - right) == 0:
            return {"equal": True}
    with contextlib.suppress(Exception):
        return {"equal": bool(abs(float(N(left)) - float(N(right))) <= 1e-3)}
    return {"equal": False}


_OPERATIONS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"verify": _verify, "same": _same}


def main() -> None:
    """Answer requests until the input ends."""
    _limit_memory()
    # What libraries print must not reach the channel that answers go through.
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    sys.stdout = io.StringIO()

    def reply(answer: dict[str, Any]) -> None:
        channel.write(json.dumps(answer) + "\n")
        channel.flush()

    try:
        import latex2sympy2_extended  # noqa: F401
        import math_verify  # noqa: F401
    except ImportError as error:
        reply({"error": str(error)})
        return
    with contextlib.suppress(Exception):  # what the first of each builds is no answer's time
        _verify({"gold": "x+1", "answer": "x+1"})
        _same({"left": "x+1", "right": "x"})
    reply({"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply(_OPERATIONS[request["operation"]](request))
        except MemoryError:
            reply({"error": "out of memory"})
        except Exception as error:  # a parser's defect must not cost the process
            reply({"error": f"{type(error).__name__}: {error}"[:300]})


if __name__ == "__main__":
    main()
