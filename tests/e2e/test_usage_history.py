"""``restow snapshot --usage`` on a real Prometheus with a day of node_exporter's metrics, and what plans make of it.

The history is made by promtool, not by waiting.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders.policies import as_yaml, strategy_policy
from cluster.histories import samples_of
from e2e.binaries import tool
from e2e.control_plane import ControlPlane
from e2e.prometheus import Prometheus
from e2e.workloads import deployment, wait_for_ready
from restow.cluster.usage_series import UsageHistory
from restow.sources.documents import load_cluster
from restow.usage.stored import stored_history
from scheduling.configurations import a_configuration, a_profile, a_set

pytestmark = pytest.mark.e2e

_COMMAND = (sys.executable, "-c", "from restow.cli.main import main; main()")
_STEP = 60
_HOURS = 6
#: Busy cores and used bytes of the nodes by address; a stranger is scraped as well.
_USED = {"10.0.0.1": (3.6, 6 << 30), "10.0.0.2": (0.2, 1 << 30), "10.9.9.9": (1.0, 1 << 30)}
_TOTAL = 8 << 30
_BY_USAGE = {
    "thresholds": {"cpu": 20},
    "targetThresholds": {"cpu": 50},
    "metricsUtilization": {"source": "KubernetesMetrics"},
}


def scraped(now: int) -> str:
    """What node_exporter said every minute of some hours, as OpenMetrics has it; node-1 has been busy for one hour."""
    times = range(now - _HOURS * 3600, now + 1, _STEP)
    lines = ["# TYPE node_cpu_seconds counter"]
    for address, (cores, _) in _USED.items():
        since = now - 3600 if address == "10.0.0.1" else times[0]
        for mode, share in (("user", 0.75), ("system", 0.25), ("idle", 9.0)):
            series = f'node_cpu_seconds_total{{instance="{address}:9100",cpu="0",mode="{mode}"}}'
            lines += [f"{series} {max(0, at - since) * cores * share:.3f} {at}" for at in times]
    for name, of in (("MemTotal", lambda used: _TOTAL), ("MemAvailable", lambda used: _TOTAL - used)):
        lines.append(f"# TYPE node_memory_{name}_bytes gauge")
        for address, (_, used) in _USED.items():
            series = f'node_memory_{name}_bytes{{instance="{address}:9100"}}'
            lines += [f"{series} {of(used)} {at}" for at in times]
    return "\n".join([*lines, "# EOF\n"])


@pytest.fixture(scope="module")
def prometheus(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    try:
        for name in ("prometheus", "promtool"):
            tool(name)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    with Prometheus(tmp_path_factory.mktemp("history"), targets={}, history=scraped(int(time.time()))) as running:
        yield running


@pytest.fixture(scope="class")
def crowded_plane(own_plane: ControlPlane) -> ControlPlane:
    """Two nodes with addresses; all pods are on the first one."""
    for number in (1, 2):
        own_plane.add_nodes(1, address=f"10.0.0.{number}", cpu="4", memory="8Gi")
    with own_plane.cordoned(["node-2"]):
        own_plane.admin.create(deployment("web", 4, cpu="100m"))
        wait_for_ready(own_plane.admin, "web", 4)
    return own_plane


class TestHistory:
    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _taken(
        cls, crowded_plane: ControlPlane, prometheus: Prometheus, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        cls.directory = tmp_path_factory.mktemp("snapshot")
        cls.prometheus, cls.kubeconfig = prometheus, str(crowded_plane.kubeconfig)
        cls.taken = cls.snapshot("--usage", f"{_HOURS}h")

    directory: Path
    prometheus: Prometheus
    kubeconfig: str
    taken: subprocess.CompletedProcess[str]

    @classmethod
    def ran(cls, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*_COMMAND, *arguments]
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, cwd=cls.directory)

    @classmethod
    def snapshot(cls, *more: str, output: str = "cluster.json.gz") -> subprocess.CompletedProcess[str]:
        url = ("--prometheus-url", cls.prometheus.url)
        return cls.ran("snapshot", "--kubeconfig", cls.kubeconfig, *url, "-o", output, *more)

    def history(self) -> UsageHistory:
        return stored_history(load_cluster([str(self.directory / "cluster.json.gz")])[0])

    def planned(self, *more: str) -> dict[str, Any]:
        policy = strategy_policy("LowNodeUtilization", _BY_USAGE, metricsProviders=[{"source": "KubernetesMetrics"}])
        (self.directory / "policy.yaml").write_bytes(as_yaml(policy))
        ran = self.ran("plan", "-f", "cluster.json.gz", "--policy-config-file", "policy.yaml", "-o", "json", *more)
        assert ran.returncode == 0, ran.stderr
        plan: dict[str, Any] = json.loads(ran.stdout)
        return plan

    def test_the_usage_of_the_nodes_is_told_and_stored(self) -> None:
        assert self.taken.returncode == 0, self.taken.stderr
        assert "cpu: instances that are no node: 10.9.9.9:9100" in self.taken.stderr
        assert ", 4 series of usage of " in self.taken.stderr
        history = self.history()
        assert sorted(history.nodes) == ["node-1", "node-2"]
        for node, (cores, used) in zip(("node-1", "node-2"), _USED.values(), strict=False):
            cpu, memory = (list(samples_of(history.nodes[node][each]).values()) for each in ("cpu", "memory"))
            assert len(cpu) > 100
            assert cpu[-3] == pytest.approx(cores * 1000, rel=0.02)
            assert memory == [pytest.approx(used, rel=0.001)] * len(memory)
        first = next(iter(samples_of(history.nodes["node-1"]["cpu"]).values()))
        assert first == 0

    def test_a_plan_without_the_cluster_goes_by_it(self) -> None:
        moves = self.planned("--placement", "upstream")["moves"]
        assert {move["from"] for move in moves} == {"node-1"}
        assert moves[0]["reason"].startswith("node-1 at cpu 9")

    def test_a_policy_that_asks_prometheus_needs_none_any_more(self) -> None:
        query = 'sum by (instance) (rate(node_cpu_seconds_total{mode!="idle"}[5m])) / 4'
        limits = {"thresholds": {"MetricResource": 20}, "targetThresholds": {"MetricResource": 50}}
        source = {"metricsUtilization": {"source": "Prometheus", "prometheus": {"query": query}}}
        provider = [{"source": "Prometheus", "prometheus": {"url": "http://127.0.0.1:1"}}]
        policy = strategy_policy("LowNodeUtilization", limits | source, metricsProviders=provider)
        percentile = {"percentile": 95, "window": "30m", "maxAge": "15m", "perPod": "cpu"}
        asking = policy | {"restow": {"usage": percentile}}
        (self.directory / "asking.yaml").write_bytes(as_yaml(asking))
        taken = self.snapshot("--usage", "1h", "--policy-config-file", "asking.yaml", output="asked.json")
        assert taken.returncode == 0, taken.stderr
        ran = self.ran(
            "plan", "-f", "asked.json", "--policy-config-file", "asking.yaml", "--placement", "upstream", "-o", "json"
        )
        assert ran.returncode == 0, ran.stderr
        moves = json.loads(ran.stdout)["moves"]
        assert {move["from"] for move in moves} == {"node-1"}
        assert moves[0]["reason"].startswith("node-1 at MetricResource 9")
        assert "p95 over 30m" in moves[0]["reason"]

    def test_before_the_load_rose_there_was_nothing_to_move(self) -> None:
        earlier = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3 * 3600))
        assert self.planned("--placement", "upstream", "--now", earlier)["moves"] == []

    def test_the_moves_are_proven_where_the_scheduler_goes_by_usage_too(self) -> None:
        profile = a_profile(score=a_set("LoadVariationRiskBalancing=10"))
        (self.directory / "by-load.yaml").write_text(a_configuration(profile))
        moves = self.planned("--scheduler-config", "by-load.yaml")["moves"]
        assert {(move["from"], move["to"]) for move in moves} == {("node-1", "node-2")}

    @pytest.mark.parametrize(
        ("option", "query", "told"),
        [
            ("--cpu-query", "sum(", "--cpu-query: Prometheus at http://127.0.0.1:"),
            ("--memory-query", "1 + 1", "--memory-query: "),
        ],
    )
    def test_a_query_that_cannot_be_used_is_told_by_its_option(self, option: str, query: str, told: str) -> None:
        ran = self.snapshot("--usage", "1h", option, query)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert told in ran.stderr
