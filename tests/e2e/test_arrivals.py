"""``restow record arrivals`` asks a real Prometheus, and ``restow simulate`` plays what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from builders import a_list, a_node
from e2e.binaries import tool
from e2e.prometheus import Prometheus

pytestmark = pytest.mark.e2e

_RESTOW = (sys.executable, "-c", "from restow.cli.main import main; main()")
HOUR = 3600


def restow(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [*_RESTOW, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=300
    )


class Metrics:
    """Samples of kube-state-metrics every minute, in the format of OpenMetrics."""

    def __init__(self, now: int) -> None:
        self.now = now
        self._lines: dict[str, list[str]] = {}

    def pod(
        self, name: str, owner: str, *, begin: int, end: int, completed: int | None = None, cpu: float = 0.5
    ) -> None:
        """Seconds before now; one with no completion vanishes at its end."""
        pod = f'namespace="batch",pod="{name}",uid="u-{name}"'
        samples = {
            f"kube_pod_created{{{pod}}}": self.now - begin,
            f'kube_pod_owner{{{pod},owner_kind="{owner}",owner_name="x"}}': 1,
            f'kube_pod_container_resource_requests{{{pod},container="a",resource="cpu",unit="core"}}': cpu,
            f'kube_pod_container_resource_requests{{{pod},container="b",resource="cpu",unit="core"}}': cpu,
            f'kube_pod_container_resource_requests{{{pod},container="a",resource="memory",unit="byte"}}': 2**20,
        }
        for at in range(begin, end - 1, -60):
            done = {f"kube_pod_completion_time{{{pod}}}": self.now - completed} if completed and at <= completed else {}
            for series, value in (samples | done).items():
                family = series.partition("{")[0]
                self._lines.setdefault(family, []).append(f"{series} {value} {self.now - at}")

    def text(self) -> str:
        families = (f"# TYPE {name} gauge\n" + "\n".join(sorted(lines)) for name, lines in self._lines.items())
        return "\n".join(families) + "\n# EOF\n"


@pytest.fixture(scope="module")
def prometheus(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Prometheus, int]]:
    try:
        tool("prometheus")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    metrics = Metrics(int(time.time()) // 60 * 60)
    metrics.pod("job-1", "Job", begin=5 * HOUR, end=3 * HOUR, completed=4 * HOUR)
    metrics.pod("alone", "", begin=2 * HOUR, end=HOUR)
    metrics.pod("job-2", "Job", begin=HOUR, end=0)
    metrics.pod("web-1", "ReplicaSet", begin=3 * HOUR, end=0)
    metrics.pod("old", "Job", begin=9 * HOUR, end=0)
    with Prometheus(tmp_path_factory.mktemp("prometheus"), targets={}, history=metrics.text()) as running:
        yield running, metrics.now


def test_pods_that_came_and_went_are_played_again(prometheus: tuple[Prometheus, int], tmp_path: Path) -> None:
    running, _ = prometheus
    trace = tmp_path / "arrivals.csv"
    arguments = ("record", "arrivals", "--prometheus-url", running.url, "--since", "6h", "-o", str(trace))
    ran = restow(*arguments)
    assert (ran.returncode, ran.stdout) == (0, "")
    assert ran.stderr == ("3 pods that came and went by themselves; 1 pod of Deployments and the like left out\n")
    rows = [line.split(",") for line in trace.read_text().splitlines()]
    assert rows[0] == ["namespace", "name", "arrives", "departs", "cpu", "memory"]
    assert [(row[1], bool(row[3]), *row[4:]) for row in rows[1:]] == [
        ("job-1-again", True, "1000m", "1048576"),
        ("alone-again", True, "1000m", "1048576"),
        ("job-2-again", False, "1000m", "1048576"),
    ]
    scenario = {
        "apiVersion": "restow.dev/v1alpha1",
        "kind": "Scenario",
        "for": "6h",
        "start": ["cluster.json"],
        "arrivals": [{"trace": "arrivals.csv"}],
        "expect": [
            {"eventually": {"pods": "running", "exactly": 1}, "until": "30m"},
            {"never": {"pods": "any"}, "after": "70m", "until": "170m"},
            {"always": {"pods": "running", "exactly": 1}, "after": "5h"},
        ],
    }
    (tmp_path / "cluster.json").write_text(json.dumps(a_list(a_node("n1", cpu="4"))))
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(scenario))
    played = restow("simulate", "-f", str(tmp_path / "scenario.yaml"), "-o", "json")
    assert (played.returncode, played.stderr) == (0, "")


def test_labels_choose_one_of_several_clusters(prometheus: tuple[Prometheus, int]) -> None:
    running, _ = prometheus
    arguments = ("record", "arrivals", "--prometheus-url", running.url, "--match")
    ran = restow(*arguments, 'pod=~"job.*"')
    assert [line.split(",")[1] for line in ran.stdout.splitlines()[1:]] == ["job-1-again", "job-2-again"]
    ran = restow(*arguments, 'cluster="other"')
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "kube_pod_created has no series" in ran.stderr
    ran = restow(*arguments, "cluster=")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "refuses the query" in ran.stderr
