"""Deschedulers decide on the state as it is, evict through the API, and wait for replacements where the proof rests on them."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from builders import a_node, a_pdb, a_pod
from descheduling.harness import a_policy
from restow.cluster.pod_values import PodVetoes
from restow.descheduling.registry import plugins
from restow.executing.deciding import decide
from restow.executing.surged_workloads import ANNOTATION
from restow.kube.manifests import manifest_of
from restow.kube.objects import OwnerReference
from restow.kube.timestamps import SECOND
from restow.policies.codes import Placement
from restow.policies.load import load_policy
from restow.simulating import descheduler
from restow.simulating.api_server.changes import with_metadata
from restow.simulating.api_server.eviction import CREATED, TOO_MANY_REQUESTS
from restow.simulating.descheduler import DeschedulerActor, DeschedulerSettings, ExecutionView
from restow.simulating.kubelets import READY_DELAY
from restow.workloads.controllers import DELETION_COST
from simulating.manifests import a_controller, a_template
from simulating.scenes import Scene

HOUR = 3600 * SECOND


def a_descheduler(scene, placement, strategy="RemoveDuplicates", args=None, **limits):
    """A descheduler of one strategy that looks every hour."""
    text = msgspec.json.encode(a_policy(strategy, args or {}) | limits)
    policy = load_policy(text, "policy.yaml", plugins()).policy
    actor = DeschedulerActor(scene.simulation, DeschedulerSettings(policy, placement, HOUR))
    actor.start()
    return actor


def crowded(replicas=6):
    """All pods of a ReplicaSet on one node, and two empty nodes that have come since."""
    scene = Scene(nodes=1)
    scene.store.apply(a_controller("ReplicaSet", "web", replicas))
    scene.settle()
    for name in ("n2", "n3"):
        scene.store.load(manifest_of(a_node(name, cpu="4", memory="8Gi")))
    return scene.settle()


def spread(scene):
    """How many pods are on each node."""
    return [len(scene.store.on_node(name)) for name in ("n1", "n2", "n3")]


@pytest.mark.parametrize("placement", list(Placement))
def test_duplicates_are_spread_and_then_it_is_quiet(placement):
    """Both placements come to the same here, and move nothing afterwards."""
    scene = crowded()
    actor = a_descheduler(scene, placement)
    scene.run(1800)
    scene.check()
    assert spread(scene) == [2, 2, 2]
    assert [move.is_made for move in actor.moves] == [True] * 4
    scene.run(4 * 3600)
    assert (len(actor.moves), actor.cycles) == (4, 5)


@pytest.mark.parametrize(
    ("strategy", "args", "later"),
    [("RemoveDuplicates", {}, 0), ("PodLifeTime", {"maxPodLifeTimeSeconds": 10**9}, 4)],
    ids=["by place", "by time"],
)
def test_where_nothing_has_changed_it_decides_again_only_if_time_matters(monkeypatch, strategy, args, later):
    scene = crowded()
    actor = a_descheduler(scene, Placement.PROVE, strategy, args)
    scene.run(2 * 3600)
    decided = []
    monkeypatch.setattr(descheduler, "decide", lambda *asked, **more: decided.append(asked) or decide(*asked, **more))
    scene.run(4 * 3600)
    assert (len(decided), actor.cycles) == (later, 7)
    scene.store.load(manifest_of(a_node("n4", cpu="4", memory="8Gi")))
    scene.run(3600)
    assert len(decided) == later + 1


def test_proven_moves_are_made_one_after_the_other():
    """Each when the replacement of the last is ready; as upstream does it all go at once."""
    times = {}
    for placement in Placement:
        scene = crowded()
        actor = a_descheduler(scene, placement)
        scene.run(1800)
        times[placement] = [move.time for move in actor.moves]
    assert len(set(times[Placement.UPSTREAM])) == 1
    proven = times[Placement.PROVE]
    assert all(later - earlier >= 2 * SECOND for earlier, later in pairwise(proven))


def test_a_budget_is_never_overdrawn_and_waited_for_where_moves_are_proven():
    """Upstream asks for all moves and is refused; restow goes on when the budget has room again, in the same cycle."""
    document = a_pdb("web", selector={"matchLabels": {"app": "web"}}, max_unavailable=1)
    del document["status"]
    asked, looks = {}, {}
    for placement in Placement:
        scene = crowded()
        scene.store.apply(manifest_of(document))
        scene.settle()
        least = []
        scene.store.subscribe(
            "PodDisruptionBudget", lambda event, least=least: least.append(event.new.status.disruptions_allowed)
        )
        actor = a_descheduler(scene, placement)
        scene.run(60)
        asked[placement], looks[placement] = [move.code for move in actor.moves], spread(scene)
        assert min(least) == 0
        scene.run(5 * 3600)
        assert spread(scene) == [2, 2, 2]
    assert sorted(asked[Placement.UPSTREAM]) == [CREATED, *[TOO_MANY_REQUESTS] * 3]
    assert (asked[Placement.PROVE], looks[Placement.PROVE]) == ([CREATED] * 4, [2, 2, 2])


def test_nothing_is_evicted_outside_of_the_windows_of_a_policy():
    """The scene begins at midnight."""
    scene = crowded()
    window = {"start": "0 2 * * *", "duration": "30m"}
    actor = a_descheduler(scene, Placement.PROVE, restow={"windows": [window]})
    scene.run(90 * 60)
    assert (actor.moves, actor.cycles) == ([], 2)
    scene.run(90 * 60)
    assert spread(scene) == [2, 2, 2]
    assert {move.time // HOUR % 24 for move in actor.moves} == {2}


def test_a_workload_whose_replacement_does_not_get_ready_is_left_alone_until_it_is():
    """The next cycle begins while the first replacement still starts; it takes longer than waitForReady."""
    scene = Scene(nodes=1)
    scene.store.apply(a_controller("ReplicaSet", "web", 6))
    scene.settle()
    slow = a_template("web")
    slow["metadata"]["annotations"] = {"simulate.restow.dev/ready-delay": "90m"}
    scene.store.apply(a_controller("ReplicaSet", "web", 6, template=slow))
    for name in ("n2", "n3"):
        scene.store.load(manifest_of(a_node(name, cpu="4", memory="8Gi")))
    actor = a_descheduler(scene, Placement.PROVE)
    scene.run(80 * 60)
    assert (len(actor.moves), actor.cycles) == (1, 2)
    scene.run(60 * 60)
    assert len(actor.moves) == 2


def test_a_cycle_under_way_is_left_when_a_run_ends():
    """It evicts nothing any more, and leaves nothing open."""
    scene = crowded()
    actor = a_descheduler(scene, Placement.PROVE)
    scene.run(1)
    actor.stop()
    scene.run(1800)
    assert len(actor.moves) == 1


def test_the_same_seed_makes_the_same_moves():
    """However requests that are repeated are spread."""

    def moves():
        scene = crowded()
        scene.store.apply(manifest_of(a_pdb("web", selector={"matchLabels": {"app": "web"}}, max_unavailable=1)))
        actor = a_descheduler(scene, Placement.PROVE)
        scene.run(1800)
        return [(move.time, move.move.pod.name, move.code) for move in actor.moves]

    assert moves() == moves()


def test_all_plans_of_one_look_share_its_limits():
    """Also where replacements land elsewhere, and the rest is planned again: RemoveDuplicates looks at whose pods are where."""
    for seed in range(6):
        scene = Scene(nodes=1, seed=seed, cpu="8")
        scene.store.apply(a_controller("ReplicaSet", "web", 12))
        scene.settle()
        for name in ("n2", "n3", "n4"):
            scene.store.load(manifest_of(a_node(name, cpu="8", memory="8Gi")))
        actor = a_descheduler(scene, Placement.PROVE, maxNoOfPodsToEvictTotal=3)
        scene.run(1800)
        assert len(actor.moves) == 3
        scene.run(3600)
        assert (len(actor.moves), actor.cycles) == (6, 2)


def test_a_pod_that_has_gone_meanwhile_is_not_asked_for():
    """The plan goes on without it."""
    scene = crowded()
    actor = a_descheduler(scene, Placement.PROVE)
    scene.run(1)
    assert len(actor.moves) == 1
    for pod in list(scene.store.list("Pod")):
        scene.store.delete("Pod", "default", pod.metadata.name, grace_period=0)
    scene.run(1800)
    assert len(actor.moves) == 1


def annotated(annotations):
    template = a_template("web")
    return template | {"metadata": template["metadata"] | {"annotations": annotations}}


@pytest.mark.parametrize(
    ("placement", "stay"), [(Placement.PROVE, True), (Placement.UPSTREAM, False)], ids=["prove", "upstream"]
)
def test_what_the_pods_forbid_is_respected_where_moves_are_proven(placement, stay):
    scene = Scene(nodes=1)
    template = annotated({"karpenter.sh/do-not-disrupt": "true"})
    scene.store.apply(a_controller("ReplicaSet", "web", 6, template=template))
    scene.settle()
    for name in ("n2", "n3"):
        scene.store.load(manifest_of(a_node(name, cpu="4", memory="8Gi")))
    actor = a_descheduler(scene.settle(), placement)
    scene.run(1800)
    assert (not actor.moves) == stay


def test_the_executor_sees_what_simulated_pods_and_nodes_forbid():
    scene = Scene(nodes=1)
    scene.store.load(manifest_of(a_node("n2", annotations={"karpenter.sh/do-not-disrupt": "true"})))
    template = annotated({"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"})
    scene.store.apply(a_controller("ReplicaSet", "web", 1, template=template))
    view = ExecutionView(scene.settle().simulation)
    (pod,) = scene.store.list("Pod")
    seen = view.pod(pod.metadata.namespace, pod.metadata.name)
    assert seen.vetoes == PodVetoes(unsafe_to_evict=True)
    assert (view.node_row("n2").do_not_disrupt, view.node_row("n9")) == (True, None)


def surged(kind="Deployment", *, counts, replicas=6, **spec):
    """A scene in which pods are crowded on one node and surged; ``counts`` gets how many were ready, and there, at each change."""
    scene = Scene(nodes=1)
    scene.store.apply(a_controller(kind, "web", replicas, **spec))
    scene.settle()
    for name in ("n2", "n3"):
        scene.store.load(manifest_of(a_node(name, cpu="4", memory="8Gi")))
    scene.settle()
    scene.store.subscribe("Pod", lambda _event: counts.append((ready(scene), len(scene.pods()))))
    return scene, a_descheduler(scene, Placement.PROVE, restow={"replacement": "surge"})


def ready(scene):
    return sum(pod.ready_since is not None and not pod.metadata.is_terminating for pod in scene.pods())


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet"])
def test_the_replacement_comes_first_in_a_surge(kind):
    """No pod is ever missing, at most one pod is there besides those that go, and everything is as it was in the end."""
    counts = []
    scene, actor = surged(kind, counts=counts)
    scene.run(1800)
    assert spread(scene) == [2, 2, 2]
    assert [(move.is_made, bool(move.replacement)) for move in actor.moves] == [(True, True)] * 4
    assert min(ready for ready, _ in counts) == 6
    workload = scene.get(kind, "web")
    assert workload.spec.replicas == 6
    assert ANNOTATION not in (workload.metadata.annotations or {})
    assert not any(pod.metadata.annotation(DELETION_COST) for pod in scene.pods())


def test_the_replica_set_of_a_rollout_is_surged_itself():
    """Nobody else sets its replicas: a simulation has no Argo."""
    scene, actor = surged("ReplicaSet", counts=(counts := []))
    above = OwnerReference("Rollout", "web", "u-web", controller=True)
    scene.store.update(with_metadata(scene.get("ReplicaSet", "web"), owner_references=(above,)))
    scene.run(1800)
    assert (spread(scene), len(actor.moves)) == ([2, 2, 2], 4)
    assert min(ready for ready, _ in counts) == 6
    assert scene.get("ReplicaSet", "web").spec.replicas == 6


def test_a_surge_waits_until_the_new_pod_is_available():
    """For ``minReadySeconds``, in which both are there."""
    for seconds in (0, 60):
        scene, actor = surged(counts=[], minReadySeconds=seconds)
        scene.run(1800)
        times = [move.time for move in actor.moves]
        assert all(later - earlier >= seconds * SECOND for earlier, later in pairwise(times))
        assert len(times) == 4


def test_a_surge_whose_pod_does_not_become_ready_is_taken_back():
    """The old pod stays, ready all the time, and keeps its deletion cost."""
    counts, slow = [], annotated({READY_DELAY: "20m"})
    scene, actor = surged(counts=counts, replicas=2, template=slow)
    scene.run(900)
    assert spread(scene) == [2, 0, 0]
    assert (actor.moves, min(ready for ready, _ in counts), max(there for _, there in counts)) == ([], 2, 3)
    assert scene.get("Deployment", "web").spec.replicas == 2
    assert not any(pod.metadata.annotation(DELETION_COST) for pod in scene.pods())


def test_what_an_autoscaler_scales_is_not_surged():
    """And not evicted either, with ``surge``."""
    counts = []
    scene, actor = surged(counts=counts)
    target = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 9}
    scaler = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "namespace": "default"}, "spec": target}
    scene.store.apply(manifest_of({"apiVersion": "autoscaling/v2"} | scaler))
    scene.run(1800)
    assert (spread(scene), actor.moves, counts) == ([6, 0, 0], [], [])


@pytest.mark.parametrize(("replacement", "evictions"), [("surge", 0), ("auto", 1)])
def test_nobody_migrates_virtual_machines(replacement, evictions):
    """A simulation has no KubeVirt: where the policy leaves no eviction open, a launcher stays."""
    scene = Scene(nodes=2)
    labels = {"kubevirt.io": "virt-launcher"}
    launcher = a_pod("launcher", node="n1", owner=("VirtualMachineInstance", "vm"), labels=labels, phase="Running")
    scene.store.load(manifest_of(launcher))
    scene.settle()
    actor = a_descheduler(
        scene, Placement.PROVE, "PodLifeTime", {"maxPodLifeTimeSeconds": 60}, restow={"replacement": replacement}
    )
    scene.run(2 * 3600)
    assert len(actor.moves) == evictions
    assert [pod.metadata.name for pod in scene.pods()] == ["launcher"] * (1 - evictions)
