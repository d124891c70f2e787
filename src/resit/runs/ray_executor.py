"""Ray as a crew: each worker is an actor that holds a backend. The only file that imports Ray."""

from __future__ import annotations

import logging
import math
import os
import platform
import signal
import socket
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from resit.errors import ResitError, UsageError
from resit.models import LoadableModel, Model, Setup, create
from resit.models.secrecy import secret_names
from resit.runs.fleet import UNIT, Delivered, Event, Failed, Fleet, Lost, Placed, Started
from resit.runs.parcels import pack_requests, pack_samples, unpack_requests, unpack_samples
from resit.runs.secrets import REFERENCE, Secrets
from resit.runs.station import Delivery, Order, Station

LEAVE_SECONDS = 10.0
"""How long workers may take to close their models before they are killed."""
REACH_SECONDS = 10.0
_NAMES = {"cpu": "num_cpus", "gpu": "num_gpus", "memory": "memory"}
"""Resources that Ray has options for; any other is one of the cluster's own."""
STARTS = 3
"""How often a Ray of our own is started anew when it was too slow."""
_NO_RAY = (ConnectionError, RuntimeError, ValueError, OSError)
STORE_BYTES = 256 * 2**20
"""Object store of a Ray of our own: what passes through it is a few hundred samples at a time."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an actor makes its model; holds names of secrets, never their values."""

    kind: str
    args: Mapping[str, Any]
    expand: bool = False
    """Whether `${NAME}` in the arguments is a variable of the actor's environment."""
    concurrency: int | None = None
    debug: bool = False
    folder: str = ""
    """The driver's working folder, used where a node has it too."""

    def made(self, notify: Any) -> Model:
        """The model, here. Raises ResitError."""
        if self.folder and Path(self.folder).is_dir():
            os.chdir(self.folder)
        args = dict(self.args)
        if self.expand:
            args = Secrets().expanded(args, "model_args")
        return create(self.kind, args, Setup(self.concurrency, notify, self.debug))


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where workers run and what each of them takes."""

    address: str = ""
    """A Ray cluster; empty: `RAY_ADDRESS`, or a Ray of our own on this machine."""
    workers: int = 1
    resources: Mapping[str, float] = field(default_factory=dict)
    """What one worker needs: cpu, gpu, memory in bytes, or names of the cluster's own.

    cpu is 1 where it is not given; with a Ray of our own, a part of one where workers outnumber processors.
    """

    @property
    def reached_at(self) -> str:
        """The cluster's address; `local` for a Ray of our own."""
        return self.address or os.environ.get("RAY_ADDRESS") or "local"

    def options(self) -> dict[str, Any]:
        """The resources as options of a Ray actor."""
        share = (os.cpu_count() or 1) / self.workers if self.reached_at == "local" else 1.0
        wanted = {"cpu": min(1.0, math.floor(share * 1e4) / 1e4), **self.resources}
        known = {_NAMES[name]: amount for name, amount in wanted.items() if name in _NAMES}
        return {**known, "resources": {k: v for k, v in wanted.items() if k not in _NAMES}}


def recipe_of(kind: str, args: Mapping[str, Any], setup: Setup, expand: bool = False) -> Recipe:
    """How workers make the model. Raises UsageError for a secret that would travel to them in the open."""
    plain = [name for name in secret_names(args) if not (expand and REFERENCE.search(repr(args[name])))]
    if plain:
        raise UsageError(
            f"model_args: {plain[0]} would travel to the workers as plain text",
            "set an environment variable on every node and write ${NAME} in a study (docs/config.md)",
        )
    return Recipe(kind, args, expand, setup.concurrency, setup.debug, os.getcwd())


def ray_fleet(model: Model, recipe: Recipe, cluster: Cluster, setup: Setup) -> Fleet:
    """The model as many: nothing is started yet. Raises UsageError where Ray is not installed."""
    _ray()
    unit = setup.concurrency or UNIT
    return Fleet(model, RayCrew(recipe, cluster), cluster.workers, unit, setup.notify)


def _ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a Ray of our own reports to nobody
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise UsageError("--executor ray needs Ray", "pip install 'resit[ray]'") from None
    return ray


