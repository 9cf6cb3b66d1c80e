"""HighNodeUtilization: which nodes are emptied, how far, and into which.

Ids are the rows of upstream's own unit tests (HN, HT) and of scenarios that were run against upstream (X), restated.
Where upstream's choice depends on a random order, the row's count is upstream's and the names are those of canonical
order. Excluded: arguments (tests/policies), the arithmetic (tests/descheduling/node_utilization).
"""

from __future__ import annotations

from typing import Any

import pytest

from builders import (
    CRIT,
    DS,
    HOSTNAME,
    LS,
    MIRROR,
    OWN,
    RS,
    Object,
    a_node,
    a_pdb,
    a_pod,
    node_affinity,
    node_term,
    pods_on,
    std_node,
)
from descheduling.harness import a_policy, cycle, evictions
from explaining.explained import explained, node_explained
from oracle.moving_cases import a_moving_case
from proving.proven import TOLD, landings, moved, plans, prove, reasons
from restow.cluster.pod_values import Flag
from restow.descheduling.cycle import Cycle
from restow.descheduling.protections import of_daemon_sets

NAME = "HighNodeUtilization"
FOO = "example.com/foo"
ONLY = "OnlyThresholdingResources"

ARGS = {"thresholds": {"cpu": 30}}
WEB = {"labels": {"app": "web"}}


def thresholds(modes: tuple[str, ...] = (), **percentages: int) -> Object:
    named = {FOO if name == "foo" else name: percentage for name, percentage in percentages.items()}
    return {"thresholds": named, "evictionModes": list(modes)}


def nodes(*cpus: int, memory: int = 3000, foo: int | None = None, cordoned: str = "") -> list[Object]:
    """n1, n2, ... with so many milli-CPUs each."""
    extended = None if foo is None else {FOO: foo}
    names = [(f"n{index}", cpu) for index, cpu in enumerate(cpus, 1)]
    return [std_node(name, cpu, memory, unschedulable=name == cordoned, extended=extended) for name, cpu in names]


def on(node: str, names: str, cpu: str = "400m", *, foo: int | None = None, **same: Any) -> list[Object]:
    requests = {} if foo is None else {FOO: str(foo)}
    return pods_on(node, *names.split(), **{"cpu": cpu, "owner": RS, "requests": requests, **same})


TO_WEST = on("n2", "p5", node_selector={"datacenter": "west"})
ON_N1 = [*on("n1", "p1 p2 p3"), *on("n1", "p4", owner=DS)]
N1_IS_WEST = [std_node("n1", 4000, 3000, 9, labels={"datacenter": "west"}), std_node("n2", 4000, 3000, 10)]

ROWS = {
    "HN-01": (
        thresholds(cpu=20, pods=20),
        nodes(4000, 4000, 4000),
        [*on("n1", "p1 p2 p3"), *on("n2", "p4 p5 p6"), *on("n3", "p7 p8 p9")],
        [],
    ),
    "HN-02": (
        thresholds(cpu=40, pods=40),
        [std_node("n1", 4000, 3000, 9), *nodes(4000, 4000, 4000)[1:]],
        [
            *on("n1", "p1", owner=OWN, volumes=LS, annotations=MIRROR),
            *on("n1", "p2", owner=OWN, **CRIT),
            *on("n2", "p3 p4", owner=DS),
            *on("n3", "p5 p6 p7 p8"),
        ],
        [],
    ),
    "HN-03": (
        thresholds(cpu=20, pods=20),
        nodes(4000, 4000, 4000, cordoned="n3"),
        [*on("n1", "p1"), *on("n2", "p2"), *on("n3", "p3 p4 p5")],
        [],
    ),
    "HN-05": (
        thresholds(cpu=30, pods=30),
        nodes(2000, 2000, 2000, cordoned="n3"),
        [*on("n1", "p1"), *on("n2", "p2 p3 p4 p5"), *on("n3", "p6")],
        ["p1"],
    ),
    "HN-06": (
        thresholds(cpu=30),
        nodes(4000, 2000, 2000, cordoned="n3"),
        [
            *on("n1", "p1", priority=0),
            *on("n1", "p2", priority=10000),
            *on("n2", "p5 p6 p7 p8"),
            *on("n3", "p9", owner=DS),
        ],
        ["p1"],
    ),
    "HN-07": (
        thresholds(cpu=30),
        [std_node("n1", 3000), std_node("n2", 3000, 3000, 5), std_node("n3", 3000, unschedulable=True)],
        [a_pod("p1", node="n1", cpu=None, memory=None, owner=RS), *on("n1", "p2"), *on("n2", "p3 p4 p5 p6")],
        ["p1"],
    ),
    "HN-08": (
        thresholds(cpu=20, foo=40),
        [*nodes(4000, 4000, foo=8), std_node("n3", 4000, unschedulable=True)],
        [*on("n1", "p1 p2", "100m", foo=1), *on("n2", "p3 p4 p5 p6", "500m", foo=1)],
        ["p1", "p2"],
    ),
    "HN-09": (
        thresholds(cpu=40, foo=40),
        [*nodes(4000, foo=8), *nodes(4000, 4000, 4000, cordoned="n3")[1:]],
        [*on("n1", "p1 p2", "100m", foo=1), *on("n2", "p3 p4 p5 p6", "500m")],
        [],
    ),
    "HN-10": (thresholds(cpu=30, pods=30), N1_IS_WEST, [*ON_N1, *TO_WEST], ["p5"]),
    "HN-11": (thresholds(cpu=30, pods=30), nodes(4000, 4000), [*ON_N1, *TO_WEST], []),
    "HN-12": (
        thresholds(cpu=30, pods=30),
        [std_node("n1", 4000, 200, 9), std_node("n2", 4000)],
        [*on("n1", "p1 p2 p3", memory="50"), *on("n1", "p4", owner=DS, memory="50"), *on("n2", "p5", memory="100")],
        [],
    ),
    "HN-13": (
        thresholds((ONLY,), foo=40),
        nodes(4000, 4000, 4000, foo=10),
        [*on("n1", "p1 p2", "100m", foo=3), *on("n2", "p3 p4 p5 p6", "500m")],
        [],
    ),
}


