"""What is patched of a pod's status, and the deletion of a pod that another one preempts."""

from __future__ import annotations

import pytest

from client.double import Double, a_status, an_answer
from restow.client.binding import Said, StatusChange, preempt, scheduler_error, unschedulable, write_status
from restow.client.errors import Conflict, NotFound
from restow.client.objects import ObjectRef
from restow.client.transport import Api, always

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

PATH = "/api/v1/namespaces/dev/pods/web-1"
POD = ObjectRef("dev", "web-1", "u1")
NOW = 1_700_000_000.0
NOBODY = unschedulable("0/1 nodes are available: 1 Insufficient cpu.")


async def written(api: Api, double: Double, change: StatusChange) -> list[object]:
    double.answers("PATCH", f"{PATH}/status", an_answer({}))
    await write_status(api, POD, change, NOW, permit=always)
    return [each.json for each in double.asked]


async def test_a_condition_and_a_nomination_go_together(api: Api, double: Double) -> None:
    assert await written(api, double, StatusChange(NOBODY, nominated_node="n1", generation=3)) == [
        {
            "metadata": {"uid": "u1"},
            "status": {
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/1 nodes are available: 1 Insufficient cpu.",
                        "lastTransitionTime": "2023-11-14T22:13:20Z",
                        "observedGeneration": 3,
                    }
                ],
                "nominatedNodeName": "n1",
            },
        }
    ]


async def test_the_time_of_transition_stays_while_the_status_does(api: Api, double: Double) -> None:
    [patch] = await written(api, double, StatusChange(scheduler_error("the binding failed"), NOBODY))

    assert isinstance(patch, dict)
    [condition] = patch["status"]["conditions"]
    assert condition["reason"] == "SchedulerError"
    assert "lastTransitionTime" not in condition


@pytest.mark.parametrize(
    ("known", "times"),
    [
        pytest.param(NOBODY, 0, id="said already"),
        pytest.param(Said("PodScheduled", "False", "Unschedulable", "else"), 1, id="said otherwise"),
        pytest.param(None, 1, id="not said yet"),
    ],
)
async def test_what_is_said_already_is_not_written(api: Api, double: Double, known: Said | None, times: int) -> None:
    assert len(await written(api, double, StatusChange(NOBODY, known))) == times


async def test_a_nomination_is_taken_back(api: Api, double: Double) -> None:
    assert await written(api, double, StatusChange(nominated_node="")) == [
        {"metadata": {"uid": "u1"}, "status": {"nominatedNodeName": None}}
    ]


async def test_a_server_that_has_no_time_is_asked_again(api: Api, double: Double) -> None:
    double.answers("PATCH", f"{PATH}/status", a_status(503), an_answer({}))

    await write_status(api, POD, StatusChange(NOBODY), NOW, permit=always)

    assert len(double.asked) == 2


async def test_a_status_of_a_pod_that_is_gone(api: Api) -> None:
    with pytest.raises(NotFound):
        await write_status(api, POD, StatusChange(NOBODY), NOW, permit=always)


VICTIM = ObjectRef("dev", "web-1", "u1", "7")


async def test_a_victim_is_marked_and_then_deleted_as_it_was_marked(api: Api, double: Double) -> None:
    double.answers("PATCH", f"{PATH}/status", an_answer({"metadata": {"resourceVersion": "8"}}))
    double.answers("DELETE", PATH, an_answer({}))

    await preempt(api, VICTIM, "my-scheduler", NOW, permit=always)

    mark, deletion = (each.json for each in double.asked)
    assert mark == {
        "metadata": {"uid": "u1", "resourceVersion": "7"},
        "status": {
            "conditions": [
                {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "PreemptionByScheduler",
                    "message": "my-scheduler: preempting to accommodate a higher priority pod",
                    "lastTransitionTime": "2023-11-14T22:13:20Z",
                }
            ]
        },
    }
    assert deletion["preconditions"] == {"uid": "u1", "resourceVersion": "8"}


async def test_a_victim_that_has_changed_since_it_was_judged_is_not_deleted(api: Api, double: Double) -> None:
    double.answers("PATCH", f"{PATH}/status", a_status(409))

    with pytest.raises(Conflict):
        await preempt(api, VICTIM, "my-scheduler", NOW, permit=always)
    assert [each.method for each in double.asked] == ["PATCH"]


@pytest.mark.parametrize("gone_before", ["PATCH", "DELETE"])
async def test_a_victim_that_is_gone_is_fine(api: Api, double: Double, gone_before: str) -> None:
    if gone_before == "DELETE":
        double.answers("PATCH", f"{PATH}/status", an_answer({"metadata": {"resourceVersion": "8"}}))

    await preempt(api, VICTIM, "my-scheduler", NOW, permit=always)

    assert double.asked[-1].method == gone_before


async def test_another_pod_of_the_name_is_a_conflict(api: Api, double: Double) -> None:
    """The API server calls it an invalid object, since a uid cannot change."""
    message = 'Pod "web-1" is invalid: metadata.uid: Invalid value: "u1": field is immutable'
    double.answers("PATCH", f"{PATH}/status", a_status(422, "Invalid", message))

    with pytest.raises(Conflict):
        await write_status(api, POD, StatusChange(NOBODY), NOW, permit=always)
