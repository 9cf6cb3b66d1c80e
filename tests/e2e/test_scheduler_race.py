"""Others bind pods too: kube-scheduler on the same nodes, a replica of the same name, and the process before this one.

Bindings are held before the API server where two have to happen at the same time. The test plays the kubelet that rejects
a pod for which its node has no room.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from builders import Object
from e2e.audit import Call
from e2e.control_plane import ControlPlane
from e2e.fake_nodes import a_fake_node
from e2e.fault_proxy import FaultProxy
from e2e.faults import AnswerLost, Held, NeverSent, Where, all_of, callers_with, calls
from e2e.rest import name_of
from e2e.schedulers import PATIENCE, Scheduler
from e2e.waiting import wait_until
from e2e.workloads import pods_of, replica_set

pytestmark = pytest.mark.e2e

OURS, THEIRS = "my-scheduler", "default-scheduler"
_BINDING = calls("create", "pods/binding")
_ALONE = "--leader-elect=false"


@pytest.fixture(scope="module")
def cluster(built: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("race")) as plane:
        yield plane


@pytest.fixture(scope="module")
def proxy(cluster: ControlPlane) -> Iterator[FaultProxy]:
    """Between the API server and both schedulers."""
    with FaultProxy(cluster) as made:
        proxied = made.kubeconfig_for({"token": token_of(cluster, THEIRS)}, "kube-scheduler")
        assert proxied == cluster.layout.kubeconfig("kube-scheduler")
        cluster.restart("kube-scheduler")
        yield made


@pytest.fixture(scope="module")
def scheduler(proxy: FaultProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scheduler]:
    with Scheduler(tmp_path_factory.mktemp("scheduler"), proxy.kubeconfig, _ALONE) as made:
        yield made


def token_of(plane: ControlPlane, scheduler: str) -> str:
    """What a scheduler shows the API server."""
    user = "admin" if scheduler == OURS else "kube-scheduler"
    (known,) = json.loads(plane.layout.kubeconfig(user).read_text())["users"]
    token: str = known["user"]["token"]
    return token


def bindings_of(plane: ControlPlane, scheduler: str) -> Where:
    return all_of(_BINDING, callers_with(token_of(plane, scheduler)))


def add_node(plane: ControlPlane, name: str, **features: object) -> Object:
    """A node, and the selector for it."""
    plane.admin.create(a_fake_node(name, labels={"only": name}, **features))
    plane.wait_for_nodes([name])
    return {"only": name}


def a_set(name: str, namespace: str, scheduler: str, **pod: object) -> Object:
    """A ReplicaSet whose pods name a scheduler."""
    count = pod.pop("replicas", 1)
    spec = {"schedulerName": scheduler, "terminationGracePeriodSeconds": 0}
    return replica_set(name, count, namespace=namespace, spec=spec, **pod)


def pod_of(plane: ControlPlane, app: str, namespace: str, fits: Callable[[Object], object]) -> Object:
    """The first pod of an app of which something is true, once there is one."""

    def look() -> Object | None:
        return next((pod for pod in pods_of(plane.admin, app, namespace) if fits(pod)), None)

    found = wait_until(f"there is a pod of {app} as it should be", look, PATIENCE)
    assert found is not None
    return found


def runs(pod: Object) -> bool:
    return bool(pod["status"]["phase"] == "Running")


def scheduled(pod: Object) -> Object:
    """Its condition PodScheduled; empty where there is none."""
    return next((each for each in pod["status"].get("conditions", ()) if each["type"] == "PodScheduled"), {})


def waits(pod: Object) -> bool:
    return scheduled(pod).get("reason") == "Unschedulable"


def reject(plane: ControlPlane, pod: Object) -> None:
    """What a kubelet says of a pod that came when the room had been taken. Source: the kubelet, Kubernetes 1.36."""
    message = "Pod was rejected: Node didn't have enough resource: cpu, requested: 600, used: 600, capacity: 1000"
    said = {"phase": "Failed", "reason": "OutOfcpu", "message": message}
    plane.admin.patch("Pod", name_of(pod), {"status": said}, pod["metadata"]["namespace"], part="status")


def bindings(plane: ControlPlane, namespace: str) -> list[Call]:
    """All bindings that the API server was asked for in a namespace."""
    asked = plane.audit.calls("create", "pods", "binding")
    return [each for each in asked if each.object_ref.namespace == namespace]


def bound(plane: ControlPlane, namespace: str) -> Counter[str]:
    """How often each pod of a namespace was bound."""
    done = (each for each in bindings(plane, namespace) if each.response_status.code == 201)
    return Counter(each.object_ref.name for each in done)


@pytest.mark.parametrize("late", [OURS, THEIRS])
def test_of_two_pods_in_the_last_place_the_one_that_is_rejected_gets_another_place_when_there_is_one(
    cluster: ControlPlane, proxy: FaultProxy, scheduler: Scheduler, late: str
) -> None:
    """One scheduler has decided before it can know of the other one's pod. What is rejected takes no room."""
    namespace, early = cluster.namespace(f"last-place-{late}"), THEIRS if late == OURS else OURS
    only = add_node(cluster, f"last-{late}", cpu="1")
    with proxy.trouble(bindings_of(cluster, late), Held()) as trouble:
        cluster.admin.create(a_set("late", namespace, late, cpu="600m", node_selector=only))
        wait_until("the late one is decided", lambda: trouble.happened, PATIENCE)
        cluster.admin.create(a_set("early", namespace, early, cpu="600m", node_selector=only))
        pod_of(cluster, "early", namespace, runs)
    rejected = pod_of(cluster, "late", namespace, runs)
    assert rejected["spec"]["nodeName"] == f"last-{late}"
    reject(cluster, rejected)

    replacement = pod_of(cluster, "late", namespace, waits)
    assert "1 Insufficient cpu" in scheduled(replacement)["message"]
    cluster.admin.create(a_set("small", namespace, OURS, cpu="400m", node_selector=only))
    pod_of(cluster, "small", namespace, runs)
    cluster.admin.delete("ReplicaSet", "early", namespace)
    assert name_of(pod_of(cluster, "late", namespace, runs)) == name_of(replacement)
    assert set(bound(cluster, namespace).values()) == {1}