class Actor:
    """A worker's process."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._station: Station | None = None
        self._early: list[str] = []

    def place(self) -> str:
        """The node's name: says that the actor is there."""
        return platform.node()

    def load(self) -> tuple[float, Mapping[str, Any]] | ResitError:
        """Seconds it took to load the model, and its identity; or why it cannot be had."""
        began = time.monotonic()
        try:
            model = self._recipe.made(self._note)
            identity = model.identity()
            if isinstance(model, LoadableModel):
                model.load()
        except ResitError as error:
            return error
        self._station = Station(model)
        for text in self._early:
            self._station.note(text)
        return time.monotonic() - began, identity

    def exchange(self, parcel: bytes, more: bool, low: int, flush: float) -> tuple[Any, ...]:
        """The parts of a delivery, its samples as a parcel."""
        assert self._station is not None
        delivery = self._station.exchange(Order(unpack_requests(parcel), more, low, flush))
        samples = pack_samples(delivery.generations)
        return samples, delivery.waiting, list(delivery.notes), _portable(delivery.ended)

    def leave(self) -> None:
        """Close the model."""
        if self._station is not None:
            self._station.model.close()

    def _note(self, text: str) -> None:
        if self._station is None:
            self._early.append(text)
        else:
            self._station.note(text)


class RayCrew:
    """Actors of Ray; what happens to them comes in from Ray's threads through one queue."""

    def __init__(self, recipe: Recipe, cluster: Cluster) -> None:
        self._recipe = recipe
        self._cluster = cluster
        self._actors: dict[int, Any] = {}
        self._lives: dict[int, int] = {}
        """By worker, how many actors it has had; what an earlier one is said to do is not told."""
        self._told: SimpleQueue[tuple[int, int, type[Event], Future[Any]]] = SimpleQueue()
        self._loaded: set[int] = set()
        """Workers with a model, which they may want to close."""
        self._ours = False
        self._open = False

    def hire(self, worker: int) -> None:
        """Create the worker's actor, in place of the one it had."""
        ray = self._connected()
        self.release(worker)
        actor = ray.remote(Actor).options(max_restarts=0, **self._cluster.options()).remote(self._recipe)
        self._actors[worker] = actor
        self._watch(worker, Placed, actor.place.remote())
        self._watch(worker, Started, actor.load.remote())

    def send(self, worker: int, order: Order) -> None:
        """Begin an exchange."""
        exchange = self._actors[worker].exchange
        reference = exchange.remote(pack_requests(order.requests), order.more, order.low, order.flush)
        self._watch(worker, Delivered, reference)

    def release(self, worker: int) -> None:
        """End the worker's actor, if it has one."""
        self._loaded.discard(worker)
        self._lives[worker] = self._lives.get(worker, 0) + 1
        actor = self._actors.pop(worker, None)
        if actor is not None:
            _ray().kill(actor, no_restart=True)

    def _watch(self, worker: int, kind: type[Event], reference: Any) -> None:
        life = self._lives[worker]
        reference.future().add_done_callback(lambda done: self._told.put((worker, life, kind, done)))

    def wait(self, seconds: float) -> list[Event]:
        """What actors have done, or what became of them."""
        events: list[Event] = []
        with suppress(Empty):
            told = self._told.get(timeout=seconds)
            while True:
                worker, life, kind, done = told
                if life == self._lives.get(worker):
                    events.append(self._event(worker, kind, done))
                told = self._told.get_nowait()
        return events

    def _event(self, worker: int, kind: type[Event], done: Future[Any]) -> Event:
        error = done.exception()
        if error is not None:
            self._loaded.discard(worker)
            self._lives[worker] += 1  # its other calls will say the same
            return Lost(worker, _cause(error))
        result = done.result()
        if kind is Placed:
            return Placed(worker, result)
        if kind is Started:
            if isinstance(result, ResitError):
                return Failed(worker, result)
            self._loaded.add(worker)
            return Started(worker, *result)
        samples, waiting, notes, ended = result
        return Delivered(worker, Delivery(unpack_samples(samples), waiting, notes, ended))

    def shortage(self) -> str:
        """What the cluster lacks for one more worker; UsageError where it is ours and never will have it."""
        ray = self._connected()
        options = self._cluster.options()
        wanted = {"CPU": options["num_cpus"], "GPU": options.get("num_gpus", 0), **options["resources"]}
        wanted["memory"] = options.get("memory", 0)
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        local = self._ours and self._cluster.reached_at == "local"
        if local and not nodes:
            raise ResitError(
                "the Ray that was started here has died", "the same command again starts another"
            )
        asked = ", ".join(f"{name}={amount:g}" for name, amount in wanted.items() if amount)
        if any(all(node.get(k, 0) >= amount for k, amount in wanted.items()) for node in nodes):
            free = ray.available_resources()
            left = ", ".join(f"{k}={free.get(k, 0):g}" for k, amount in wanted.items() if amount)
            return f"each takes {asked}; free in the whole cluster: {left}"
        most = {k: max((node.get(k, 0) for node in nodes), default=0) for k in wanted if wanted[k]}
        lack = f"a worker takes {asked}, and no node has more than " + ", ".join(
            f"{name}={amount:g}" for name, amount in most.items()
        )
        if local:
            raise UsageError(f"no worker can be started: {lack}", "ask for less with --resources")
        return lack

    def dismiss(self, gently: bool = True) -> None:
        """End all actors; gently, they may close their models first."""
        if not self._open:
            return
        ray = _ray()
        leaving = [self._actors[worker].leave.remote() for worker in self._loaded] if gently else []
        if leaving:
            ray.wait(leaving, num_returns=len(leaving), timeout=LEAVE_SECONDS)
        for worker in list(self._actors):
            self.release(worker)
        self._open = False
        if self._ours:
            ray.shutdown()

    def _connected(self) -> Any:
        ray = _ray()
        if not self._open:
            self._ours = not ray.is_initialized()
            if self._ours:
                _initialise(ray, self._cluster.reached_at, self._recipe.debug)
            self._open = True
            self.shortage()
        return ray


