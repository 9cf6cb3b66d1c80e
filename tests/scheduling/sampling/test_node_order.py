"""The order in which nodes are visited (section M of the rows)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import ZONE
from restow.scheduling.sampling.node_order import visiting_order

if TYPE_CHECKING:
    from collections.abc import Mapping

REGION = "topology.kubernetes.io/region"
LEGACY_ZONE, LEGACY_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
#: The nodes of the table.
NODES: list[Mapping[str, str]] = [
    {},
    {REGION: "region-1"},
    {ZONE: "zone-2"},
    {REGION: "region-1", ZONE: "zone-2"},
    {REGION: "region-1", ZONE: "zone-2"},
    {REGION: "region-1", ZONE: "zone-3"},
    *[{REGION: "region-2", ZONE: "zone-2"}] * 3,
]


def order(*added: int) -> list[int]:
    """The nodes of the table, added in this order, as they are visited."""
    return [added[place] for place in visiting_order(NODES[node] for node in added).tolist()]


@pytest.mark.parametrize(
    ("added", "visited"),
    [
        pytest.param(range(9), [0, 1, 2, 3, 5, 6, 4, 7, 8], id="m01"),
        pytest.param(range(4), [0, 1, 2, 3], id="m02"),
        pytest.param([4, 5, 6, 7, 8, 3], [4, 5, 6, 3, 7, 8], id="m05"),
        pytest.param([6, 7], [6, 7], id="m06-what-is-left"),
        pytest.param([], [], id="no-nodes"),
    ],
)
def test_zones_take_turns(added, visited) -> None:
    assert order(*added) == visited


def test_the_first_node_of_each_zone_comes_first_m08() -> None:
    zones = ["a", "a", "a", "b", "c", "c"]
    assert visiting_order({ZONE: zone} for zone in zones).tolist() == [0, 3, 4, 1, 5, 2]


@pytest.mark.parametrize(
    ("labels", "same"),
    [
        pytest.param({LEGACY_ZONE: "a", ZONE: "b"}, {ZONE: "a"}, id="the-legacy-label-goes-first"),
        pytest.param({LEGACY_ZONE: "", ZONE: "b"}, {}, id="even-if-it-is-empty"),
        pytest.param(
            {LEGACY_REGION: "x", ZONE: "a"}, {REGION: "x", LEGACY_ZONE: "a"}, id="old-and-new-labels-are-mixed"
        ),
        pytest.param({REGION: "", ZONE: ""}, {}, id="empty-labels-are-no-labels"),
    ],
)
def test_labels_that_name_the_same_zone(labels, same) -> None:
    assert visiting_order([labels, {ZONE: "other"}, same]).tolist() == [0, 1, 2]
    assert visiting_order([labels, same, {ZONE: "other"}]).tolist() == [0, 2, 1]


@given(st.lists(st.sampled_from("abcd"), max_size=30))
def test_every_node_is_visited_once_and_a_zone_in_its_own_order(zones) -> None:
    visited = visiting_order({ZONE: zone} for zone in zones).tolist()
    assert sorted(visited) == list(range(len(zones)))
    turns = {node: zones[:node].count(zones[node]) for node in visited}
    first = list(dict.fromkeys(zones))
    assert visited == sorted(visited, key=lambda node: (turns[node], first.index(zones[node])))
