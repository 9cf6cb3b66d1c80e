"""Two real processes, one lease, and a leader that stands still past its time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.audit import Call
from e2e.control_plane import ControlPlane
from e2e.waiting import wait_until

pytestmark = pytest.mark.e2e

PROGRAM = Path(__file__).with_name("evicting_leader.py")


@contextmanager
def a_candidate(plane: ControlPlane, namespace: str, name: str) -> Iterator[subprocess.Popen[bytes]]:
    kubeconfig = plane.kubeconfig_for(plane.service_account(name, namespace, roles=("cluster-admin",)), name)
    source = str(Path(__file__).resolve().parents[2] / "src")
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), str(kubeconfig), namespace, name], env=os.environ | {"PYTHONPATH": source}
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def holder(plane: ControlPlane, namespace: str) -> str:
    lease = plane.admin.find("Lease", "restow", namespace)
    return "" if lease is None else lease["spec"].get("holderIdentity", "")


def evictions(plane: ControlPlane, namespace: str, name: str) -> list[Call]:
    return plane.audit.calls("create", "pods", "eviction", user=f"system:serviceaccount:{namespace}:{name}")


def test_a_leader_that_was_stopped_evicts_nothing_after_its_time(plane: ControlPlane, namespace: str) -> None:
    with a_candidate(plane, namespace, "first") as first:
        wait_until("the first one leads and evicts", lambda: len(evictions(plane, namespace, "first")) > 20)
        with a_candidate(plane, namespace, "second"):
            first.send_signal(signal.SIGSTOP)
            wait_until("the second one leads and evicts", lambda: evictions(plane, namespace, "second"))
            first.send_signal(signal.SIGCONT)
            time.sleep(3)
            assert first.poll() is None
            assert holder(plane, namespace) == "second"

    began = evictions(plane, namespace, "second")[0].request_received_timestamp
    before = evictions(plane, namespace, "first")
    assert all(call.stage_timestamp < began for call in before)


def test_a_leader_that_is_killed_is_followed_within_the_lease(plane: ControlPlane, namespace: str) -> None:
    with a_candidate(plane, namespace, "first") as first:
        wait_until("the first one leads", lambda: holder(plane, namespace) == "first")
        with a_candidate(plane, namespace, "second"):
            time.sleep(1.5)
            first.kill()
            started = time.monotonic()
            wait_until("the second one leads", lambda: holder(plane, namespace) == "second")
            assert 2 < time.monotonic() - started < 7
