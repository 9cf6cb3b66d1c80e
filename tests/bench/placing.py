"""Placements a second: restow, the real kube-scheduler and scheduler-library, in process, on the same clusters in one run.

Each places the pods of a dump one after the other, each on the cluster that the one before it left. The Go programs do so
twice: kube-scheduler with every node visited, as restow does, and as it comes, where it stops at a sample of the nodes;
the library with every node visited, and as it comes, where it takes the first node that fits, without scores, and moves
nobody away for a pod.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.documents import line, put
from bench.inputs import CACHE
from bench.placement_clusters import SCENARIOS, Scenario, objects
from bench.table import machine
from builders import a_list
from oracle.build import BINARIES
from oracle.scheduler_process import scheduler_binary
from restow.cluster.state import ClusterState
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.loop.scheduling_pass import schedule
from restow.sources.documents import load_cluster

SIZES = (1_000, 5_000)
#: Pods to be placed: in a dump, and by the Go program, which takes the first of them.
WAITING, FEWER = 1_000, 200
_RUNS = 3
_LIBRARY = BINARIES / "schedulerlibrary"
_TOLD = re.compile(rb"of (\d+) in ([\d.]+) s")


@dataclass(slots=True, frozen=True)
class Row:
    """One scenario at one size, in placements a second."""

    scenario: str
    nodes: int
    restow: float
    all_nodes: float
    sampled: float
    #: None where pods get a node only by preemption.
    library: float | None
    first_fit: float | None

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        peers = [each for peer in (self.all_nodes, self.sampled, self.library) for each in self._beside(peer)]
        figures = (self.restow, *peers, self.first_fit)
        return f"{self.nodes:,}", self.scenario, *("-" if each is None else f"{each:,.0f}" for each in figures)

    def _beside(self, peer: float | None) -> tuple[float | None, float | None]:
        return peer, None if peer is None else self.restow / peer


_HEADINGS = (
    "nodes",
    "scenario",
    "restow",
    "kube-scheduler, all nodes",
    "factor",
    "kube-scheduler, sampling",
    "factor",
    "scheduler-library, all nodes",
    "factor",
    "scheduler-library, first that fits",
)


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 measured, 2 unusable arguments or no Go program."""
    given = _parser().parse_args(arguments)
    try:
        chosen = [each for each in SCENARIOS if not given.scenario or each.name in given.scenario]
        rows = []
        _print(_HEADINGS, "-" * 3)
        for nodes in given.nodes:
            for scenario in chosen:
                rows.append(measure(scenario, nodes))
                _print(rows[-1].cells())
        if given.markdown:
            replace(given.markdown, rows)
    except (FileNotFoundError, ValueError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench placement", description=__doc__)
    names = [each.name for each in SCENARIOS]
    parser.add_argument("--nodes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--scenario", nargs="+", metavar="NAME", choices=names, help=f"of: {', '.join(names)}")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="put the table between its markers")
    return parser


def measure(scenario: Scenario, nodes: int) -> Row:
    """The best of several short runs of each: what disturbs a run only ever makes it slower."""
    dump, real = _dump(scenario, nodes), scheduler_binary()
    library = None if scenario.preempts else _LIBRARY
    runs = range(_RUNS)
    return Row(
        scenario.name,
        nodes,
        restow=max(_restow(dump) for _ in runs),
        all_nodes=max(_upstream(real, dump, "-all-nodes") for _ in runs),
        sampled=max(_upstream(real, dump) for _ in runs),
        library=max(_upstream(library, dump, "-all-nodes") for _ in runs) if library else None,
        first_fit=max(_upstream(library, dump) for _ in runs) if library else None,
    )


def _dump(scenario: Scenario, nodes: int) -> Path:
    CACHE.mkdir(parents=True, exist_ok=True)
    dump = CACHE / f"placement-{scenario.name.replace(' ', '-')}-{nodes}-{WAITING}.json"
    if not dump.exists() or dump.stat().st_mtime < Path(__file__).with_name("placement_clusters.py").stat().st_mtime:
        part = dump.with_suffix(".part")
        part.write_bytes(msgspec.json.encode(a_list(*objects(scenario, nodes, WAITING))))
        part.rename(dump)
    return dump


def _restow(dump: Path) -> float:
    """Placements a second; reading the dump is not counted, and neither is making the scheduler."""
    schedulers = Schedulers(Context.of(ClusterState(load_cluster([str(dump)])[0])))
    pods = schedulers.queue().pods
    begin = time.perf_counter()
    for decision in schedule(schedulers, pods):
        if decision.node < 0 and decision.nominated_node < 0:
            raise ValueError(f"{dump}: a pod gets no node: {decision.message}")
    return len(pods) / (time.perf_counter() - begin)


def _upstream(binary: Path, dump: Path, *options: str) -> float:
    """The same of the Go program, which does not count these either."""
    command = [str(binary), "-bench", str(FEWER), "-file", str(dump), *options]
    told = subprocess.run(command, capture_output=True, check=True).stdout
    found = _TOLD.search(told)
    if found is None:
        raise ValueError(f"{' '.join(command)} says {told.decode()!r}")
    return int(found[1]) / float(found[2])


def replace(document: Path, rows: list[Row]) -> None:
    """Put the table between its markers in a document. ValueError where there are none."""
    table = [line(_HEADINGS), _rule(), *(line(row.cells()) for row in rows)]
    put(document, "placement", "\n".join([f"{machine()}; the best of {_RUNS} runs.", "", *table]))


def _rule() -> str:
    return f"|{'|'.join('---' if each == 'scenario' else '---:' for each in _HEADINGS)}|"


def _print(cells: tuple[str, ...], rule: str = "") -> None:
    print(line(cells) + (f"\n{_rule()}" if rule else ""), flush=True)