@pytest.mark.parametrize(("args", "cluster", "pods", "expected"), ROWS.values(), ids=ROWS.keys())
def test_underused_nodes_are_emptied_into_the_others(
    args: Object, cluster: list[Object], pods: list[Object], expected: list[str]
) -> None:
    assert evictions(NAME, args, nodes=cluster, pods=pods, evictor={"nodeFit": True}) == expected


TAINTED = [std_node("n1", 1000), std_node("n3", 1000, taints=["key=value:NoSchedule"])]
TAINTS = {
    "HT-01": (nodes(1000, 1000, 1000), [*on("n1", "p1 p2 p3", "200m"), *on("n2", "p4", "200m")], 1, ["p4"]),
    "HT-02": (TAINTED, [*on("n1", "p1", "200m"), *on("n3", "p2", "200m")], 0, []),
    "HT-03": (
        TAINTED,
        [
            *on("n1", "p1", "100m"),
            *on("n1", "tolerant", "200m", tolerations=["key=value"]),
            *on("n3", "p9", "500m"),
        ],
        1,
        ["tolerant"],
    ),
}


@pytest.mark.parametrize(("cluster", "pods", "per_node", "expected"), TAINTS.values(), ids=TAINTS.keys())
def test_a_destination_must_be_tolerated(
    cluster: list[Object], pods: list[Object], per_node: int, expected: list[str]
) -> None:
    assert evictions(NAME, thresholds(cpu=40), nodes=cluster, pods=pods, per_node=per_node) == expected


BUSY = on("n2", "w", "2000m")


SCENARIOS = {
    "X-18": (
        thresholds(foo=20, cpu=20),
        [std_node("n1", 4000, extended={FOO: 8}), std_node("n2", 4000)],
        [*on("n1", "p1", "100m", foo=1), *BUSY],
        [],
    ),
    "X-19": (thresholds(cpu=20), nodes(4000, 4000, cordoned="n1"), [*on("n1", "p1", "100m"), *BUSY], ["p1"]),
}


@pytest.mark.parametrize(("args", "cluster", "pods", "expected"), SCENARIOS.values(), ids=SCENARIOS.keys())
def test_scenarios_that_were_run_against_upstream(
    args: Object, cluster: list[Object], pods: list[Object], expected: list[str]
) -> None:
    """A resource that no destination has stops everything; a cordoned node is emptied like any other."""
    assert evictions(NAME, args, nodes=cluster, pods=pods) == expected


def test_the_emptiest_node_goes_first_and_bytes_decide_which_that_is() -> None:
    cluster = nodes(4000, 4000, 4000)
    pods = [*on("n1", "p1", "100m", memory="300"), *on("n2", "w", "2000m"), *on("n3", "p3", "200m", memory="100")]
    assert evictions(NAME, thresholds(cpu=20), nodes=cluster, pods=pods) == ["p3", "p1"]


