"""The kubelet's probe of a restow that is stuck, and of one that works."""

from __future__ import annotations

import http.client
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from e2e.control_plane import ControlPlane
from e2e.crowds import crowd
from e2e.faulty_runs import APPS, REPLICAS, a_restow, stop, wait_until_spread
from e2e.running import Descheduler
from e2e.waiting import wait_until

pytestmark = pytest.mark.e2e

_MAIN = "from restow.cli.main import main; main()"
#: A decision that never returns, and the bound that would be half an hour.
NO_DECISION = (
    "import threading; from restow.descheduler import cycles; "
    f"cycles._DECIDING = 2.0; cycles.decide = lambda *_, **__: threading.Event().wait(); {_MAIN}"
)
#: A call in the event loop that never returns.
NO_TURN = (
    "import threading; from restow.descheduler import cycles; "
    f"cycles.log_lines.cycle_begins = lambda _: threading.Event().wait(); {_MAIN}"
)


@pytest.fixture(scope="module")
def cluster(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("liveness")) as plane:
        plane.add_nodes(4)
        yield plane


def passes(run: Descheduler) -> bool:
    """Whether ``/livez`` is answered as the kubelet wants it, and in time."""
    try:
        return run.get("/livez")[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def stuck(program: str) -> Sequence[str]:
    return sys.executable, "-c", program, "run"


def test_a_cycle_that_is_stuck_fails_it_and_says_so(cluster: ControlPlane, tmp_path: Path) -> None:
    with a_restow(tmp_path, cluster.kubeconfig, program=stuck(NO_DECISION)) as restow:
        restow.wait_for_line("the cycle: no decision for 2 s")
        assert restow.get("/livez") == (
            503,
            "[-]Descheduler stuck: the cycle: no decision for 2 s\nlivez check failed\n",
        )
        # A decision is not waited for.
        stop(restow)


def test_an_event_loop_that_is_stuck_fails_it(cluster: ControlPlane, tmp_path: Path) -> None:
    with a_restow(tmp_path, cluster.kubeconfig, program=stuck(NO_TURN)) as restow:
        restow.wait_for_line("The cluster is")
        wait_until("the probe fails", lambda: not passes(restow))
        assert not passes(restow)
        restow.send(signal.SIGKILL)


def test_one_that_works_passes_it_all_the_time(cluster: ControlPlane, tmp_path: Path) -> None:
    apps = crowd(cluster, APPS, REPLICAS, annotations={"test/ready-delay": "1s"})
    with a_restow(tmp_path, cluster.kubeconfig) as restow:
        restow.wait_for_line("Evicted pod")
        assert passes(restow)
        wait_until_spread(cluster, apps, "default", restow)
        assert passes(restow)
        stop(restow)
    assert not restow.lines("restow is stuck")
