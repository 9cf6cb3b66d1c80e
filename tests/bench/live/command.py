"""restow, the Descheduler and kube-scheduler side by side on a real control plane.

Prints each table row by row as it is measured. What is measured on is made once and kept below build/bench/live, which
takes some minutes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.documents import line, markdown, put
from bench.live import dry_runs, endurance, landings, loops, one_shots, outages, scheduling, steering
from bench.live.tables import LiveTable, Row
from bench.table import machine

_TABLES = tuple(each.TABLE for each in (one_shots, dry_runs, loops, outages, landings, endurance))
#: Of the clusters with steered moves, unless told otherwise: nodes, moves, and pods of a full node.
_NODES, _MOVES, _PODS = 40, 60, 47
_STEERED = [table.name for table in steering.tables(_NODES, _MOVES, _PODS)]
#: Of the cluster that is scheduled, unless told otherwise.
_SCHEDULED = 5_000
_NAMES = [*(table.name for table in _TABLES), *_STEERED, scheduling.table(_SCHEDULED).name]


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0; 1 where a run failed or took too long, 2 where something that is needed is not there."""
    given = _parser().parse_args(arguments)
    try:
        steered = steering.tables(given.nodes, given.moves, given.pods_per_node)
        for table in (*_TABLES, *steered, scheduling.table(given.pods)):
            if given.table and table.name not in given.table:
                continue
            rows = _measured(table)
            if given.markdown:
                put(given.markdown, f"live {table.name}", f"{machine()}.\n\n{markdown(table.headings, rows)}")
    except (TimeoutError, RuntimeError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except (FileNotFoundError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench live", description=__doc__)
    parser.add_argument("--table", nargs="+", choices=_NAMES, help="all if absent")
    sized = parser.add_argument_group(f"size of the clusters of {', '.join(_STEERED)}")
    sized.add_argument("--nodes", type=int, default=_NODES)
    sized.add_argument("--moves", type=int, default=_MOVES, help="how many pods are on the wrong nodes")
    sized.add_argument("--pods-per-node", type=int, default=_PODS, help="of a full node")
    parser.add_argument("--pods", type=int, default=_SCHEDULED, help="of the table scheduling, five for each node")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="put each table between the markers of its name")
    return parser


def _measured(table: LiveTable) -> list[Row]:
    print(f"\n{markdown(table.headings, [])}", flush=True)
    rows = []
    with TemporaryDirectory(prefix="restow-bench-") as directory:
        for row in table.measure(Path(directory)):
            print(line(row), flush=True)
            rows.append(row)
    return rows
