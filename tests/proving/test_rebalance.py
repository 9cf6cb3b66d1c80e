"""Rebalance: joint plans towards a goal, proven, within budgets, and empty when made again."""

from __future__ import annotations

import sys
from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from builders import (
    HOSTNAME,
    ZONE,
    Object,
    a_node,
    a_pdb,
    a_pod,
    ago,
    pod_anti_affinity,
    pod_term,
    selector,
    spread,
)
from proving.joint import a_random_cluster, planned, pods_on, result
from proving.proven import landings, moved

GPU = "nvidia.com/gpu"
WEB = {"app": "web"}


class TestBalance:
    def test_two_nodes_become_even_with_the_fewest_moves(self) -> None:
        """One pod of two cores does what two of one core would do."""
        nodes = [a_node("a", cpu="8", memory="8Gi"), a_node("b", cpu="8", memory="8Gi")]
        small = pods_on("a", "s1", "s2", cpu="1", memory="1Gi")
        large = pods_on("a", "big", cpu="2", memory="2Gi", owner="big")

        first, *others = planned({"goal": "balance"}, *nodes, *small, *large)

        assert landings(first) == {"big": "b"}
        assert not any(moved(other) for other in others)
        assert result(first).before == pytest.approx(25.0)
        assert result(first).after == 0.0
        assert result(first).optimal

    def test_full_nodes_exchange_pods(self) -> None:
        """One node is full of CPU, the other of memory: an exchange that no single move is worth."""
        nodes = [a_node("a", cpu="8", memory="8Gi"), a_node("b", cpu="8", memory="8Gi")]
        cpu = pods_on("a", *[f"c{each}" for each in range(4)], cpu="1800m", memory="100Mi", owner="cpu")
        memory = pods_on("b", *[f"m{each}" for each in range(4)], cpu="50m", memory="1900Mi", owner="memory")

        first, *others = planned({"goal": "balance"}, *nodes, *cpu, *memory)

        after = Counter(landings(first).values())
        assert after == {"a": 2, "b": 2}
        assert not any(moved(other) for other in others)

    def test_work_of_jobs_is_not_lost_if_another_pod_does(self) -> None:
        """Two pods would make the nodes even, and one of them belongs to a Job."""
        nodes = [a_node("a", cpu="8"), a_node("b", cpu="8")]
        job = a_pod("job", node="a", owner=("Job", "train"), created=ago(3600), cpu="1")

        assert moved(planned({}, *nodes, job, *pods_on("a", "web", cpu="1"), most=1)[0]) == ["web"]

    def test_no_more_pods_move_than_the_budget_says(self) -> None:
        nodes = [a_node("a", cpu="8"), a_node("b", cpu="8")]
        pods = pods_on("a", *[f"p{each}" for each in range(6)], cpu="1")

        assert len(moved(planned({"budget": 2}, *nodes, *pods, most=1)[0])) == 2

    def test_a_move_that_is_not_worth_it_is_not_made(self) -> None:
        """The nodes differ by a twentieth of a node."""
        nodes = [a_node("a", cpu="8"), a_node("b", cpu="8")]
        pods = [*pods_on("a", "p", "q", cpu="200m"), *pods_on("b", "r", cpu="200m")]

        assert moved(planned({"minGainPerMove": 50}, *nodes, *pods, most=1)[0]) == []

    def test_a_disruption_budget_is_spent_where_it_gains_most(self) -> None:
        """One of these pods may be evicted, and the largest is worth most."""
        nodes = [a_node("a", cpu="8"), a_node("b", cpu="8")]
        pods = [
            *pods_on("a", "small", cpu="500m", labels={"app": "db"}),
            *pods_on("a", "large", cpu="3", labels={"app": "db"}, owner="large"),
        ]
        budget = a_pdb("db", selector={"matchLabels": {"app": "db"}}, disruptions_allowed=1)

        assert moved(planned({}, *nodes, *pods, budget, most=1)[0]) == ["large"]

    def test_what_the_proof_refuses_is_not_asked_again(self) -> None:
        """The other node repels the pod by the anti-affinity of a pod there, which the search does not know."""
        nodes = [a_node(name, cpu="8", labels={HOSTNAME: name}) for name in "abc"]
        guard = a_pod(
            "guard",
            node="b",
            owner=("ReplicaSet", "guard"),
            affinity=pod_anti_affinity([pod_term(selector(labels={"app": "web"}))]),
        )
        pods = pods_on("a", "p", "q", cpu="2", labels={"app": "web"})

        first, *others = planned({"resources": ["cpu"]}, *nodes, guard, *pods)

        assert set(landings(first).values()) == {"c"}
        assert not any(moved(other) for other in others)


