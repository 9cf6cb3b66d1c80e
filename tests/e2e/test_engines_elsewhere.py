"""``restow simulate --compare`` on Dask and Ray: real schedulers and workers, the same bytes as by processes of this machine.

Ray is large and is not installed with the others: ``pip install ray`` has its test run.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.child import Child
from e2e.compared_runs import FUTURES, ended, killed_with_results, lines, started
from e2e.engine_clusters import dask_cluster, options, ray_cluster
from e2e.ports import HOST, free_ports
from e2e.waiting import wait_until

pytestmark = pytest.mark.e2e


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[tuple[str, list[Child]]]:
    """The address of a scheduler, and its two workers."""
    pytest.importorskip("distributed")
    with dask_cluster(tmp_path / "dask", 2) as cluster:
        yield cluster


def test_dask_comes_to_the_same_bytes_though_a_worker_is_killed(dask, expected, tmp_path):
    address, workers = dask
    results = tmp_path / "results"
    process = started(*options(tmp_path, "dask", address=address), "--results", str(results))
    wait_until("there are results", lambda: lines(results), 60)
    workers[0].kill()
    assert ended(process) == (0, expected, "")
    assert lines(results) == FUTURES


def test_a_command_on_dask_that_is_killed_is_taken_up(dask, expected, tmp_path):
    address, _ = dask
    results = tmp_path / "results"
    kept = (*options(tmp_path, "dask", address=address), "--results", str(results))
    killed_with_results(started(*kept), results)
    assert ended(started(*kept, "--resume")) == (0, expected, "")


def test_a_dask_cluster_that_is_not_there_is_named(tmp_path):
    address = f"tcp://{HOST}:{free_ports(1)[0]}"
    soon = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "2s"}
    status, out, err = ended(started(*options(tmp_path, "dask", address=address), **soon))
    assert (status, out) == (1, "")
    assert f"the Dask cluster at {address}: " in err


def test_ray_comes_to_the_same_bytes_though_a_worker_is_killed(expected, tmp_path):
    pytest.importorskip("ray")
    results = tmp_path / "results"
    with ray_cluster(2) as address:
        process = started(*options(tmp_path, "ray", address=address), "--results", str(results))
        wait_until("there are results", lambda: lines(results), 120)
        found = subprocess.run(["pgrep", "-f", "ray::make_piece"], capture_output=True, text=True, check=False)
        for pid in found.stdout.split()[:1]:
            os.kill(int(pid), signal.SIGKILL)
        status, out, _ = ended(process)
        assert (status, out) == (0, expected)
