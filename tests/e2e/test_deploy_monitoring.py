"""Alerts and dashboard hold before promtool, and before a real Prometheus that scrapes a running restow."""

from __future__ import annotations

import shutil
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import EMPTY_DIR
from builders.policies import Policy, strategy_policy
from deploy.expressions import alerts, filled_in, metrics_in, questions
from deploy.manifests import MONITORING
from e2e.binaries import ROOT, tool
from e2e.control_plane import ControlPlane
from e2e.pressure import Pressure, Rules
from e2e.prometheus import Prometheus
from e2e.running import Descheduler
from e2e.schedulers import Scheduler
from e2e.waiting import wait_until
from e2e.workloads import deployment, wait_for_ready

pytestmark = pytest.mark.e2e

ALERTS = MONITORING / "alerts.yaml"
#: One of two moves is made in each cycle; the other is refused.
_POLICY: Policy = strategy_policy("RemoveDuplicates", maxNoOfPodsToEvictTotal=1)
_RUNNING = [place for place, _ in questions() if place.startswith("dashboard")]


@pytest.fixture(autouse=True)
def _built(built: Path) -> None:
    for name in ("prometheus", "promtool"):
        try:
            tool(name)
        except FileNotFoundError as missing:
            pytest.skip(str(missing))


def promtool(*arguments: str | Path) -> str:
    """What it says. Raises AssertionError with that where it is not content."""
    done = subprocess.run(
        [tool("promtool"), *arguments], capture_output=True, text=True, check=False, cwd=MONITORING, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_alerts_are_well_formed() -> None:
    assert f"SUCCESS: {len(alerts())} rules found" in promtool("check", "rules", "--lint=all", "--lint-fatal", ALERTS)


def test_each_alert_fires_when_it_should_and_only_then() -> None:
    assert "SUCCESS" in promtool("test", "rules", "alerts-test.yaml")


def _under_pressure(node: str) -> Rules:
    """A rule that finds this node, whatever is scraped."""
    return {"cpu": {"Promsql": f'label_replace(vector(0.9), "instance", "{node}", "", "")', "Threshold": 0.8}}


@pytest.fixture(scope="class")
def prometheus(own_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    directory = tmp_path_factory.mktemp("scraped")
    nodes = own_plane.add_nodes(5)
    with own_plane.cordoned(nodes[2:]):
        # Pods with local storage stay, in every cycle.
        own_plane.admin.create_all([deployment("web", 4), deployment("kept", 4, volumes=[EMPTY_DIR])])
        for name in ("web", "kept"):
            wait_for_ready(own_plane.admin, name, 4)
    restow = Descheduler(
        directory,
        policy=_POLICY,
        kubeconfig=own_plane.kubeconfig,
        flags=("--descheduling-interval=10s", "--v=3"),
    )
    asked = Prometheus(tmp_path_factory.mktemp("asked"), targets={})
    pressure = Pressure(directory, own_plane.kubeconfig, asked.url, _under_pressure(nodes[0]))
    scheduler = Scheduler(directory, own_plane.kubeconfig, "--authorization-always-allow-paths=/*")
    served = {"restow": restow.port, "restow-scheduler": scheduler.port}
    scraping = Prometheus(directory, targets=served, plain={"restow-pressure": pressure.port}, rules=[ALERTS])
    promtool("check", "config", scraping.config)
    # Prometheus first: it has to see the refusals of the first cycle, and counters begin.
    with scraping as prometheus, restow, asked, pressure, scheduler:
        own_plane.admin.create(deployment("scheduled", 1, spec={"schedulerName": "my-scheduler"}))
        restow.wait_for_line("Number of evictions/requests", times=2, timeout=120)
        twice = 'restow_cycles_total{result="done"} >= 2'
        wait_until("the second cycle is scraped", lambda: prometheus.ask(twice), 60)
        wait_until("a mark is scraped", lambda: prometheus.ask("restow_pressure_writes_total > 0"), 60)
        wait_until("an attempt is scraped", lambda: prometheus.ask("scheduler_schedule_attempts_total > 0"), 60)
        yield prometheus


def test_the_configuration_on_the_page_about_deploying_is_one(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "deploy.md").read_text()
    written = textwrap.dedent(page[page.index("    scrape_configs:") :])
    (tmp_path / "prometheus.yaml").write_text(written)
    shutil.copy(ALERTS, tmp_path)
    promtool("check", "config", tmp_path / "prometheus.yaml")


class TestScraped:
    """A restow that moves, one that marks a node and one that schedules, scraped by a Prometheus that is asked all questions."""

    def test_it_is_scraped(self, prometheus: Prometheus) -> None:
        def health() -> bool:
            targets = prometheus.get("targets")["activeTargets"]
            return [(each["health"], each["lastError"]) for each in targets] == [("up", "")] * 3

        wait_until("the last scrapes were good ones", health)

    @pytest.mark.parametrize("metric", sorted({name for _, asked in questions() for name in metrics_in(asked)}))
    def test_every_metric_that_is_asked_for_is_there(self, prometheus: Prometheus, metric: str) -> None:
        assert prometheus.ask(f"count_over_time({metric}[5m])")

    @pytest.mark.parametrize(("place", "question"), questions(), ids=[place for place, _ in questions()])
    def test_every_question_can_be_answered(self, prometheus: Prometheus, place: str, question: str) -> None:
        prometheus.ask(filled_in(question))

    @pytest.mark.parametrize("place", _RUNNING)
    def test_every_panel_shows_something(self, prometheus: Prometheus, place: str) -> None:
        question = filled_in(dict(questions())[place])
        # Some time since the start: a cycle that decides nothing has no moves to show.
        assert prometheus.ask(f"count_over_time(({question})[10m:2s])"), question

    def test_the_rules_are_evaluated_and_a_restow_that_works_raises_no_alarm(self, prometheus: Prometheus) -> None:
        (group,) = prometheus.get("rules")["groups"]
        wait_until("the rules are evaluated", lambda: all(rule["health"] == "ok" for rule in group["rules"]))
        assert {rule["name"] for rule in group["rules"]} == {alert["alert"] for alert in alerts()}
        assert [rule["name"] for rule in group["rules"] if rule["state"] == "firing"] == []
