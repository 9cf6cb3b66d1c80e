"""Clusters that are filled unevenly."""

from __future__ import annotations

import pytest

from bench.live.uneven import FULL, NODE, THIN, sparse, two_halves


def test_full_nodes_have_as_many_pods_too_many_as_there_are_moves() -> None:
    cluster = two_halves(300, 1_000, 47)
    assert (len(cluster.counts), sum(cluster.counts), len(cluster.thin)) == (300, 10_000, 120)
    too_many = [max(count - FULL * NODE // (100 * cluster.cpu), 0) for count in cluster.counts]
    assert sum(too_many) == 1_000
    assert not any(too_many[at] for at, name in enumerate(f"node-{at}" for at in range(1, 301)) if name in cluster.thin)


def test_thin_nodes_have_as_many_pods_as_there_are_moves_and_the_others_have_room() -> None:
    cluster = sparse(40, 60, 47)
    counts = {f"node-{at}": count for at, count in enumerate(cluster.counts, 1)}
    assert sum(counts[each] for each in cluster.thin) == 60
    assert all(
        THIN * NODE < 100 * count * cluster.cpu < FULL * NODE
        for name, count in counts.items()
        if name not in cluster.thin
    )


@pytest.mark.parametrize("make", [two_halves, sparse])
def test_moves_for_which_there_is_no_room_are_refused(make) -> None:
    with pytest.raises(ValueError, match="10 nodes are too few for 1000 moves"):
        make(10, 1_000, 47)


def test_each_cluster_has_a_place_of_its_own() -> None:
    assert len({make(40, moves, 47).checkpoint for make in (two_halves, sparse) for moves in (50, 60)}) == 4