def _initialise(ray: Any, address: str, debug: bool) -> None:
    """Connect to a cluster, or start a Ray of our own. Raises UsageError when nothing answers there."""
    options: dict[str, Any] = {"address": address, "log_to_driver": debug}
    if address == "local":
        options |= {"include_dashboard": False, "object_store_memory": STORE_BYTES}
    _check_reachable(address)
    try:
        with _signals_kept():
            _begin(ray, STARTS if address == "local" else 1, debug, options)
    except _NO_RAY as error:
        where = "Ray cannot be started here" if address == "local" else f"no Ray cluster answers at {address}"
        raise UsageError(f"{where}: {_first_line(str(error))}", "see docs/scaling.md") from None


def _begin(ray: Any, tries: int, debug: bool, options: Mapping[str, Any]) -> None:
    """Have Ray there: it gives its own processes 30 seconds to start, which a busy machine may not manage."""
    for left in reversed(range(tries)):
        try:
            ray.init(logging_level=logging.INFO if debug else logging.ERROR, **options)
            return
        except _NO_RAY:
            raise
        except Exception as error:  # Ray has no type of its own for this
            ray.shutdown()
            if "timed out during startup" not in str(error):
                raise
            if not left:
                raise RuntimeError(str(error)) from None


def _check_reachable(address: str) -> None:
    """Raise UsageError for HOST:PORT at which nothing listens; Ray itself takes minutes to say so."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_SECONDS).close()
    except OSError as error:
        raise UsageError(
            f"no Ray cluster answers at {address}: {error.strerror or error}",
            "`ray status` on the head node shows its address (docs/scaling.md)",
        ) from None


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray puts in a handler of its own for SIGTERM; a run has one that finishes what is in flight."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        with suppress(ValueError):  # not the main thread: Ray changed nothing
            for number, handler in before.items():
                signal.signal(number, handler)


def _cause(error: BaseException) -> str:
    """Why Ray says that an actor is gone, or what its own code raised, in one line."""
    raised = getattr(error, "cause", None)
    if isinstance(raised, Exception):
        return _first_line(f"{type(raised).__name__}: {raised}")
    text = " ".join(str(error).split())
    for mark in ("Worker exit detail: ", "The actor is dead because ", "The actor died because "):
        _, found, after = text.partition(mark)
        if found:
            return _first_line(after)
    return _first_line(text) or type(error).__name__


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0][:300]


def _portable(error: Exception | None) -> Exception | None:
    """The error itself if the driver is sure to know its class, else its words."""
    if error is None or isinstance(error, ResitError):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
