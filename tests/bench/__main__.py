"""``python -m tests.bench PART``: what ``make bench PART=...`` calls. Builds the programs to compare with, then measures.

``python -m tests.bench --help`` lists the parts, ``python -m tests.bench PART --help`` the options of one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_ORACLE = ("tests/oracle/build.py",)
_E2E = ("-m", "e2e.build")


@dataclass(slots=True, frozen=True)
class Part:
    """Something to measure: its module has ``main(arguments)``, which returns the exit status."""

    module: str
    description: str
    #: What Python is called with to build the programs of the comparison.
    build: tuple[str, ...] = ()


PARTS = {
    "deciding": Part("bench.deciding", "time to decide, beside the Descheduler", _ORACLE),
    "placement": Part(
        "bench.placing", "time to place pods, beside kube-scheduler and scheduler-library", (*_ORACLE, "--library")
    ),
    "landing": Part("bench.landings", "moves and the balance after them, beside the Descheduler's", _ORACLE),
    "repair": Part("bench.repairs", "time to repair a plan after a landing, beside making it anew"),
    "joint": Part("bench.joint_plans", "moves and the goal reached: strategies of today and Rebalance, steered"),
    "loops": Part("bench.simulated_loops", "the known loops, simulated in both placements; writes their pages"),
    "live": Part("bench.live.command", "restow and the Go programs on a real control plane", _E2E),
    "simulate": Part("bench.simulations", "time to simulate days of clusters of several sizes"),
    "engines": Part("bench.engines", "what simulating on processes, Kubernetes, Dask or Ray costs", _E2E),
    "simulators": Part("bench.simulators", "time to simulate, beside CloudSim Plus; needs Java 17 and Maven"),
}


def main(arguments: list[str] | None = None) -> int:
    """Exit status of the part."""
    given = _parser().parse_args(arguments)
    part = PARTS[given.part]
    measure = import_module(part.module).main
    if part.build and not {"-h", "--help"}.intersection(given.options):
        build(part.build)
    return int(measure(given.options))


def build(command: tuple[str, ...]) -> None:
    """Build the programs of a comparison. Raises CalledProcessError if that fails."""
    tests = os.environ | {"PYTHONPATH": str(_ROOT / "tests")}
    subprocess.run([sys.executable, *command], cwd=_ROOT, env=tests, check=True)


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {name:<12}{part.description}" for name, part in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description=f"Measure one part of restow:\n\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("part", choices=list(PARTS), metavar="PART")
    parser.add_argument("options", nargs=argparse.REMAINDER, metavar="...", help="options of the part")
    return parser


if __name__ == "__main__":
    # The modules are found where pytest finds them.
    sys.path[:0] = [str(_ROOT / "src"), str(_ROOT / "tests")]
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as failed:
        sys.exit(failed.returncode)
