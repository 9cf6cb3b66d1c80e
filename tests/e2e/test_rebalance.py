"""Joint plans carried out on a real control plane: every pod on its planned node, the goal as predicted, budgets held."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bench.live.moved import on_nodes
from bench.live.uneven import two_halves
from builders import Object
from e2e.binaries import tool
from e2e.control_plane import ControlPlane
from e2e.crowds import Watchman, wait_for_budgets
from e2e.rest import name_of
from e2e.steered import entries, gated
from e2e.waiting import wait_until
from e2e.workloads import budget

pytestmark = pytest.mark.e2e

_COMMAND = (sys.executable, "-c", "from restow.cli.main import main; main()")
#: ``RESTOW_REBALANCE_NODES=300`` is the long form.
_NODES = int(os.environ.get("RESTOW_REBALANCE_NODES", "90"))
#: Six of ten nodes are full and have two pods too many on average; the others are nearly empty.
_CLUSTER = two_halves(_NODES, _NODES * 14 // 15, 8)
_REPLICAS, _UNAVAILABLE = 10, 2
_MOVES = _NODES // 2
#: Seconds: for one command, for the last replacements, and how long emptied nodes are looked at.
_LIMIT, _PATIENCE = 300.0, 180.0
_LOOK = float(os.environ.get("RESTOW_EMPTY_FOR", "20"))


@pytest.fixture
def plane(built: Path, tmp_path: Path) -> Iterator[ControlPlane]:
    """The nodes, and a budget for each workload."""
    try:
        tool("kustomize")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    with ControlPlane(tmp_path) as made:
        _CLUSTER.make(made)
        _protect(made)
        yield made


def _protect(plane: ControlPlane) -> None:
    owners = plane.admin.items("ReplicaSet")
    pairs = [(name_of(each), each["metadata"]["namespace"]) for each in owners]
    plane.admin.create_all(
        [budget(name, name, namespace=namespace, max_unavailable=_UNAVAILABLE) for name, namespace in pairs]
    )
    wait_for_budgets(plane, pairs)


class TestGoals:
    """Balance, and then pack, on the same cluster: pods that have just moved count as old where the clock says so."""

    @pytest.fixture(autouse=True)
    def _prepare(self, plane: ControlPlane, tmp_path: Path) -> None:
        self.plane, self.directory = plane, tmp_path

    def test_goals_are_reached_as_predicted(self) -> None:
        watchman = Watchman()
        with watchman.watching(self.plane, "team-0"):
            self._even_out()
            self._free_nodes()
        assert min(watchman.fewest.values()) >= _REPLICAS - _UNAVAILABLE
        assert gated(self.plane) == []
        assert entries(self.plane) == {}

    def _even_out(self) -> None:
        plan = self._planned(15, "--goal", "balance", "--budget", str(_MOVES))
        (goal,) = plan["goals"]
        assert len(plan["moves"]) == _MOVES
        assert goal["bound"] <= goal["after"] < goal["before"]

        self._apply_and_compare(plan)

        (now,) = self._planned(16, "--goal", "balance", "--budget", "0")["goals"]
        assert now["before"] == pytest.approx(goal["after"], abs=1e-3)

    def _free_nodes(self) -> None:
        plan = self._planned(30, "--goal", "pack", "--budget", str(_MOVES))
        (goal,) = plan["goals"]
        assert goal["after"] <= goal["before"] - _NODES // 30
        assert len(goal["emptied"]) == goal["before"] - goal["after"]

        self._apply_and_compare(plan)

        assert not set(goal["emptied"]) & set(on_nodes(self.plane))
        over = time.monotonic() + _LOOK
        wait_until("the time is over", lambda: time.monotonic() > over, _LOOK + 30)
        assert not set(goal["emptied"]) & set(on_nodes(self.plane))

    def _planned(self, minutes: int, *arguments: str) -> Object:
        """The plan as of a time at which all pods have been there for a while."""
        now = (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
        ran = self._restow("plan", *arguments, "--now", now, "-o", "json")
        assert ran.returncode == 0, ran.stderr
        (self.directory / "plan.json").write_text(ran.stdout)
        plan: Object = json.loads(ran.stdout)
        return plan

    def _apply_and_compare(self, plan: Object) -> None:
        """Carry the plan out; then each node has as many pods as the plan says."""
        expected = on_nodes(self.plane)
        for move in plan["moves"]:
            expected[move["from"]] -= 1
            expected[move["to"]] += 1
        ran = self._restow("apply", "plan.json", "--yes", "-o", "json")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        wait_until("every pod is where the plan puts it", lambda: on_nodes(self.plane) == +expected, _PATIENCE)

    def _restow(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*_COMMAND, *arguments, "--kubeconfig", str(self.plane.kubeconfig)]
        return subprocess.run(command, cwd=self.directory, check=False, capture_output=True, text=True, timeout=_LIMIT)
