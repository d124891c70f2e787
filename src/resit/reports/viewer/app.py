"""Addresses to answers; needs Starlette (extra `report`)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, cast

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from resit.errors import IdentityMismatch, ResitError, UsageError
from resit.reports.page.data import Summary
from resit.reports.viewer.access import Access, App, guarded
from resit.reports.viewer.pages import STATIC, ChartLibrary, Page, StaticFile, report_page, runs_page
from resit.reports.viewer.viewer import NotFound, Viewer

EVERY_SECONDS = 1.0
"""How often a run that is shown is looked at."""
_STEPS = 5
BEAT = 15
"""Looks without news after which a word is sent all the same, so that a dead connection is noticed."""
_LOG = logging.getLogger(__name__)


def make_app(viewer: Viewer, access: Access, stopping: Callable[[], bool] = lambda: False) -> App:
    """The whole application, behind its rules; streams of events end when `stopping`."""
    answers: dict[str, Callable[[Mapping[str, str]], dict[str, Any]]] = {
        "runs": viewer.runs,
        "summary": viewer.summary,
        "top": viewer.top,
        "chart": viewer.chart,
        "rows": viewer.rows,
        "sample": viewer.sample,
        "compare": viewer.compare,
        "gap": viewer.gap,
        "progress": viewer.progress,
    }
    routes = [Route(f"/api/{name}", _answering(answer)) for name, answer in answers.items()]
    routes += [
        Route("/api/events", _events(viewer.progress, stopping)),
        Route("/api/table-events", _events(viewer.table_state, stopping)),
    ]
    routes += [Route("/", _runs_page), Route("/report", _report_page(viewer))]
    routes.append(Route("/static/charts.js", _library(viewer.library, stopping)))
    routes += [Route(f"/static/{name}", _static(file)) for name, file in STATIC.items()]

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        viewer.start()
        try:
            yield
        finally:
            await run_in_threadpool(viewer.close)

    return guarded(Starlette(routes=routes, lifespan=life, exception_handlers={404: _nothing_here}), access)


def _answering(answer: Callable[[Mapping[str, str]], dict[str, Any]]) -> Callable[[Request], Response]:
    """An endpoint that runs in a thread and turns errors into what the page can show."""

    def endpoint(request: Request) -> Response:
        status, value = _answered(answer, request.query_params)
        return _json(value, status)

    return endpoint


def _answered(
    answer: Callable[[Mapping[str, str]], dict[str, Any]], query: Mapping[str, str]
) -> tuple[int, dict[str, Any]]:
    try:
        return 200, answer(query)
    except NotFound as error:
        return 404, _problem(error)
    except IdentityMismatch as error:
        return 409, _problem(error)
    except UsageError as error:
        return 400, _problem(error)
    except ResitError as error:
        return 500, _problem(error)
    except Exception:  # a defect must not show a page nothing, nor what the server knows
        _LOG.exception("a request failed")
        return 500, {"error": "the viewer failed; its terminal shows how", "hint": ""}


def _problem(error: ResitError) -> dict[str, Any]:
    return {"error": str(error), "hint": error.hint}


def _json(value: Mapping[str, Any], status: int = 200) -> Response:
    return Response(encoded(value), status, media_type="application/json")


def encoded(value: Mapping[str, Any]) -> bytes:
    """JSON in ASCII, so that also a lone surrogate arrives; numbers that JSON lacks are null."""
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    except ValueError:
        return json.dumps(_finite(value), separators=(",", ":")).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not abs(value) < float("inf") else value


def _events(
    answer: Callable[[Mapping[str, str]], dict[str, Any]], stopping: Callable[[], bool]
) -> Callable[[Request], Any]:
    """Server-sent events: what the answer is now, again whenever it is another, `gone` when there is none."""

    async def endpoint(request: Request) -> Response:
        return StreamingResponse(_told(answer, request, stopping), media_type="text/event-stream")

    return endpoint


async def _told(
    answer: Callable[[Mapping[str, str]], dict[str, Any]], request: Request, stopping: Callable[[], bool]
) -> AsyncIterator[bytes]:
    last: dict[str, Any] | None = None
    quiet = 0
    while True:
        status, now = await run_in_threadpool(_answered, answer, request.query_params)
        if status != 200:
            yield _event("gone", now)
            return
        quiet += 1
        if now != last:
            yield _event("state", now)
            last, quiet = now, 0
        elif quiet >= BEAT:
            yield b": still here\n\n"
            quiet = 0
        for _ in range(_STEPS):
            await asyncio.sleep(EVERY_SECONDS / _STEPS)
            if stopping():
                return


def _event(name: str, value: Mapping[str, Any]) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + encoded(value) + b"\n\n"


def _runs_page(request: Request) -> Response:
    return _html(runs_page())


def _report_page(viewer: Viewer) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:
        status, found = _answered(viewer.summary, request.query_params)
        if status != 200:
            text = "\n".join(filter(None, (found["error"], found["hint"])))
            return Response(f"{text}\n", status, media_type="text/plain")
        return _html(report_page(cast("Summary", found)))

    return endpoint


def _html(page: Page) -> Response:
    policy = {"content-security-policy": page.policy}
    return Response(page.text, headers=policy, media_type="text/html")


def _library(library: ChartLibrary, stopping: Callable[[], bool]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        while not library.ready and not stopping():
            await asyncio.sleep(EVERY_SECONDS / _STEPS)
        try:
            return Response(library.text(), media_type="text/javascript")
        except (ResitError, TimeoutError) as error:
            return Response(str(error), 503, media_type="text/plain")

    return endpoint


def _static(file: StaticFile) -> Callable[[Request], Response]:
    return lambda request: Response(file.text(), media_type=file.kind)


async def _nothing_here(request: Request, error: Exception) -> Response:
    return Response("there is nothing at this address\n", 404, media_type="text/plain")
