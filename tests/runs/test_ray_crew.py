"""The crew of Ray actors over a Ray of the test's own: its actors live in this process, and die when told."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from resit.errors import ResitError, UsageError
from resit.models import Setup, create
from resit.records import Document, Question, Request, Sampling
from resit.runs import ray_executor
from resit.runs.ray_executor import Actor, Cluster, RayCrew, Recipe, ray_fleet
from resit.runs.station import Order

SLOW = Exception("The current node timed out during startup. This could happen because …")


class Killed(Exception):
    """As Ray's ActorDiedError."""


class Method:
    """A method of an actor, called from elsewhere."""

    def __init__(self, ray: Ray, call: Callable[..., Any]) -> None:
        self._ray, self._call = ray, call
        self.outcome: Future[Any] = Future()

    def remote(self, *args: Any) -> Method:
        called = Method(self._ray, self._call)
        try:
            if self._ray.dying:
                raise self._ray.dying.pop()
            called.outcome.set_result(self._call(*args))
        except Exception as error:
            called.outcome.set_exception(error)
        return called

    def future(self) -> Future[Any]:
        return self.outcome


class Handle:
    """An actor, from elsewhere."""

    def __init__(self, ray: Ray, actor: Any) -> None:
        self._ray, self.actor = ray, actor

    def __getattr__(self, name: str) -> Method:
        return Method(self._ray, getattr(self.actor, name))


class Ray:
    """What of Ray the crew uses."""

    def __init__(self, *refusals: Exception) -> None:
        self.refusals = list(refusals)
        self.dying: list[Exception] = []
        self.started: list[dict[str, Any]] = []
        self.options_asked: list[dict[str, Any]] = []
        self.killed = self.shutdowns = self.left = 0
        self.resources: list[dict[str, float]] = [{"CPU": 4.0}]

    def is_initialized(self) -> bool:
        return False

    def init(self, **options: Any) -> None:
        self.started.append(options)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # as Ray does
        if self.refusals:
            raise self.refusals.pop(0)

    def shutdown(self) -> None:
        self.shutdowns += 1

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": r} for r in self.resources] + [{"Alive": False, "Resources": {}}]

    def available_resources(self) -> dict[str, float]:
        return {"CPU": 1.0}

    def remote(self, kind: type[Any]) -> Ray.Kind:
        return Ray.Kind(self, kind)

    def kill(self, actor: Handle, no_restart: bool) -> None:
        assert no_restart
        self.killed += 1

    def wait(self, calls: list[Method], num_returns: int, timeout: float) -> None:
        assert len(calls) == num_returns
        self.left += num_returns

    class Kind:
        """A class of actors."""

        def __init__(self, ray: Ray, kind: type[Any]) -> None:
            self._ray, self._kind = ray, kind

        def options(self, **options: Any) -> Ray.Kind:
            self._ray.options_asked.append(options)
            return self

        def remote(self, *args: Any) -> Handle:
            return Handle(self._ray, self._kind(*args))


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ray]:
    made = Ray()
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray_executor, "_ray", lambda: made)
    return made


def asked(count: int) -> list[Request]:
    return [
        Request(Question("sums", Document(doc, f"h{doc}", {}), "?", "18"), 0, Sampling(), 0)
        for doc in range(count)
    ]


def fleet(cluster: Cluster, notes: list[str], **args: Any) -> Any:
    recipe = Recipe("scripted", args, folder=str(Path.cwd()))
    return ray_fleet(create("scripted", args), recipe, cluster, Setup(2, notes.append))


def test_every_request_is_answered_and_everything_ended(ray: Ray) -> None:
    notes: list[str] = []
    with fleet(Cluster(workers=2), notes, text="18") as model:
        found = list(model.generate(asked(20)))
    assert sorted(generation.doc_id for generation in found) == list(range(20))
    assert {generation.text for generation in found} == {"18"}
    assert len(ray.options_asked) == 2
    assert (ray.left, ray.killed, ray.shutdowns) == (2, 2, 1)
    assert ray.started[0]["address"] == "local"
    assert sum("loaded its model" in note for note in notes) == 2


def test_the_users_handlers_of_signals_are_kept(ray: Ray) -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        ours = signal.getsignal(signal.SIGTERM)
        RayCrew(Recipe("scripted", {}), Cluster()).shortage()
        assert signal.getsignal(signal.SIGTERM) is ours
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    ("death", "cause"),
    [
        (
            Killed("The actor died.\n The actor is dead because its owner has died.\nmore"),
            "its owner has died",
        ),
        (
            Killed("Worker exit type: SYSTEM Worker exit detail: Worker unexpectedly exits"),
            "unexpectedly exits",
        ),
        (Killed("no more is known"), "no more is known"),
        (Killed(""), "Killed"),
    ],
)
def test_a_dead_worker_is_replaced_and_its_end_told(ray: Ray, death: Exception, cause: str) -> None:
    notes: list[str] = []
    ray.dying = [death]
    with fleet(Cluster(workers=1), notes) as model:
        assert len(list(model.generate(asked(6)))) == 6
    assert any("is lost" in note and cause in note for note in notes)
    assert len(ray.options_asked) == 2


def test_what_an_actors_own_code_raised_is_told(ray: Ray) -> None:
    error = Killed("task failed")
    error.cause = ValueError("bad weights\nand more")  # type: ignore[attr-defined]
    ray.dying = [error]
    notes: list[str] = []
    with fleet(Cluster(workers=1), notes) as model:
        list(model.generate(asked(2)))
    assert any("(ValueError: bad weights)" in note for note in notes)


