"""A few lines of Python plan a real control plane and carry the plan out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import restow
from builders.policies import strategy_policy
from e2e.control_plane import ControlPlane
from e2e.workloads import deployment, pods_of, wait_for_ready
from restow.errors import InputError

pytestmark = pytest.mark.e2e

HOME = strategy_policy(
    "RemovePodsViolatingNodeAffinity", {"nodeAffinityType": ["requiredDuringSchedulingIgnoredDuringExecution"]}
)
PATIENCE = 120.0


@pytest.fixture(scope="module")
def plane(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("door")) as plane:
        plane.add_nodes(2, cpu="4")
        yield plane


def away_from_home(plane: ControlPlane, name: str) -> None:
    """A deployment whose pod is on node-1, and from now on has to be on node-2."""
    app = deployment(name)
    home = {"key": f"home-{name}", "operator": "In", "values": ["yes"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [home]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    app["spec"]["template"]["spec"]["affinity"] = {"nodeAffinity": required}
    for node, label in (("node-1", "yes"), ("node-2", None)):
        plane.admin.patch("Node", node, {"metadata": {"labels": {f"home-{name}": label}}})
    plane.admin.create(app)
    wait_for_ready(plane.admin, name, 1, timeout=PATIENCE)
    for node, label in (("node-1", None), ("node-2", "yes")):
        plane.admin.patch("Node", node, {"metadata": {"labels": {f"home-{name}": label}}})


def test_a_live_cluster_is_planned_and_the_plan_carried_out(
    plane: ControlPlane, capfd: pytest.CaptureFixture[str]
) -> None:
    away_from_home(plane, "web")
    capfd.readouterr()
    cluster = restow.Cluster.live(kubeconfig=str(plane.kubeconfig))
    plan = cluster.plan(HOME)
    tried = plan.apply(dry_run=True)
    applied = plan.apply()

    assert [(move.source, move.target) for move in plan.moves] == [("node-1", "node-2")]
    assert tried.summary.promised == 1
    assert (applied.is_kept, applied.summary.moved) == (True, 1)
    assert [move.landed for move in applied.moves] == ["node-2"]
    assert pods_of(plane.admin, "web")[0]["spec"]["nodeName"] == "node-2"
    assert capfd.readouterr() == ("", "")


def test_beside_an_event_loop_it_is_awaited(plane: ControlPlane) -> None:
    away_from_home(plane, "api")

    async def moved() -> restow.Applied:
        cluster = await restow.Cluster.live_async(kubeconfig=str(plane.kubeconfig))
        plan = await cluster.plan_async(HOME)
        return await plan.apply_async()

    applied = asyncio.run(moved())
    assert [move.landed for move in applied.moves] == ["node-2"]


def test_in_a_notebook_whose_event_loop_runs_nothing_has_to_be_awaited(plane: ControlPlane) -> None:
    async def cell() -> int:
        return len(restow.Cluster.live(kubeconfig=str(plane.kubeconfig)).nodes)

    assert asyncio.run(cell()) == 2


def test_a_live_cluster_is_simulated_from_a_snapshot(plane: ControlPlane) -> None:
    cluster = restow.Cluster.live(kubeconfig=str(plane.kubeconfig))
    run = cluster.simulate(policy=HOME, until_stable=True)
    assert not run.evictions


def test_a_plan_of_another_moment_is_decided_again(plane: ControlPlane) -> None:
    """The pod has moved by itself since: nothing is evicted."""
    away_from_home(plane, "late")
    plan = restow.Cluster.live(kubeconfig=str(plane.kubeconfig)).plan(HOME)
    plane.admin.delete("Deployment", "late")
    applied = plan.apply()
    assert (applied.summary.moves, applied.summary.moved, applied.summary.refused) == (1, 0, 1)


def test_a_cluster_that_is_not_there_is_an_error_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        restow.Cluster.live(kubeconfig=str(tmp_path / "nowhere"))