class TestPack:
    def test_nodes_are_emptied_as_far_as_possible(self) -> None:
        nodes = [a_node(name, cpu="4", memory="8Gi") for name in "abcd"]
        pods = [pod for name in "abcd" for pod in pods_on(name, f"{name}1", f"{name}2", cpu="900m", memory="1Gi")]

        first, *others = planned({"goal": "pack"}, *nodes, *pods)

        assert len(moved(first)) == 4
        assert not any(moved(other) for other in others)
        assert (result(first).before, result(first).after, result(first).bound) == (4, 2, 2)
        assert sorted({*"abcd"} - {*landings(first).values()}) == list(result(first).emptied)
        assert result(first).optimal

    def test_a_node_is_emptied_whole_or_not_at_all(self) -> None:
        """One of the two pods that would leave has a budget of none."""
        nodes = [a_node("a", cpu="4"), a_node("b", cpu="4")]
        pods = [
            *pods_on("a", "free", cpu="1"),
            *pods_on("a", "held", cpu="1", labels={"app": "db"}),
            *pods_on("b", "c", cpu="2500m"),
        ]
        budget = a_pdb("db", selector={"matchLabels": {"app": "db"}})

        first = planned({"goal": "pack"}, *nodes, *pods, budget, most=1)[0]

        assert moved(first) == []
        assert result(first).held_back == ("1 node in use for the budget default/db",)

    def test_a_plan_says_how_many_more_nodes_would_be_free_without_a_budget(self) -> None:
        """A budget of none keeps two of three nodes in use, whose pods would fit on one."""
        nodes = [a_node(name, cpu="4") for name in "abc"]
        pods = [
            pod for name in "abc" for pod in pods_on(name, f"{name}1", cpu="1", labels={"app": f"db-{name in 'ab'}"})
        ]
        budget = a_pdb("db", selector={"matchLabels": {"app": "db-True"}})

        first = planned({"goal": "pack"}, *nodes, *pods, budget, most=1)[0]

        assert moved(first) == ["c1"]
        assert result(first).held_back == (
            "1 more node could be free without the budget default/db",
            "2 nodes in use for the budget default/db",
        )

    def test_only_nodes_that_the_selector_matches_are_emptied(self) -> None:
        nodes = [
            a_node(name, cpu="4", labels={"pool": pool}) for name, pool in (("a", "spot"), ("b", "own"), ("c", "own"))
        ]
        pods = [pod for name in "abc" for pod in pods_on(name, f"{name}1", cpu="1")]

        first = planned({"goal": "pack", "free": "pool=spot"}, *nodes, *pods, most=1)[0]

        assert moved(first) == ["a1"]

    def test_the_dearest_node_is_emptied_first(self) -> None:
        nodes = [a_node(name, cpu="4", labels={"kind": kind}) for name, kind in (("a", "small"), ("b", "large"))]
        pods = [pod for name in "ab" for pod in pods_on(name, f"{name}1", cpu="1")]
        prices = [{"nodes": "kind=large", "price": 3.0}]

        first = planned({"goal": "pack", "prices": prices}, *nodes, *pods, most=1)[0]

        assert moved(first) == ["b1"]
        assert (result(first).before, result(first).after) == (4, 1)
        assert result(first).emptied == ("b",)


class TestProofs:
    """What the exact search adds, which needs an extra."""

    #: Six large pods, two to a node, and four nodes: by their sum they need three.
    NODES = tuple(a_node(f"n{each}", cpu="10") for each in range(4))
    PODS = tuple(pod for each in range(4) for pod in pods_on(f"n{each}", f"p{each}", cpu="6", owner=f"o{each}"))

    def test_that_pods_do_not_fit_beside_one_another_is_proven(self) -> None:
        """Four pods of 6 on nodes of 10: by their sum three nodes hold them, in truth none can become free."""
        first = planned({"goal": "pack"}, *self.NODES, *self.PODS, most=1)[0]

        assert (result(first).after, result(first).bound) == (4, 4)
        assert result(first).optimal
        assert result(first).fewest_moves

    def test_without_the_extra_the_bound_is_that_of_the_sum(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "highspy", None)

        first = planned({"goal": "pack"}, *self.NODES, *self.PODS, most=1)[0]

        assert (result(first).after, result(first).bound) == (4, 3)
        assert not result(first).optimal
        assert not result(first).fewest_moves

    def test_fewest_moves_are_not_claimed_after_a_refusal(self) -> None:
        """The guard on b repels p, which the search does not know: what it proves is not what can be made."""
        nodes = [a_node(name, cpu="4", labels={HOSTNAME: name}) for name in "abc"]
        repelled = pod_anti_affinity([pod_term(selector(labels={"app": "web"}))])
        guard = a_pod("guard", node="b", cpu="1", affinity=repelled, created=ago(3600))
        pods = [
            *pods_on("a", "p", cpu="1500m", labels={"app": "web"}),
            *pods_on("c", "q", cpu="1500m", owner="q"),
        ]

        first = planned({"goal": "pack"}, *nodes, guard, *pods, most=1)[0]

        assert landings(first) == {"q": "b"}
        assert (result(first).after, result(first).bound) == (2, 1)
        assert not result(first).optimal
        assert not result(first).fewest_moves


