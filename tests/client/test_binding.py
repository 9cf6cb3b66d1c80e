"""What each answer to a binding means, also where the first answer was lost."""

from __future__ import annotations

import pytest

from client.double import Answer, Double, a_status, an_answer
from restow.client.binding import (
    BindingRefused,
    BindingUnanswered,
    Bound,
    Elsewhere,
    Outcome,
    PodGone,
    bind,
    claim_volume,
    select_node,
)
from restow.client.errors import Conflict, NotPermitted
from restow.client.objects import ObjectRef
from restow.client.transport import Api, always

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

PATH = "/api/v1/namespaces/dev/pods/web-1/binding"
POD_PATH = "/api/v1/namespaces/dev/pods/web-1"
CLAIM_PATH = "/api/v1/namespaces/dev/persistentvolumeclaims/data"
POD = ObjectRef("dev", "web-1", "u1")
DONE = an_answer({"kind": "Status", "status": "Success"}, 201)
ASSIGNED = 'Operation cannot be fulfilled on pods/binding "web-1": pod web-1 is already assigned to node "n1"'
LOST = Answer((), cut=True)
FORBIDDEN = 'pods "web-1" is forbidden: User "system:serviceaccount:dev:s" cannot create resource "pods/binding"'


def a_pod(node: str | None = None, uid: str = "u1", **metadata: str) -> Answer:
    return an_answer({"metadata": {"name": "web-1", "uid": uid, **metadata}, "spec": {"nodeName": node}})


async def test_the_binding_names_the_uid_and_the_node(api: Api, double: Double) -> None:
    double.answers("POST", PATH, DONE)

    assert await bind(api, POD, "n1", permit=always) == Bound()
    assert double.asked[0].json == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"namespace": "dev", "name": "web-1", "uid": "u1"},
        "target": {"kind": "Node", "name": "n1"},
    }


@pytest.mark.parametrize(
    ("answers", "pod", "outcome"),
    [
        pytest.param((LOST, DONE), None, Bound(), id="no answer, then done"),
        pytest.param((LOST, a_status(409, message=ASSIGNED)), a_pod("n1"), Bound(), id="done, the answer lost"),
        pytest.param(
            (LOST, a_status(409, message=ASSIGNED)), a_pod("n2"), Elsewhere("n2", ASSIGNED), id="lost, and others came"
        ),
        pytest.param((a_status(409, message=ASSIGNED),), a_pod("n2"), Elsewhere("n2", ASSIGNED), id="others came"),
        pytest.param((a_status(409, message="uid"),), a_pod("n1", "u2"), PodGone("uid"), id="another pod of that name"),
        pytest.param(
            (a_status(409, message="deleted"),),
            a_pod(None, deletionTimestamp="2023-11-14T22:13:20Z"),
            PodGone("deleted"),
            id="on its way out",
        ),
        pytest.param((a_status(409, message="gates"),), a_pod(None), BindingRefused("gates"), id="gated"),
        pytest.param((a_status(404, message="gone"),), None, PodGone("gone"), id="gone"),
        pytest.param((a_status(409, message="?"),), LOST, BindingUnanswered("?"), id="what it is now cannot be read"),
        pytest.param((a_status(429, retry_after=1), DONE), None, Bound(), id="busy once"),
        pytest.param((a_status(503), DONE), None, Bound(), id="starting once"),
        pytest.param((a_status(503, message="no"),), None, BindingRefused("no"), id="unavailable for good"),
        pytest.param((a_status(504, message="late"),), None, BindingUnanswered("late"), id="late for good"),
        pytest.param((a_status(422, message="bad"),), None, BindingRefused("bad"), id="an object that is wrong"),
        pytest.param(
            (a_status(403, message=FORBIDDEN),),
            None,
            BindingRefused(
                "system:serviceaccount:dev:s may not create pods/binding; "
                'add the rule {apiGroups: [""], resources: ["pods/binding"], verbs: [create]} to its ClusterRole'
            ),
            id="no right",
        ),
    ],
)
async def test_answers(
    api: Api, double: Double, answers: tuple[Answer, ...], pod: Answer | None, outcome: Outcome
) -> None:
    double.answers("POST", PATH, *answers)
    if pod is not None:
        double.answers("GET", POD_PATH, pod)

    assert await bind(api, POD, "n1", permit=always) == outcome


async def test_nobody_answers(api: Api, double: Double) -> None:
    double.answers("POST", PATH, LOST)

    assert isinstance(await bind(api, POD, "n1", permit=always), BindingUnanswered)


async def test_a_former_leader_binds_nothing(api: Api, double: Double) -> None:
    with pytest.raises(NotPermitted):
        await bind(api, POD, "n1", permit=lambda: -1)
    assert not double.asked


async def test_a_claim_is_told_its_node_in_the_version_that_was_judged(api: Api, double: Double) -> None:
    double.answers("PATCH", CLAIM_PATH, a_status(503), an_answer({}))

    await select_node(api, ObjectRef("dev", "data", "c1", "7"), "n1", permit=always)

    assert double.asked[-1].json == {
        "metadata": {
            "uid": "c1",
            "resourceVersion": "7",
            "annotations": {"volume.kubernetes.io/selected-node": "n1"},
        }
    }


async def test_a_claim_that_has_changed_is_left_alone(api: Api, double: Double) -> None:
    double.answers("PATCH", CLAIM_PATH, a_status(409))

    with pytest.raises(Conflict):
        await select_node(api, ObjectRef("dev", "data", "c1", "7"), "n1", permit=always)
    assert len(double.asked) == 1


async def test_a_volume_names_its_claim(api: Api, double: Double) -> None:
    double.answers("PATCH", "/api/v1/persistentvolumes/disk", an_answer({}))

    await claim_volume(api, ObjectRef("", "disk", "v1", "3"), ObjectRef("dev", "data", "c1", "7"), permit=always)

    assert double.asked[0].json == {
        "metadata": {
            "uid": "v1",
            "resourceVersion": "3",
            "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
        },
        "spec": {
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": "dev",
                "name": "data",
                "uid": "c1",
                "resourceVersion": "7",
            }
        },
    }