def test_an_explicit_zero_request_counts_as_requesting() -> None:
    cluster = nodes(4000, 4000, foo=10)
    pods = [*on("n1", "p1", "100m", foo=0), *on("n1", "p2", "100m"), *on("n2", "w", "2000m", foo=5)]
    assert evictions(NAME, thresholds((ONLY,), foo=20), nodes=cluster, pods=pods) == ["p1"]


def test_it_acts_only_on_more_nodes_than_the_number_of_nodes() -> None:
    pods = [*on("n1", "p1", "100m"), *BUSY]
    args = thresholds(cpu=20)
    assert evictions(NAME, {**args, "numberOfNodes": 1}, nodes=nodes(4000, 4000), pods=pods) == []
    assert evictions(NAME, {**args, "numberOfNodes": -1}, nodes=nodes(4000, 4000), pods=pods) == ["p1"]


def test_the_reason_tells_how_empty_the_node_is() -> None:
    done = cycle(NAME, thresholds(cpu=20, pods=30), nodes=nodes(4000, 4000), pods=[*on("n1", "p1"), *BUSY])
    expected = "n1 can be emptied: cpu 10 %, threshold 20 %; pods 10 %, threshold 30 %"
    assert done.record.evictions[0].reason == expected


def nodes_of_pods(count: int, cpu: str = "4") -> list[Object]:
    """``n1`` and so on."""
    return [a_node(f"n{at}", cpu=cpu, labels={HOSTNAME: f"n{at}"}) for at in range(1, count + 1)]


def filler(node: str, cpu: str) -> Object:
    """What is on a node and stays."""
    return a_pod(f"filler-{node}", node=node, cpu=cpu, owner=("DaemonSet", "filler"))


def a_replica(name: str, node: str, cpu: str = "400m", **fields: Any) -> Object:
    """A pod of a ReplicaSet of its own."""
    return a_pod(name, node=node, cpu=cpu, **({"owner": ("ReplicaSet", f"rs-{name}")} | fields))


def emptied(*objects: Object, args: Object = ARGS, **policy: Any) -> Cycle:
    """A steered plan of HighNodeUtilization."""
    return prove([*objects, *TOLD], a_policy("HighNodeUtilization", args, **policy), steering="nominate")


def proposals(cycle: Cycle) -> dict[str, list[str]]:
    """By the pod that cannot go, those that stay with it."""
    names = cycle.state.cluster.pods.names
    return {names[each.pod]: [names[pod] for pod in each.others] for each in cycle.record.refusals if each.purpose}


def test_a_node_is_emptied_completely() -> None:
    cycle = emptied(*nodes_of_pods(2), filler("n2", "2"), a_replica("p", "n1"), a_replica("q", "n1"))
    assert landings(cycle) == {"p": "n2", "q": "n2"}
    assert {each.together and each.together.purpose for each in cycle.record.evictions} == {"empty n1"}


def test_a_node_is_left_alone_where_one_pod_has_no_place() -> None:
    """The refusal names the pod and says what the nodes that would be filled say of it."""
    cycle = emptied(
        *nodes_of_pods(2), filler("n2", "3500m"), a_replica("p", "n1", "100m"), a_replica("q", "n1", "800m")
    )
    assert (moved(cycle), proposals(cycle)) == ([], {"q": ["p"]})
    message = (
        "it does not fit on the one node where HighNodeUtilization gains: 1 Insufficient cpu; "
        "so HighNodeUtilization does not empty n1"
    )
    assert reasons(cycle)["q"] == ("placement", "NoGain", message)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"owner": None}, "NoOwner"),
        ({"labels": {"app": "web"}}, "DisruptionBudget"),
        ({"spec": {"schedulerName": "mine"}}, "UnknownScheduler"),
    ],
)
def test_a_node_is_left_alone_where_one_pod_may_not_go(fields: dict[str, Any], code: str) -> None:
    budget = a_pdb("web", selector={"matchLabels": {"app": "web"}}, disruptions_allowed=0)
    objects = [*nodes_of_pods(2), filler("n2", "2"), a_replica("p", "n1"), a_replica("q", "n1", **fields), budget]
    cycle = emptied(*objects)
    assert (moved(cycle), proposals(cycle)) == ([], {"q": ["p"]})
    assert reasons(cycle)["q"][1] == code


