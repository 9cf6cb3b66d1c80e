"""restow and the real Descheduler on the same clusters, one after the other, on the same machine.

Prints one row a scenario as it is measured. Exit status 1 where the two do not evict as many pods, or where restow's
cost grows faster than the cluster.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import programs
from bench.cases import CASES, SIZES, chosen
from bench.processes import CommandError
from bench.rows import Row, measure
from bench.table import Table, header, line, machine, replace


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 all as it should be, 1 a difference or too much growth, 2 unusable arguments or inputs."""
    given = _parser().parse_args(arguments)
    try:
        rows = _measure(given)
        if given.markdown:
            replace(given.markdown, Table(given.size, SIZES[given.size], given.limit, rows))
    except (CommandError, FileNotFoundError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    wrong = [*_disagreements(rows), *_growths(rows)]
    sys.stderr.writelines(f"{each}\n" for each in wrong)
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench deciding", description=__doc__)
    names = ", ".join(case.name for case in CASES)
    parser.add_argument("--size", choices=list(SIZES), default="medium")
    parser.add_argument("--scenario", nargs="+", metavar="NAME", help=f"of: {names}; all if absent")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of deciding for a run (default 120)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, unless they are slow (default 3)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="put the table between the markers of its size")
    return parser


def _measure(given: argparse.Namespace) -> list[Row]:
    size, cases = SIZES[given.size], chosen(given.scenario)
    upstream, restow = programs.upstream(given.limit), programs.restow(given.limit)
    print(f"{size.nodes:,} nodes, {size.pods:,} pods; {machine()}\n\n{header()}", flush=True)
    rows = []
    for case in cases:
        rows.append(measure(case, size, upstream, restow, given.repeat))
        print(line(rows[-1], given.limit), flush=True)
    return rows


def _disagreements(rows: list[Row]) -> list[str]:
    return [
        f"{row.case.name}: the Descheduler evicts {row.upstream.evictions}, restow {row.restow.evictions}"
        for row in rows
        if not row.agrees()
    ]


def _growths(rows: list[Row]) -> list[str]:
    return [
        f"{row.case.name}: ten times the cluster costs {row.process_growth():.1f} times the processor time, "
        f"deciding {row.deciding_growth() or 0.0:.1f} times"
        for row in rows
        if not row.is_linear()
    ]
