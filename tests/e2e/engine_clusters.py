"""Where futures of a simulation run elsewhere: a Dask and a Ray cluster of this machine, and the file of ``--engine-config``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from e2e.child import Child
from e2e.ports import HOST, free_ports
from e2e.waiting import wait_until

_PROGRAMS = Path(sys.executable).parent
#: What the installed script does, and the environment in which workers find the same restow.
RESTOW = (sys.executable, "-c", "from restow.cli.main import main; main()")
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


def options(directory: Path, engine: str, **config: Any) -> tuple[str, ...]:
    """Options of a command that choose an engine."""
    file = directory / "engine.yaml"
    file.write_text(yaml.safe_dump(config))
    return ("--engine", engine, "--engine-config", str(file))


@contextmanager
def dask_cluster(directory: Path, workers: int) -> Iterator[tuple[str, list[Child]]]:
    """The address of a scheduler, and its workers."""
    address = f"tcp://{HOST}:{free_ports(1)[0]}"
    scheduler = _dask(directory / "scheduler", "scheduler", "--host", address)
    there = [
        _dask(directory / f"worker-{each}", "worker", address, "--nthreads", "2", "--no-nanny")
        for each in range(workers)
    ]
    try:
        scheduler.start()
        for each in there:
            each.start()
        for each in there:
            wait_until("the worker is registered", lambda log=each.log: "Registered to" in log.read_text(), 60)
        yield address, there
    finally:
        for each in (*there, scheduler):
            each.kill()


def _dask(directory: Path, program: str, *arguments: str) -> Child:
    directory.mkdir(parents=True)
    command = [str(_PROGRAMS / "dask"), program, *arguments, "--no-dashboard"]
    if program == "worker":
        command += ["--local-directory", str(directory)]
    return Child(command, directory / "log", environment=ENVIRONMENT)


@contextmanager
def ray_cluster(workers: int) -> Iterator[str]:
    """The address of a Ray cluster."""
    port, program = free_ports(1)[0], str(_PROGRAMS / "ray")
    start = [program, "start", "--head", f"--num-cpus={workers}", f"--port={port}"]
    quietly = ["--include-dashboard=false", "--disable-usage-stats"]
    subprocess.run([*start, *quietly], env=ENVIRONMENT, check=True, capture_output=True, timeout=120)
    try:
        yield f"{HOST}:{port}"
    finally:
        subprocess.run([program, "stop", "--force"], check=False, capture_output=True, timeout=60)
        shutil.rmtree("/tmp/ray", ignore_errors=True)
