"""What holds in every simulated cluster, whatever happens in it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from builders import a_pdb
from restow.kube.manifests import document_of, manifest_of
from restow.kube.manifests.cluster_objects import Metadata
from restow.kube.objects import Taint
from restow.policies.codes import Placement
from restow.simulating.api_server.eviction import evict
from restow.simulating.api_server.store import BACKGROUND, FOREGROUND, ORPHAN
from simulating.manifests import a_controller, a_template
from simulating.scenes import Scene
from simulating.test_descheduler import a_descheduler

APPS = ("web", "db", "api")
NODES = ("n1", "n2", "n3", "n4")
KINDS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job")
#: What can happen: its name, a workload or a node, and a number.
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(
            (
                "apply",
                "apply",
                "delete",
                "orphan",
                "foreground",
                "evict",
                "kill",
                "cordon",
                "taint",
                "fail",
                "back",
                "wait",
            )
        ),
        st.integers(0, 11),
        st.integers(0, 6),
    ),
    min_size=3,
    max_size=14,
)


def workload(number, replicas):
    """One of a few workloads: each app has one kind."""
    app = APPS[number % len(APPS)]
    kind = KINDS[number % len(KINDS)]
    template = a_template(
        app, containers=[{"name": "c", "image": f"example/{app}:{replicas % 2}", "resources": REQUEST}]
    )
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
        spec = {"template": template, "completions": replicas, "parallelism": 2}
        return manifest_of({"kind": "Job", "metadata": {"name": f"{app}-{kind.lower()}"}, "spec": spec})
    made = a_controller(kind, app, None if kind == "DaemonSet" else replicas, template=template)
    return structs.replace(made, metadata=Metadata(name=f"{app}-{kind.lower()}", namespace="default"))


REQUEST = {"requests": {"cpu": "700m", "memory": "1Gi"}}


PROPAGATIONS = {"delete": BACKGROUND, "orphan": ORPHAN, "foreground": FOREGROUND}


def happen(scene, what, number, amount):
    """Let one thing happen, and a while pass."""
    store, node = scene.store, NODES[number % len(NODES)]
    pods = scene.pods()
    found = store.get("Node", "", node)
    match what:
        case "apply":
            store.apply(workload(number, amount))
        case "delete" | "orphan" | "foreground":
            made = workload(number, amount)
            store.delete(type(made).__name__, "default", made.metadata.name, propagation=PROPAGATIONS[what])
        case "evict" if pods:
            evict(store, "default", pods[number % len(pods)].metadata.name)
        case "kill" if pods:
            store.delete("Pod", "default", pods[number % len(pods)].metadata.name, grace_period=amount)
        case "cordon":
            store.update(structs.replace(found, spec=structs.replace(found.spec, unschedulable=amount % 2 == 0)))
        case "taint":
            taints = (Taint("test", "", "NoExecute"),) if amount % 2 else None
            store.update(structs.replace(found, spec=structs.replace(found.spec, taints=taints)))
        case "fail":
            scene.kubelets.stop_node(node)
        case "back":
            scene.kubelets.start_node(node)
    scene.run(amount * amount * 10 + 0.01)


def a_scene(seed=1):
    """Four nodes with room for a few pods each, and budgets."""
    scene = Scene(nodes=4, seed=seed)
    for app in APPS:
        document = a_pdb(app, selector={"matchLabels": {"app": app}}, max_unavailable=1)
        del document["status"]
        scene.store.apply(manifest_of(document))
    scene.store.subscribe("PodDisruptionBudget", check_budget)
    return scene


def check_budget(event):
    """No budget is ever overdrawn."""
    assert event.new.status.disruptions_allowed >= 0


def check_reasons(scene):
    """Every pod is there because its controller is, belongs to nobody, or waits for a kubelet that has stopped to end it."""
    for pod in scene.pods():
        owner = pod.metadata.controller
        if owner is not None and not (pod.metadata.is_terminating and pod.node in scene.kubelets.stopped):
            found = scene.store.get(owner.kind, "default", owner.name)
            assert found is not None, pod.metadata.name
            assert found.metadata.uid == owner.uid, pod.metadata.name


def check_counts(scene):
    """Every workload that stays has as many pods as it wants, but for StatefulSets that wait for a pod to vanish or be ready.

    The pod that is to vanish may be one that has its name from a StatefulSet before.
    """
    for kind in ("ReplicaSet", "ReplicationController", "StatefulSet"):
        for each in scene.store.list(kind):
            pods = scene.store.owned(each.metadata.uid, "Pod")
            active = [pod for pod in pods if pod.is_active]
            named = [pod for pod in scene.pods() if pod.metadata.name.startswith(f"{each.metadata.name}-")]
            waits = kind == "StatefulSet" and any(pod.ready_since is None or not pod.is_active for pod in named)
            goes = each.metadata.is_terminating
            assert goes or waits or len(active) == each.spec.replicas, each.metadata.name


def bytes_of(scene):
    """All objects, as JSON."""
    kinds = ("Pod", "Node", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "PodDisruptionBudget")
    return msgspec.json.encode([document_of(each) for kind in kinds for each in scene.store.list(kind)])


def lived(events, seed=1):
    """A cluster in which some things have happened."""
    scene = a_scene(seed)
    for each in events:
        happen(scene, *each)
        scene.check()
    return scene


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(EVENTS)
def test_a_cluster_that_is_left_alone_comes_to_rest(events):
    """Its state is what follows from its objects at any time; in the end every pod has a reason and none is missing."""
    scene = lived(events)
    scene.settle(minutes=600)
    check_reasons(scene)
    check_counts(scene)


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(EVENTS, st.integers(0, 3))
def test_the_same_seed_gives_the_same_bytes(events, seed):
    """Twice in one process."""
    assert bytes_of(lived(events, seed)) == bytes_of(lived(events, seed))


@pytest.mark.parametrize("placement", list(Placement))
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(events=EVENTS)
def test_a_descheduler_breaks_nothing(placement, events):
    """Budgets stay above zero, and the cluster comes to rest between its looks."""
    scene = a_scene()
    a_descheduler(scene, placement)
    for each in events:
        happen(scene, *each)
        scene.check()
    scene.run(7200)
    scene.settle(minutes=600)
    check_reasons(scene)
    check_counts(scene)
