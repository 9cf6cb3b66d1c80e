"""``restow pressure check`` on a real Prometheus and a real API server.

The queries make their series themselves: what is scraped, and when, does not matter here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.binaries import tool
from e2e.control_plane import ControlPlane
from e2e.prometheus import Prometheus
from restow.pressure.marking import FIELD_MANAGER

pytestmark = pytest.mark.e2e

_COMMAND = (sys.executable, "-c", "from restow.cli.main import main; main()", "pressure", "check")
_LABEL = {"metadata": {"labels": {"status": "presure"}}}


def a_query(**values: float) -> str:
    """A query with a value for each instance, in which ``_`` stands for a dot."""
    named = ((name.removeprefix("at_").replace("_", "."), value) for name, value in values.items())
    return " or ".join(f'label_replace(vector({value}), "instance", "{name}:9100", "", "")' for name, value in named)


@pytest.fixture(scope="module")
def prometheus(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    try:
        tool("prometheus")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    with Prometheus(tmp_path_factory.mktemp("prometheus"), targets={}) as running:
        yield running


@pytest.fixture(scope="class")
def marked_plane(own_plane: ControlPlane) -> ControlPlane:
    """Four nodes with addresses; restow has labelled the third, and somebody the fourth."""
    for number in range(1, 5):
        own_plane.add_nodes(1, address=f"10.0.0.{number}")
    applied = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-3"} | _LABEL["metadata"]}
    own_plane.admin.call(
        "PATCH",
        "/api/v1/nodes/node-3",
        applied,
        query={"fieldManager": FIELD_MANAGER},
        content="application/apply-patch+yaml",
    )
    own_plane.admin.patch("Node", "node-4", _LABEL)
    return own_plane


class TestCheck:
    @pytest.fixture(autouse=True)
    def _prepare(self, marked_plane: ControlPlane, prometheus: Prometheus, tmp_path: Path) -> None:
        self.plane, self.prometheus, self.rules = marked_plane, prometheus, tmp_path / "rule.yaml"

    def ran(self, rules: Any, *more: str, url: str = "") -> subprocess.CompletedProcess[str]:
        self.rules.write_text(json.dumps({"PromJob": {"Name": "node"}, "Rulename": rules}, indent=1))
        arguments = (
            "-kubeconfig",
            str(self.plane.kubeconfig),
            "-prom",
            url or self.prometheus.url,
            "-r",
            str(self.rules),
        )
        return subprocess.run([*_COMMAND, *arguments, *more], check=False, capture_output=True, text=True, timeout=120)

    def test_what_a_rule_file_would_do_is_told_and_nothing_is_written(self) -> None:
        before = self.plane.admin.items("Node")
        cpu = a_query(at_10_0_0_1=0.91, at_10_0_0_2=0.2, at_10_0_0_3=0.3, at_10_0_0_9=0.99)
        rules = {
            "cpu": {"Promsql": cpu, "Threshold": 0.8},
            "mem": {"Promsql": f"1e9 * ({cpu})", "Threshold": 1e8, "direction": "below"},
        }

        ran = self.ran(rules)

        assert (ran.returncode, ran.stderr) == (0, "instances that are no node of the cluster: 10.0.0.9:9100\n")
        lines = ran.stdout.splitlines()
        assert lines[:3] == [
            "NODE    cpu > 0.8  mem < 100M  STATUS",
            "node-1  0.91       910M        would get the label; over cpu",
            "node-3  0.3        300M        would lose the label",
        ]
        assert lines[3].startswith("node-4  -          -           label not set by restow")
        assert " ".join(lines[4:]) == (
            "2 rules, 4 nodes, 1 would be marked, 0 stay marked, 1 would be cleared; nothing was written"
        )
        versions = [node["metadata"]["labels"] for node in self.plane.admin.items("Node")]
        assert versions == [node["metadata"]["labels"] for node in before]

    def test_the_document_has_every_node(self) -> None:
        rules = {"cpu": {"Promsql": a_query(at_10_0_0_1=0.9, at_10_0_0_3=0.9), "Threshold": 0.8, "for": "2m"}}

        document = json.loads(self.ran(rules, "-o", "json").stdout)

        assert document["kind"] == "PressureCheck"
        assert [(node["name"], node["label"], node["waiting"]) for node in document["nodes"]] == [
            ("node-1", "none", {"cpu": "2m0s"}),
            ("node-2", "none", {}),
            ("node-3", "keep", {}),
            ("node-4", "foreign", {}),
        ]

    def test_a_rule_that_would_mark_most_nodes_marks_none(self) -> None:
        cpu = a_query(at_10_0_0_1=0.9, at_10_0_0_2=0.9, at_10_0_0_4=0.9)
        ran = self.ran({"cpu": {"Promsql": cpu, "Threshold": 0.8}})
        assert "rule cpu: 3 of 4 nodes are over its threshold, more than --max-share allows" in ran.stderr
        assert ", 0 would be marked," in ran.stdout

    @pytest.mark.parametrize(
        ("promsql", "told"),
        [
            ("sum(", "refuses the query: invalid parameter"),
            ("1 + 1", "it comes to one number without labels"),
            ("up[5m]", "it comes to a range of values"),
        ],
    )
    def test_a_query_that_cannot_be_used_is_told_with_file_and_line(self, promsql: str, told: str) -> None:
        ran = self.ran({"cpu": {"Promsql": promsql, "Threshold": 0.8}})
        assert (ran.returncode, ran.stdout) == (2, "")
        assert ran.stderr.startswith(f"{self.rules}:7: Rulename.cpu.Promsql: ")
        assert told in ran.stderr

    def test_a_query_without_series_is_told(self) -> None:
        ran = self.ran({"cpu": {"Promsql": "no_such_metric", "Threshold": 0.8}})
        assert ran.returncode == 0
        assert "rule cpu: no node has a value; try its query in Prometheus: no_such_metric" in ran.stderr
        assert "1 stay marked" in ran.stdout

    def test_where_no_prometheus_listens_the_command_fails_in_a_sentence(self) -> None:
        rules = {"cpu": {"Promsql": "up", "Threshold": 0.8}}
        ran = self.ran(rules, url="http://127.0.0.1:1")
        assert (ran.returncode, ran.stdout) == (1, "")
        assert ran.stderr == (
            "restow failed: http://127.0.0.1:1 (--prometheus-url) cannot be reached: connection refused\n"
        )
