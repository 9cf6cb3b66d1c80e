"""Rebalance and hard spread constraints over zones: pods change their zone where the scheduler would let them, and only there."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from builders import HOSTNAME, NOW, ZONE, Object, a_node, a_pod, pod_anti_affinity, pod_term, selector, spread
from proving.joint import planned, pods_on, result
from proving.predicted import predicted
from proving.proven import landings, moved, reasons
from proving.zones import POOL, a_cluster_of_zones, skews
from restow.descheduling.cycle import Cycle
from restow.policies.codes import RefusalCode

WEB = {"app": "web"}
#: Seeds of clusters, and goals.
CLUSTERS = given(st.integers(0, 100_000), st.sampled_from(["balance", "pack"]))


def nodes_of(*names: str, cpu: str = "8", **labels: str) -> list[Object]:
    """Nodes in the zones that their names begin with."""
    return [a_node(name, cpu=cpu, labels={ZONE: name[0], HOSTNAME: name, **labels}) for name in names]


def filling(cpu: str, *nodes: str) -> list[Object]:
    """A pod on each node that stays: it has no owner."""
    return [a_pod(f"fill-{node}", node=node, cpu=cpu) for node in nodes]


def web(counts: dict[str, int], *constraints: Object, cpu: str = "1", **same: object) -> list[Object]:
    """Pods of one workload on nodes; with a constraint for zones of skew one, or others."""
    rules = list(constraints) or [spread(1, ZONE, selector(labels=WEB))]
    named = {node: [f"{node}-{each}" for each in range(count)] for node, count in counts.items()}
    each = (pods_on(node, *names, cpu=cpu, labels=WEB, spread=rules, **same) for node, names in named.items())
    return [pod for pods in each for pod in pods]


def zones_after(counts: dict[str, int], moves: dict[str, str]) -> dict[str, int]:
    """How many pods each zone has after moves."""
    zones = dict.fromkeys((node[0] for node in counts), 0)
    for node, count in counts.items():
        zones[node[0]] += count
    for pod, target in moves.items():
        zones[pod[0]] -= 1
        zones[target[0]] += 1
    return zones


class TestBalance:
    def test_pods_leave_a_full_zone_as_far_as_the_constraint_allows(self) -> None:
        """Zone a is full of others' pods, and b is empty but for one pod: one of the two in a may go, and not both."""
        cluster = [*nodes_of("a0", "a1", "b0", "b1"), *filling("6", "a0", "a1"), *web({"a0": 1, "a1": 1, "b0": 1})]

        first, *others = planned({}, *cluster)

        assert [(pod[0], target) for pod, target in landings(first).items()] == [("a", "b1")]
        assert not any(moved(other) for other in others)

    def test_nothing_leaves_if_every_move_would_break_the_constraint(self) -> None:
        cluster = [*nodes_of("a0", "b0"), *filling("4", "a0"), *web({"a0": 1, "b0": 1})]

        assert landings(planned({}, *cluster, most=1)[0]) == {}

    def test_a_broken_constraint_gets_better_in_one_plan(self) -> None:
        """All six are in one of three zones: the third may only leave when each of the others has one."""
        counts = {"a0": 6, "b0": 0, "c0": 0}

        first, *others = planned({"resources": ["cpu"]}, *nodes_of(*counts), *web(counts))

        assert zones_after(counts, landings(first)) == {"a": 2, "b": 2, "c": 2}
        assert not any(moved(other) for other in others)

    def test_members_that_stay_count(self) -> None:
        """A pod without an owner in zone b: with it, zones have two each, and none may leave."""
        guard = a_pod("guard", node="b0", labels=WEB)
        cluster = [*nodes_of("a0", "a1", "b0"), *filling("5", "a0", "a1"), *web({"a0": 1, "a1": 1, "b0": 1}), guard]

        assert landings(planned({}, *cluster, most=1)[0]) == {}

    def test_with_fewer_zones_than_min_domains_none_has_more_than_the_skew(self) -> None:
        """Zone a has two, which is as many as a zone may have: pods come from it, and not to it."""
        rule = spread(2, ZONE, selector(labels=WEB), min_domains=3)
        empty = [*nodes_of("a0", "b0"), *filling("3", "b0"), *web({"a0": 2, "b0": 2}, rule)]
        full = [*nodes_of("a0", "b0"), *filling("3", "a0"), *web({"a0": 2, "b0": 1}, rule)]

        assert landings(planned({}, *empty, most=1)[0]) == {}
        assert list(landings(planned({}, *full, most=1)[0]).values()) == ["b0"]

    def test_only_nodes_that_a_pod_may_be_on_count(self) -> None:
        """Zone c has nodes of the other pool alone, so that it has no pod does not count."""
        cluster = [
            *nodes_of("a0", "a1", "b0", "b1", **{POOL: "one"}),
            *nodes_of("c0", **{POOL: "two"}),
            *filling("6", "a0", "a1"),
            *web({"a0": 1, "a1": 1, "b0": 1}, node_selector={POOL: "one"}),
        ]

        assert list(landings(planned({}, *cluster, most=1)[0]).values()) == ["b1"]

    @pytest.mark.parametrize(
        ("constraints", "same"),
        [
            pytest.param([spread(1, ZONE, selector(labels={"app": "other"}))], {}, id="does not count itself"),
            pytest.param([spread(1, ZONE, selector())], {}, id="empty selector"),
            pytest.param(
                [spread(1, ZONE, selector(labels=WEB))],
                {"affinity": pod_anti_affinity([pod_term(selector(labels={"app": "db"}), topology=ZONE)])},
                id="anti-affinity of the zone",
            ),
        ],
    )
    def test_other_pods_stay_in_their_zone(self, constraints: list[Object], same: Object) -> None:
        cluster = [*nodes_of("a0", "a1", "b0", "b1"), *filling("6", "a0", "a1")]
        pods = web({"a0": 1, "a1": 1, "b0": 1}, *constraints, **same)

        moves = landings(planned({}, *cluster, *pods, most=1)[0])

        assert {pod[0] for pod in moves if pod[0] != moves[pod][0]} == set()


