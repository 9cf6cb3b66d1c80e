"""Whatever happens between its decisions, a scheduling cycle loses no pod, binds none twice, and knows where each one is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import Object, a_node, a_pod
from restow.cluster.pod_values import POD_GROUP_LABEL
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.scheduling.cycle.actions import Action, Bind, MarkUnschedulable
from restow.scheduling.cycle.cycle import ClusterChanges, PodChange, PodSnapshot
from restow.scheduling.framework.requeueing import PodFacts
from restow.scheduling.queueing.queued_pods import QueuePlace
from scheduling.configurations import COSCHEDULING
from scheduling.cycle.cycle_world import NODES, World, is_coscheduled

STEPS = st.lists(
    st.sampled_from(
        (
            "create",
            "create",
            "create",
            "delete",
            "bump",
            "node",
            "group",
            "look",
            "look",
            "try",
            "try",
            "try",
            "end",
            "end",
            "wait",
        )
    ),
    min_size=20,
    max_size=120,
)


@given(seed=st.integers(0, 1_000_000), steps=STEPS, profile=st.sampled_from((DEFAULT_PROFILE, COSCHEDULING)))
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_every_pod_is_bound_once_or_waits_or_is_gone(seed: int, steps: list[str], profile: SchedulerProfile) -> None:
    world = World(seed, profile)
    for what in steps:
        world.step(what)
        world.check()
    world.finish()
    world.check()
    assert not world.running
    for each in world.cycle.queue:
        # What still waits has a gate, or fits nowhere, or its group does not.
        gated = world.cycle.queue.place(each.key) is QueuePlace.GATED
        state = world.mirror.state
        row = state.order.find("default", each.pod.name)
        is_grouped = each.pod.group or is_coscheduled(each.pod)
        assert gated or is_grouped or not world.mirror.schedulers.fitting(row).any()


def a_cycle(*objects: tuple[str, Object]) -> World:
    """A cycle of three nodes with room for one CPU each, and some objects, which it has seen."""
    world = World(1)
    for kind, made in objects:
        world.objects.put(kind, made)
    world.look()
    return world


def decided(world: World) -> Action:
    """What is decided about the first pod in the queue, which is in no group."""
    (action,) = decided_together(world)
    return action


def decided_together(world: World) -> Sequence[Action]:
    """What is decided about the first pod in the queue and its group."""
    queued = world.cycle.queue.pop(world.now)
    assert queued is not None
    return world.cycle.attempt(world.cycle.tried_with(queued, world.now))


def test_a_pod_that_is_about_to_be_bound_takes_its_place() -> None:
    world = a_cycle(*(("Pod", a_pod(f"p{at}", uid=f"p{at}", cpu="600m")) for at in range(4)))
    actions = [decided(world) for _ in range(4)]
    assert {each.node for each in actions if isinstance(each, Bind)} == set(NODES)
    assert isinstance(actions[3], MarkUnschedulable)
    assert actions[3].rejected_by == {"NodeResourcesFit"}
    assert actions[3].tried_preemption


def test_a_binding_that_fails_makes_room_for_another_pod() -> None:
    world = a_cycle(*(("Pod", a_pod(f"p{at}", uid=f"p{at}", cpu="600m")) for at in range(4)))
    first, *_, last = [decided(world) for _ in range(4)]
    assert isinstance(first, Bind)
    assert isinstance(last, MarkUnschedulable)
    world.cycle.notify(ClusterChanges(pods=world.mirror.forget(first.queued.key)), world.now)
    world.cycle.requeue(first.queued, frozenset(), world.now)
    world.cycle.requeue(last.queued, last.rejected_by, world.now)
    # Its attempt could not see the room, so it is tried again as soon as its wait is over.
    assert world.cycle.queue.place("p3") is QueuePlace.BACKOFF


def test_a_pod_that_preempts_gets_a_node_and_others_lose_their_nomination_for_it() -> None:
    low = a_pod("low", uid="low", cpu="900m", node="n0", priority=0)
    world = a_cycle(
        ("Node", a_node("n1", cpu="100m")),
        ("Node", a_node("n2", cpu="100m")),
        ("Pod", low),
        ("Pod", a_pod("middle", uid="middle", cpu="800m", priority=5)),
    )
    middle = decided(world)
    assert isinstance(middle, MarkUnschedulable)
    assert (middle.nominated_node, [each.name for each in middle.victims]) == ("n0", ["low"])
    world.objects.put("Pod", a_pod("high", uid="high", cpu="800m", priority=9))
    world.look()
    high = decided(world)
    assert isinstance(high, MarkUnschedulable)
    assert (high.nominated_node, [each.name for each in high.outranked]) == ("n0", ["middle"])


@pytest.mark.parametrize("change", ["gone", "bound", "terminating", "made again"])
def test_a_pod_that_needs_no_node_any_more_is_not_tried(change: str) -> None:
    world = a_cycle(("Pod", a_pod("p", uid="p", cpu="1")))
    queued = world.cycle.queue.pop(world.now)
    assert queued is not None
    match change:
        case "gone":
            world.objects.remove("Pod", "p")
        case "bound":
            world.objects.put("Pod", a_pod("p", uid="p", cpu="1", node="n0"))
        case "terminating":
            world.objects.put("Pod", a_pod("p", uid="p", cpu="1", deleted="2026-11-21T09:30:00Z"))
        case _:
            world.objects.put("Pod", a_pod("p", uid="another", cpu="1"))
    # Nobody has told the queue.
    world.mirror.catch_up()
    assert world.cycle.tried_with(queued, world.now) == []
    assert world.cycle.queue.get("p") is None


def test_pods_that_do_not_wait_any_more_are_returned() -> None:
    world = a_cycle(("Pod", a_pod("p", uid="p")))
    waits, placed = (PodSnapshot.of(PodFacts(uid="p", node=node), world.cycle.names) for node in ("", "n0"))
    assert world.cycle.follow(ClusterChanges(pods=[PodChange(None, waits)]), world.now) == []
    assert world.cycle.follow(ClusterChanges(pods=[PodChange(waits, placed)]), world.now) == ["p"]
    assert world.cycle.follow(ClusterChanges(pods=[PodChange(placed, None)]), world.now) == ["p"]


@pytest.mark.parametrize("late", ["two", "one"])
def test_a_group_is_tried_again_if_one_of_its_pods_was_in_flight(late: str) -> None:
    """Each pod is tried while the other is still told of the attempt before; whoever is told last, they meet."""
    world = World(1, COSCHEDULING)
    member = {"labels": {POD_GROUP_LABEL: "gang"}, "cpu": "100m"}
    world.objects.put("Pod", a_pod("one", uid="one", **member))
    world.look()
    (first,) = decided_together(world)
    assert isinstance(first, MarkUnschedulable)
    world.objects.put("Pod", a_pod("two", uid="two", **member))
    world.look()
    (second,) = decided_together(world)
    assert isinstance(second, MarkUnschedulable)
    world.cycle.requeue(first.queued, first.rejected_by, world.now)
    world.now += 3
    (again,) = decided_together(world)
    assert isinstance(again, MarkUnschedulable)
    left = {"one": again, "two": second}
    for each in (left.pop(late), *left.values()):
        world.cycle.requeue(each.queued, each.rejected_by, world.now)
    world.now += 5
    assert [type(each) for each in decided_together(world)] == [Bind, Bind]
