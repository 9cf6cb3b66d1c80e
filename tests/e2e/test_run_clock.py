"""Somebody sets the clock of the machine that restow runs on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.policies import strategy_policy
from e2e.clock import WallClock
from e2e.control_plane import ControlPlane
from e2e.crowds import Watchman, crowd
from e2e.deschedulers import evicted
from e2e.faulty_runs import APPS, REPLICAS, a_policy, a_restow, check, stop, wait_until_spread
from e2e.running import Descheduler
from e2e.workloads import budget

pytestmark = pytest.mark.e2e

HOUR = 3600.0


@pytest.fixture(scope="module")
def cluster(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("clock")) as plane:
        plane.add_nodes(4)
        yield plane


@pytest.fixture
def stage(cluster: ControlPlane) -> Iterator[ControlPlane]:
    cluster.audit.restart()
    yield cluster
    cluster.clear("default")


@pytest.fixture
def clock(tmp_path: Path) -> WallClock:
    return WallClock(tmp_path)


def ahead(run: Descheduler) -> float:
    """By how many seconds a run believes itself to be ahead of us, as its last line says."""
    milliseconds: float = run.entries()[-1]["ts"]
    return milliseconds / 1000 - time.time()


@pytest.mark.parametrize("jump", [-HOUR, HOUR], ids=["back", "forward"])
def test_replacements_are_waited_for_as_if_nothing_had_happened(
    stage: ControlPlane, tmp_path: Path, clock: WallClock, jump: float
) -> None:
    """None is called unready too soon, and no pod goes while another one of its workload is starting."""
    watchman = Watchman()
    apps = crowd(stage, APPS, REPLICAS, annotations={"test/ready-delay": "2s"})
    started = {"program": clock.program, "environment": clock.environment}
    with watchman.watching(stage), a_restow(tmp_path, stage.kubeconfig, **started) as restow:
        restow.wait_for_line("Evicted pod")
        clock.set_by(jump)
        wait_until_spread(stage, apps, "default", restow)
        assert ahead(restow) == pytest.approx(jump, abs=120)
        stop(restow)
    assert not restow.lines("was not ready within")
    check(stage, watchman, restow)


def test_set_back_a_budget_is_not_waited_for_any_longer(stage: ControlPlane, tmp_path: Path, clock: WallClock) -> None:
    apps = crowd(stage, 1, REPLICAS)
    stage.admin.create(budget("never", apps[0], min_available=REPLICAS))
    policy = a_policy(waitForBudget="8s", placement="upstream")
    started = {"program": clock.program, "environment": clock.environment}
    with a_restow(tmp_path, stage.kubeconfig, policy=policy, **started) as restow:
        restow.wait_for_line("Waiting to evict pod")
        clock.set_by(-HOUR)
        restow.wait_for_line("needs 6 healthy pods and has 6 currently; restow has stopped retrying", timeout=60)
        stop(restow)
    assert not evicted(stage)


def test_set_forward_no_pod_is_older_for_that(stage: ControlPlane, tmp_path: Path, clock: WallClock) -> None:
    crowd(stage, 1, REPLICAS)
    clock.set_by(HOUR)
    policy = strategy_policy("PodLifeTime", {"maxPodLifeTimeSeconds": 1800})
    started = {"program": clock.program, "environment": clock.environment}
    with a_restow(tmp_path, stage.kubeconfig, policy=policy, **started) as restow:
        restow.wait_for_line("Number of evictions/requests", times=3)
        assert ahead(restow) == pytest.approx(HOUR, abs=120)
        stop(restow)
    assert not evicted(stage)
