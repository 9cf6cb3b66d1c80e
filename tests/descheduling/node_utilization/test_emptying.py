"""Nodes that are emptied completely or left alone, where the plan chooses the targets."""

from __future__ import annotations

from typing import Any

import pytest

from builders import HOSTNAME, MIRROR, OWN, Object, a_node, a_pdb, a_pod, node_affinity, node_term
from descheduling.explained import explained, node_explained
from descheduling.harness import a_policy
from descheduling.proven import TOLD, landings, moved, plans, prove, reasons
from oracle.moving_cases import a_moving_case
from restow.cluster.pods import Flag
from restow.descheduling.cycle import Cycle
from restow.descheduling.protections import of_daemon_sets

ARGS = {"thresholds": {"cpu": 30}}
WEB = {"labels": {"app": "web"}}


def nodes(count: int, cpu: str = "4") -> list[Object]:
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
    cycle = emptied(*nodes(2), filler("n2", "2"), a_replica("p", "n1"), a_replica("q", "n1"))
    assert landings(cycle) == {"p": "n2", "q": "n2"}
    assert {each.together and each.together.purpose for each in cycle.record.evictions} == {"empty n1"}


def test_a_node_is_left_alone_where_one_pod_has_no_place() -> None:
    """The refusal names the pod and says what the nodes that would be filled say of it."""
    cycle = emptied(*nodes(2), filler("n2", "3500m"), a_replica("p", "n1", "100m"), a_replica("q", "n1", "800m"))
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
    objects = [*nodes(2), filler("n2", "2"), a_replica("p", "n1"), a_replica("q", "n1", **fields), budget]
    cycle = emptied(*objects)
    assert (moved(cycle), proposals(cycle)) == ([], {"q": ["p"]})
    assert reasons(cycle)["q"][1] == code


def test_unsteered_the_others_go() -> None:
    """As in the Descheduler: what can go goes, if the scheduler packs by itself."""
    objects = [*nodes(2), filler("n2", "2"), a_replica("p", "n1", affinity=only_on("n2")), a_pod("bare", node="n1")]
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
    cycle = emptied(*nodes(2), filler("n2", "2"), a_replica("p", "n1"), *bound)
    assert landings(cycle) == {"p": "n2"}
    assert {pod: reason[1] for pod, reason in reasons(cycle).items()} == {
        "log": "DaemonSetPods",
        "kubelet": "MirrorPod",
    }


def test_a_pod_that_is_leaving_does_not_keep_its_node() -> None:
    leaving = a_replica("leaving", "n1", deleted="2026-01-01T00:00:00Z")
    cycle = emptied(*nodes(2), filler("n2", "2"), a_replica("p", "n1"), leaving)
    assert landings(cycle) == {"p": "n2"}


def test_pods_that_the_arguments_leave_out_do_not_keep_a_node() -> None:
    args = {**ARGS, "evictableNamespaces": {"exclude": ["kube-system"]}}
    system = a_pod("dns", node="n1", namespace="kube-system")
    cycle = emptied(*nodes(2), filler("n2", "2"), a_replica("p", "n1"), system, args=args)
    assert landings(cycle) == {"p": "n2"}


def test_each_pod_goes_to_the_node_that_is_fullest_by_then() -> None:
    """``big`` fits only on n3, which is then fuller than n2, so ``small`` follows it."""
    loads = [filler("n2", "3200m"), filler("n3", "2700m")]
    big, small = a_replica("a-big", "n1", "900m"), a_replica("small", "n1", "100m")
    assert landings(emptied(*nodes(3), *loads, big, small)) == {"a-big": "n3", "small": "n3"}


def test_a_node_that_is_left_alone_has_filled_no_other() -> None:
    """n1 would fill n3 beyond n4, but ``z`` keeps its pods; so the pod of n2 finds both as they were."""
    loads = [filler("n3", "2"), filler("n4", "2200m")]
    first = [a_replica("a", "n1", "800m", affinity=only_on("n3")), a_replica("b", "n1", "10m"), nowhere("n1")]
    cycle = emptied(*nodes(4), *loads, *first, a_replica("p", "n2", "1"))
    assert landings(cycle) == {"p": "n4"}


def nowhere(node: str) -> Object:
    """A pod for which there is no place at all but its own."""
    return a_replica("z", node, "50m", affinity=only_on(node))


def test_limits_leave_a_node_alone_that_has_more_pods() -> None:
    """A smaller node is emptied instead, though it comes later."""
    loads = [filler("n3", "2500m")]
    pods = [a_replica("a", "n1", "10m"), a_replica("b", "n1", "10m"), a_replica("c", "n2", "500m")]
    cycle = emptied(*nodes(3), *loads, *pods, maxNoOfPodsToEvictTotal=1)
    assert (landings(cycle), proposals(cycle)) == ({"c": "n3"}, {"a": ["b"]})


LEFT_ALONE = [*nodes(2), filler("n2", "2"), a_replica("p", "n1"), a_pod("bare", node="n1")]
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
        for cycle in plans(case.cluster, case.policy, steering="nominate"):
            emptied_nodes += len(_emptied(cycle))
            left_alone += len(proposals(cycle))
            assert not gone & set(moved(cycle)), seed
            gone |= set(moved(cycle))
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
