"""A plan goes on from the search of the one before: what is left of it is kept, what has become old is repaired."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import NOW, Object, a_node, a_pod, ago
from descheduling.harness import a_cluster, a_policy
from proving.joint import REBALANCE, a_random_cluster, result
from proving.predicted import predicted
from proving.proven import TOLD, landings, moved, read_policy
from restow.descheduling.arbiter import Searches
from restow.descheduling.cycle import Cycle
from restow.descheduling.framework import EarlierSearch
from restow.descheduling.registry import strategies
from restow.kube.timestamps import parse_time
from restow.proving.search import prove_cycle


def a_plan(
    objects: list[Object], searches: Searches | None = None, *, limit: int | None = None, **args: object
) -> Cycle:
    """A plan of Rebalance with chosen targets; ``limit`` is that of a cycle's evictions."""
    policy = a_policy(REBALANCE, args, **({} if limit is None else {"max_total": limit}))
    cluster = a_cluster(*objects, *TOLD)
    return prove_cycle(
        cluster, read_policy(policy), strategies(), parse_time(NOW), steering="nominate", searches=searches or {}
    )


def going_on(objects: list[Object], most: int, **args: object) -> Iterator[Cycle]:
    """Plans with one eviction each, each on what the one before predicts, and with its search."""
    searches: Searches = {}
    for _ in range(most):
        cycle = a_plan(objects, searches, limit=1, **args)
        yield cycle
        searches, objects = cycle.record.searches, predicted(objects, cycle, NOW)


def kept(cycle: Cycle) -> EarlierSearch:
    (found,) = cycle.record.searches.values()
    return found


def six_nodes(loads: tuple[int, ...] = (9, 8, 2, 1, 3, 1)) -> list[Object]:
    """Nodes with so many pods of different sizes, none of which is like another."""
    nodes = [a_node(f"n{each}", cpu="40", memory="64Gi") for each in range(len(loads))]
    pods = [
        a_pod(
            f"p{node}-{number}",
            node=f"n{node}",
            cpu=f"{1000 + 170 * number + 90 * node}m",
            memory="1Gi",
            owner=("ReplicaSet", f"p{node}-{number}"),
            created=ago(3600),
        )
        for node, count in enumerate(loads)
        for number in range(count)
    ]
    return [*nodes, *pods]


@pytest.mark.parametrize("goal", ["balance", "pack,balance"])
def test_every_move_that_a_limit_left_is_made_as_it_was_planned(goal: str) -> None:
    """One eviction a cycle: seen together, the cycles make the first plan's moves."""
    first, *others = going_on(six_nodes(), 6, goal=goal, budget=5)
    pods, wanted = first.state.cluster.pods, kept(first).places
    planned = {pods.names[pod]: wanted[uid] for pod, uid in enumerate(pods.uids) if uid in wanted}

    assert len(planned) > 2
    made = {pod: node for cycle in (first, *others) for pod, node in landings(cycle).items()}
    assert {pod: made.get(pod) for pod in planned} == planned


def test_each_plan_searches_with_another_seed() -> None:
    """It knows how many came before it."""
    assert [kept(cycle).plans for cycle in going_on(six_nodes(), 3, goal="balance")] == [1, 2, 3]


def test_a_place_that_is_taken_since_is_planned_again_and_the_others_are_not() -> None:
    """Load comes to one of the nodes; a pod that was to go there goes elsewhere or stays, and nothing is refused."""
    objects = six_nodes()
    first = a_plan(objects, limit=0, goal="balance")
    full = min(kept(first).places.values())
    objects.append(a_pod("load", node=full, cpu="36", memory="1Gi", owner=("DaemonSet", "load"), created=ago(3600)))

    second = a_plan(objects, first.record.searches, goal="balance")

    assert full not in landings(second).values()
    assert len(moved(second)) > 1
    assert not second.record.refusals


def test_pods_and_nodes_that_are_gone_are_forgotten() -> None:
    """What is known of them changes nothing."""
    objects = six_nodes()
    first = a_plan(objects, limit=0, goal="balance")
    (ref,) = first.record.searches
    unknown = EarlierSearch(1, {"uid-of-nobody": "n1", "uid-p0-0": "no-node"})

    second = a_plan(objects, {ref: unknown}, goal="balance")

    assert result(second).after == pytest.approx(result(first).bound or 0.0, abs=1.0)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 100_000), st.sampled_from(["balance", "pack"]))
def test_nothing_is_left_to_do_when_all_moves_are_made(seed: int, goal: str) -> None:
    """In random clusters without budgets, with what the first plan kept."""
    objects = [each for each in a_random_cluster(seed) if each["kind"] != "PodDisruptionBudget"]
    first = a_plan(objects, goal=goal)
    second = a_plan(predicted(objects, first, NOW), first.record.searches, goal=goal)
    assert not moved(second)