class TestRoom:
    def test_two_moves_make_room_that_no_single_move_makes(self) -> None:
        """Three nodes with eight GPUs, of which 7, 6 and 7 are used, and a pod that wants four (volcano#3948)."""
        waiting = a_pod("trainer", owner=("ReplicaSet", "trainer"), phase="Pending", requests={GPU: "4"})

        first, *others = planned({"goal": "room", "pods": ["default/trainer"]}, *three_gpu_nodes(), waiting)

        assert len(moved(first)) == 2
        assert result(first).after == 0
        assert result(first).fewest_moves
        assert not any(moved(other) for other in others)

    def test_without_the_exact_search_fewer_moves_are_not_ruled_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "highspy", None)
        waiting = a_pod("trainer", owner=("ReplicaSet", "trainer"), phase="Pending", requests={GPU: "4"})

        first = planned({"goal": "room"}, *three_gpu_nodes(), waiting, most=1)[0]

        assert len(moved(first)) == 2
        assert not result(first).fewest_moves

    def test_room_is_made_for_a_pod_that_is_not_there_yet(self) -> None:
        """The same two moves, and nothing more once they were made; the nodes' taint is that of the resource."""
        tainted = three_gpu_nodes(
            taints=[f"{GPU}=present:NoSchedule"], tolerations=[{"key": GPU, "operator": "Exists"}]
        )
        first, *others = planned({"goal": "room", "pods": ["4 nvidia.com/gpu, 1 cpu"]}, *tainted)

        assert len(moved(first)) == 2
        assert result(first).after == 0
        assert not any(moved(other) for other in others)

    def test_a_request_for_a_resource_that_no_node_has_is_a_problem(self) -> None:
        first = planned({"goal": "room", "pods": ["1 example.com/fpga"]}, *three_gpu_nodes(), most=1)[0]
        assert [text for _, text in first.record.problems] == ["pods: no node has example.com/fpga"]

    def test_a_pod_that_fits_needs_no_move(self) -> None:
        nodes = [a_node("a", cpu="4"), a_node("b", cpu="4")]
        waiting = a_pod("w", owner=("ReplicaSet", "w"), phase="Pending", cpu="1")

        assert moved(planned({"goal": "room"}, *nodes, *pods_on("a", "p", cpu="2"), waiting, most=1)[0]) == []

    def test_nothing_moves_for_a_pod_that_fits_nowhere(self) -> None:
        nodes = [a_node("a", cpu="4"), a_node("b", cpu="4")]
        waiting = a_pod("w", owner=("ReplicaSet", "w"), phase="Pending", cpu="5")

        first = planned({"goal": "room"}, *nodes, *pods_on("a", "p", cpu="2"), waiting, most=1)[0]

        assert moved(first) == []
        assert (result(first).after, result(first).bound) == (1, 1)
        assert result(first).optimal

    def test_nothing_is_proven_of_a_pod_that_others_have_taken_the_room_of(self) -> None:
        """Either of the two fits, so none of them is known to fit nowhere."""
        nodes = [a_node("a", cpu="4"), a_node("b", cpu="1")]
        waiting = [a_pod(name, owner=("ReplicaSet", name), phase="Pending", cpu="3") for name in ("v", "w")]

        first = planned({"goal": "room"}, *nodes, *waiting, most=1)[0]

        assert (result(first).before, result(first).after, result(first).bound) == (1, 1, 0)
        assert not result(first).optimal

    def test_a_pod_that_does_not_wait_is_a_problem(self) -> None:
        nodes = [a_node("a", cpu="4"), a_node("b", cpu="4")]
        first = planned({"goal": "room", "pods": ["default/none"]}, *nodes, most=1)[0]
        assert [text for _, text in first.record.problems] == ["pods: no pod default/none waits for a node"]


def three_gpu_nodes(taints: list[str] | None = None, **same: object) -> list[Object]:
    """Three nodes with eight GPUs, of which 7, 6 and 7 are used."""
    nodes = [a_node(name, extended={GPU: 8}, taints=taints or []) for name in "abc"]
    pods = [
        pod
        for name, sizes in {"a": (4, 2, 1), "b": (4, 2), "c": (4, 2, 1)}.items()
        for size in sizes
        for pod in pods_on(name, f"{name}{size}", owner=f"{name}{size}", requests={GPU: str(size)}, **same)
    ]
    return [*nodes, *pods]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 100_000), st.sampled_from(["balance", "pack"]))