def test_of_two_replicas_that_both_schedule_each_pod_is_bound_by_one_and_the_other_one_follows(
    cluster: ControlPlane, proxy: FaultProxy, scheduler: Scheduler, tmp_path: Path
) -> None:
    """Nobody asked them to elect a leader. The loser writes nothing of the pod, and counts it where it is."""
    namespace = cluster.namespace("replicas")
    for name in ("one", "two"):
        cluster.admin.create(a_fake_node(name, labels={"only": "these"}, cpu="4"))
    cluster.wait_for_nodes(["one", "two"])
    with Scheduler(tmp_path, proxy.kubeconfig, _ALONE, name="other") as other:
        with proxy.trouble(bindings_of(cluster, OURS), Held()) as trouble:
            pods = a_set("web", namespace, OURS, replicas=8, cpu="500m", node_selector={"only": "these"})
            cluster.admin.create(pods)
            wait_until("both have decided about all", lambda: trouble.happened == 16, PATIENCE)
        wait_until("all run", lambda: all(map(runs, pods_of(cluster.admin, "web", namespace))), PATIENCE)
        for each in (scheduler, other):
            wait_until("nothing is under way", lambda one=each: not held_by(one), PATIENCE)
        assert [scheduled(pod)["status"] for pod in pods_of(cluster.admin, "web", namespace)] == ["True"] * 8
    assert bound(cluster, namespace) == {name_of(pod): 1 for pod in pods_of(cluster.admin, "web", namespace)}
    assert Counter(each.response_status.code for each in bindings(cluster, namespace)) == {201: 8, 409: 8}


def held_by(scheduler: Scheduler) -> float:
    """The pods that wait for a scheduler, and those whose binding it has not seen."""
    seen = scheduler.samples()
    return seen.total("scheduler_pending_pods") + seen.total("scheduler_cache_size", type="assumed_pods")


def test_a_scheduler_that_is_killed_while_it_binds_finds_out_what_became_of_it(
    cluster: ControlPlane, proxy: FaultProxy, scheduler: Scheduler
) -> None:
    """One binding was carried out and nobody heard of it, the other one was never sent."""
    namespace, only = cluster.namespace("killed"), add_node(cluster, "killed", cpu="2")
    with proxy.trouble(bindings_of(cluster, OURS), AnswerLost(), times=1):
        cluster.admin.create(a_set("done", namespace, OURS, cpu="1", node_selector=only))
        with proxy.trouble(bindings_of(cluster, OURS), Held()) as trouble:
            pod_of(cluster, "done", namespace, runs)
            cluster.admin.create(a_set("open", namespace, OURS, cpu="1", node_selector=only))
            wait_until("both are asked for", lambda: trouble.happened == 2, PATIENCE)
            scheduler.kill()
            cluster.admin.create(a_set("third", namespace, OURS, cpu="1", node_selector=only))
    scheduler.start()
    pod_of(cluster, "third", namespace, waits)
    pod_of(cluster, "open", namespace, runs)
    cluster.admin.delete("ReplicaSet", "done", namespace)
    pod_of(cluster, "third", namespace, runs)
    assert set(bound(cluster, namespace).values()) == {1}


def test_a_replica_that_loses_the_lease_while_it_binds_leaves_the_pod_to_the_next_one(
    cluster: ControlPlane, proxy: FaultProxy, tmp_path: Path
) -> None:
    namespace, only = cluster.namespace("lease"), add_node(cluster, "lease")
    election = (
        "--scheduler-name=led",
        f"--leader-elect-resource-namespace={namespace}",
        "--leader-elect-lease-duration=5s",
        "--leader-elect-renew-deadline=3s",
        "--leader-elect-retry-period=500ms",
    )
    token = cluster.service_account("first", namespace, roles=("cluster-admin",))
    kubeconfig = proxy.kubeconfig_for({"token": token}, "first")
    theirs = callers_with(token)
    with (
        Scheduler(tmp_path, kubeconfig, *election, name="first") as first,
        proxy.trouble(all_of(_BINDING, theirs), Held()) as binding,
    ):
        cluster.admin.create(a_set("web", namespace, "led", node_selector=only))
        wait_until("it binds", lambda: binding.happened, PATIENCE)
        with (
            Scheduler(tmp_path, cluster.kubeconfig, *election, name="second"),
            proxy.trouble(all_of(calls(resource="leases"), theirs), NeverSent()),
        ):
            assert first.wait() == 0
            pod_of(cluster, "web", namespace, runs)
    (call,) = bindings(cluster, namespace)
    assert (call.user.username, call.response_status.code) == ("admin", 201)
