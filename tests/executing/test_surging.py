"""What a surge asks of an API server, and what becomes of a move whose replacement comes first; in virtual time."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from client.double import a_status, an_answer
from executing.double import Double, an_execution, endings, outcomes
from executing.surged import (
    AUTOSCALERS,
    DEPLOYMENT,
    NEW,
    POD,
    PODS,
    QUOTAS,
    SLICES,
    a_deployment,
    a_left_surge,
    a_list,
    a_member,
    a_move,
    a_server,
    a_slice,
    new_pod,
    patches,
    surged,
    surging,
)
from restow.cluster.pod_values import Flag, PodNow
from restow.executing.surged_workloads import ANNOTATION, reason_against
from restow.executing.task import Dropped, Evicted, Landed, Outcome, Settled, Task
from restow.policies.codes import OutcomeCode, ReplacementMode
from restow.workloads.controllers import DELETION_COST

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


async def test_the_record_is_written_with_the_replica_and_taken_away_with_it() -> None:
    async with a_server(cost="5") as server, surging(server) as surges:
        assert await surges.begin(a_move()) == a_move()
        assert await surges.finish(a_move(), new_pod()) is None
    (_, raised), (_, marked), (_, lowered) = patches(server)
    assert raised["spec"] == {"replicas": 2}
    assert raised["metadata"]["resourceVersion"] == "7"
    record = json.loads(raised["metadata"]["annotations"][ANNOTATION])
    assert (record["pod"], record["uid"], record["replicas"], record["cost"]) == ("web-0", "uid-web-0", 1, "5")
    assert marked["metadata"] == {"uid": "uid-web-0", "annotations": {DELETION_COST: "-2147483648"}}
    assert [step["op"] for step in lowered] == ["test", "replace", "remove"]
    assert lowered[1]["value"] == 1


async def test_undone_the_new_pod_goes_first_and_the_cost_of_the_old_one_is_as_before() -> None:
    async with a_server(cost="5") as server, surging(server) as surges:
        assert await surges.begin(a_move()) == a_move()
        await surges.undo(a_move(), new_pod())
    costs = [body["metadata"]["annotations"][DELETION_COST] for path, body in patches(server) if path in (POD, NEW)]
    assert costs == ["-2147483648", "5"]
    assert patches(server)[-1][1][1]["value"] == 1


async def test_undone_a_new_pod_that_does_not_go_loses_its_mark() -> None:
    """A controller that has not seen the deletion costs yet takes the old pod, and the new one stays for good."""
    async with a_server(cost="5") as server, surging(server) as surges:
        server.answers("GET", NEW, an_answer(a_member("uid-new-1", cost="-2147483648")))
        assert await surges.begin(a_move()) == a_move()
        await surges.undo(a_move(), new_pod())
    path, body = patches(server)[-1]
    assert (path, body["metadata"]["annotations"]) == (NEW, {DELETION_COST: None})


async def test_the_old_pod_stays_while_a_service_does_not_have_the_new_one() -> None:
    async with a_server() as server, surging(server) as surges:
        assert await surges.begin(a_move()) == a_move()
        server._answers["GET", SLICES][:] = [a_list(a_slice("uid-web-0"))]
        why = await surges.finish(a_move(), new_pod())
    assert why == "new-1 was not a ready endpoint of Service shop within 30 s"
    assert len(patches(server)) == 1


@pytest.mark.parametrize(
    ("deployment", "why"),
    [
        (a_deployment(paused=True), "is paused"),
        (a_deployment(2, status=1), "does not have all of its 2 pods available and up to date"),
        (a_deployment(metadata={"generation": 4}), "does not have all of its 1 pods available and up to date"),
        (a_deployment(metadata={"deletionTimestamp": "now"}), "is being deleted"),
        (a_deployment(metadata={"annotations": {ANNOTATION: "{}"}}), "has a surge already"),
        (
            a_deployment(
                metadata={
                    "managedFields": [
                        {"manager": "argocd-controller", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
                    ]
                }
            ),
            "has its replicas from argocd-controller, which would take the pod away again",
        ),
        (
            a_deployment(metadata={"managedFields": [{"manager": "argocd-controller", "fieldsV1": {"f:spec": {}}}]}),
            None,
        ),
        (
            a_deployment(
                metadata={"managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]}
            ),
            None,
        ),
    ],
)
async def test_what_speaks_against_one_pod_more(deployment: dict[str, Any], why: str | None) -> None:
    assert reason_against("Deployment", deployment) == why


async def test_a_workload_that_is_scaled_by_a_program_is_left_alone() -> None:
    scaled = {"metadata": {"name": "hpa"}, "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "shop"}}}
    async with a_server() as server, surging(server) as surges:
        server._answers["GET", AUTOSCALERS][:] = [a_list(scaled)]
        assert await surges.begin(a_move()) == "its Deployment shop is scaled by HorizontalPodAutoscaler hpa"
    assert patches(server) == []


async def test_a_right_that_is_missing_is_named_and_nothing_is_written() -> None:
    words = (
        'endpointslices is forbidden: User "system:serviceaccount:tools:restow" cannot list resource "endpointslices"'
    )
    async with a_server() as server, surging(server) as surges:
        server._answers["GET", SLICES][:] = [a_status(403, "Forbidden", words)]
        why = await surges.begin(a_move())
    assert why is not None
    assert 'resources: ["endpointslices"], verbs: [list]' in why
    assert patches(server) == []


async def test_a_change_between_reading_and_writing_is_read_again() -> None:
    async with a_server() as server, surging(server) as surges:
        server._answers["PATCH", DEPLOYMENT][:] = [a_status(409, "Conflict"), an_answer({})]
        assert await surges.begin(a_move()) == a_move()
    assert [path for path, _ in patches(server)] == [DEPLOYMENT, DEPLOYMENT]


async def test_what_could_not_be_undone_is_said_and_looked_for_again() -> None:
    said: list[str] = []
    async with a_server() as server, surging(server, said) as surges:
        for kind in ("deployments", "replicasets"):
            server.answers("GET", f"/apis/apps/v1/{kind}", a_list())
        await surges.clean()
        looks = len(server.asked)
        await surges.clean()
        assert len(server.asked) == looks
        assert await surges.begin(a_move()) == a_move()
        server._answers["PATCH", DEPLOYMENT][:] = [a_status(403, "Forbidden", "no")]
        await surges.undo(a_move(), None)
        await surges.clean()
    assert any("has one pod more than it is to have, until restow looks again" in each for each in said)
    assert len([each for each in server.asked if each.path.endswith("apps/v1/deployments")]) == 2


async def test_a_number_that_cannot_be_put_back_at_once_is_put_back_later() -> None:
    said: list[str] = []
    async with a_server(cost="5") as server, surging(server, said) as surges:
        assert await surges.begin(a_move()) == a_move()
        server._answers["PATCH", DEPLOYMENT][:] = [a_status(500, "InternalError", "etcd is away"), an_answer({})]
        await surges.undo(a_move(), new_pod())
    assert [body[1]["value"] for path, body in patches(server)[1:] if path == DEPLOYMENT] == [1, 1]
    assert said == []


async def test_a_surge_that_could_not_be_ended_is_ended_later() -> None:
    said: list[str] = []
    async with a_server() as server, surging(server, said) as surges:
        server.answers("GET", "/apis/apps/v1/deployments", a_list(a_left_surge(1)))
        server.answers("GET", "/apis/apps/v1/replicasets", a_list())
        server.answers("GET", PODS, a_list())
        server._answers["PATCH", DEPLOYMENT][:] = [a_status(500, "InternalError", "etcd is away"), an_answer({})]
        for _ in range(3):
            await surges.clean()
    failed, ended = said
    assert "may have one pod more than it is to have" in failed
    assert ended == "Deployment default/shop was in the middle of a surge, which has been ended"


async def test_nothing_is_begun_without_quota_for_one_pod_more() -> None:
    status = {"hard": {"pods": "1"}, "used": {"pods": "1"}}
    async with a_server() as server, surging(server) as surges:
        server._answers["GET", QUOTAS][:] = [a_list({"metadata": {"name": "team"}, "status": status})]
        why = await surges.begin(a_move())
    assert why == "ResourceQuota team has no room for one pod more: 1 of 1 pods are used, and it takes 1"
    assert patches(server) == []


async def test_a_number_that_somebody_has_changed_since_stays() -> None:
    """Only the record goes."""
    async with a_server() as server, surging(server) as surges:
        assert await surges.begin(a_move()) == a_move()
        outdated = a_status(422, "Invalid", "the server rejected our request due to an error in our request")
        server._answers["PATCH", DEPLOYMENT][:] = [outdated, an_answer({})]
        await surges.undo(a_move(), new_pod())
    changes = [change for path, change in patches(server) if path == DEPLOYMENT]
    assert [step["op"] for step in changes[-1]] == ["remove"]
    costs = [change["metadata"]["annotations"][DELETION_COST] for path, change in patches(server) if path == NEW]
    assert costs == ["-2147483648", None]


async def test_the_old_pod_stays_if_somebody_changes_the_number_meanwhile() -> None:
    """Its deletion cost is put back."""
    async with a_server(cost="5") as server, surging(server) as surges:
        assert await surges.begin(a_move()) == a_move()
        outdated = a_status(422, "Invalid", "the server rejected our request due to an error in our request")
        server._answers["PATCH", DEPLOYMENT][:] = [outdated, an_answer({})]
        why = await surges.finish(a_move(), new_pod())
        await surges.undo(a_move(), new_pod())
    assert why == "somebody has set the replicas of Deployment default/shop to another number"
    assert NEW not in dict(patches(server))
    costs = [change["metadata"]["annotations"][DELETION_COST] for path, change in patches(server) if path == POD]
    assert costs == ["-2147483648", "5"]


async def test_a_surge_lasts_until_the_number_is_another_one() -> None:
    """An answer that is missing says nothing."""
    async with a_server() as server, surging(server) as surges:
        assert await surges.begin(a_move()) == a_move()
        raised, other = a_deployment(2), a_deployment(5)
        answers = [an_answer(raised), a_status(500, "InternalError", "no"), an_answer(raised), an_answer(other)]
        server._answers["GET", DEPLOYMENT][:] = answers
        async with asyncio.timeout(600):
            why = await surges.taken_back(a_move())
    assert why == "somebody has set the replicas of Deployment default/shop to 5"


@dataclass
class Controller:
    """Surges in memory: a controller that makes one pod more, and takes the one away that it is told."""

    double: Double
    problem: str | None = None
    #: Seconds until somebody takes the pod more away, and how that is told.
    lasts: float = 1e6
    why: str = "somebody has set the replicas of Deployment default/web to 1"
    #: What was done, in order.
    done: list[str] = field(default_factory=list)

    async def begin(self, task: Task) -> Task | str:
        self.done.append("begin")
        if self.problem is not None:
            return self.problem
        self.double._create(self.double.pods[task.move.pod.name], False)
        return task

    async def taken_back(self, _task: Task) -> str:
        await asyncio.sleep(self.lasts)
        return self.why

    async def finish(self, task: Task, _pod: PodNow) -> str | None:
        self.done.append("finish")
        self._take(task.move.pod.name)
        return None

    async def undo(self, _task: Task, pod: PodNow | None) -> None:
        self.done.append("undo")
        if pod is not None:
            self._take(pod.name)

    async def clean(self) -> None:
        self.done.append("clean")

    def _take(self, name: str) -> None:
        pod = self.double.pods[name]
        self.double.pods[name] = replace(pod, flags=pod.flags | Flag.TERMINATING)
        asyncio.get_running_loop().call_later(0.5, self.double.pods.pop, name, None)


async def carried(tasks: list[Task], double: Double, controller: Controller, **settings: Any) -> list[Outcome]:
    execution = an_execution(double, **settings)
    execution.ways = {ReplacementMode.SURGE: controller}
    return await outcomes(execution, tasks)


async def test_the_old_pod_goes_when_the_new_one_is_ready() -> None:
    double = Double.of([a_move()])
    controller = Controller(double)
    told = await carried([a_move()], double, controller)
    assert [type(each) for each in told] == [Evicted, Landed, Settled]
    assert controller.done == ["begin", "finish"]
    assert double.asked == []


@pytest.mark.parametrize(
    ("land", "why"), [("a", "new-1 landed on a"), ("c", "new-1 landed on c"), (None, "was not scheduled within 5s")]
)
async def test_the_old_pod_stays_if_the_new_one_lands_elsewhere_or_nowhere(land: str | None, why: str) -> None:
    double = Double.of([a_move()], land=lambda _: land)
    controller = Controller(double)
    (told,) = await carried([a_move()], double, controller, ready=5.0)
    assert isinstance(told, Dropped)
    assert told.code is OutcomeCode.NOT_REPLACED_FIRST
    assert why in told.message
    assert controller.done == ["begin", "undo"]
    assert double.asked == []


@pytest.mark.parametrize(("evicts", "ending", "evictions"), [(False, "Dropped", 0), (True, "Settled", 1)])
async def test_where_no_pod_more_is_possible_the_plan_says_whether_to_evict(
    ending: str, evictions: int, *, evicts: bool
) -> None:
    move = surged(a_move(), evicts_instead=evicts)
    double = Double.of([move])
    controller = Controller(double, problem="its Deployment web is paused")
    told = await carried([move], double, controller)
    assert endings(told) == {"web-0": ending}
    assert len(double.asked) == evictions


async def test_two_moves_of_a_workload_come_one_after_the_other() -> None:
    moves = [a_move(0), a_move(1)]
    double = Double.of(moves)
    controller = Controller(double)
    told = await carried(moves, double, controller)
    assert endings(told) == {"web-0": "Settled", "web-1": "Settled"}
    assert controller.done == ["begin", "finish"] * 2
