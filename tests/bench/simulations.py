"""What simulated days cost, by size of the cluster and by placement.

Each run is a process of its own: its processor time and its peak memory are what the operating system tells of it. An
event is a change of an object in the simulated cluster; its cost is the processor time of the run, without reading the
scenario and without the decisions of the descheduler, over the number of events.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from bench.documents import markdown, put
from bench.processes import CommandError, Finished, run
from bench.simulated_cluster import PODS_PER_NODE, Shape, write_scenario
from bench.table import machine

_SOURCES = Path(__file__).resolve().parents[2] / "src"
_RUN = Path(__file__).with_name("simulated_run.py")
_HEADINGS = (
    "placement",
    "nodes",
    "pods",
    "simulated",
    "events",
    "moves",
    "plans",
    "whole process",
    "of that reading",
    "deciding",
    "per event",
    "peak memory",
)


class Told(msgspec.Struct, frozen=True):
    """What a run says of itself; seconds are of the processor."""

    reading: float
    deciding: float
    simulating: float
    events: int
    pods: int
    moves: int
    plans: int


@dataclass(slots=True, frozen=True)
class Row:
    """One run."""

    shape: Shape
    process: Finished
    told: Told

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        told, shape = self.told, self.shape
        return (
            shape.placement,
            f"{shape.nodes:,}",
            f"{shape.nodes * PODS_PER_NODE:,}",
            f"{shape.hours} h",
            f"{told.events:,}",
            f"{told.moves:,}",
            f"{told.plans:,}",
            f"{self.process.cpu:.1f} s",
            f"{told.reading:.1f} s",
            f"{told.deciding:.1f} s",
            f"{1e6 * (told.simulating - told.deciding) / told.events:.0f} µs",
            f"{self.process.peak / 1e6:,.0f} MB",
        )


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 measured, 2 unusable arguments, or a run that failed or took too long."""
    given = _parser().parse_args(arguments)
    shape = Shape(0, "", given.hours, given.seed, given.trace)
    rows = []
    try:
        for placement in given.placement:
            for nodes in given.nodes:
                rows.append(measure(replace(shape, nodes=nodes, placement=placement), given.limit))
                print(" | ".join(rows[-1].cells()), flush=True)
        if given.markdown:
            table = markdown(_HEADINGS, [each.cells() for each in rows])
            put(given.markdown, "simulate", f"{machine()}.\n\n{table}")
    except (OSError, ValueError, CommandError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def measure(shape: Shape, limit: float) -> Row:
    """One run; ValueError if it takes longer than the limit, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = write_scenario(shape, Path(folder))
        found = run([sys.executable, "-P", str(_RUN), str(scenario)], {"PYTHONPATH": str(_SOURCES)}, limit)
    if found.output is None:
        raise ValueError(f"{shape.nodes} nodes, {shape.placement}: takes more than {limit:.0f} s")
    return Row(shape, found, msgspec.json.decode(found.output, type=Told))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Time restow simulate: nodes with 20 pods each, pods that come and go, and a descheduler every hour.",
        prog="python -m tests.bench simulate",
        epilog="example: python -m tests.bench simulate --nodes 1000 --placement prove",
    )
    parser.add_argument("--nodes", type=int, nargs="+", default=[100, 1000, 5000])
    parser.add_argument("--placement", nargs="+", default=["upstream", "prove"], choices=["upstream", "prove"])
    parser.add_argument("--hours", type=int, default=24, help="Of virtual time.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trace", type=Path, help="A CSV file of pods that come and go, with openb's columns.")
    parser.add_argument("--limit", type=float, default=1800.0, help="Seconds after which a run is ended.")
    parser.add_argument("--markdown", type=Path, help="The page that takes the table between its marks.")
    return parser