def test_a_node_that_cannot_be_emptied_takes_pods_of_others() -> None:
    """Bare pods are protected: n2 and n3 are underused as well, and stay. n3 is cordoned, n4 is full."""
    n1, n2, n3, n4 = nodes_of_pods(4)
    n3["spec"]["unschedulable"] = True
    full, bare = filler("n4", "3900m"), a_pod("b3", node="n3", cpu="200m")
    pods = [full, bare, a_replica("p", "n1")]
    assert landings(emptied(n1, n2, n3, n4, *pods, a_pod("b2", node="n2", cpu="100m"))) == {"p": "n2"}
    assert moved(emptied(n1, n3, n4, *pods)) == []


def test_such_a_node_takes_pods_only_if_no_fuller_one_does() -> None:
    objects = [*nodes_of_pods(3), filler("n3", "2"), a_pod("bare", node="n2", cpu="100m")]
    first, *others = plans(
        [*objects, a_replica("p", "n1"), *TOLD], a_policy("HighNodeUtilization", ARGS), steering="nominate"
    )
    assert landings(first) == {"p": "n3"}
    assert [len(each.record.evictions) for each in others] == [0]


def on_a_pool(node: str, name: str, **fields: Any) -> Object:
    """A pod that only the nodes n1, n2 and n3 can run."""
    pool = node_affinity([node_term((HOSTNAME, "In", "n1", "n2", "n3"))])
    return a_replica(name, node, "100m", affinity=pool, **fields)


def test_nodes_that_have_no_place_for_their_pods_are_merged() -> None:
    """The emptier into the fuller, and no later plan moves anything again. n4 is filled, but not by these pods."""
    there = [on_a_pool("n2", "q1"), on_a_pool("n2", "q2"), on_a_pool("n1", "p"), filler("n4", "2")]
    first, *others = plans(
        [*nodes_of_pods(4), *there, *TOLD], a_policy("HighNodeUtilization", ARGS), steering="nominate"
    )
    assert landings(first) == {"p": "n2"}
    assert [len(each.record.evictions) for each in others] == [0]


def test_nodes_are_merged_until_they_are_full() -> None:
    """A node runs two pods."""
    nodes = [a_node(f"n{at}", cpu="4", pods=2, labels={HOSTNAME: f"n{at}"}) for at in range(1, 5)]
    there = [on_a_pool("n1", "p"), on_a_pool("n2", "q"), on_a_pool("n3", "r1"), on_a_pool("n3", "r2")]
    cycle = emptied(*nodes, *there, filler("n4", "2"))
    assert landings(cycle) == {"p": "n2"}
    assert proposals(cycle) == {"q": [], "r1": ["r2"]}


def test_no_node_is_merged_into_one_that_a_budget_keeps() -> None:
    """As soon as the budget has room, that node can be emptied, and its pods would move twice."""
    budget = a_pdb("web", selector={"matchLabels": {"app": "web"}}, disruptions_allowed=0)
    kept = on_a_pool("n2", "q", labels={"app": "web"})
    cycle = emptied(*nodes_of_pods(4), kept, on_a_pool("n1", "p"), filler("n4", "2"), budget)
    assert moved(cycle) == []


def test_unsteered_the_others_go() -> None:
    """As in the Descheduler: what can go goes, if the scheduler packs by itself."""
    objects = [
        *nodes_of_pods(2),
        filler("n2", "2"),
        a_replica("p", "n1", affinity=only_on("n2")),
        a_pod("bare", node="n1"),
    ]
    policy = a_policy("HighNodeUtilization", ARGS)
    assert moved(prove([*objects, *TOLD], policy)) == ["p"]
    assert moved(emptied(*objects)) == []


def only_on(node: str) -> dict[str, Any]:
    """The affinity of pods that may be on one node alone."""
    return node_affinity([node_term((HOSTNAME, "In", node))])


def test_pods_that_go_with_their_node_do_not_keep_it() -> None:
    bound = [
        a_pod("log", node="n1", owner=("DaemonSet", "log")),
        a_pod("kubelet", node="n1", owner=OWN, annotations=MIRROR),
    ]
    cycle = emptied(*nodes_of_pods(2), filler("n2", "2"), a_replica("p", "n1"), *bound)
    assert landings(cycle) == {"p": "n2"}
    assert {pod: reason[1] for pod, reason in reasons(cycle).items()} == {
        "log": "DaemonSetPods",
        "kubelet": "MirrorPod",
    }


def test_a_pod_that_is_leaving_does_not_keep_its_node() -> None:
    leaving = a_replica("leaving", "n1", deleted="2026-01-01T00:00:00Z")
    cycle = emptied(*nodes_of_pods(2), filler("n2", "2"), a_replica("p", "n1"), leaving)
    assert landings(cycle) == {"p": "n2"}


