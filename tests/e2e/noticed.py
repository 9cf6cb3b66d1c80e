"""What a client of a workload notices while a descheduler moves it: failed requests, latency, times without an endpoint.

    PYTHONPATH=tests python -m e2e.noticed
    PYTHONPATH=tests python -m e2e.noticed --workloads 20 --rate 10 --restow 'proven={placement: prove}'

A real control plane of four nodes, pods that are processes, and one move in each cycle, or ``--most``, once with the Descheduler
and once with restow for each ``restow:`` section of a policy. The rows are printed as they are measured.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

import yaml

from bench.documents import line, markdown
from bench.table import machine
from builders.policies import Policy
from e2e.control_plane import ControlPlane
from e2e.kubelet import ProcessKubelet
from e2e.noticed_moves import Noticed, Times, Workloads, a_mover, measure
from e2e.service_requests import Sent
from e2e.steered import component, install

HEADINGS = (
    "moved by",
    "moves",
    "requests meanwhile",
    "failed",
    "share",
    "failed a move",
    "why",
    "failed before",
    "p50 before",
    "p95 before",
    "p50 meanwhile",
    "p95 meanwhile",
    "without a ready endpoint: times",
    "median",
    "longest",
)
_NODES = 4
_NAMESPACES = itertools.count(1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0; 1 if a run failed or took too long, 2 if the programs are missing."""
    given = _parser().parse_args(arguments)
    print(f"{machine()}. {_summary(given)}\n\n{markdown(HEADINGS, [])}", flush=True)
    try:
        for row in _rows(given):
            print(line(row), flush=True)
    except (TimeoutError, RuntimeError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except FileNotFoundError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def row(name: str, noticed: Noticed) -> tuple[str, ...]:
    """One row of the table."""
    failures = Counter(each.failure for each in noticed.moved if each.failure)
    gaps = [each.seconds for each in noticed.gaps]
    return (
        name,
        f"{noticed.moves:,}",
        f"{len(noticed.moved):,}",
        f"{failures.total():,}",
        f"{100 * failures.total() / len(noticed.moved):.1f} %",
        f"{failures.total() / noticed.moves:.1f}" if noticed.moves else "-",
        ", ".join(f"{times} x {why}" for why, times in failures.most_common()) or "-",
        f"{sum(bool(each.failure) for each in noticed.quiet)} of {len(noticed.quiet):,}",
        *(_milliseconds(each) for requests in (noticed.quiet, noticed.moved) for each in _latencies(requests)),
        f"{len(gaps):,}",
        *(f"{each:.1f} s" for each in (median(gaps or [0.0]), max(gaps, default=0.0))),
    )


def _rows(given: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    workloads = Workloads(given.workloads, given.replicas, given.ready_delay, given.pre_stop, given.rate)
    times = Times(given.quiet, given.rounds, given.window)
    with (
        TemporaryDirectory(prefix="restow-noticed-") as directory,
        ControlPlane(Path(directory)) as plane,
        ProcessKubelet(plane) as kubelet,
    ):
        kubelet.add_nodes(_NODES)
        if given.steering:
            install(plane)
            plane.admin.create_all(component("reserving", "guarding", "rights"))
        for name, program, section in _movers(given):
            namespace = plane.namespace(f"noticed-{next(_NAMESPACES)}")
            mover = a_mover(plane, program, Path(directory), restow=section, most=given.most)
            yield row(name, measure(plane, namespace, workloads, times, mover))
            plane.clear(namespace)


def _movers(given: argparse.Namespace) -> Iterator[tuple[str, str, Policy | None]]:
    """The name of each row, its program, and the section of its policy."""
    if not given.without_descheduler:
        yield "Descheduler", "Descheduler", None
    for each in given.restow or ["restow={}"]:
        name, _, text = each.partition("=")
        yield name, "restow", yaml.safe_load(text)


def _summary(given: argparse.Namespace) -> str:
    return (
        f"{_NODES} nodes; {given.workloads} workloads of {given.replicas} replicas, ready after {given.ready_delay}, "
        f"SIGTERM {given.pre_stop} s after deletion; {given.rate:g} requests a second to each; "
        f"{given.quiet:.0f} s before, then {given.rounds} rounds of {given.window:.0f} s or more."
    )


def _latencies(requests: list[Sent]) -> tuple[float, float]:
    """The median and the 95th percentile in seconds of those that were answered."""
    answered = [each.seconds for each in requests if not each.failure]
    return (median(answered), quantiles(answered, n=20)[-1]) if len(answered) > 1 else (0.0, 0.0)


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m e2e.noticed", description=__doc__)
    parser.add_argument("--workloads", type=int, default=1)
    parser.add_argument("--replicas", type=int, default=1, help="of each workload")
    parser.add_argument("--ready-delay", default="5s", help="from the start of a container until it is ready")
    parser.add_argument("--pre-stop", type=int, default=0, help="seconds from the deletion of a pod to SIGTERM")
    parser.add_argument("--rate", type=float, default=8.0, help="requests a second to each workload")
    parser.add_argument("--quiet", type=float, default=60.0, help="seconds before the first move")
    parser.add_argument("--rounds", type=int, default=6, help="how often a node is tainted")
    parser.add_argument("--most", type=int, default=1, help="pods that a cycle may move")
    parser.add_argument("--window", type=float, default=10.0, help="seconds of a round at least")
    parser.add_argument("--restow", action="append", metavar="NAME=YAML", help="a row with this restow: section")
    parser.add_argument("--steering", action="store_true", help="install what steering needs")
    parser.add_argument("--without-descheduler", action="store_true", help="measure restow only")
    return parser


if __name__ == "__main__":
    sys.exit(main())
