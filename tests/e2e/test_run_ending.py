"""restow is told to stop while its API server takes every call and answers none."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.control_plane import ControlPlane
from e2e.crowds import crowd
from e2e.fault_proxy import FaultProxy
from e2e.faults import Refused, Silent, calls
from e2e.faulty_runs import APPS, REPLICAS, a_restow, stop
from e2e.identities import write_kubeconfig
from e2e.ports import HOST
from e2e.running import Descheduler
from e2e.waiting import wait_until
from restow.daemon.background import ENDS_WITHIN

pytestmark = pytest.mark.e2e

#: Seconds for an end that has to wait for the lease at most.
SOON = 15.0
ELECTING = ("--leader-elect", "--leader-elect-resource-namespace=default")
EVERYTHING = calls()


@pytest.fixture(scope="module")
def cluster(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("ending")) as plane:
        plane.add_nodes(4)
        yield plane


@pytest.fixture
def proxy(cluster: ControlPlane) -> Iterator[FaultProxy]:
    with FaultProxy(cluster) as made:
        yield made
    cluster.clear("default")
    if cluster.admin.find("Lease", "descheduler"):
        # Nobody could give it back.
        cluster.admin.delete("Lease", "descheduler")


@contextmanager
def a_mute_server() -> Iterator[str]:
    """One that takes connections and never says a word; its URL."""
    with socket.create_server((HOST, 0)) as listening:
        yield f"https://{HOST}:{listening.getsockname()[1]}"


def seconds_to_end(run: Descheduler) -> float:
    """After SIGTERM; the exit status has to be 0."""
    told = time.monotonic()
    run.send(signal.SIGTERM)
    assert run.wait() == 0
    return time.monotonic() - told


def test_while_evictions_are_out_and_events_wait(cluster: ControlPlane, proxy: FaultProxy, tmp_path: Path) -> None:
    crowd(cluster, APPS, REPLICAS)
    with a_restow(tmp_path, proxy.kubeconfig, flags=ELECTING) as restow:
        restow.wait_for_line("Evicted pod")
        with proxy.trouble(calls("create", "pods/eviction"), Silent()) as asked, proxy.trouble(EVERYTHING, Silent()):
            wait_until("an eviction is asked for", lambda: asked.happened)
            assert seconds_to_end(restow) <= ENDS_WITHIN
    assert restow.lines("no retry: restow is stopping")
    assert not restow.lines("Traceback")


def test_while_it_waits_for_the_lease(cluster: ControlPlane, proxy: FaultProxy, tmp_path: Path) -> None:
    with a_restow(tmp_path, cluster.kubeconfig, flags=ELECTING, name="first") as first:
        first.wait_for_line("Started leading")
        with a_restow(tmp_path, proxy.kubeconfig, flags=ELECTING, name="second") as second:
            second.wait_for_line("New leader elected")
            with proxy.trouble(EVERYTHING, Silent()):
                assert seconds_to_end(second) <= SOON
        stop(first)


def test_between_two_cycles(proxy: FaultProxy, tmp_path: Path) -> None:
    with a_restow(tmp_path, proxy.kubeconfig, flags=ELECTING) as restow:
        restow.wait_for_line("Number of evictions/requests")
        with proxy.trouble(EVERYTHING, Silent()):
            assert seconds_to_end(restow) <= SOON


def test_before_it_knows_the_cluster(cluster: ControlPlane, tmp_path: Path) -> None:
    authority = cluster.layout.certificates.authority.certificate
    with a_mute_server() as server:
        kubeconfig = write_kubeconfig(tmp_path / "mute.kubeconfig", server, authority, {"token": "nobody"})
        with a_restow(tmp_path, kubeconfig) as restow:
            wait_until("pages are served", lambda: restow.lines("Serving securely"))
            assert seconds_to_end(restow) <= SOON


def test_events_that_are_refused_are_counted(cluster: ControlPlane, proxy: FaultProxy, tmp_path: Path) -> None:
    crowd(cluster, 1, REPLICAS)
    with proxy.trouble(calls("create", "events"), Refused(403, "Forbidden")) as trouble:
        with a_restow(tmp_path, proxy.kubeconfig) as restow:
            restow.wait_for_line("an event could not be written: the API server answered 403 Forbidden")
            lost = wait_until("it is counted", lambda: restow.samples().total("restow_events_lost_total"))
            assert restow.samples().total("restow_events_lost_total", reason="refused") >= lost
            stop(restow)
        assert trouble.happened >= lost