def test_pods_that_the_arguments_leave_out_do_not_keep_a_node() -> None:
    args = {**ARGS, "evictableNamespaces": {"exclude": ["kube-system"]}}
    system = a_pod("dns", node="n1", namespace="kube-system")
    cycle = emptied(*nodes_of_pods(2), filler("n2", "2"), a_replica("p", "n1"), system, args=args)
    assert landings(cycle) == {"p": "n2"}


def test_each_pod_goes_to_the_node_that_is_fullest_by_then() -> None:
    """``big`` fits only on n3, which is then fuller than n2, so ``small`` follows it."""
    loads = [filler("n2", "3200m"), filler("n3", "2700m")]
    big, small = a_replica("a-big", "n1", "900m"), a_replica("small", "n1", "100m")
    assert landings(emptied(*nodes_of_pods(3), *loads, big, small)) == {"a-big": "n3", "small": "n3"}


def test_a_node_that_is_left_alone_has_filled_no_other() -> None:
    """n1 would fill n3 beyond n4, but ``z`` keeps its pods; so the pod of n2 finds both as they were."""
    loads = [filler("n3", "2"), filler("n4", "2200m")]
    first = [a_replica("a", "n1", "800m", affinity=only_on("n3")), a_replica("b", "n1", "10m"), nowhere("n1")]
    cycle = emptied(*nodes_of_pods(4), *loads, *first, a_replica("p", "n2", "1"))
    assert landings(cycle) == {"p": "n4"}


def nowhere(node: str) -> Object:
    """A pod for which there is no place at all but its own."""
    return a_replica("z", node, "50m", affinity=only_on(node))


def test_limits_leave_a_node_alone_that_has_more_pods() -> None:
    """A smaller node is emptied instead, though it comes later."""
    loads = [filler("n3", "2500m")]
    pods = [a_replica("a", "n1", "10m"), a_replica("b", "n1", "10m"), a_replica("c", "n2", "500m")]
    cycle = emptied(*nodes_of_pods(3), *loads, *pods, maxNoOfPodsToEvictTotal=1)
    assert (landings(cycle), proposals(cycle)) == ({"c": "n3"}, {"a": ["b"]})


LEFT_ALONE = [*nodes_of_pods(2), filler("n2", "2"), a_replica("p", "n1"), a_pod("bare", node="n1")]
WHY = "default/bare cannot go: pod does not have any ownerRefs; so HighNodeUtilization does not empty n1"


def test_a_pod_that_could_go_says_which_one_keeps_it() -> None:
    (seen,) = explained(a_policy("HighNodeUtilization", ARGS), *LEFT_ALONE, steering="nominate").strategies
    assert seen.refusal is not None
    assert (seen.refusal.stage, seen.refusal.code, seen.refusal.message) == ("evictor", "NoOwner", WHY)


def test_a_node_that_is_left_alone_says_which_pod_keeps_it() -> None:
    found = node_explained(a_policy("HighNodeUtilization", ARGS), *LEFT_ALONE, node="n1", steering="nominate")
    (staying,) = found.staying
    assert (staying.code, staying.message, [each.name for each in staying.pods]) == ("NoOwner", WHY, ["bare", "p"])


def test_random_nodes_are_emptied_or_left_alone() -> None:
    """Whatever limits, budgets and other pods there are; and no later plan moves a pod again."""
    emptied_nodes = left_alone = 0
    for seed in range(60):
        case = a_moving_case("HighNodeUtilization", seed)
        gone: set[str] = set()
        for plan in plans(case.cluster, case.policy, steering="nominate"):
            emptied_nodes += len(_emptied(plan))
            left_alone += len(proposals(plan))
            assert not gone & set(moved(plan)), seed
            gone |= set(moved(plan))
    assert emptied_nodes > 4
    assert left_alone > 10


def _emptied(cycle: Cycle) -> set[int]:
    """The nodes that pods leave; no pod stays there but those that go with the node, and those that are left out."""
    cluster, record = cycle.state.cluster, cycle.record
    pods = cluster.pods
    bound = of_daemon_sets(cluster).values | pods.has(Flag.MIRROR | Flag.STATIC | Flag.TERMINATING)
    found = {each.node for each in record.evictions}
    staying = {pod for each in record.refusals if each.purpose for pod in (each.pod, *each.others)}
    for node in found:
        assert not staying & set(cycle.state.pods_on(node)[~bound[cycle.state.pods_on(node)]].tolist())
        proposed = [each for each in record.evictions if each.node == node and each.together]
        assert all(each.together.moves == len(proposed) for each in proposed if each.together)
    return found
