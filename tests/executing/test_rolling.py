"""Rollouts, asked of an API server in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from msgspec import structs

from client.double import Double as Server
from client.double import a_double, a_status, an_answer, an_api
from executing.double import Double, a_task, an_execution, endings, outcomes
from executing.steered import Gatekeeper, steered
from restow.client import eviction
from restow.cluster.pod_values import Flag, PodNow
from restow.executing.rolling import ANNOTATION, Rolling, reason_against
from restow.executing.task import Evicted, Landed, Settled, Task
from restow.kube.objects import OwnerReference
from restow.policies.codes import ReplacementMode

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

SETS = "/apis/apps/v1/namespaces/default/replicasets"
SET = f"{SETS}/web"
DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/shop"
POD = "/api/v1/namespaces/default/pods/web-0"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
OK = an_answer({})


def a_move(number: int = 0) -> Task:
    """A move of a pod that is rolled out."""
    task = steered(a_task(f"web-{number}", number=number, candidates=["t"]))
    return structs.replace(
        task, gate=task.move.pod.uid, move=structs.replace(task.move, replacement=ReplacementMode.ROLLOUT)
    )


def a_deployment(marked: str | None = None, **spec: Any) -> dict[str, Any]:
    """A Deployment as it should be, but for the changes of its spec."""
    annotations = {} if marked is None else {ANNOTATION: marked}
    counts = dict.fromkeys(("replicas", "availableReplicas", "updatedReplicas"), spec.get("replicas", 1))
    return {
        "metadata": {"name": "shop", "uid": "u-shop", "resourceVersion": "7", "generation": 3},
        "spec": {"replicas": 1, "template": {"metadata": {"annotations": annotations}}} | spec,
        "status": {"observedGeneration": 3} | counts,
    }


def a_set(name: str, mark: str | None, owner: str = "u-shop") -> dict[str, Any]:
    annotations = {} if mark is None else {ANNOTATION: mark}
    owners = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop", "uid": owner, "controller": True}]
    return {
        "metadata": {"name": name, "uid": f"u-{name}", "ownerReferences": owners},
        "spec": {"template": {"metadata": {"annotations": annotations}}},
    }


@asynccontextmanager
async def a_server(deployment: dict[str, Any] | None = None) -> AsyncIterator[Server]:
    """An API server with one Deployment, whose controller makes a ReplicaSet of a new template."""
    async with a_double() as server:
        server.answers("GET", SET, an_answer(a_set("web", None)))
        server.answers("GET", DEPLOYMENT, an_answer(deployment or a_deployment()))
        server.answers("GET", POD, an_answer({"metadata": {"name": "web-0"}, "spec": {"containers": [{}]}}))
        server.answers("GET", QUOTAS, an_answer({"items": []}))
        others = [a_set("web", None), a_set("theirs", "uid-web-0", owner="u-other")]
        server.answers(
            "GET", SETS, an_answer({"items": others}), an_answer({"items": [*others, a_set("new", "uid-web-0")]})
        )
        server.answers("PATCH", DEPLOYMENT, OK)
        yield server


@asynccontextmanager
async def rolling(server: Server, said: list[str] | None = None) -> AsyncIterator[Rolling]:
    async with an_api(server.url) as api:
        yield Rolling(api, lambda: 60.0, (said if said is not None else []).append)


def patches(server: Server) -> list[Any]:
    return [each.json for each in server.asked if each.method == "PATCH"]


async def test_the_template_is_changed_and_the_new_replica_set_is_the_controller_from_then_on() -> None:
    async with a_server() as server, rolling(server) as rollouts:
        begun = await rollouts.begin(a_move())
    assert begun == structs.replace(
        a_move(), gate="", owner=OwnerReference("ReplicaSet", "new", "u-new", controller=True)
    )
    (change,) = patches(server)
    assert change["metadata"] == {"uid": "u-shop", "resourceVersion": "7"}
    assert change["spec"] == {"template": {"metadata": {"annotations": {ANNOTATION: "uid-web-0"}}}}


@pytest.mark.parametrize(
    ("before", "back"), [(None, {"op": "remove"}), ("uid-older", {"op": "replace", "value": "uid-older"})]
)
async def test_undone_the_template_is_as_before_if_nobody_else_has_changed_it(
    before: str | None, back: dict[str, str]
) -> None:
    async with a_server(a_deployment(before)) as server, rolling(server) as rollouts:
        await rollouts.begin(a_move())
        await rollouts.undo(a_move(), None)
        await rollouts.undo(a_move(), None)
    _, (test, undone) = patches(server)
    written = {"metadata": {"annotations": {ANNOTATION: "uid-web-0"}}}
    assert test == {"op": "test", "path": "/spec/template", "value": written}
    assert undone == back | {"path": "/spec/template/metadata/annotations/restow.dev~1rollout"}


async def test_a_rollout_whose_new_pod_is_available_is_not_undone() -> None:
    """Its controller takes the old pod away at that moment, and by its old counts it would take the new one, too."""
    said: list[str] = []
    available = a_set("new", "uid-web-0") | {"status": {"availableReplicas": 1}}
    async with a_server() as server, rolling(server, said) as rollouts:
        await rollouts.begin(a_move())
        server._answers["GET", SETS][:] = [an_answer({"items": [available]})]
        await rollouts.undo(a_move(), None)
    assert len(patches(server)) == 1
    assert said == [
        "Deployment default/shop is rolled out, although the move is given up: its new pod is available already"
    ]


async def test_where_replica_sets_cannot_be_read_it_is_undone() -> None:
    async with a_server() as server, rolling(server) as rollouts:
        await rollouts.begin(a_move())
        server._answers["GET", SETS][:] = [a_status(403, "Forbidden", "no")]
        await rollouts.undo(a_move(), None)
    assert len(patches(server)) == 2


async def test_a_rollout_that_cannot_be_undone_is_told() -> None:
    said: list[str] = []
    async with a_server() as server, rolling(server, said) as rollouts:
        await rollouts.begin(a_move())
        server._answers["PATCH", DEPLOYMENT][:] = [a_status(500, "InternalError", "no")]
        await rollouts.undo(a_move(), None)
    assert said[0].startswith("Deployment default/shop is rolled out, although the move is given up: ")


async def test_without_a_new_replica_set_the_rollout_is_undone() -> None:
    async with a_server() as server, rolling(server) as rollouts:
        server._answers["GET", SETS][:] = [an_answer({"items": []})]
        why = await rollouts.begin(a_move())
    assert why == "Deployment default/shop has made no ReplicaSet of its new template within 10 s"
    assert len(patches(server)) == 2


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({}, None),
        ({"replicas": 2}, "has 2 replicas, and a rollout makes all of them anew"),
        ({"paused": True}, "is paused"),
        ({"strategy": {"type": "Recreate"}}, "has the strategy Recreate"),
        ({"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}, None),
        ({"strategy": {"rollingUpdate": {"maxSurge": "1%", "maxUnavailable": "99%"}}}, None),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}},
            "rolls out with maxSurge 0 and maxUnavailable 1, so that the old pod may go first",
        ),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": "100%"}}},
            "rolls out with maxSurge 1 and maxUnavailable 100%, so that the old pod may go first",
        ),
    ],
)
async def test_only_what_brings_the_new_pod_first_is_rolled_out(spec: dict[str, Any], why: str | None) -> None:
    found = a_deployment(**spec)
    assert reason_against(found) == why
    if why is not None:
        async with a_server(found) as server, rolling(server) as rollouts:
            assert await rollouts.begin(a_move()) == f"its Deployment shop {why}"
        assert patches(server) == []


CHANGED = "somebody has changed the template of Deployment default/shop"
#: The mark is still in it.
ANOTHER = {"metadata": {"annotations": {ANNOTATION: "uid-web-0", "team/version": "2"}}}


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (a_deployment("uid-web-0", paused=True), "somebody has paused the rollout of Deployment default/shop"),
        (a_deployment("other"), CHANGED),
        (a_deployment("uid-web-0", template=ANOTHER), CHANGED),
    ],
)
async def test_a_rollout_that_somebody_else_takes_over_is_given_up(found: dict[str, Any], why: str) -> None:
    async with a_server() as server, rolling(server) as rollouts:
        await rollouts.begin(a_move())
        answers = [an_answer(a_deployment("uid-web-0")), a_status(500, "InternalError", "no"), an_answer(found)]
        server._answers["GET", DEPLOYMENT][:] = answers
        async with asyncio.timeout(600):
            assert await rollouts.taken_back(a_move()) == why


@dataclass
class Controller:
    """Rollouts in memory: the new pod belongs to another ReplicaSet."""

    double: Double
    keeper: Gatekeeper
    problem: str | None = None

    async def begin(self, task: Task) -> Task | str:
        if self.problem is not None:
            return self.problem
        owner = OwnerReference("ReplicaSet", "web-2", "uid-web-2", controller=True)
        made = replace(
            self.double.pods[task.move.pod.name],
            name="web-2-x",
            uid="uid-web-2-x",
            owners=(owner,),
            node=None,
            flags=Flag.STEERING_GATE if task.gate in {gate for gate, _ in self.keeper.awaited} else Flag(0),
        )
        self.double.pods[made.name] = made
        self.double._place(made.name, task.move.pod.name)
        return structs.replace(task, owner=owner, gate="")

    async def taken_back(self, _task: Task) -> str:
        await asyncio.sleep(1e6)
        return ""

    async def finish(self, task: Task, _pod: PodNow) -> str | None:
        del self.double.pods[task.move.pod.name]
        return None

    async def undo(self, _task: Task, _pod: PodNow | None) -> None:
        raise AssertionError("it has landed where it should")

    async def clean(self) -> None:
        """Nothing is left."""


async def test_the_new_pod_is_gated_by_the_rollout_and_found_by_its_new_controller() -> None:
    double = Double.of([a_move()])
    keeper = Gatekeeper(double)
    execution = an_execution(double, steering=keeper)
    execution.ways = {ReplacementMode.ROLLOUT: Controller(double, keeper)}
    told = await outcomes(execution, [a_move()])
    assert [type(each) for each in told] == [Evicted, Landed, Settled]
    assert endings(told) == {"web-0": "Settled"}
    (landed,) = (each for each in told if isinstance(each, Landed))
    assert (landed.pod, landed.node) == ("web-2-x", "t")
    assert keeper.awaited == set()
    assert double.asked == []


async def test_what_is_evicted_instead_is_not_rolled_out_when_it_is_asked_for_again() -> None:
    move = a_move()
    move = structs.replace(move, move=structs.replace(move.move, evicts_instead=True))
    double = Double.of([move])
    keeper = Gatekeeper(double)
    execution = an_execution(double, steering=keeper)
    controller = Controller(double, keeper, problem="it is paused")
    execution.ways = {ReplacementMode.ROLLOUT: controller}
    double.answers["web-0"] = [eviction.Busy("later", 1.0)]
    asyncio.get_running_loop().call_later(0.5, setattr, controller, "problem", None)
    told = await outcomes(execution, [move])
    assert endings(told) == {"web-0": "Settled"}
    assert len(double.asked) == 2
    assert keeper.awaited == set()


async def test_a_pod_that_is_evicted_instead_has_its_replacement_steered_all_the_same() -> None:
    """It comes from the ReplicaSet that there was, and not from that of a rollout."""
    move = a_move()
    move = structs.replace(move, move=structs.replace(move.move, evicts_instead=True))
    double = Double.of([move])
    keeper = Gatekeeper(double)
    execution = an_execution(double, steering=keeper)
    execution.ways = {ReplacementMode.ROLLOUT: Controller(double, keeper, problem="it is paused")}
    told = await outcomes(execution, [move])
    assert endings(told) == {"web-0": "Settled"}
    assert [each.node for each in told if isinstance(each, Landed)] == ["t"]
    assert keeper.awaited == set()
