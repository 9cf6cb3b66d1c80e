"""What other controllers forbid is heard in ``prove`` placement: each veto has its code, and a switch in the policy."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from builders import NOW, a_node, a_pod
from descheduling.harness import Object, a_policy
from proving.proven import TOLD, moved, prove, proven, read_policy, reasons, upstream_evictions
from restow.cluster.left_out import add_page
from restow.cluster.snapshot import ClusterStore
from restow.descheduling.registry import strategies
from restow.kube.objects import KINDS
from restow.kube.timestamps import parse_time
from restow.proving.search import prove_cycle

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress"
EVICT = "descheduler.alpha.kubernetes.io/evict"
#: The time of plans is 2026-01-01T00:00:00Z.
TEN_MINUTES_AGO = "2025-12-31T23:50:00Z"
ALL_OFF = {
    "karpenter": False,
    "clusterAutoscaler": False,
    "kubeVirt": False,
    "leavingNodes": False,
    "virtualNodes": False,
}
#: Any pod is too old for it, so each pod that may go is moved.
OLD = "PodLifeTime", {"maxPodLifeTimeSeconds": 60}
LOCAL = {"evictLocalStoragePods": True}


def web(name: str = "p", *, node: str = "n1", **given: Any) -> Object:
    return a_pod(name, node=node, owner=("ReplicaSet", "web"), **{"started": TEN_MINUTES_AGO} | given)


def launcher(name: str, *, node: str = "n1", vm: str = "vm1", target: bool = False, **given: Any) -> Object:
    """A pod that runs a virtual machine; ``target``: it was created by a migration."""
    labels = {"kubevirt.io": "virt-launcher", "kubevirt.io/created-by": f"uid-{vm}", "vm.kubevirt.io/name": vm}
    labels |= {"kubevirt.io/migrationJobUID": "uid-m"} if target else {}
    owner = ("VirtualMachineInstance", vm, f"uid-{vm}")
    return a_pod(name, node=node, owner=owner, labels=labels, **{"started": TEN_MINUTES_AGO} | given)


def volumes(**sources: Object) -> list[Object]:
    return [{"name": name, **source} for name, source in sources.items()]


def migration(phase: str, *, vm: str = "vm1", **state: str) -> Object:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": "m", "namespace": "default"},
        "spec": {"vmiName": vm},
        "status": {"phase": phase, **({"migrationState": state} if state else {})},
    }


VETOED: dict[str, tuple[str, list[Object], str, list[Object]]] = {
    "do-not-disrupt": ("karpenter", [web(annotations={DO_NOT_DISRUPT: "true"})], "DoNotDisrupt", []),
    "do-not-disrupt-for-a-time": (
        "karpenter",
        [web(annotations={DO_NOT_DISRUPT: "30m"})],
        "DoNotDisrupt",
        [],
    ),
    "do-not-disrupt-beats-evict": (
        "karpenter",
        [web(annotations={DO_NOT_DISRUPT: "true", EVICT: ""})],
        "DoNotDisrupt",
        [],
    ),
    "not-safe-to-evict": ("clusterAutoscaler", [web(annotations={SAFE: "false"})], "NotSafeToEvict", []),
    "local-volume-that-is-not-safe": (
        "clusterAutoscaler",
        [
            web(
                annotations={SAFE_VOLUMES: "tmp"},
                volumes=volumes(tmp={"emptyDir": {}}, data={"hostPath": {"path": "/"}}),
            )
        ],
        "UnsafeLocalVolumes",
        [],
    ),
    "eviction-in-progress": ("kubeVirt", [launcher("p", annotations={IN_PROGRESS: ""})], "MigrationInProgress", []),
    "two-launchers": (
        "kubeVirt",
        [launcher("p"), launcher("q", node="n2", target=True, phase="Pending")],
        "MigrationInProgress",
        [],
    ),
    "a-migration-runs": ("kubeVirt", [launcher("p")], "MigrationInProgress", [migration("Scheduling")]),
    "migration-that-no-controller-has-seen": ("kubeVirt", [launcher("p")], "MigrationInProgress", [migration("")]),
    "just-migrated": (
        "kubeVirt",
        [launcher("p", target=True)],
        "MigrationCoolDown",
        [],
    ),
    "migration-just-ended": (
        "kubeVirt",
        [launcher("p")],
        "MigrationCoolDown",
        [migration("Succeeded", startTimestamp="2025-12-31T23:40:00Z", endTimestamp="2025-12-31T23:50:00Z")],
    ),
    "long-migration-ended": (
        "kubeVirt",
        [launcher("p")],
        "MigrationCoolDown",
        [migration("Succeeded", startTimestamp="2025-12-31T20:00:00Z", endTimestamp="2025-12-31T22:10:00Z")],
    ),
}
HEARD_NOT: dict[str, list[Object]] = {
    "do-not-disrupt-false": [web(annotations={DO_NOT_DISRUPT: "false"})],
    "time-is-over": [web(annotations={DO_NOT_DISRUPT: "5m"})],
    "no-duration": [web(annotations={DO_NOT_DISRUPT: "for ever"})],
    "negative-duration": [web(annotations={DO_NOT_DISRUPT: "-30m"})],
    "safe": [web(annotations={SAFE: "true"})],
    "local-volumes-are-safe": [
        web(annotations={SAFE_VOLUMES: "tmp,data"}, volumes=volumes(tmp={"emptyDir": {}}, data={"emptyDir": {}}))
    ],
    "memory-is-no-storage": [
        web(annotations={SAFE_VOLUMES: "tmp"}, volumes=volumes(m={"emptyDir": {"medium": "Memory"}}))
    ],
    "no-volume-is-named": [web(annotations={SAFE_VOLUMES: ""}, volumes=volumes(data={"emptyDir": {}}))],
    "safe-as-a-whole": [web(annotations={SAFE: "true", SAFE_VOLUMES: "tmp"}, volumes=volumes(data={"emptyDir": {}}))],
    "other-machine-migrates": [launcher("p"), launcher("q", node="n2", vm="vm2", phase="Pending", started=None)],
    "source-has-ended": [
        launcher("p", target=True, started="2025-12-31T23:00:00Z"),
        launcher("q", node="n2", phase="Succeeded", started=None),
    ],
}


def plan(pods: list[Object], *others: Object, **restow: Any) -> Any:
    nodes = [a_node("n1"), a_node("n2"), a_node("n3")]
    return proven(*OLD, *nodes, *pods, *others, evictor=LOCAL, restow=restow)


@pytest.mark.parametrize("case", VETOED)
def test_pod_with_a_veto_stays(case: str) -> None:
    _, pods, code, others = VETOED[case]
    done = plan(pods, *others)
    stage, found, message = reasons(done)["p"]
    assert (stage, found, "p" in moved(done)) == ("evictor", code, False)
    assert message


@pytest.mark.parametrize("case", VETOED)
def test_veto_that_is_switched_off_is_not_heard(case: str) -> None:
    switch, pods, _, others = VETOED[case]
    assert "p" in moved(plan(pods, *others, vetoes={switch: False}))


@pytest.mark.parametrize("case", VETOED)
def test_upstream_placement_hears_no_veto(case: str) -> None:
    """The Descheduler knows of none of these annotations."""
    _, pods, _, others = VETOED[case]
    assert upstream_evictions(*OLD, a_node("n1"), a_node("n2"), *pods, *others, evictor=LOCAL) >= 1


@pytest.mark.parametrize("case", HEARD_NOT)
def test_what_forbids_nothing(case: str) -> None:
    assert "p" in moved(plan(HEARD_NOT[case]))


def test_safe_to_evict_lifts_no_protection_of_the_policy() -> None:
    """Who writes a pod's annotations must not weaken what the policy protects."""
    pod = web(annotations={SAFE: "true", SAFE_VOLUMES: "data"}, volumes=volumes(data={"emptyDir": {}}))
    done = proven(*OLD, a_node("n1"), a_node("n2"), pod)
    assert reasons(done)["p"][1] == "PodsWithLocalStorage"


