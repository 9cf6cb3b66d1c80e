"""``restow scheduler`` with the example of placement by load, behind the real API server's aggregation."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.pages import ROOT
from e2e.control_plane import ControlPlane
from e2e.fake_metrics import FakeMetrics
from e2e.schedulers import PATIENCE, Scheduler
from e2e.waiting import wait_until
from e2e.workloads import deployment, wait_for_ready

pytestmark = pytest.mark.e2e

EXAMPLE = ROOT / "examples" / "schedulers" / "by-load.yaml"


def test_pods_go_where_nodes_use_least(plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    """Also without metrics at first: then nodes score alike, and pods are scheduled all the same."""
    nodes = sorted(each["metadata"]["name"] for each in plane.admin.items("Node"))
    cool = nodes[2]
    flags = ("--leader-elect=false", f"--config={EXAMPLE}")
    plane.admin.create(deployment("early", 1, namespace=namespace, spec={"schedulerName": "by-load"}))
    with Scheduler(tmp_path, plane.kubeconfig, *flags, name="without") as scheduler:
        wait_for_ready(plane.admin, "early", 1, namespace, PATIENCE)
        scheduler.wait_for_line("LoadVariationRiskBalancing scores all nodes alike")
    with FakeMetrics(plane) as metrics:
        metrics.nodes |= {name: {"cpu": "20m" if name == cool else "3", "memory": "1Gi"} for name in nodes}
        with Scheduler(tmp_path, plane.kubeconfig, *flags) as scheduler:
            wait_until(
                "usage is known", lambda: scheduler.samples().total("restow_measured_nodes") == len(nodes), PATIENCE
            )
            plane.admin.create(deployment("late", 3, cpu="1m", namespace=namespace, spec={"schedulerName": "by-load"}))
            pods = wait_for_ready(plane.admin, "late", 3, namespace, PATIENCE)
    assert {pod["spec"]["nodeName"] for pod in pods} == {cool}