class TestPack:
    def test_a_node_is_emptied_into_another_zone(self) -> None:
        """The other node of zone a is full, so the only pod of the first one must change its zone."""
        cluster = [*nodes_of("a0", "a1", "b0"), *filling("7", "a1"), *web({"a0": 1, "a1": 1, "b0": 1})]

        first, *others = planned({"goal": "pack"}, *cluster)

        assert landings(first) == {"a0-0": "b0"}
        assert (result(first).before, result(first).after) == (3, 2)
        assert not any(moved(other) for other in others)

    def test_it_is_not_emptied_if_that_breaks_the_constraint(self) -> None:
        cluster = [*nodes_of("a0", "a1", "b0"), *filling("8", "a1"), *web({"a0": 1, "b0": 1})]

        assert landings(planned({"goal": "pack"}, *cluster, most=1)[0]) == {}


def test_room_is_made_by_a_pod_that_changes_its_zone() -> None:
    """Only the first node of zone a is large enough for the pod that waits, and the other one is full."""
    waiting = a_pod("big", owner=("ReplicaSet", "big"), phase="Pending", cpu="6", node_selector={ZONE: "a"})
    cluster = [*nodes_of("a0", "a1", "b0"), *filling("7", "a1"), *web({"a0": 1, "a1": 1, "b0": 1}, cpu="1"), waiting]
    cluster += [a_pod("fill-a0", node="a0", cpu="2")]

    first = planned({"goal": "room"}, *cluster, most=1)[0]

    assert landings(first) == {"a0-0": "b0"}
    assert result(first).after == 0


def for_spread(cycle: Cycle) -> list[str]:
    """The pods that were refused for want of a node that keeps their spread."""
    return [pod for pod, (_, _, message) in reasons(cycle).items() if "topology spread" in message]


def has_given_up(cycle: Cycle) -> bool:
    """Whether a move was given up because its pod would be moved again, or swap nodes with one of its workload."""
    return any(code in (RefusalCode.CYCLE, RefusalCode.REVERSAL) for _, code, _ in reasons(cycle).values())


@settings(max_examples=25, deadline=None)
@CLUSTERS
@example(328, "balance")
@example(114, "balance")
def test_what_is_found_is_proven(seed: int, goal: str) -> None:
    """The proof refuses nothing for the sake of a constraint, the plan keeps them, and a second one is empty.

    Where a move is given up, others that counted on it may be refused. A node is emptied at once, so a move for which pods of another emptied node must move first may be refused. A pod of an
    older template without the constraint goes wherever the scheduler lets it.
    """
    cluster = a_cluster_of_zones(seed)
    first, *others = planned({"goal": goal}, *cluster)

    assert goal == "pack" or not for_spread(first) or has_given_up(first)
    assert not any(moved(other) for other in others)
    assert (result(first).bound or 0) <= result(first).after + 1e-4
    before, after = skews(cluster), skews(predicted(cluster, first, NOW))
    unbound = {
        app_of(pod)
        for pod in cluster
        if pod["kind"] == "Pod" and not is_bound(pod) and pod["metadata"]["name"] in moved(first)
    }
    assert [app for app in before.keys() - unbound if after[app] > max(before[app], 2)] == []


def app_of(pod: Object) -> str:
    app: str = pod["metadata"]["labels"]["app"]
    return app


def is_bound(pod: Object) -> bool:
    return "topologySpreadConstraints" in pod["spec"]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 100_000))
@example(689)  # A move that loses makes way for one on other nodes that gains: they share a constraint.
@example(747)  # Two moves of the best assignment wait for each other.
@example(1584)  # Without them, two others do.
@example(1746)  # The best moves first leave no way for the others.
def test_more_budget_is_never_worse(seed: int) -> None:
    cluster = a_cluster_of_zones(seed)
    cycles = [planned({"budget": budget}, *cluster, most=1)[0] for budget in (0, 1, 3, 8)]
    assume(not any(cycle.record.refusals for cycle in cycles))
    values = [result(cycle).after for cycle in cycles]
    assert values == sorted(values, reverse=True)
