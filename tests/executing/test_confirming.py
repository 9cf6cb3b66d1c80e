"""``--confirm-replacements``: an eviction is asked for only if the API server would create the pod that the plan assumes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec import structs

from builders import a_container, a_node, a_pod, a_replica_set, a_toleration, a_workload
from client.double import Double, a_status, an_answer
from descheduling.harness import a_cluster
from executing.double import a_task
from restow.client import eviction
from restow.client.transport import Api
from restow.cluster.pod_classes import Aspect, values_of
from restow.executing.confirming import ConfirmedEvictions
from restow.executing.task import Task

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

CONTROLLER = "/apis/apps/v1/namespaces/default/replicasets/web"
PODS = "/api/v1/namespaces/default/pods"
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [a_container(requests={"cpu": "1"})]}}
FORBIDDEN = 'pods is forbidden: User "system:serviceaccount:kube-system:restow" cannot create resource "pods" in API group "" in the namespace "default"'


@dataclass
class Evictions:
    """Evicts whatever it is asked to."""

    asked: list[str] = field(default_factory=list)

    async def evict(self, task: Task) -> eviction.Outcome:
        self.asked.append(task.move.pod.name)
        return eviction.EvictionAccepted()


def planned(**pod: Any) -> Task:
    """A move that assumes a replacement with these features."""
    features = {"labels": {"app": "web"}, "containers": [a_container(requests={"cpu": "1"})]} | pod
    pods = a_cluster(a_node("n"), a_pod("web-1", node="n", **features)).pods
    return structs.replace(a_task("web-1"), replacement={**values_of(pods, 0, Aspect.SCHEDULING), "priority": 0})


def would_create(double: Double, **pod: Any) -> None:
    """What the API server answers to the dry run."""
    features = {"labels": {"app": "web"}, "containers": [a_container(requests={"cpu": "1"})]} | pod
    controller = a_replica_set("web", replicas=1)
    controller["spec"]["template"] = TEMPLATE
    double.answers("GET", CONTROLLER, an_answer(controller))
    double.answers("POST", PODS, an_answer(a_pod("web-x", **features), 201))


async def outcome(api: Api, task: Task) -> tuple[eviction.Outcome, list[str]]:
    evictions = Evictions()
    return await ConfirmedEvictions(evictions, api).evict(task), evictions.asked


async def test_the_pod_is_created_from_the_template_in_a_dry_run_as_its_controller_would(
    api: Api, double: Double
) -> None:
    would_create(double)
    assert await outcome(api, planned()) == (eviction.EvictionAccepted(), ["web-1"])
    (creation,) = [each for each in double.asked if each.method == "POST"]
    assert creation.params == {"dryRun": "All"}
    sent = json.loads(creation.body)
    assert sent["metadata"]["labels"] == {"app": "web"}
    assert sent["metadata"]["generateName"] == "web-"
    (owner,) = sent["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("ReplicaSet", "uid-web", True)
    assert sent["spec"] == TEMPLATE["spec"]


@pytest.mark.parametrize(
    ("pod", "sentence"),
    [
        pytest.param(
            {"containers": [a_container(requests={"cpu": "4"})]},
            "it would request cpu 4000m, not cpu 1000m",
            id="requests",
        ),
        pytest.param({"tolerations": [a_toleration("a")]}, "its spec.tolerations would differ", id="tolerations"),
        pytest.param(
            {"node_selector": {"disk": "ssd"}},
            "its spec.nodeSelector or spec.affinity would differ",
            id="node selector",
        ),
        pytest.param({"spec": {"schedulerName": "other"}}, "its spec.schedulerName would differ", id="scheduler"),
        pytest.param({"priority": 7}, "its spec.priority would differ", id="priority"),
        pytest.param({"labels": {"app": "api"}}, "its metadata.labels would differ", id="labels"),
    ],
)
async def test_a_pod_that_webhooks_change_is_not_evicted(
    api: Api, double: Double, pod: dict[str, Any], sentence: str
) -> None:
    would_create(double, **pod)
    answer, asked = await outcome(api, planned())
    assert isinstance(answer, eviction.Unconfirmed)
    assert sentence in answer.message
    assert asked == []


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        pytest.param(a_status(403, "Forbidden", FORBIDDEN), 'resources: ["pods"], verbs: [create]', id="no right"),
        pytest.param(
            a_status(403, "Forbidden", "exceeded quota: compute"), "would be refused: exceeded quota", id="quota"
        ),
        pytest.param(
            a_status(400, "BadRequest", 'admission webhook "x" denied the request'), "denied the request", id="webhook"
        ),
        pytest.param(a_status(500, "InternalError", "boom"), "is not confirmed", id="server trouble"),
    ],
)
async def test_a_creation_that_is_refused_keeps_the_pod(api: Api, double: Double, status: Any, sentence: str) -> None:
    would_create(double)
    double._answers["POST", PODS] = [status]
    answer, asked = await outcome(api, planned())
    assert isinstance(answer, eviction.Unconfirmed)
    assert sentence in answer.message
    assert asked == []


async def test_a_controller_that_is_gone_keeps_the_pod(api: Api) -> None:
    answer, asked = await outcome(api, planned())
    assert (answer, asked) == (eviction.Unconfirmed("its ReplicaSet web is gone"), [])


async def test_a_move_is_confirmed_once_however_often_its_eviction_is_asked_for(api: Api, double: Double) -> None:
    would_create(double)
    evictions = ConfirmedEvictions(Evictions(), api)
    for _ in range(3):
        await evictions.evict(planned())
    assert [each.method for each in double.asked] == ["GET", "POST"]


def a_stateful_set(revision: str, **spec: Any) -> dict[str, Any]:
    """One whose update from revision web-1 to web-2 reaches ordinals from 2 on."""
    made = a_workload("StatefulSet", "web", replicas=3)
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    made["spec"] |= {"template": of_image("two"), "updateStrategy": rolling, **spec}
    made["status"] = {"currentRevision": revision, "updateRevision": "web-2"}
    return made


def of_image(image: str) -> dict[str, Any]:
    return {"metadata": {}, "spec": {"containers": [a_container(image=image, requests={"cpu": "1"})]}}


@pytest.mark.parametrize(("pod", "image"), [("web-1", "one"), ("web-2", "two")])
async def test_a_pod_of_a_stateful_set_is_made_of_the_revision_of_its_ordinal(
    api: Api, double: Double, pod: str, image: str
) -> None:
    claims = [{"metadata": {"name": "data"}}]
    sets = "/apis/apps/v1/namespaces/default"
    found = an_answer(a_stateful_set("web-1", volumeClaimTemplates=claims))
    double.answers("GET", f"{sets}/statefulsets/web", found)
    kept = {"metadata": {"name": "web-1"}, "data": {"spec": {"template": of_image("one")}}}
    double.answers("GET", f"{sets}/controllerrevisions/web-1", an_answer(kept))
    double.answers("POST", PODS, an_answer(a_pod("web-x"), 201))
    assert (await outcome(api, a_task(pod, kind="StatefulSet")))[1] == [pod]
    sent = json.loads(double.asked[-1].body)["spec"]
    assert [each["image"] for each in sent["containers"]] == [image]
    assert sent["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{pod}"}}]


async def test_pods_of_other_owners_are_not_asked_about(api: Api, double: Double) -> None:
    """A custom controller's template is not known; a pod without a replacement has none to confirm."""
    assert (await outcome(api, structs.replace(planned(), owner=None)))[1] == ["web-1"]
    assert double.asked == []
