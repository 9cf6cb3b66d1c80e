"""Which nodes a plan fences, what it then moves, and that no strategy takes a fence for a property of a node."""

from __future__ import annotations

from typing import Any

import pytest

from builders import HOSTNAME, Object, a_node, a_pod
from descheduling.harness import a_policy
from proving.proven import TOLD, codes, landings, moved, prove
from proving.test_steered_landings import a_replica, filler
from restow.descheduling.cycle import Cycle
from restow.kube.taints import FENCE
from restow.proving.planning import cycle_notes, make_plan

LOW = {"thresholds": {"cpu": 30}, "targetThresholds": {"cpu": 50}}
HIGH = {"thresholds": {"cpu": 30}}


def a_named_node(number: int, **fields: Any) -> Object:
    name = f"n{number:03}"
    return a_node(name, **({"cpu": "4", "labels": {HOSTNAME: name}} | fields))


def uneven(hot: int, others: int, load: str = "400m", **fields: Any) -> list[Object]:
    """The first nodes are overused, with a pod that may go; the others have something on them."""
    objects = [a_named_node(at, **fields) for at in range(hot + others)]
    objects += [filler(f"n{at:03}", "2" if at < hot else load) for at in range(hot + others)]
    return [*objects, *(a_replica(f"p{at:03}", f"n{at:03}") for at in range(hot))]


def fenced(plugin: str, args: Object, objects: list[Object], *, steering: Any = "fence", **restow: Any) -> Cycle:
    return prove([*objects, *TOLD], a_policy(plugin, args, restow=restow), steering=steering)


def fence(cycle: Cycle) -> list[str]:
    """The fenced nodes by name."""
    return [] if cycle.fence is None else [cycle.state.cluster.nodes.names[at] for at in cycle.fence.nodes.tolist()]


def test_the_hot_nodes_are_fenced_and_every_move_is_certain_although_the_scheduler_takes_a_sample() -> None:
    """Without a fence it might find a window of hot nodes."""
    objects = uneven(120, 120)
    unfenced = prove([*objects, *TOLD], a_policy("LowNodeUtilization", LOW))
    assert {each.landing.certainty for each in unfenced.record.evictions} != {"certain"}
    cycle = fenced("LowNodeUtilization", LOW, objects)
    assert fence(cycle) == [f"n{at:03}" for at in range(120)]
    assert len(moved(cycle)) == 120
    assert {each.landing.certainty for each in cycle.record.evictions} == {"certain"}
    assert min(landings(cycle).values()) >= "n120"


def test_nodes_that_are_to_be_emptied_are_fenced() -> None:
    """The scheduler would put pods right back on the emptiest nodes."""
    objects = [*map(a_named_node, range(4)), filler("n002", "2"), filler("n003", "2")]
    objects += [a_replica("p", "n000"), a_replica("q", "n001")]
    assert moved(prove([*objects, *TOLD], a_policy("HighNodeUtilization", HIGH))) == []
    cycle = fenced("HighNodeUtilization", HIGH, objects)
    assert fence(cycle) == ["n000", "n001"]
    assert set(landings(cycle).values()) <= {"n002", "n003"}
    assert len(moved(cycle)) == 2


@pytest.mark.parametrize(("share", "count"), [("25%", 2), (3, 3), ("10%", 1), ("100%", 4)])
def test_no_more_than_a_share_of_the_nodes_is_fenced(share: Any, count: int) -> None:
    assert len(fence(fenced("LowNodeUtilization", LOW, uneven(4, 5), fenceShare=share))) == count


def test_of_too_many_nodes_those_are_fenced_that_the_scheduler_would_like_best() -> None:
    objects = [*uneven(3, 3), filler("n000", "2500m")]
    assert fence(fenced("LowNodeUtilization", LOW, objects, fenceShare=2)) == ["n001", "n002"]


def test_nodes_that_the_policy_leaves_out_and_cordoned_ones_are_not_fenced() -> None:
    objects = uneven(3, 3)
    objects[0] = a_named_node(0, unschedulable=True)
    objects[1] = a_named_node(1, labels={HOSTNAME: "n001", "pool": "b"})
    policy = a_policy("LowNodeUtilization", LOW, nodeSelector="pool!=b")
    assert fence(prove([*objects, *TOLD], policy, steering="fence")) == ["n002"]


def test_a_strategy_that_wants_no_better_place_fences_nothing() -> None:
    objects = [*map(a_named_node, range(3)), a_replica("p", "n000", created="2020-01-01T00:00:00Z")]
    cycle = fenced("PodLifeTime", {"maxPodLifeTimeSeconds": 60}, objects)
    assert moved(cycle) == ["p"]
    assert cycle.fence is None


