"""What an engine costs: how much of its workers' time is simulation, the time to the first result, and the client's memory.

The same futures run on each engine, on two workers of this machine; a future says how much processor time it takes. The
share is that time over the wall time of the two workers, so everything else counts against the engine: start, transport,
and waiting at the end.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import yaml

from bench.documents import markdown, put
from bench.processes import CommandError, run
from bench.table import machine
from e2e.control_plane import ControlPlane
from e2e.engine_clusters import ENVIRONMENT, dask_cluster, ray_cluster
from e2e.fake_nodes import PROCESSES
from e2e.job_kubelet import JobKubelet

_WORKERS = 2
_HEADINGS = (
    "engine",
    "futures",
    "first result",
    "whole run",
    "a future by itself",
    "share of the workers' time",
    "client's memory",
)
#: Engines whose clusters say how many workers there are.
_THEIRS = ("dask",)


class Told(msgspec.Struct, frozen=True):
    """What a run says of itself, in seconds."""

    first: float
    whole: float
    pieces: float
    count: int


@contextmanager
def cluster(engine: str, directory: Path) -> Iterator[dict[str, Any]]:
    """What the engine has to know of a cluster of two workers, while there is one."""
    match engine:
        case "dask":
            with dask_cluster(directory / "dask", _WORKERS) as (address, _):
                yield {"address": address}
        case "ray":
            with ray_cluster(_WORKERS) as address:
                yield {"address": address}
        case "kubernetes":
            with ControlPlane(directory) as plane, JobKubelet(plane) as kubelet:
                kubelet.add_nodes(_WORKERS)
                pods = {"cpu": "100m", "memory": "128Mi", "nodeSelector": {PROCESSES: ""}}
                yield pods | {"image": "restow", "kubeconfig": str(plane.kubeconfig)}
        case _:
            yield {}


def measure(engine: str, futures: int, minutes: int, limit: float) -> tuple[str, ...]:
    """The row of an engine; ValueError where it takes longer than the limit, in seconds."""
    with tempfile.TemporaryDirectory() as folder, cluster(engine, Path(folder)) as config:
        file = Path(folder) / "engine.yaml"
        file.write_text(yaml.safe_dump(config))
        workers = 0 if engine in _THEIRS else _WORKERS
        command = [sys.executable, "-m", "bench.engines_run", *map(str, (futures, minutes, engine, workers, file))]
        found = run(command, {"PYTHONPATH": ENVIRONMENT["PYTHONPATH"]}, limit)
    if found.output is None:
        raise ValueError(f"{engine}: takes more than {limit:.0f} s")
    told = msgspec.json.decode(found.output, type=Told)
    return (
        f"`{engine}`",
        f"{told.count:,}",
        f"{told.first:.1f} s",
        f"{told.whole:.1f} s",
        f"{1000 * told.pieces / told.count:.0f} ms",
        f"{100 * told.pieces / told.whole / _WORKERS:.0f} %",
        f"{found.peak / 1e6:,.0f} MB",
    )


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 measured, 2 unusable arguments, or a run that failed or took too long."""
    given = _parser().parse_args(arguments)
    rows = []
    try:
        for engine in given.engine:
            rows.append(measure(engine, given.futures, given.minutes, given.limit))
            print(" | ".join(rows[-1]), flush=True)
        if given.markdown:
            put(given.markdown, "engines", f"{machine()}.\n\n{markdown(_HEADINGS, rows)}")
    except (OSError, ValueError, CommandError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Time the futures of a comparison on each engine, with two workers of this machine.",
        prog="python -m tests.bench engines",
        epilog="example: python -m tests.bench engines --engine local dask --futures 200",
    )
    known = ["local", "dask", "kubernetes", "ray"]
    parser.add_argument("--engine", nargs="+", default=known[:3], choices=known, help="ray needs pip install ray.")
    parser.add_argument("--futures", type=int, default=1000)
    parser.add_argument("--minutes", type=int, default=60, help="Of virtual time that each future has.")
    parser.add_argument("--limit", type=float, default=3600.0, help="Seconds after which a run is ended.")
    parser.add_argument("--markdown", type=Path, help="The page that takes the table between its marks.")
    return parser