def test_pods_of_a_node_that_karpenter_must_not_disrupt_stay() -> None:
    nodes = [a_node("n1", annotations={DO_NOT_DISRUPT: "true"}), a_node("n2"), a_node("n3")]
    pods = [web("p"), web("q", node="n2")]
    done = proven(*OLD, *nodes, *pods)
    assert (reasons(done)["p"][1], moved(done)) == ("NodeDoNotDisrupt", ["q"])
    assert moved(proven(*OLD, *nodes, *pods, restow={"vetoes": {"karpenter": False}})) == ["p", "q"]


@pytest.mark.parametrize(
    ("minutes", "waits"), [pytest.param("9m", False, id="over"), pytest.param("11m", True, id="not-over")]
)
def test_cool_down_is_a_setting(minutes: str, waits: bool) -> None:
    done = plan([launcher("p", target=True)], vetoes={"migrationCoolDown": minutes})
    assert ("p" in moved(done)) != waits


def test_virtual_machine_does_not_come_back_to_its_node() -> None:
    """KubeVirt never migrates a machine to the node that it is on, whatever the strategy would accept."""
    nodes = [a_node("n1", cpu="8"), a_node("n2", cpu="1", taints=["a=b:NoSchedule"])]
    pods = [launcher("p"), web("q")]
    done = proven(*OLD, *nodes, *pods)
    assert (moved(done), reasons(done)["p"][1]) == (["q"], "SameNode")


