"""The scheduler oracle itself: rows whose outcome in the real kube-scheduler is known, asked through the program.

If one of these fails, the program misreads clusters or runs cycles in a way that kube-scheduler does not, and no
comparison with it is worth anything. The letters are the sections of the table of rows, one or two a plugin.
Not here: what restow says to the same questions.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from builders import (
    HOSTNAME,
    ZONE,
    a_container,
    a_namespace,
    a_node,
    a_pod,
    a_pv,
    a_pvc,
    a_service,
    a_storage_class,
    claim_volume,
    node_affinity,
    node_term,
    pod_affinity,
    pod_anti_affinity,
    pod_term,
    pods_on,
    selector,
    spread,
)
from oracle.scheduler_process import Candidate, Rejection, SchedulerProcess, scheduler_binary, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from builders import Object

pytestmark = pytest.mark.oracle

FOO = selector(("foo", "Exists"))
AFFINITY_TEXT = "node(s) didn't match Pod's node affinity/selector"
NOT_HELPFUL = "Preemption is not helpful for scheduling"


@pytest.fixture(scope="module")
def oracle() -> Iterator[SchedulerProcess]:
    with SchedulerProcess(scheduler_binary()) as process:
        yield process


def small_node(name: str = "n1", **more: Any) -> Object:
    return a_node(name, cpu="10m", memory="20", pods=32, **more)


def sized(cpu: str, memory: str, *, sidecar: bool = False) -> Object:
    return a_container(requests={"cpu": cpu, "memory": memory}, restart_policy="Always" if sidecar else None)


def used(node: str, cpu: str, memory: str = "0") -> Object:
    return a_pod(f"used-{node}", node=node, cpu=cpu, memory=memory)


def test_all_reasons_of_a_node_that_can_never_fit_a39(oracle: SchedulerProcess) -> None:
    cluster = [a_node("n1", cpu="10m", memory="20", pods=1), a_pod("one", node="n1", cpu=None)]
    outcome = verdict(oracle, *cluster, a_pod("p", cpu="11m", memory="1"))
    assert outcome.rejected == {"n1": Rejection("NodeResourcesFit", ("Too many pods", "Insufficient cpu"), "UAU")}


@pytest.mark.parametrize(
    ("init", "used_cpu"),
    [
        pytest.param([sized("2m", "2", sidecar=True), sized("6m", "1")], 2, id="A40-sidecar-first"),
        pytest.param([sized("6m", "1"), sized("2m", "2", sidecar=True)], 4, id="A41-sidecar-last"),
    ],
)
@pytest.mark.parametrize("spare", [0, 1])
def test_sidecars_count_from_where_they_start(
    oracle: SchedulerProcess, init: list[Object], used_cpu: int, spare: int
) -> None:
    pod = a_pod("p", containers=[sized("1m", "1")], init_containers=init)
    outcome = verdict(oracle, small_node(), used("n1", f"{used_cpu + 1 - spare}m"), pod)
    assert bool(outcome.feasible) == bool(spare)


@pytest.mark.parametrize(
    ("cpu", "memory", "expected"),
    [pytest.param("100m", "128Mi", 98, id="B24"), pytest.param(None, None, 97, id="B25-no-requests")],
)
def test_the_least_allocated_node_scores_best(
    oracle: SchedulerProcess, cpu: str | None, memory: str | None, expected: int
) -> None:
    outcome = verdict(oracle, a_node("n1", memory="16Gi"), a_pod("p", cpu=cpu, memory=memory))
    assert outcome.scores_of("NodeResourcesFit") == {"n1": expected}


def test_the_most_allocated_node_scores_best_where_the_configuration_says_so_b13(oracle: SchedulerProcess) -> None:
    strategy = {"type": "MostAllocated", "resources": [{"name": name, "weight": 1} for name in ("cpu", "memory")]}
    cluster = [a_node("n1", cpu="4", memory="10000"), a_node("n2", cpu="6", memory="10000")]
    cluster += [used("n1", "2", "4000"), used("n2", "1", "2000"), a_pod("p", cpu="1", memory="2000")]
    config = a_config("NodeResourcesFit", {"scoringStrategy": strategy})
    assert verdict(oracle, *cluster, config=config).scores_of("NodeResourcesFit") == {"n1": 67, "n2": 36}


def a_config(plugin: str, args: Object) -> str:
    """A configuration whose only profile gives one plugin arguments; JSON, which is YAML too."""
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return json.dumps(header | {"profiles": [{"pluginConfig": [{"name": plugin, "args": args}]}]})


@pytest.mark.parametrize(
    ("cpu", "memory", "pod", "expected"),
    [
        pytest.param("10", "20000", ("3", "5000"), 73, id="C04"),
        pytest.param("3", "5000", ("0", "5000"), 100, id="C07"),
    ],
)
def test_balance_is_scored_by_what_the_pod_changes(
    oracle: SchedulerProcess, cpu: str, memory: str, pod: tuple[str, str], expected: int
) -> None:
    cluster = [a_node("n1", cpu=cpu, memory=memory), used("n1", "3"), a_pod("p", cpu=pod[0], memory=pod[1])]
    assert verdict(oracle, *cluster).scores_of("NodeResourcesBalancedAllocation") == {"n1": expected}


def test_images_that_few_nodes_have_count_less_d01(oracle: SchedulerProcess) -> None:
    def sizes(*mebibytes: int) -> Object:
        return {f"{size}:latest": size << 20 for size in mebibytes}

    cluster = [a_node("n1", images=sizes(40, 300, 2000)), a_node("n2", images=sizes(250, 10))]
    assert verdict(oracle, *cluster, a_pod("p", images=["40", "250"])).scores_of("ImageLocality") == {"n1": 0, "n2": 5}


def test_an_untolerated_taint_rejects_and_preferred_ones_score_e11_e24(oracle: SchedulerProcess) -> None:
    cluster = [
        a_node("n1"),
        a_node("n2", taints=[f"{key}:PreferNoSchedule" for key in "ab"]),
        a_node("n3", taints=[f"{key}:PreferNoSchedule" for key in "abcde"]),
        a_node("n4", taints=["dedicated=user1:NoSchedule"]),
    ]
    outcome = verdict(oracle, *cluster, a_pod("p", tolerations=["dedicated=user2:NoSchedule"]))
    assert outcome.rejected == {"n4": Rejection("TaintToleration", ("node(s) had untolerated taint(s)",), "UAU")}
    assert outcome.scores_of("TaintToleration") == {"n1": 300, "n2": 180, "n3": 0}


def test_a_cordoned_node_is_reported_as_such_v04(oracle: SchedulerProcess) -> None:
    node = a_node("n1", unschedulable=True, taints=["node.kubernetes.io/unschedulable:NoSchedule"])
    assert verdict(oracle, node, a_pod("p")).rejected["n1"].reasons == ("node(s) were unschedulable",)


def test_preferred_terms_add_up_f30(oracle: SchedulerProcess) -> None:
    foo, key, az = ("foo", "In", "bar"), ("key", "In", "value"), ("az", "In", "az1")
    preferred = [(2, node_term(foo)), (4, node_term(key)), (5, node_term(foo, key, az))]
    labels = {"foo": "bar"}, {"foo": "bar", "key": "value", "az": "az1"}, {"key": "value"}
    cluster = [a_node(f"n{index}", labels=of_node) for index, of_node in enumerate(labels)]
    outcome = verdict(oracle, *cluster, a_pod("p", affinity=node_affinity(preferred=preferred)))
    assert outcome.scores_of("NodeAffinity") == {"n0": 36, "n1": 200, "n2": 72}


def test_names_of_nodes_restrict_the_search_f21(oracle: SchedulerProcess) -> None:
    term = node_term(("foo", "In", "bar"), fields=[("metadata.name", "In", "n1")])
    cluster = [a_node("n1"), a_node("n2", labels={"foo": "bar"})]
    outcome = verdict(oracle, *cluster, a_pod("p", affinity=node_affinity(required=[term])))
    assert outcome.allowed == ("n1",)
    assert outcome.rejected == {"n1": Rejection("NodeAffinity", (AFFINITY_TEXT,), "UAU")}
    assert outcome.message == (
        f"0/2 nodes are available: 1 {AFFINITY_TEXT}, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]. "
        f"no new claims to deallocate, preemption: 0/2 nodes are available: 2 {NOT_HELPFUL}."
    )


def test_conflicting_terms_reject_the_pod_f25(oracle: SchedulerProcess) -> None:
    both = node_term(fields=[("metadata.name", "In", "n1"), ("metadata.name", "In", "n2")])
    outcome = verdict(oracle, a_node("n1"), a_node("n2"), a_pod("p", affinity=node_affinity(required=[both])))
    assert outcome.pre_filter == Rejection("NodeAffinity", ("pod affinity terms conflict",), "UAU")
    assert outcome.message == "0/2 nodes are available: pod affinity terms conflict. not found"
    assert (outcome.feasible, outcome.rejected) == ((), {})


@pytest.mark.parametrize(
    ("wanted", "in_use", "expected"),
    [
        pytest.param("TCP/0.0.0.0/8001", ["TCP/127.0.0.1/8001"], {"n1": "NodePorts U"}, id="G09"),
        pytest.param("UDP/127.0.0.1/8001", ["TCP/0.0.0.0/8001"], {}, id="G12"),
        pytest.param("UDP/127.0.0.1/8001", ["TCP/0.0.0.0/8001", "UDP/0.0.0.0/8001"], {"n1": "NodePorts U"}, id="G13"),
        pytest.param("//80", ["TCP/10.0.0.1/80"], {"n1": "NodePorts U"}, id="G18"),
    ],
)
def test_host_ports_conflict_by_address_and_protocol(
    oracle: SchedulerProcess, wanted: str, in_use: list[str], expected: dict[str, str]
) -> None:
    cluster = [a_node("n1"), a_pod("a", node="n1", containers=[with_ports(*in_use)])]
    assert verdict(oracle, *cluster, a_pod("p", containers=[with_ports(wanted)])).rejections() == expected


def with_ports(*ports: str) -> Object:
    """A container with host ports written PROTOCOL/ip/port."""
    made = []
    for protocol, address, port in (text.split("/") for text in ports):
        made.append({"protocol": protocol, "hostIP": address, "hostPort": int(port), "containerPort": int(port)})
    return {"name": "c", "ports": made}


def four_nodes(*, without: str = "") -> list[Object]:
    """a and b in zone1, x and y in zone2; ``without`` lacks the label ``node``."""
    zones = {"a": "zone1", "b": "zone1", "x": "zone2", "y": "zone2"}
    return [
        a_node(name, labels={"zone": zone, HOSTNAME: name} | ({} if name == without else {"node": name}))
        for name, zone in zones.items()
    ]


def foos(node: str, count: int) -> list[Object]:
    return pods_on(node, *(f"{node}{index}" for index in range(count)), labels={"foo": ""})


@pytest.mark.parametrize(
    ("keys", "without", "counts", "expected"),
    [
        pytest.param(["node"], "", (2, 1, 0, 3), {"a": "U", "b": "U", "y": "U"}, id="H07"),
        pytest.param(["zone", "node"], "", (2, 1, 0, 4), {"a": "U", "b": "U", "x": "U", "y": "U"}, id="H26"),
        pytest.param(["zone", "node"], "x", (1, 0, 0, 1), {"a": "U", "x": "UAU", "y": "U"}, id="H31-lacks-key"),
    ],
)
def test_hard_spread(
    oracle: SchedulerProcess, keys: list[str], without: str, counts: tuple[int, ...], expected: dict[str, str]
) -> None:
    cluster = four_nodes(without=without)
    for node, count in zip("abxy", counts, strict=True):
        cluster += foos(node, count)
    outcome = verdict(oracle, *cluster, a_pod("p", labels={"foo": ""}, spread=[spread(1, key, FOO) for key in keys]))
    assert outcome.rejections() == {node: f"PodTopologySpread {code}" for node, code in expected.items()}


def test_soft_spread_i04(oracle: SchedulerProcess) -> None:
    soft = spread(1, HOSTNAME, FOO, when="ScheduleAnyway")
    cluster = [
        *four_nodes(),
        *foos("a", 2),
        *foos("b", 1),
        *foos("y", 3),
        a_pod("p", labels={"foo": ""}, spread=[soft]),
    ]
    assert verdict(oracle, *cluster).scores_of("PodTopologySpread") == {"a": 40, "b": 120, "x": 200, "y": 0}


def test_pods_of_a_service_spread_by_default_x05(oracle: SchedulerProcess) -> None:
    nodes = [
        a_node(f"{zone}{index}", labels={ZONE: zone, HOSTNAME: f"{zone}{index}"}) for zone in "abc" for index in "12"
    ]
    cluster = [*nodes, a_service("foo", selector={"foo": ""}), *foos("a1", 2), *foos("b1", 1)]
    outcome = verdict(oracle, *cluster, a_pod("p", labels={"foo": ""}))
    expected = {"a1": 92, "a2": 152, "b1": 138, "b2": 168, "c1": 200, "c2": 200}
    assert outcome.scores_of("PodTopologySpread") == expected


def test_pod_anti_affinity_works_both_ways_j10_j13(oracle: SchedulerProcess) -> None:
    label = {"service": "scan"}
    against = pod_anti_affinity([pod_term(selector(labels=label), topology="zone")])
    node = a_node("n1", labels={"zone": "z"})
    own = verdict(oracle, node, a_pod("a", node="n1", labels=label), a_pod("p", affinity=against))
    theirs = verdict(oracle, node, a_pod("a", node="n1", affinity=against), a_pod("p", labels=label))
    assert own.rejected["n1"].reasons == ("node(s) didn't match pod anti-affinity rules",)
    assert theirs.rejected["n1"].reasons == ("node(s) didn't satisfy existing pods anti-affinity rules",)


def test_one_pod_must_match_every_affinity_term_k17(oracle: SchedulerProcess) -> None:
    terms = [pod_term(selector((key, "Exists")), topology=topology) for key, topology in (("foo", "r"), ("bar", "z"))]
    cluster = [a_node(f"n{index}", labels={"r": "r1", "z": f"z{index}"}) for index in "12"]
    cluster += [a_pod("a", node="n1", labels={"foo": ""}), a_pod("b", node="n2", labels={"bar": ""})]
    outcome = verdict(oracle, *cluster, a_pod("p", affinity=pod_affinity(required=terms)))
    assert outcome.rejections() == {"n1": "InterPodAffinity UAU", "n2": "InterPodAffinity UAU"}


def test_namespaces_are_selected_by_their_labels_k21(oracle: SchedulerProcess) -> None:
    term = pod_term(selector((("foo"), "Exists")), topology="z", namespace_selector=selector(labels={"team": "a"}))
    cluster = [a_node("n1", labels={"z": "1"}), a_node("n2", labels={"z": "2"})]
    cluster += [a_namespace("ours", labels={"team": "a"}), a_namespace("theirs", labels={"team": "b"})]
    cluster += [
        a_pod(name, namespace=name, node=node, labels={"foo": ""}) for name, node in (("ours", "n1"), ("theirs", "n2"))
    ]
    assert verdict(oracle, *cluster, a_pod("p", affinity=pod_affinity(required=[term]))).feasible == ("n1",)


def test_preferred_pod_affinity_and_anti_affinity_add_up_l15(oracle: SchedulerProcess) -> None:
    one, two = selector(labels={"security": "S1"}), selector(labels={"security": "S2"})
    mix = pod_affinity(preferred=[(8, pod_term(one, topology="region"))])
    mix |= pod_anti_affinity(preferred=[(5, pod_term(two, topology="az"))])
    regions = {"n1": "China", "n2": "India", "n3": "China", "n4": "China", "n5": "India"}
    cluster = [a_node(name, labels={"region": region}) for name, region in regions.items()]
    cluster[0]["metadata"]["labels"]["az"] = "az1"
    for node, count in (("n1", 2), ("n2", 1), ("n3", 2), ("n4", 1), ("n5", 1)):
        cluster += pods_on(node, *(f"{node}-{index}" for index in range(count)), labels={"security": "S1"})
    outcome = verdict(oracle, *cluster, a_pod("p", labels={"security": "S1"}, affinity=mix))
    assert outcome.scores_of("InterPodAffinity") == {"n1": 200, "n2": 0, "n3": 200, "n4": 200, "n5": 0}


def bound(claim: Object) -> Object:
    """The claim with the mark of the controller that has bound it."""
    annotated = claim["metadata"] | {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    return claim | {"metadata": annotated}


def test_a_volume_ties_its_pod_to_zones_r06_t11(oracle: SchedulerProcess) -> None:
    """By the volume's label (VolumeZone), and by its node affinity (VolumeBinding, which comes first)."""
    labelled, pinned = a_pv("v"), a_pv("v", zone="a")
    labelled["metadata"]["labels"] = {ZONE: "a"}
    nodes = [a_node("n1", labels={ZONE: "a"}), a_node("n2", labels={ZONE: "b"})]
    pod = a_pod("p", volumes=[claim_volume("c")])
    for volume, plugin in ((labelled, "VolumeZone"), (pinned, "VolumeBinding")):
        outcome = verdict(oracle, *nodes, volume, bound(a_pvc("c", volume="v")), pod)
        assert outcome.rejections() == {"n2": f"{plugin} UAU"}


