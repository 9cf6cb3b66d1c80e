"""Many moves on an uneven cluster: nominated, behind a fence, and by the Descheduler; and nodes that are emptied.

Each row starts from a copy of the same store. The numbers of nodes and moves are options: ``--nodes 300 --moves 1000``.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.live.clusters import control_plane_for, reset
from bench.live.moved import (
    Filler,
    Moved,
    end,
    first_cycle,
    leveling,
    moved_by,
    on_nodes,
    packing,
    restow,
    upstream,
)
from bench.live.pod_watch import PodWatch
from bench.live.tables import LiveTable, Row, seconds
from bench.live.uneven import NODE, Uneven, sparse, two_halves
from e2e.control_plane import ControlPlane

#: For how long emptied nodes are looked at, and how often restow looks for moves meanwhile.
_AFTERWARDS, _INTERVAL = 60.0, "10s"
#: Of so many nominations one is answered by filling its target.
_EVERY = (50, 20)


def tables(nodes: int, moves: int, pods_per_node: int) -> tuple[LiveTable, ...]:
    """The tables, on clusters of this size."""
    uneven = two_halves(nodes, moves, pods_per_node)
    return (
        LiveTable("steering", _STEERING, partial(_steering, uneven)),
        LiveTable("filled-targets", _FILLED, partial(_filled, uneven)),
        LiveTable("emptied-nodes", _EMPTIED, partial(_emptied, sparse(nodes, moves, pods_per_node))),
    )


_STEERING = (
    "moves by",
    "moves",
    "landed on the target",
    "on a node that was thin",
    "time",
    "per move",
    "longest wait behind the gate",
    "deviation after",
    "fullest node after",
)


def _steering(cluster: Uneven, directory: Path) -> Iterator[Row]:
    """A row for the cluster as it is, and one for each way."""
    with control_plane_for(cluster) as plane:
        before = Counter({f"node-{at}": count for at, count in enumerate(cluster.counts, 1)})
        yield f"nobody: {cluster}", *["-"] * 6, *_balance(cluster, before)
        reset(plane, cluster)
        moved = moved_by(plane, restow(plane, leveling("nominate"), directory))
        yield _row(cluster, "restow, `nominate`", moved, _share(moved.on_target, moved))
        reset(plane, cluster)
        moved = moved_by(plane, restow(plane, leveling("fence"), directory))
        yield _row(cluster, "restow, `fence`", moved, _share(moved.as_predicted, moved))
        reset(plane, cluster)
        moved = moved_by(plane, upstream(plane, leveling("none"), directory))
        yield _row(cluster, "Descheduler", moved, "-")


def _row(cluster: Uneven, name: str, moved: Moved, landed: str) -> Row:
    return (
        name,
        f"{moved.evictions:,}",
        landed,
        _share(sum(each.node in cluster.thin for each in moved.new), moved),
        seconds(moved.seconds),
        f"{moved.milliseconds:.0f} ms",
        seconds(moved.longest_wait),
        *_balance(cluster, moved.on_node),
    )


_FILLED = (
    "target filled of one nomination in",
    "moves",
    "nodes filled",
    "landed on the target",
    "not ready",
    "longest wait behind the gate",
    "per move",
)


def _filled(cluster: Uneven, directory: Path) -> Iterator[Row]:
    """Somebody fills targets as soon as a replacement is nominated for them."""
    with control_plane_for(cluster) as plane:
        for every in _EVERY:
            reset(plane, cluster)
            filler = Filler.of(plane, every)
            moved = moved_by(plane, restow(plane, leveling("nominate"), directory), filler)
            yield (
                str(every),
                f"{moved.evictions:,}",
                f"{filler.check():,}",
                _share(moved.on_target, moved),
                f"{sum(each.ready is None for each in moved.new):,}",
                seconds(moved.longest_wait),
                f"{moved.milliseconds:.0f} ms",
            )


_EMPTIED = (
    "moves by",
    "moves",
    "landed on the target",
    "thin nodes",
    "emptied",
    f"still empty after {_AFTERWARDS:.0f} s",
    "moves meanwhile",
    "per move",
)


def _emptied(cluster: Uneven, directory: Path) -> Iterator[Row]:
    """What HighNodeUtilization empties, and whether it stays so while restow goes on."""
    with control_plane_for(cluster) as plane:
        reset(plane, cluster)
        watch = PodWatch(plane)
        with watch.watching(), restow(plane, packing("nominate"), directory, _INTERVAL) as running:
            moved = first_cycle(plane, watch, running)
            empty = cluster.thin - set(moved.on_node)
            time.sleep(_AFTERWARDS)
            row = _row_of_emptied(cluster, plane, moved, empty, len(watch.left) - moved.evictions)
            end(running)
    yield row


def _row_of_emptied(cluster: Uneven, plane: ControlPlane, moved: Moved, empty: frozenset[str], more: int) -> Row:
    return (
        "restow, `nominate`",
        f"{moved.evictions:,}",
        _share(moved.on_target, moved),
        f"{len(cluster.thin):,}",
        f"{len(empty):,}",
        f"{len(empty - set(on_nodes(plane))):,}",
        f"{more:,}",
        f"{moved.milliseconds:.0f} ms",
    )


def _share(part: int, moved: Moved) -> str:
    whole = len(moved.new)
    return f"{part:,} of {whole:,}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


def _balance(cluster: Uneven, on_node: Counter[str]) -> tuple[str, str]:
    """Of the shares of the nodes' processors that pods request: standard deviation, and the fullest."""
    shares = [100 * on_node[f"node-{at}"] * cluster.cpu / NODE for at in range(1, len(cluster.counts) + 1)]
    return f"{statistics.pstdev(shares):.1f}", f"{max(shares):.1f} %"
