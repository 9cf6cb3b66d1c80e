"""Canonical order of pods that come and go."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import a_node, a_pod
from descheduling.harness import a_cluster
from restow.cluster.pod_order import KeyOrder
from restow.cluster.state import ClusterState
from restow.workloads.replacements import Replacements

KEYS = st.tuples(st.sampled_from("ab"), st.sampled_from("pqrstuvwxyz"))


def names(state: ClusterState) -> list[str]:
    return [state.cluster.pods.names[pod] for pod in state.cluster.pods.where(state.exists)]


def test_pods_that_come_stand_where_their_names_belong() -> None:
    state = ClusterState(a_cluster(a_node("n"), a_pod("b", node="n"), a_pod("d", node="n")))
    row = state.cluster.pods.row(0)
    for name in ("c", "e", "a", "bb"):
        state.create(row | {"names": name})
    assert names(state) == ["a", "b", "bb", "c", "d", "e"]


def test_there_is_always_room_for_one_more() -> None:
    """Each name belongs right after the first, so that the room between two ranks is used up; replacements stay in place."""
    state = ClusterState(a_cluster(a_node("n"), a_pod("a", node="n"), a_pod("z", node="n")))
    pods, replacements = state.cluster.pods, Replacements(state, now=0)
    state.place(replacements.of(0), 0)
    state.place(replacements.of(1), 0)
    row = pods.row(1)
    come = [f"m{99 - number:02}" for number in range(60)]
    for name in come:
        state.create(row | {"names": name})
    assert names(state) == ["a", "a", *reversed(come), "z", "z"]
    ranks = pods.rank[pods.where(state.exists)]
    assert (np.diff(ranks) > 0).all()


def test_a_pod_is_found_by_its_name_as_long_as_it_is_there() -> None:
    state = ClusterState(a_cluster(a_node("n"), a_pod("a", node="n"), a_pod("b", node="n")))
    assert state.order.find("default", "b") == 1
    state.delete(1)
    assert state.order.find("default", "b") < 0
    state.undo(0)
    assert state.order.find("default", "b") == 1


@pytest.mark.parametrize("seed", range(3))
def test_of_thousands_of_pods_each_is_found_and_in_its_place_whatever_comes_and_goes(seed: int) -> None:
    chance = Random(seed)
    there = {f"p{chance.randrange(100_000):05}" for _ in range(1_500)}
    state = ClusterState(a_cluster(a_node("n"), *map(a_pod, sorted(there))))
    row = state.cluster.pods.row(0)
    for goes in (0.2, 0.8, 0.5):
        for _ in range(1_500):
            if there and chance.random() < goes:
                name = min(there) if chance.random() < 0.2 else chance.choice(sorted(there))
                there.remove(name)
                state.delete(state.order.find("default", name))
            elif (name := f"p{chance.randrange(100_000):05}") not in there:
                there.add(name)
                state.create(row | {"names": name})
        assert names(state) == sorted(there)
        rows = [state.order.find("default", name) for name in sorted(there)]
        assert [state.cluster.pods.names[pod] for pod in rows] == sorted(there)
    for name in sorted(there):
        state.delete(state.order.find("default", name))
    assert not names(state)
    state.create(row | {"names": "last"})
    assert names(state) == ["last"]


@given(st.lists(st.lists(st.tuples(KEYS, st.booleans()), max_size=4), max_size=12))
@settings(max_examples=60, deadline=None)
def test_the_order_follows_whatever_keys_come_change_and_go(bursts):
    names: list[str] = []
    row_of: dict[tuple[str, str], int] = {}
    order = KeyOrder(row_of, {"name": names})
    for burst in [[(("c", str(each)), True) for each in range(40)], *bursts]:
        for key, there in burst:
            if there:
                row_of[key] = len(names)
                names.append(f"{key} in row {row_of[key]}")
            else:
                row_of.pop(key, None)
            order.touch(key)
        expected = [row_of[key] for key in sorted(row_of)]
        assert order.rows().tolist() == expected
        assert order.column("name") == [names[row] for row in expected]


def test_rows_may_all_change():
    order = KeyOrder({("a", "p"): 0, ("a", "q"): 1}, {"name": ["p", "q"]})
    assert order.column("name") == ["p", "q"]
    order.renumber({("a", "p"): 1, ("a", "q"): 0}, {"name": ["q", "p"]})
    assert (order.rows().tolist(), order.column("name")) == ([1, 0], ["p", "q"])