def test_an_unbound_immediate_claim_rejects_the_pod_t10_v06(oracle: SchedulerProcess) -> None:
    cluster = [a_node("n1"), a_storage_class("now"), a_pvc("c", storage_class="now")]
    outcome = verdict(oracle, *cluster, a_pod("p", volumes=[claim_volume("c")]))
    assert outcome.pre_filter is not None
    assert outcome.pre_filter.plugin == "VolumeBinding"
    assert outcome.message == "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"


def test_capacity_decides_where_a_volume_may_be_made_t18(oracle: SchedulerProcess) -> None:
    cluster = [a_node("n1", labels={ZONE: "a"}), a_node("n2", labels={ZONE: "b"})]
    cluster += [
        a_storage_class("later", binding="WaitForFirstConsumer"),
        a_pvc("c", storage_class="later", size="10Gi"),
    ]
    cluster.append(a_driver("csi.example.com"))
    for zone, size in (("a", "5Gi"), ("b", "50Gi")):
        cluster.append(a_capacity(zone, "later", size))
    outcome = verdict(oracle, *cluster, a_pod("p", volumes=[claim_volume("c")]))
    assert outcome.rejected == {"n1": Rejection("VolumeBinding", ("node(s) did not have enough free storage",), "UAU")}


def a_driver(name: str) -> Object:
    return {"kind": "CSIDriver", "metadata": {"name": name}, "spec": {"storageCapacity": True}}


