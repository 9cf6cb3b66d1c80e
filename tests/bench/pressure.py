"""What a round of ``restow pressure`` costs in a large cluster: ``python -m tests.bench.pressure``.

A process of its own answers as the API server and as Prometheus: nodes as large as a kubelet writes them, and for each rule
a series for each node. Measured are rounds (queries, judgement, the difference to the marks that nodes bear) and the page, in
seconds of the processor, and the most memory that the process had.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import resource
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

# As pytest finds the packages.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from client.double import Answer, a_double, an_answer, an_api
from restow.client.transport import always
from restow.daemon.background import background
from restow.daemon.logs import Log
from restow.kube.duration import MINUTE
from restow.pressure.daemon import Rounds
from restow.pressure.evaluation import MissingDataPolicy
from restow.pressure.marking import FIELD_MANAGER, Mark
from restow.pressure.monitoring import DependencyStatus, PressureMetrics, PressureView
from restow.pressure.nodes import KnownNodes
from restow.pressure.rules import Rule
from restow.pressure.situation import Criteria
from restow.pressure.writing import Writer
from restow.reporting.html.pressure import render_pressure
from restow.serving.health import Watchdog

_MIB = 2**20


def a_node(number: int) -> dict[str, Any]:
    """With the fields that a kubelet and the controllers own."""
    labels = {f"topology.example.com/label-{each}": f"value-{each}" for each in range(12)}
    owned = {f"f:{key}": {} for key in labels}
    conditions = {f'k:{{"type":"Condition{each}"}}': {"f:lastHeartbeatTime": {}, "f:status": {}} for each in range(6)}
    images = [
        {"names": [f"registry.example.com/image-{each}@sha256:{each:064}"], "sizeBytes": each} for each in range(50)
    ]
    return {
        "metadata": {
            "name": f"node-{number:05}",
            "uid": f"uid-{number}",
            "resourceVersion": "1",
            "labels": labels,
            "managedFields": [
                {"manager": "kubelet", "fieldsV1": {"f:metadata": {"f:labels": owned}}},
                {"manager": "kubelet", "fieldsV1": {"f:status": {"f:conditions": conditions}}},
            ],
        },
        "status": {"addresses": [{"type": "InternalIP", "address": _address(number)}], "images": images},
    }


def _address(number: int) -> str:
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def _vector(nodes: int, at: float) -> Answer:
    result = [
        {
            "metric": {"instance": f"{_address(number)}:9100", "job": "node", "cluster": "production"},
            "value": [at, str(0.95 if number % 50 == 0 else 0.4)],
        }
        for number in range(nodes)
    ]
    return an_answer({"status": "success", "data": {"resultType": "vector", "result": result}})


def serve(nodes: int, told: Connection) -> None:
    """Answers until it is killed."""

    async def run() -> None:
        async with a_double() as double:
            items = [a_node(number) for number in range(nodes)]
            listed = {"kind": "NodeList", "metadata": {"resourceVersion": "1"}, "items": items}
            double.answers("GET", "/api/v1/nodes", an_answer(listed), Answer((b"", 3600.0)))
            double.answers("GET", "/api/v1/query", _vector(nodes, time.time()))
            for number in range(nodes):
                patched = an_answer({"metadata": {"resourceVersion": "2"}})
                double.answers("PATCH", f"/api/v1/nodes/node-{number:05}", patched)
            told.send(double.url)
            await asyncio.Event().wait()

    asyncio.run(run())


async def measure(url: str, rules: int, times: int) -> dict[str, float]:
    """Seconds of the processor and bytes, by name."""
    queries = tuple(Rule(f"rule-{number}", f"metric_{number}", 0.8, clear=0.7) for number in range(rules))
    criteria = Criteria(queries, Mark(), 0.5, MissingDataPolicy(5 * MINUTE))
    async with an_api(url) as api:
        log, metrics = Log(sys.stderr), PressureMetrics()
        log.info = lambda *_, **__: None  # type: ignore[method-assign]
        nodes = KnownNodes(api, FIELD_MANAGER, print)
        rounds = Rounds(
            prometheus=api,
            nodes=nodes,
            criteria=criteria,
            writer=Writer(api, criteria.mark, log, metrics, dry_run=False),
            interval=10.0,
            stopping=asyncio.Event(),
            status=DependencyStatus(10.0),
            metrics=metrics,
            log=log,
            watchdog=Watchdog(),
        )
        async with background(nodes.follow(), "nodes"):
            await nodes.listed.wait()
            took = [await _seconds(rounds) for _ in range(times + 1)]
        assert rounds.situation is not None
        view = PressureView(
            criteria,
            rounds.situation,
            rounds.history,
            (),
            "",
            leads=True,
            dry_run=False,
            now=rounds.clock(),
            interval=10,
        )
        began = time.process_time()
        render_pressure(view)
        page = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"first": took[0], "round": median(took[1:]), "page": page, "peak": peak}


async def _seconds(rounds: Rounds) -> float:
    began = time.process_time()
    await rounds.go_round(always)
    return time.process_time() - began


def main() -> None:
    """Prints a row of a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--rules", type=int, default=10)
    parser.add_argument("--times", type=int, default=10, help="Rounds after the first one, which writes labels.")
    chosen = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    # A process that knows nothing of this one's memory.
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(chosen.nodes, theirs), daemon=True)
    server.start()
    found = asyncio.run(measure(ours.recv(), chosen.rules, chosen.times))
    server.kill()
    print(
        "| nodes | rules | first round, with labels for 2 % of the nodes | each further round | the page | peak memory |"
    )
    print("|---:|---:|---:|---:|---:|---:|")
    times = (found["first"], found["round"], found["page"])
    shown = " | ".join(f"{seconds:.2f} s" for seconds in times)
    print(f"| {chosen.nodes:,} | {chosen.rules} | {shown} | {found['peak'] / _MIB:.0f} MiB |")


if __name__ == "__main__":
    main()