def test_a_model_that_no_worker_can_have_is_its_own_error(ray: Ray) -> None:
    recipe = Recipe("scripted", {"txt": "18"})
    model = ray_fleet(create("scripted", {}), recipe, Cluster(workers=1), Setup())
    with pytest.raises(UsageError, match="txt"):
        list(model.generate(asked(2)))
    assert (ray.left, ray.shutdowns) == (0, 1), "nothing to close gently"


def test_a_model_that_breaks_is_a_lost_worker(ray: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
    class Breaks(Actor):
        def exchange(self, *args: Any) -> tuple[Any, ...]:
            samples, waiting, notes, _ = super().exchange(*args)
            broken, breaks[:] = ray_executor._portable(KeyError("layer") if breaks else None), []
            return samples, waiting, notes, broken

    breaks = [True]
    monkeypatch.setattr(ray_executor, "Actor", Breaks)
    notes: list[str] = []
    with fleet(Cluster(workers=1), notes) as model:
        assert len(list(model.generate(asked(9)))) == 9
    assert any("RuntimeError: KeyError: 'layer'" in note for note in notes)


def test_warnings_of_loading_come_with_the_first_samples(ray: Ray) -> None:
    actor = Actor(Recipe("scripted", {"text": "18"}))
    assert actor.place()
    actor._note("slow disk")
    loaded = actor.load()
    assert not isinstance(loaded, ResitError)
    assert loaded[1] == create("scripted", {"text": "18"}).identity()
    actor._note("hot")
    parcel = ray_executor.pack_requests(asked(2))
    _, waiting, notes, ended = actor.exchange(parcel, False, 0, 0.0)
    assert (waiting, notes, ended) == (0, ["slow disk", "hot"], None)
    actor.leave()
    Actor(Recipe("scripted", {})).leave()  # never loaded


def test_values_of_the_environment_are_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAID", "19")
    made = Recipe("scripted", {"text": "${SAID}"}, expand=True).made(print)
    assert made.identity() == create("scripted", {"text": "19"}).identity()
    (kept,) = (Recipe("scripted", {"text": "${SAID}"}).made(print),)
    assert kept.identity() == create("scripted", {"text": "${SAID}"}).identity()


def test_a_ray_that_was_too_slow_is_started_again(ray: Ray) -> None:
    ray.refusals = [SLOW, SLOW]
    assert RayCrew(Recipe("scripted", {}), Cluster()).shortage().startswith("each takes CPU=1")
    assert (len(ray.started), ray.shutdowns) == (3, 2)


@pytest.mark.parametrize(
    ("refusals", "said"),
    [
        ([SLOW, SLOW, SLOW], "Ray cannot be started here: The current node timed out"),
        ([OSError("no space left\nat all")], "Ray cannot be started here: no space left$"),
    ],
)
def test_a_ray_that_cannot_be_started_is_told(ray: Ray, refusals: list[Exception], said: str) -> None:
    ray.refusals = refusals
    with pytest.raises(UsageError, match=said):
        RayCrew(Recipe("scripted", {}), Cluster()).hire(0)


def test_another_defect_of_ray_is_not_hidden(ray: Ray) -> None:
    ray.refusals = [Exception("a defect")]
    with pytest.raises(Exception, match="a defect"):
        RayCrew(Recipe("scripted", {}), Cluster()).hire(0)


def test_a_cluster_that_does_not_answer_is_told(ray: Ray) -> None:
    ray.refusals = [ConnectionError("nobody")]
    with pytest.raises(UsageError, match="no Ray cluster answers at auto: nobody"):
        RayCrew(Recipe("scripted", {}), Cluster("auto")).hire(0)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(UsageError, match=f"no Ray cluster answers at ray://{address}: ") as raised:
            RayCrew(Recipe("scripted", {}), Cluster(f"ray://{address}")).hire(0)
    assert "ray status" in raised.value.hint
    assert len(ray.started) == 1


def test_what_no_node_has_is_told(ray: Ray) -> None:
    greedy = {"gpu": 1, "cpu": 2}
    lack = "a worker takes CPU=2, GPU=1, and no node has more than CPU=4, GPU=0"
    with pytest.raises(UsageError, match=lack):
        RayCrew(Recipe("scripted", {}), Cluster(resources=greedy)).hire(0)
    other = RayCrew(Recipe("scripted", {}), Cluster("auto", resources=greedy))
    assert other.shortage() == lack
    ray.resources = [{"CPU": 4.0}, {"CPU": 2.0, "GPU": 1.0}]
    assert other.shortage() == "each takes CPU=2, GPU=1; free in the whole cluster: CPU=1, GPU=0"


def test_a_ray_of_our_own_that_has_died_is_told(ray: Ray) -> None:
    crew = RayCrew(Recipe("scripted", {}), Cluster())
    crew.hire(0)
    ray.resources = []
    with pytest.raises(ResitError, match="has died"):
        crew.shortage()


def test_what_a_released_worker_is_said_to_do_is_not_told(ray: Ray) -> None:
    crew = RayCrew(Recipe("scripted", {}), Cluster())
    crew.dismiss()  # nothing was started
    crew.hire(0)
    assert len(crew.wait(60)) == 2
    crew.send(0, Order(asked(1), False))
    crew.hire(0)
    assert [type(event).__name__ for event in crew.wait(60)] == ["Placed", "Started"]
    assert crew.wait(0) == []
    crew.dismiss(gently=False)
    assert (ray.left, ray.killed) == (0, 2)
