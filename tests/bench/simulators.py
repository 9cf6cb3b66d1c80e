"""``restow simulate`` beside CloudSim Plus, a simulator of data centres (``make bench PART=simulators``).

CloudSim Plus and ``restow simulate`` play the same trace of pods that come and go, one after the other, each as a process of
its own. CloudSim Plus is given nodes as hosts and pods as machines of whole cores and memory, which it places by a policy of
its own; it knows no scheduler of Kubernetes, no controllers and no GPUs, so restow does more.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import yaml

from bench.documents import markdown, put
from bench.processes import CommandError, Finished, run
from bench.table import machine

_ROOT = Path(__file__).resolve().parents[2]
_CLOUDSIM = Path(__file__).with_name("cloudsim")
_LIBRARIES = _ROOT / "build" / "cloudsim"
_HEADINGS = ("simulator", "pods placed", "processor", "elapsed", "peak memory")
_DAY = 24 * 3600


class Told(msgspec.Struct, frozen=True):
    """What CloudSim Plus came to; ``clock`` in seconds."""

    clock: int
    placed: int
    pods: int


class Summary(msgspec.Struct, frozen=True, rename="camel"):
    """Of a run of restow: how many pods waited for a node at the most, and the longest wait in seconds."""

    most_pending: int
    longest_pending_seconds: float


class Result(msgspec.Struct, frozen=True):
    """What ``restow simulate -o json`` writes."""

    summary: Summary


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 measured, 2 unusable arguments, or a run that failed or took too long."""
    given = _parser().parse_args(arguments)
    try:
        rows = [cloudsim(given), restow(given)]
    except (OSError, ValueError, CommandError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for row in rows:
        print(" | ".join(row))
    if given.markdown:
        put(given.markdown, "simulators", f"{machine()}.\n\n{markdown(_HEADINGS, rows)}")
    return 0


def cloudsim(given: argparse.Namespace) -> tuple[str, ...]:
    """The row of CloudSim Plus; ValueError where it did not simulate the same time."""
    fetch = [
        "mvn",
        "--quiet",
        "--batch-mode",
        "-Dstyle.color=never",
        "--file",
        str(_CLOUDSIM),
        "dependency:copy-dependencies",
    ]
    subprocess.run([*fetch, f"-DoutputDirectory={_LIBRARIES}"], check=True)
    program = ["java", "-cp", f"{_LIBRARIES}/*", str(_CLOUDSIM / "OpenbTrace.java")]
    arguments = [given.nodes, given.pods, given.faster, _DAY]
    found = run([*program, *map(str, arguments)], {}, given.limit)
    told = msgspec.json.decode(_output(found), type=Told)
    if told.clock != _DAY:
        raise ValueError(f"CloudSim Plus has simulated {told.clock} s instead of {_DAY}")
    return _row("CloudSim Plus 8.5.5", f"{told.placed:,} of {told.pods:,}", found)


def restow(given: argparse.Namespace) -> tuple[str, ...]:
    """The row of restow; ValueError where pods found no node."""
    with tempfile.TemporaryDirectory() as folder:
        for each in (given.nodes, given.pods):
            shutil.copy(each, folder)
        arrivals = [{"trace": given.pods.name, "faster": given.faster}]
        scenario = {"apiVersion": "restow.dev/v1alpha1", "kind": "Scenario", "start": [given.nodes.name]}
        (Path(folder) / "scenario.yaml").write_text(yaml.safe_dump(scenario | {"arrivals": arrivals}))
        command = [str(Path(sys.executable).with_name("restow")), "simulate", "-f", f"{folder}/scenario.yaml"]
        found = run([*command, "--for", "24h", "-o", "json"], {}, given.limit)
    summary = msgspec.json.decode(_output(found), type=Result).summary
    if summary.longest_pending_seconds >= 1:
        raise ValueError(f"pods waited for up to {summary.longest_pending_seconds:.0f} s")
    pods = f"{sum(1 for _ in given.pods.open()) - 1:,}"
    return _row("restow", f"{pods} of {pods}", found)


def _output(found: Finished) -> bytes:
    if found.output is None:
        raise ValueError("it takes more than the limit")
    return found.output


def _row(name: str, placed: str, found: Finished) -> tuple[str, ...]:
    return name, placed, f"{found.cpu:.1f} s", f"{found.wall:.1f} s", f"{found.peak / 1e6:,.0f} MB"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Time restow simulate and CloudSim Plus on the openb trace. Needs Java 17 and Maven.",
        prog="python -m tests.bench simulators",
        epilog="example: python -m tests.bench simulators --nodes openb_node_list_all_node.csv --pods openb_pod_list_default.csv",
    )
    parser.add_argument("--nodes", type=Path, required=True, help="A CSV file of nodes, with openb's columns.")
    parser.add_argument("--pods", type=Path, required=True, help="A CSV file of pods, with openb's columns.")
    parser.add_argument("--faster", type=int, default=150, help="The trace of 149 days becomes one day.")
    parser.add_argument("--limit", type=float, default=600.0, help="Seconds after which a run is ended.")
    parser.add_argument("--markdown", type=Path, help="The page that takes the table between its marks.")
    return parser
