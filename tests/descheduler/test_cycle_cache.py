"""What one cycle leaves to the next: the state that plans are made on, as long as it is the cluster's."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any
from weakref import ref

import pytest
from msgspec import structs

from builders import a_namespace, a_node
from descheduler.cycling import Run, a_town, crowd, rules
from descheduler.town import Town
from restow.cluster.state import ClusterState
from restow.descheduler.cycle_cache import CycleCache
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE

pytestmark = pytest.mark.usefixtures("without_threads")
_RULES = rules()


def begun() -> tuple[Town, CycleCache, ClusterState]:
    """A cluster, and a cache with the state of it."""
    town = a_town(*crowd("web"))
    cache = CycleCache(town)  # type: ignore[arg-type]
    return town, cache, state_of(cache)


def state_of(cache: CycleCache, by: Any = _RULES) -> ClusterState:
    return cache.now(by, {}, ()).state


def test_the_next_cycle_goes_on_with_the_state_of_the_one_before() -> None:
    town, cache, first = begun()
    with cache.cycle():
        town.put(*crowd("api"), a_node("n9", cpu="4", pods="110"))
    again = state_of(cache)
    assert again is first
    assert again.order.find("default", "api-2") >= 0
    assert "n9" in again.cluster.nodes.names


def test_a_cycle_that_fails_leaves_nothing() -> None:
    """A decision that does not end may still be at work on the state."""
    _, cache, first = begun()
    with pytest.raises(TimeoutError), cache.cycle():
        raise TimeoutError
    assert state_of(cache) is not first


def test_another_version_of_the_scheduler_begins_again() -> None:
    town, cache, first = begun()
    town.server_minor = 37
    assert state_of(cache) is not first
    assert state_of(cache).cluster.server_minor == 37


def test_other_schedulers_begin_again() -> None:
    _, cache, first = begun()
    assert (
        state_of(cache, structs.replace(_RULES, profiles=(structs.replace(DEFAULT_PROFILE, name="other"),)))
        is not first
    )


def test_a_kind_that_is_not_known_any_more_begins_again() -> None:
    town, cache, first = begun()
    town.hidden = frozenset(("PodDisruptionBudget",))
    assert state_of(cache) is not first


def test_what_is_not_followed_begins_again() -> None:
    town, cache, first = begun()
    town.put(a_namespace("new"))
    assert state_of(cache) is not first


def touch(town: Town, *pods: str) -> None:
    """Say that pods may have changed."""
    for listener in town.listeners:
        listener("Pod", [("default", each) for each in pods])


def test_a_state_that_is_far_behind_is_given_up_at_once() -> None:
    town, cache, first = begun()
    there = ref(first.running)
    del first
    touch(town, *map(str, range(10_001)))
    gc.collect()
    assert there() is None
    assert state_of(cache).order.find("default", "web-0") >= 0


def test_all_nodes_may_say_that_nothing_has_changed() -> None:
    town, cache, first = begun()
    for listener in town.listeners:
        listener("Node", [("", str(each)) for each in range(20_000)])
    assert state_of(cache) is first


def test_of_many_nodes_that_have_changed_a_snapshot_is_made() -> None:
    town, cache, first = begun()
    town.put(*[a_node(f"new-{at}", cpu="4", pods="110") for at in range(1_001)])
    assert state_of(cache) is not first
    assert len(state_of(cache).cluster.nodes) == 1_004


def test_a_state_ends_before_what_is_gone_outweighs_what_is_there() -> None:
    town, cache, first = begun()
    for _ in range(2):
        touch(town, *map(str, range(5_000)))
        assert state_of(cache) is first
    touch(town, "web-0")
    assert state_of(cache) is not first


def test_what_moves_in_one_cycle_is_seen_in_the_next() -> None:
    """The second cycle plans with where the replacements of the first are, and with what came since."""
    run = Run(a_town(*crowd("web"))).perform(rules())
    assert run.asked == ["web-1", "web-2"]
    run.town.put(*crowd("late"))
    run.perform(rules())
    assert sorted(run.asked[2:]) == ["late-1", "late-2"]
    assert Counter(run.town.nodes_of_pods().values()) == {"n0": 2, "n1": 2, "n2": 2}
