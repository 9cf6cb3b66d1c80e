"""What kube-scheduler does differently since a minor: each change on a small cluster, just before that minor and from it on.

Whether whole clusters agree with the scheduler of each minor asks ``oracle/test_minors_differential``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from builders import ZONE, Object, a_namespace, a_node, a_pod, a_pv, a_pvc, a_storage_class
from builders.cluster_objects import a_gang_workload, a_pod_group, in_group, of_workload
from builders.devices import (
    a_claim,
    a_device,
    a_device_class,
    a_request,
    a_slice,
    a_taint_rule,
    allocated,
    exactly,
    first_available,
    uses,
)
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE
from restow.scheduling.configuration.registry import IN_TREE
from restow.scheduling.framework import minors
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.minors import ASSUMED, CHANGES, FOLLOWED, Change, assumed_beside, holds, not_followed
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.loop.scheduling_pass import schedule
from scheduling.plugins.asking import INCOMING, pod_index, scores, statuses
from scheduling.plugins.volume_world import available, bound, capacity, csi_driver, csi_node, incoming, with_claims

DRIVER = "csi.example.com"
LATER = "WaitForFirstConsumer"
IMAGES = {"a:latest": 500 << 20, "b:latest": 500 << 20}
VOLUME = {"name": "v", "image": {"reference": "b"}}


def a_demanding_driver() -> Object:
    driver = csi_driver(DRIVER, tells_capacity=False)
    return driver | {"spec": driver["spec"] | {"preventPodSchedulingIfMissing": True}}


def zones(*names: str) -> list[Object]:
    return [a_node(f"n-{name}", labels={ZONE: name}) for name in names]


HELD = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
BALANCED = [
    a_node("n", cpu="10", memory="10Gi"),
    a_pod("there", node="n", cpu="5", memory="1Gi"),
    a_pod(INCOMING, cpu="1", memory="1Gi"),
]
IN_USE = [
    a_node("n"),
    a_pv("v"),
    bound("c", "v", access_modes=("ReadWriteOncePod",)),
    with_claims("holder", "c", node="n"),
    incoming("c"),
]
UNDECIDED = [*zones("a", "b", "c"), a_storage_class("s", binding=LATER)]


def decided(context: Context, _plugin: object, pod: int) -> tuple[list[str], str]:
    """The nodes where a pod fits, and what is said of it, after the pods before it."""
    schedulers = Schedulers(context, (DEFAULT_PROFILE,))
    decision = next(each for each in schedule(schedulers, schedulers.queue().pods) if each.pod == pod)
    names = context.state.cluster.nodes.names
    return [names[node] for node in decision.verdicts.feasible.tolist()], decision.message


NOWHERE = "0/1 nodes are available: 1 node(s) were unschedulable. {}preemption: 0/1 nodes are available: "
NOT_HELPFUL = "1 Preemption is not helpful for scheduling."
CORDONED = [a_node("n", unschedulable=True), a_pod(INCOMING)]
EXCLUDING = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
AWAY = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": ZONE, "namespaceSelector": EXCLUDING}
APART = [
    a_namespace("blue", labels={"team": "blue"}),
    *zones("a"),
    a_pod("there", namespace="blue", node="n-a", labels={"app": "a"}),
    a_pod(INCOMING, affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [AWAY]}}),
]
ANTI_AFFINITY = {"n-a": ("U", "node(s) didn't match pod anti-affinity rules")}
PREEMPTING = [
    a_node("n", cpu="1"),
    a_pod("there", node="n", cpu="1", priority=1),
    a_pod(INCOMING, cpu="1", priority=9),
]
LACKING = "0/1 nodes are available: 1 Insufficient cpu."
TOLD = "preemption: found a potential placement for pod on node n, preempting 1 victims"
KEPT = [
    a_node("n", cpu="1"),
    a_pod("gated", cpu="1", priority=9, nominated_node="n", spec={"schedulingGates": [{"name": "wait"}]}),
    a_pod(INCOMING, cpu="1", priority=1),
]
TOO_FEW = (
    "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, "
    "one or more plugins asked to wait and no plugin rejected pod"
)
OUT_OF_REACH = (
    "pod group is unschedulable, minCount (2) cannot be satisfied: 1 scheduled, 0 remaining, "
    "pod group preemption: No preemption victims found for incoming preemptor"
)
SERVED = "example.com/gpu"
VICTIMLESS = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
NOT_PREEMPTED = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
GPUS = a_device_class("gpu")
SHARED: Object = {"allowMultipleAllocations": True}
TWICE = [{"name": "chip", "counters": {"slots": {"value": "1"}}}] * 2
LACKS_DEVICES = (
    "0/1 nodes are available: 1 cannot allocate all claims. {}preemption: 0/1 nodes are available: " + NOT_HELPFUL
)
DEVICES_UNKNOWN = "where it goes is unknown: "


def wanting(*claims: Object) -> list[Object]:
    """The classes, and a pod with these claims."""
    used = [uses(f"d{at}", claim=each["metadata"]["name"]) for at, each in enumerate(claims)]
    return [GPUS, *claims, a_pod(INCOMING, spec={"resourceClaims": used})]


#: The cluster, what is asked of it, and the answers before and since.
ROWS: dict[Change, tuple[list[Object], Callable[..., object], object, object]] = {
    minors.CLAIMS_ENABLED: (
        CORDONED,
        decided,
        ([], NOWHERE.format("") + NOT_HELPFUL),
        ([], NOWHERE.format("no new claims to deallocate, ") + NOT_HELPFUL),
    ),
    minors.NAMESPACE_SELECTOR_KEPT: (APART, statuses, {"n-a": ("OK",)}, ANTI_AFFINITY),
    minors.TOO_SMALL_NODES: (
        [a_node("n", cpu="1"), a_pod(INCOMING, cpu="2")],
        statuses,
        {"n": ("U", "Insufficient cpu")},
        {"n": ("UAU", "Insufficient cpu")},
    ),
    minors.SHORT_TAINT_REASON: (
        [a_node("n", taints=["team=a:PreferNoSchedule", "old=b:NoSchedule"]), a_pod(INCOMING)],
        statuses,
        {"n": ("UAU", "node(s) had untolerated taint {old: b}")},
        {"n": ("UAU", "node(s) had untolerated taint(s)")},
    ),
    minors.CLAIM_IN_USE_REASON: (
        IN_USE,
        statuses,
        {"n": ("U", "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode")},
        {"n": ("U", HELD)},
    ),
    minors.EXTENDED_BY_CLASSES: (
        [
            a_node("n"),
            a_slice("s", [a_device("a")], node="n"),
            a_claim("unused", exactly(a_request("r", "gpu"))),
            a_device_class("gpu", extendedResourceName=SERVED),
            a_pod(INCOMING, requests={SERVED: "1"}),
        ],
        decided,
        ([], f"0/1 nodes are available: 1 Insufficient {SERVED}. no new claims to deallocate, {NOT_PREEMPTED}"),
        (["n"], ""),
    ),
    # 60 % of the processors and 20 % of the memory; 50 % and 10 % before.
    minors.IMPROVED_BALANCE: (BALANCED, scores, [80], [75]),
    # 500 of 1000 MiB, all but the first 23; then 1000 of 1000.
    minors.INVALID_POOLS_PASSED: (
        [
            a_node("n"),
            a_slice("good", [a_device("a")], node="n"),
            a_slice("bad", [a_device("a"), a_device("a")], node="n", driver="nic.example.com"),
            *wanting(a_claim("c", exactly(a_request("r", "gpu")))),
        ],
        decided,
        (
            [],
            (
                f"{DEVICES_UNKNOWN}whether it gets devices beside pool nic.example.com/n, which is incomplete or invalid, is "
                "chance"
            ),
        ),
        (["n"], ""),
    ),
    minors.ALTERNATIVES_SCORED: (
        [
            a_node("n1"),
            a_node("n2"),
            a_slice("one", [a_device("a")], node="n1"),
            a_slice("two", [a_device("a"), a_device("b")], node="n2"),
            *wanting(a_claim("c", first_available("r", a_request("s0", "gpu", count=2), a_request("s1", "gpu")))),
        ],
        scores,
        "SKIP",
        [87, 100],
    ),
    minors.DEVICES_IN_ORDER: (
        [
            a_node("n"),
            a_slice("s", [a_device("a", taints=[{"key": "broken", "effect": "NoSchedule"}])], node="n"),
            *wanting(a_claim("c", exactly(a_request("r", "gpu")))),
        ],
        decided,
        ([], f"{DEVICES_UNKNOWN}ResourceSlice s has taints, which counts only with a feature gate up to 1.35"),
        ([], LACKS_DEVICES.format("still not schedulable, ")),
    ),
    # Of the devices a, b and a again the last one is compared with b only.
    minors.DEVICES_GIVEN_BACK: (
        [
            a_node("n"),
            a_slice("s", [a_device(f"d{at}", {"switch": switch}) for at, switch in enumerate("aba")], node="n"),
            *wanting(
                a_claim(
                    "c",
                    exactly(a_request("r", "gpu", count=3)),
                    constraints=[{"distinctAttribute": "gpu.example.com/switch"}],
                )
            ),
        ],
        decided,
        (["n"], ""),
        ([], LACKS_DEVICES.format("")),
    ),
    # Of two devices of 10 one has 2 left.
    minors.ALL_BY_WHOLE_CAPACITY: (
        [
            a_node("n"),
            a_slice("s", [a_device(name, None, {"memory": "10"}, **SHARED) for name in "ab"], node="n"),
            a_claim(
                "held",
                exactly(a_request("r", "gpu")),
                devices=[allocated("r", "a", pool="n", shareID="1", consumedCapacity={"memory": "8"})],
                reserved_for=("other",),
            ),
            *wanting(a_claim("c", exactly(a_request("r", "gpu", count=0, capacity={"requests": {"memory": "5"}})))),
        ],
        decided,
        (["n"], ""),
        ([], LACKS_DEVICES.format("")),
    ),
    minors.COUNTERS_BY_NODE: (
        [
            a_node("n1"),
            a_node("n2"),
            a_slice("counters", None, node="n1", pool="p", sharedCounters=TWICE),
            *wanting(a_claim("c", exactly(a_request("r", "gpu")))),
        ],
        statuses,
        {
            "n1": ("UAU", "invalid resource pools were encountered"),
            "n2": ("UAU", "invalid resource pools were encountered"),
        },
        {"n1": ("UAU", "invalid resource pools were encountered"), "n2": ("UAU", "cannot allocate all claims")},
    ),
    minors.DEVICE_TAINT_RULES: (
        [
            a_node("n"),
            a_slice("s", [a_device("a")], node="n"),
            a_taint_rule("broken", {"pool": "n"}),
            *wanting(a_claim("c", exactly(a_request("r", "gpu")))),
        ],
        decided,
        (["n"], ""),
        ([], LACKS_DEVICES.format("")),
    ),
    minors.SCORED_BY_CLAIM: (
        [
            *(a_node(name) for name in ("n1", "n2")),
            *(a_slice(name, [a_device("a")], node=name) for name in ("n1", "n2")),
            *wanting(
                a_claim("had", exactly(a_request("r", "gpu")), devices=[allocated("r", "z", pool="z")]),
                a_claim("new", exactly(a_request("r", "gpu"))),
            ),
        ],
        decided,
        (
            ["n1", "n2"],
            (
                'running Score plugins: plugin "DynamicResources" failed with: number of allocations 1 is smaller than number of '
                "claims"
            ),
        ),
        (["n1", "n2"], ""),
    ),
    minors.VOLUME_IMAGES: (
        [a_node("n", images=IMAGES), a_pod(INCOMING, images=["a"], volumes=[VOLUME])],
        scores,
        [48],
        [100],
    ),
    # 1000 of 1000 MiB; then 1000 of 2000.
    minors.VOLUME_IMAGES_DIVIDE: (
        [a_node("n", images=IMAGES), a_pod(INCOMING, images=["a"], volumes=[VOLUME])],
        scores,
        [100],
        [49],
    ),
    minors.PREEMPTION_TOLD: (PREEMPTING, decided, ([], LACKING), ([], f"{LACKING} {TOLD}")),
    # Its own priority is lower than that of the pod that comes, its group's is not.
    minors.VICTIMS_TOGETHER: (
        [
            a_node("n", cpu="1"),
            a_pod_group("g", priority=9),
            a_pod("placed", cpu="1", node="n", priority=0, spec=in_group("g")),
            a_pod(INCOMING, cpu="1", priority=1),
        ],
        decided,
        ([], LACKING),
        ([], f"{LACKING} {VICTIMLESS}"),
    ),
    minors.NO_CLAIMS_UNTOLD: (
        CORDONED,
        decided,
        ([], NOWHERE.format("no new claims to deallocate, ") + NOT_HELPFUL),
        ([], NOWHERE.format("") + NOT_HELPFUL),
    ),
    # One of two finds a node.
    minors.WORKLOADS: (
        [
            a_node("n", cpu="1"),
            a_gang_workload("w", g=2),
            a_pod(INCOMING, cpu="1", spec=of_workload("w", "g")),
            a_pod("other", cpu="1", spec=of_workload("w", "g")),
        ],
        decided,
        (["n"], ""),
        (["n"], "waiting for minCount pods from a gang to be waiting on permit"),
    ),
    minors.GROUPS: (
        [a_node("n", cpu="3"), a_pod_group("g", least=1), a_pod(INCOMING, cpu="1", spec=in_group("g"))],
        decided,
        ([], "where it goes is unknown: restow schedules groups as kube-scheduler 1.36 and later do"),
        (["n"], ""),
    ),
    # One of two finds a node.
    minors.GROUPS_PREEMPT: (
        [
            a_node("n", cpu="1"),
            a_pod_group("g", least=2),
            a_pod(INCOMING, cpu="1", spec=in_group("g")),
            a_pod("other", cpu="1", spec=in_group("g")),
        ],
        decided,
        (["n"], TOO_FEW),
        (["n"], OUT_OF_REACH),
    ),
    minors.NAMESPACE_SELECTOR_DROPPED: (APART, statuses, ANTI_AFFINITY, {"n-a": ("OK",)}),
    minors.GATED_NOMINATIONS: (KEPT, decided, (["n"], ""), ([], f"{LACKING} {VICTIMLESS}")),
    minors.MISSING_DRIVERS: (
        [*zones("a", "b"), csi_node("n-a", DRIVER, 5), a_demanding_driver(), a_pv("v"), bound("c", "v"), incoming("c")],
        statuses,
        {"n-a": ("OK",), "n-b": ("OK",)},
        {"n-a": ("OK",), "n-b": ("U", f"{DRIVER} CSI driver is not installed on the node")},
    ),
    minors.GROUPS_IN_DOMAINS: (
        [
            a_node("n", labels={"rack": "r"}),
            a_pod_group("g", schedulingConstraints={"topology": [{"key": "rack"}]}),
            a_pod(INCOMING, spec=in_group("g")),
        ],
        decided,
        ([], "where it goes is unknown: its group has to share a domain, which restow models as of Kubernetes 1.37"),
        (["n"], ""),
    ),
    # A volume of 4 GiB that is there; then what is left of 10 GiB, and of 2 GiB.
    minors.STORAGE_SCORES: (
        [
            *UNDECIDED,
            csi_driver(DRIVER, tells_capacity=True),
            available("v", storage_class="s", zone="a", size="4Gi"),
            capacity("b", "s", "b", "10Gi"),
            capacity("c", "s", "c", "2Gi"),
            a_pvc("c", storage_class="s"),
            incoming("c"),
        ],
        scores,
        None,
        [75, 90, 50],
    ),
}


def asked(change: Change, minor: int) -> object:
    """What the plugin of a change answers on its cluster, as of a minor."""
    cluster, question, *_ = ROWS[change]
    context = Context.of(ClusterState(replace(a_cluster(*cluster), server_minor=minor)))
    if question is decided:
        return decided(context, None, pod_index(context))
    declared = IN_TREE[change.plugin]
    assert declared.make is not None
    args = None if declared.args is None else declared.with_defaults(declared.args())
    plugin = declared.make(context, args)
    if question is scores and not hasattr(plugin, "score"):
        return None
    return question(context, plugin, pod_index(context))


def test_each_change_has_a_row() -> None:
    assert set(ROWS) == set(CHANGES)
    assert list(CHANGES) == sorted(CHANGES, key=lambda each: (each.since, each.plugin))


@pytest.mark.parametrize("change", CHANGES, ids=lambda each: f"{each.plugin}-{each.since}")
def test_a_change_holds_from_its_minor_on(change: Change) -> None:
    *_, before, since = ROWS[change]
    assert asked(change, change.since - 1) == before
    assert asked(change, change.since) == since


@pytest.mark.parametrize(
    ("kubelets", "newest"),
    [
        (["v1.33.1", "v1.34.2-eks-1234567"], 34),
        (["v1.37.0+k3s1", ""], 37),
        (["v1.36.1", "v1.33.0"], None),
        (["v1.28.3"], None),
        ([], None),
    ],
)
def test_kubelets_of_another_version_are_told(kubelets: list[str], newest: int | None) -> None:
    text = assumed_beside(kubelets)
    assert text.endswith(f"so --scheduler-version 1.{newest} may be right") if newest else text == ""


def test_without_a_version_the_assumed_one_holds() -> None:
    cluster = a_cluster(a_node("n"))
    assert ASSUMED in FOLLOWED
    assert all(holds(each, cluster) is (each.since <= ASSUMED) for each in CHANGES)


def test_of_a_minor_that_is_not_known_the_nearest_one_holds() -> None:
    old, new = (replace(a_cluster(a_node("n")), server_minor=minor) for minor in (FOLLOWED[0] - 1, FOLLOWED[-1] + 1))
    assert not any(holds(each, old) for each in CHANGES)
    assert all(holds(each, new) for each in CHANGES)
    assert not_followed(FOLLOWED[-1] + 1).endswith(f"it goes by 1.{FOLLOWED[-1]}")
    assert not_followed(FOLLOWED[0] - 1).endswith(f"it goes by 1.{FOLLOWED[0]}")
    assert not any(map(not_followed, (None, *FOLLOWED)))
