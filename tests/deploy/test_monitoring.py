"""Alerts and dashboard ask for metrics that there are, in both their forms; `make e2e` asks a real Prometheus."""

from __future__ import annotations

import json

import pytest
from prometheus_client import CollectorRegistry

from deploy.expressions import alerts, dashboard, metrics_in, panels, questions
from deploy.manifests import KUBERNETES, MONITORING, documents, manifests, only, pod_of
from restow.pressure.monitoring import PressureMetrics
from restow.scheduler.reporter import SchedulerMetrics
from restow.serving.exposition import exposed_name
from restow.serving.figures import CycleFigures, SteeringMetrics
from restow.serving.metrics import EvictionLabels, Metrics

TESTS = documents(MONITORING / "alerts-test.yaml")[0]["tests"]
MONITORS = {"service-monitor.yaml": "endpoints", "pod-monitor.yaml": "podMetricsEndpoints"}


@pytest.fixture(scope="module")
def known():
    """Name of every series that restow can have, with the labels that its own code gives it."""
    metrics = Metrics(lambda: {"Pod": 1.0}, lambda: {"Pod": True})
    metrics.evicted("success", EvictionLabels("s", "p", "ns", "n"))
    metrics.strategy_done("s", "p", 1)
    refusals, moves = {("limit", "PerNode"): 1}, {("p", "s", "certain"): 1}
    metrics.cycle_done(
        CycleFigures(
            result="done",
            ended=1,
            seconds=1,
            phases={"decide": 1},
            moves=moves,
            refusals=refusals,
            imbalance={"cpu": (0, 0)},
        )
    )
    others = (PressureMetrics(), SchedulerMetrics())
    families = [*metrics.registry.collect(), *(family for each in others for family in each.registry.collect())]
    samples = {sample.name for family in families for sample in family.samples}
    return samples | {exposed_name(family) for family in families}


@pytest.mark.parametrize(("place", "question"), questions(), ids=[place for place, _ in questions()])
def test_every_metric_that_is_asked_for_exists(place, question, known):
    asked = metrics_in(question)
    assert asked, f"{place} asks for no metric"
    assert asked <= known


def test_the_operators_rule_is_the_file_of_rules():
    rule = documents(MONITORING / "prometheus-rule.yaml")[0]
    assert rule["spec"] == documents(MONITORING / "alerts.yaml")[0]


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_every_alert_is_tested_firing_and_silent_and_says_what_to_do(alert):
    cases = [case for test in TESTS for case in test["alert_rule_test"] if case["alertname"] == alert["alert"]]
    assert {bool(case["exp_alerts"]) for case in cases} == {True, False}
    assert alert["labels"]["severity"] in {"info", "warning", "critical"}
    assert alert["annotations"].keys() == {"summary", "description"}


def test_panels_have_titles_descriptions_units_and_a_place_of_their_own():
    taken = set()
    for panel in panels():
        assert panel["description"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert all(x < 24 for x, _ in cells)
        taken |= cells
    assert len({panel["id"] for panel in dashboard()["panels"]}) == len(dashboard()["panels"])


def test_all_that_is_counted_of_steering_is_on_the_dashboard():
    counted = {exposed_name(family) for family in _steering_families()}
    asked = {name for place, question in questions() if place.startswith("dashboard") for name in metrics_in(question)}
    assert counted - asked == NOT_SHOWN


#: They are for the alerts and for somebody who looks for a fault.
NOT_SHOWN = {"restow_gates_released_total", "restow_webhook_reviews_total"}


def _steering_families():
    registry = CollectorRegistry()
    SteeringMetrics(registry)
    return list(registry.collect())


def test_the_dashboard_asks_whichever_prometheus_and_jobs_are_chosen():
    variables = {variable["name"] for variable in dashboard()["templating"]["list"]}
    assert variables == {"datasource", "job"}
    assert all('job=~"$job"' in question for place, question in questions() if place.startswith("dashboard"))


def test_the_dashboard_is_written_plainly():
    text = (MONITORING / "dashboard.json").read_text()
    assert text == json.dumps(dashboard(), indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("file", MONITORS)
def test_monitors_find_what_the_deployment_has(file):
    monitor = documents(MONITORING / file)[0]
    (endpoint,) = monitor["spec"][MONITORS[file]]
    deployment = list(manifests(KUBERNETES / "deployment"))
    service, pod = only(deployment, "Service"), pod_of(only(deployment, "Deployment"))
    assert monitor["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"] == service["spec"]["selector"]
    assert endpoint["port"] == service["spec"]["ports"][0]["name"] == pod["spec"]["containers"][0]["ports"][0]["name"]
    assert endpoint["honorLabels"] is True