def test_a_plan_made_again_is_empty_and_never_beyond_its_bound(seed: int, goal: str) -> None:
    """What a plan says of its goal is what the next one finds, and that moves nothing: no budget or limit ended the first."""
    without_budgets = [each for each in a_random_cluster(seed) if each["kind"] != "PodDisruptionBudget"]
    first, *others = planned({"goal": goal}, *without_budgets)

    assert result(first).after <= result(first).before
    assert (result(first).bound or 0) <= result(first).after + 1e-4
    assert not any(moved(other) for other in others)
    for other in others:
        assert result(other).before == pytest.approx(result(first).after, abs=1e-3)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 100_000))
def test_more_budget_is_never_worse(seed: int) -> None:
    """Where the proof refuses nothing; what only the proof knows may hit a larger plan and not a smaller one."""
    cluster = a_random_cluster(seed, spreads=False)
    cycles = [planned({"budget": budget}, *cluster, most=1)[0] for budget in (0, 1, 3, 8)]
    assume(not any(cycle.record.refusals for cycle in cycles))
    values = [result(cycle).after for cycle in cycles]
    assert values == sorted(values, reverse=True)


class TestSpread:
    def test_the_fewest_pods_move_that_the_constraint_needs(self) -> None:
        """Counts of 5, 1 and 0 with a skew of 1 become 2, 2, 2: three moves, and fewer leave a skew of 2."""
        first, *others = planned({"goal": "spread"}, *three_zones({"a": 5, "b": 1, "c": 0}, skew=1))

        assert len(moved(first)) == 3
        assert (result(first).before, result(first).after) == (3, 0)
        assert result(first).optimal
        assert not any(moved(other) for other in others)

    def test_a_large_skew_lets_most_pods_stay(self) -> None:
        """Counts of 5, 1 and 0 with a skew of 3 become 4, 1, 1."""
        first = planned({"goal": "spread"}, *three_zones({"a": 5, "b": 1, "c": 0}, skew=3), most=1)[0]

        assert list(landings(first).values()) == ["c0"]

    def test_one_move_mends_zone_and_node(self) -> None:
        """Both constraints of a pod count: it goes to another zone, and there to an empty node."""
        both = [spread(1, ZONE, selector(labels=WEB)), spread(1, HOSTNAME, selector(labels=WEB))]
        first, *others = planned({"goal": "spread"}, *three_zones({"a": 4, "b": 1, "c": 1}, skew=1, constraints=both))

        assert result(first).after == 0
        assert len(moved(first)) == 3
        assert not any(moved(other) for other in others)

    def test_no_more_pods_move_than_the_budget_says(self) -> None:
        first = planned({"goal": "spread", "budget": 1}, *three_zones({"a": 5, "b": 1, "c": 0}, skew=1), most=1)[0]

        assert len(moved(first)) == 1
        assert (result(first).after, result(first).bound) == (2, 2)

    def test_pods_that_may_not_move_count(self) -> None:
        """Two of the four pods of a zone have no owner and stay, so the other two go."""
        cluster = three_zones({"a": 2, "b": 1, "c": 1}, skew=1)
        guard = [a_pod(f"g{each}", node="a1", labels=WEB) for each in range(2)]

        first = planned({"goal": "spread"}, *cluster, *guard, most=1)[0]

        assert len(moved(first)) == 2
        assert result(first).after == 0

    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.integers(0, 6), min_size=3, max_size=3), st.integers(1, 3))
    def test_as_few_moves_as_any_way_needs(self, counts: list[int], skew: int) -> None:
        """Held against every way to put the pods on the zones."""
        sizes = dict(zip("abc", counts, strict=True))
        total = sum(counts)
        ways = [(a, b, total - a - b) for a in range(total + 1) for b in range(total + 1 - a)]
        kept = [way for way in ways if max(way) - min(way) <= skew]
        least = min(sum(max(0, was - now) for was, now in zip(counts, way, strict=True)) for way in kept)

        first, *others = planned({"goal": "spread"}, *three_zones(sizes, skew=skew))

        assert len(moved(first)) == least
        assert not any(moved(other) for other in others)


def three_zones(counts: dict[str, int], *, skew: int, constraints: list[Object] | None = None) -> list[Object]:
    """Two nodes in each of three zones, and pods on the first node of each zone."""
    nodes = [
        a_node(f"{zone}{number}", cpu="8", labels={ZONE: zone, HOSTNAME: f"{zone}{number}"})
        for zone in counts
        for number in range(2)
    ]
    rules = constraints or [spread(skew, ZONE, selector(labels=WEB))]
    pods = [
        pod
        for zone, count in counts.items()
        for pod in pods_on(f"{zone}0", *[f"{zone}-{each}" for each in range(count)], labels=WEB, spread=rules)
    ]
    return [*nodes, *pods]