def test_a_pod_that_tolerates_everything_is_not_kept_out() -> None:
    """The others have little memory left, so the scheduler would like the overused nodes better."""
    nodes = [a_named_node(at, memory="8Gi") for at in range(4)]
    loads = [filler("n000", "2"), filler("n001", "2")]
    loads += [a_pod(f"m{at}", node=f"n00{at}", memory="7Gi", owner=("DaemonSet", "m")) for at in (2, 3)]
    replicas = [a_replica("p", "n000"), a_replica("q", "n001", tolerations=[""])]
    cycle = fenced("LowNodeUtilization", LOW, [*nodes, *loads, *replicas])
    assert fence(cycle) == ["n000", "n001"]
    assert moved(cycle) == ["p"]
    assert codes(cycle)["q"] in ("NoGain", "SameNode")


def test_preferring_makes_nodes_less_liked() -> None:
    cycle = fenced("LowNodeUtilization", LOW, uneven(2, 3), steering="prefer")
    assert cycle.fence is not None
    assert cycle.fence.effect == "PreferNoSchedule"
    assert len(moved(cycle)) == 2


def test_the_plan_names_the_fence_and_a_plan_without_moves_has_none() -> None:
    cycle = fenced("LowNodeUtilization", LOW, uneven(2, 3))
    plan = make_plan(cycle, 0, "prove")
    assert plan.fence is not None
    assert (plan.fence.nodes, plan.fence.effect) == (("n000", "n001"), "NoSchedule")
    assert cycle_notes(cycle)[0] == (
        "The plan counts on a fence: 2 of 5 nodes carry the taint restow.dev/fence:NoSchedule while it is carried out "
        "(n000, n001)"
    )
    bare = [each for each in uneven(2, 3) if each["metadata"]["name"] not in ("p000", "p001")]
    bare += [a_pod(f"p{at}", node=f"n00{at}", cpu="400m", phase="Running") for at in range(2)]
    assert make_plan(fenced("LowNodeUtilization", LOW, bare), 0, "prove").fence is None


class TestAFenceIsNoPropertyOfANode:
    """It ends with its plan, so no strategy moves a pod for it; the scheduler heeds it as long as it is there."""

    @pytest.mark.parametrize("steering", ["none", "fence"])
    def test_pods_are_not_moved_away_from_fences_that_are_there(self, steering: Any) -> None:
        """Whoever left it behind: everything on these nodes would go."""
        nodes = [a_named_node(0, taints=[f"{FENCE}=somebody:NoSchedule"]), *map(a_named_node, (1, 2))]
        objects = [*nodes, a_replica("p", "n000")]
        assert moved(fenced("RemovePodsViolatingNodeTaints", {}, objects, steering=steering)) == []

    def test_nor_away_from_those_of_the_plan_itself(self) -> None:
        policy = a_policy("LowNodeUtilization", LOW)
        taints = a_policy("RemovePodsViolatingNodeTaints", {})
        policy["profiles"] += [{**taints["profiles"][0], "name": "other"}]
        cycle = prove([*uneven(2, 3), filler("n001", "1500m"), *TOLD], policy, steering="fence")
        assert {each.ref.plugin for each in cycle.record.evictions} == {"LowNodeUtilization"}

    def test_nothing_is_moved_to_a_node_that_is_fenced_now(self) -> None:
        nodes = [a_named_node(at, taints=[f"{FENCE}=somebody:NoSchedule"] * (at == 2)) for at in range(3)]
        objects = [*nodes, filler("n000", "2"), filler("n001", "1800m"), a_replica("p", "n000")]
        assert landings(fenced("LowNodeUtilization", LOW, objects, steering="none")) == {}

    def test_a_fence_of_before_does_not_count_in_a_plan_that_sets_its_own(self) -> None:
        nodes = [a_named_node(at, taints=[f"{FENCE}=somebody:NoSchedule"] * (at == 2)) for at in range(3)]
        objects = [*nodes, filler("n000", "2"), filler("n001", "1800m"), a_replica("p", "n000")]
        assert landings(fenced("LowNodeUtilization", LOW, objects)) == {"p": "n002"}


def many_underused(share: Any) -> Cycle:
    """Six of ten nodes are to be emptied, and the others have room."""
    objects = [*map(a_named_node, range(10)), *(filler(f"n{at:03}", "2") for at in range(6, 10))]
    objects += [a_replica(f"p{at}", f"n{at:03}") for at in range(6)]
    return fenced("HighNodeUtilization", HIGH, objects, fenceShare=share)


def notes(cycle: Cycle) -> list[str]:
    return [message for _, message in cycle.record.notes]


@pytest.mark.parametrize("share", ["50%", 3])
def test_a_share_that_makes_a_strategy_idle_is_named_with_one_that_is_enough(share: Any) -> None:
    cycle = many_underused(share)
    assert moved(cycle) == []
    (note,) = notes(cycle)
    assert note.startswith(f"6 of 10 nodes should take no pods, and restow.fenceShare: {share} fences at most ")
    assert "fenceShare: 60% or more" in note


def test_the_share_that_the_note_advises_is_enough() -> None:
    cycle = many_underused("60%")
    assert (len(moved(cycle)), notes(cycle)) == (6, [])
