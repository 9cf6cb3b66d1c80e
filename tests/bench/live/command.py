"""restow and the Descheduler side by side on a real control plane.

Prints each table row by row as it is measured. What is measured on is made once and kept below build/bench/live, which
takes some minutes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.documents import line, markdown, put
from bench.live import endurance, landings, loops, one_shots, outages, rehearsals
from bench.live.parts import Part, Row
from bench.table import machine

PARTS = {
    part.name: part for part in (each.PART for each in (one_shots, rehearsals, loops, outages, landings, endurance))
}


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0; 1 where a run failed or took too long, 2 where something that is needed is not there."""
    given = _parser().parse_args(arguments)
    try:
        for name in given.part or PARTS:
            rows = _measured(PARTS[name])
            if given.markdown:
                put(given.markdown, f"live {name}", f"{machine()}.\n\n{markdown(PARTS[name].headings, rows)}")
    except (TimeoutError, RuntimeError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except (FileNotFoundError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.live", description=__doc__)
    parser.add_argument("--part", nargs="+", choices=list(PARTS), help="all if absent")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="put each table between the markers of its name")
    return parser


def _measured(part: Part) -> list[Row]:
    print(f"\n{markdown(part.headings, [])}", flush=True)
    rows = []
    with TemporaryDirectory(prefix="restow-bench-") as directory:
        for row in part.measure(Path(directory)):
            print(line(row), flush=True)
            rows.append(row)
    return rows
