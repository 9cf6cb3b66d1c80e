"""Strategies that go by what nodes really use, by a real Prometheus with a history, on a real control plane.

Node node-1 had enough to do for hours, and for the last five minutes nearly all of it: what goes by the newest value takes
a pod off it, what goes by a percentile of two hours does not.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import Object
from e2e.binaries import tool
from e2e.control_plane import ControlPlane
from e2e.fake_metrics import FakeMetrics
from e2e.placed import Placed, place
from e2e.prometheus import Prometheus
from e2e.running import Descheduler
from e2e.waiting import wait_until
from e2e.workloads import replica_set

pytestmark = pytest.mark.e2e

_RESTOW = "from restow.cli.main import main; main()"
QUERY = "share_of_node"
CALM, BUSY = 0.4, 0.95
#: Percents of four CPUs.
NEWEST_CPU = 97
#: Seconds: of history, of the spike so far, and how long it goes on.
_HISTORY, _SPIKE, _AHEAD, _STEP = 9000, 300, 1200, 30
#: In two hours a tenth is twelve minutes.
PERCENTILE = {"percentile": 90, "window": "2h", "minSamples": 60}


def history(now: int) -> str:
    """The samples of three nodes, as OpenMetrics."""
    lines = [f"# TYPE {QUERY} gauge"]
    for node, then in (("node-1", BUSY), ("node-2", 0.1), ("node-3", 0.1)):
        for at in range(now - _HISTORY, now + _AHEAD, _STEP):
            before = CALM if node == "node-1" else 0.1
            lines.append(f'{QUERY}{{instance="{node}"}} {then if at >= now - _SPIKE else before} {at}')
    return "\n".join([*lines, "# EOF", ""])


@pytest.fixture(scope="class")
def prometheus(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    try:
        tool("prometheus")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    with Prometheus(tmp_path_factory.mktemp("prometheus"), targets={}, history=history(int(time.time()))) as running:
        yield running


@pytest.fixture(scope="class")
def busy_plane(own_plane: ControlPlane) -> ControlPlane:
    """Three nodes, and all pods on the first; what a pod requests says nothing of that."""
    own_plane.add_nodes(3, cpu="4")
    place(own_plane, [Placed(replica_set("web", 4), ["node-1"] * 4)])
    return own_plane


class TestPrometheus:
    @pytest.fixture(autouse=True)
    def _prepare(self, busy_plane: ControlPlane, prometheus: Prometheus, tmp_path: Path) -> None:
        self.plane, self.prometheus, self.directory = busy_plane, prometheus, tmp_path

    def policy(self, usage: Object | None = None, secret: Object | None = None) -> Object:
        provider: Object = {"url": self.prometheus.url} | ({"authToken": {"secretReference": secret}} if secret else {})
        args = {
            "thresholds": {"MetricResource": 30},
            "targetThresholds": {"MetricResource": 60},
            "metricsUtilization": {"source": "Prometheus", "prometheus": {"query": QUERY}},
        }
        return a_policy(args, {"source": "Prometheus", "prometheus": provider}, usage)

    def plan(self, policy: Object) -> Any:
        file = self.directory / "policy.json"
        file.write_text(json.dumps(policy))
        return planned(self.plane, file)

    def test_the_newest_value_moves_a_pod_and_the_reason_says_by_which_figure(self) -> None:
        [move] = self.plan(self.policy())["moves"]
        assert move["from"] == "node-1"
        assert move["reason"].startswith(f"node-1 at MetricResource 95 % (Prometheus {QUERY}, ")
        assert move["reason"].endswith(" old), target 60 %")

    def test_a_spike_of_five_minutes_does_not_show_in_a_percentile(self) -> None:
        plan = self.plan(self.policy(PERCENTILE))
        assert (plan["moves"], plan["problems"]) == ([], [])
        assert "All nodes are under target utilization" in plan["notes"][0]["message"]

    def test_a_query_that_cannot_be_answered_is_a_problem_of_the_strategy(self) -> None:
        policy = self.policy()
        policy["profiles"][0]["pluginConfig"][0]["args"]["metricsUtilization"]["prometheus"]["query"] = "rate("
        [problem] = self.plan(policy)["problems"]
        assert problem["message"].startswith("error getting node usage: unable to capture prometheus metrics: ")

    def test_the_loop_leaves_a_spike_alone_by_a_percentile_and_acts_on_it_by_the_newest_value(self) -> None:
        """The second policy has its token from a Secret of the cluster."""
        token = base64.b64encode(b"token").decode()
        secret = {"name": "prometheus", "namespace": "kube-system"}
        self.plane.admin.create(
            {"apiVersion": "v1", "kind": "Secret", "metadata": secret, "data": {"prometheusAuthToken": token}}
        )
        self.run_once("percentile", self.policy(PERCENTILE))
        assert self.originals() == 4
        self.run_once("newest", self.policy(secret=secret))
        wait_until("one pod is replaced", lambda: self.originals() == 3)

    def run_once(self, name: str, policy: Object) -> None:
        with Descheduler(self.directory, policy=policy, kubeconfig=self.plane.kubeconfig, name=name) as restow:
            assert restow.wait(120) == 0

    def originals(self) -> int:
        """The pods that were there at the beginning."""
        names = {f"web-{number}" for number in range(4)}
        pods = self.plane.admin.items("Pod")
        return sum(each["metadata"]["name"] in names and "deletionTimestamp" not in each["metadata"] for each in pods)


class TestMetricsServer:
    def test_the_loop_follows_the_mean_of_what_is_measured(self, busy_plane: ControlPlane, tmp_path: Path) -> None:
        """Ever more is used, and the first samples count less and less: at first nothing moves, then a pod does."""
        args = {
            "thresholds": {"cpu": 30},
            "targetThresholds": {"cpu": 50},
            "metricsUtilization": {"source": "KubernetesMetrics"},
        }
        policy = a_policy(args, {"source": "KubernetesMetrics"}, None)
        with FakeMetrics(busy_plane) as metrics:
            metrics.nodes |= {name: {"cpu": "100m", "memory": "1Gi"} for name in ("node-1", "node-2", "node-3")}
            for pod in busy_plane.admin.items("Pod"):
                key = pod["metadata"]["namespace"], pod["metadata"]["name"]
                metrics.pods[key] = {"cpu": "900m", "memory": "1Gi"}
            flags = ["--descheduling-interval=1s", "--dry-run", "-v=1"]
            with Descheduler(tmp_path, policy=policy, kubeconfig=busy_plane.kubeconfig, flags=flags) as restow:
                restow.wait_for_line("Number of evictions/requests", timeout=120)
                metrics.nodes["node-1"] = {"cpu": "3900m", "memory": "1Gi"}
                line = restow.wait_for_line("metrics.k8s.io, ", timeout=180)
        figure = re.search(r"node-1 at cpu (\d+) %", line)
        assert figure is not None
        assert int(figure[1]) < NEWEST_CPU, line

    def test_the_loop_keeps_samples_for_a_percentile(self, busy_plane: ControlPlane, tmp_path: Path) -> None:
        """Nothing moves by the median until the busy samples are more than the calm ones."""
        args = {
            "thresholds": {"cpu": 30},
            "targetThresholds": {"cpu": 50},
            "metricsUtilization": {"source": "KubernetesMetrics"},
        }
        median = {"percentile": 50, "window": "2m", "step": "5s", "minSamples": 3}
        policy = a_policy(args, {"source": "KubernetesMetrics"}, median)
        with FakeMetrics(busy_plane) as metrics:
            metrics.nodes |= {name: {"cpu": "100m", "memory": "1Gi"} for name in ("node-1", "node-2", "node-3")}
            for pod in busy_plane.admin.items("Pod"):
                key = pod["metadata"]["namespace"], pod["metadata"]["name"]
                metrics.pods[key] = {"cpu": "900m", "memory": "1Gi"}
            flags = ["--descheduling-interval=1s", "--dry-run", "-v=2"]
            with Descheduler(tmp_path, policy=policy, kubeconfig=busy_plane.kubeconfig, flags=flags) as restow:
                restow.wait_for_line("All nodes are underutilized", timeout=120)
                metrics.nodes["node-1"] = {"cpu": "3900m", "memory": "1Gi"}
                line = restow.wait_for_line("p50 over 2m of metrics.k8s.io, ", timeout=240)
        samples = re.search(r"node-1 at cpu \d+ % \(p50 over 2m of metrics.k8s.io, (\d+) samples", line)
        assert samples is not None, line
        assert int(samples[1]) >= 6, line


def a_policy(args: Object, provider: Object, usage: Object | None) -> Object:
    profile = {
        "name": "load",
        "pluginConfig": [{"name": "LowNodeUtilization", "args": args}],
        "plugins": {"balance": {"enabled": ["LowNodeUtilization"]}},
    }
    document: Object = {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "metricsProviders": [provider],
        "profiles": [profile],
    }
    return document if usage is None else document | {"restow": {"usage": usage}}


def planned(plane: ControlPlane, policy: Path) -> Any:
    """The plan for the live cluster; its exit status is 1 where a strategy could not run."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _RESTOW, "plan", f"--kubeconfig={plane.kubeconfig}", "-o", "json"]
    ran = subprocess.run(
        [*command, f"--policy-config-file={policy}"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    plan = json.loads(ran.stdout)
    assert ran.returncode == (1 if plan["problems"] else 0), ran.stderr
    return plan