def test_prefer_no_eviction_counts_as_in_the_descheduler() -> None:
    """Mandatory keeps the pod, anything else does not."""
    pod = web(annotations={"descheduler.alpha.kubernetes.io/prefer-no-eviction": ""})
    nodes = [a_node("n1"), a_node("n2")]
    assert moved(proven(*OLD, *nodes, pod)) == ["p"]
    kept = proven(*OLD, *nodes, pod, evictor={"noEvictionPolicy": "Mandatory"})
    assert reasons(kept)["p"][1] == "PreferNoEviction"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        pytest.param({"karpenter": "no"}, "karpenter", id="type"),
        pytest.param({"karpentr": False}, "karpentr", id="spelling"),
        pytest.param({"migrationCoolDown": "-1m"}, "migrationCoolDown", id="negative"),
    ],
)
def test_section_is_checked(value: Object, why: str) -> None:
    with pytest.raises(Exception, match=why):
        prove([a_node("n1")], a_policy(*OLD, restow={"vetoes": value}))


def test_migration_that_cannot_be_read_keeps_all_machines_of_its_namespace() -> None:
    """What protects pods never fails open: nobody knows which machine it is about."""
    store = ClusterStore()
    odd = migration("Succeeded", endTimestamp="yesterday")
    for each in (a_node("n1"), a_node("n2"), launcher("p"), web("q"), odd, *TOLD):
        add_page(store, each["kind"], [msgspec.json.decode(msgspec.json.encode(each), type=KINDS[each["kind"]])])
    ((_, why),) = store.left_out.items()
    assert "status.migrationState.endTimestamp" in why
    policy = read_policy(a_policy(*OLD))
    done = prove_cycle(store.snapshot(), policy, strategies(), parse_time(NOW))
    assert (reasons(done)["p"][1], moved(done)) == ("MigrationInProgress", ["q"])


def test_live_cluster_notices_a_veto_that_is_set_later() -> None:
    """A watch event replaces the pod as a whole."""
    store = ClusterStore()
    objects = [a_node("n1"), a_node("n2"), web("p"), *TOLD]
    for each in objects:
        store.add(each["kind"], [msgspec.json.decode(msgspec.json.encode(each), type=KINDS[each["kind"]])])
    policy = read_policy(a_policy(*OLD))
    assert moved(prove_cycle(store.snapshot(), policy, strategies(), parse_time(NOW))) == ["p"]
    changed = web("p", annotations={DO_NOT_DISRUPT: "true"})
    store.add("Pod", [msgspec.json.decode(msgspec.json.encode(changed), type=KINDS["Pod"])])
    assert moved(prove_cycle(store.snapshot(), policy, strategies(), parse_time(NOW))) == []


@pytest.mark.parametrize("annotations", [{DO_NOT_DISRUPT: "true"}, {SAFE: "false"}, {IN_PROGRESS: ""}], ids=str)
def test_pod_that_is_over_is_cleared_away(annotations: Object) -> None:
    """There is nothing left to disturb; Karpenter and the autoscaler see it so, too."""
    failed = web("p", annotations=annotations, phase="Failed")
    done = proven("RemoveFailedPods", {}, a_node("n1"), a_node("n2"), failed, web("q", annotations=annotations))
    assert moved(done) == ["p"]


@pytest.mark.parametrize(
    ("annotations", "goes"), [({}, True), ({DO_NOT_DISRUPT: "true"}, False)], ids=["free", "vetoed"]
)
def test_veto_of_one_pod_keeps_its_whole_group(annotations: Object, goes: bool) -> None:
    group = {"labels": {"ray.io/cluster": "ray"}}
    pods = [web("head", **group), web("worker", node="n2", annotations=annotations, **group)]
    done = plan(pods, groups="together")
    assert (set(moved(done)), "DoNotDisrupt" in {each[1] for each in reasons(done).values()}) == (
        ({"head", "worker"}, False) if goes else (set(), True)
    )