def a_capacity(zone: str, storage_class: str, size: str) -> Object:
    return {
        "kind": "CSIStorageCapacity",
        "metadata": {"name": zone, "namespace": "kube-system"},
        "nodeTopology": {"matchLabels": {ZONE: zone}},
        "storageClassName": storage_class,
        "capacity": size,
    }


def test_a_reserved_volume_is_gone_for_the_next_pod(oracle: SchedulerProcess) -> None:
    """Both claims want the only volume there is; nothing makes another."""
    cluster = [
        a_node("n1"),
        a_storage_class("local", provisioner="kubernetes.io/no-provisioner", binding="WaitForFirstConsumer"),
    ]
    volume = a_pv("v", storage_class="local")
    volume["status"] = {"phase": "Available"}
    cluster.append(volume)
    for name in ("a", "b"):
        cluster += [a_pvc(name, storage_class="local"), a_pod(name, volumes=[claim_volume(name)])]
    first, second = oracle.ask(cluster).pods
    assert first.node == "n1"
    assert second.rejected["n1"].reasons == ("node(s) didn't find available persistent volumes to bind",)
    assert [pod.node for pod in oracle.ask(cluster, apply=False).pods] == ["n1", "n1"]


def test_a_node_attaches_so_many_volumes_t02(oracle: SchedulerProcess) -> None:
    limits = {"name": "csi.example.com", "nodeID": "n1", "allocatable": {"count": 2}}
    cluster = [a_node("n1"), {"kind": "CSINode", "metadata": {"name": "n1"}, "spec": {"drivers": [limits]}}]
    for name in ("v1", "v2", "v3"):
        cluster += [a_pv(name), bound(a_pvc(name, volume=name))]
    cluster += [a_pod(name, node="n1", volumes=[claim_volume(name)]) for name in ("v1", "v2")]
    outcome = verdict(oracle, *cluster, a_pod("p", volumes=[claim_volume("v3")]))
    assert outcome.rejected == {"n1": Rejection("NodeVolumeLimits", ("node(s) exceed max volume count",), "U")}


def test_a_claim_of_one_pod_is_taken_by_preemption_s09_s10(oracle: SchedulerProcess) -> None:
    claim = bound(a_pvc("c", volume="v", access_modes=("ReadWriteOncePod",)))
    volumes = [claim_volume("c")]
    cluster = [a_node("n1"), a_node("n2"), a_pv("v"), claim, a_pod("a", node="n1", volumes=volumes)]
    low = verdict(oracle, *cluster, a_pod("p", volumes=volumes))
    assert low.rejections() == {"n1": "VolumeRestrictions U", "n2": "VolumeRestrictions U"}
    high = verdict(oracle, *cluster, a_pod("p", volumes=volumes, priority=1))
    assert high.candidates == {"n1": Candidate(("default/a",), 0)}
