"""What a plan went by where it asked a Prometheus, in the plan and in each of its forms."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import msgspec
from msgspec import structs
from rich.console import Console

from builders import std_node
from builders.plans import small_report
from descheduling.harness import a_cluster, a_policy
from restow.cluster.usage_samples import QueryResult, UsageQuery, query_result
from restow.descheduling.node_utilization.queried import measured_usage
from restow.descheduling.plan import MeasuredNode, MeasuredUsage
from restow.descheduling.registry import plugins
from restow.policies.load import load_policy
from restow.policies.policy import Policy
from restow.reporting.html.page import render_html
from restow.reporting.json import document
from restow.reporting.table import print_wide

QUERY = "<b>load</b>"
USAGE = MeasuredUsage("Prometheus", QUERY, 90.0, "", (MeasuredNode("n1", 0.9512, 12.0, 240),))


def a_prometheus_policy() -> Policy:
    args = {
        "thresholds": {"MetricResource": 30},
        "targetThresholds": {"MetricResource": 50},
        "metricsUtilization": {"source": "Prometheus", "prometheus": {"query": QUERY}},
    }
    provider = {"source": "Prometheus", "prometheus": {"url": "http://p"}}
    text = msgspec.json.encode(a_policy("LowNodeUtilization", args, metricsProviders=[provider]))
    return load_policy(text, "policy.json", plugins()).policy


def told(result: QueryResult) -> tuple[MeasuredUsage, ...]:
    return measured_usage(
        replace(a_cluster(std_node("n1")), usage={UsageQuery("Prometheus", QUERY): result}), a_prometheus_policy()
    )


def test_each_node_of_the_cluster_has_its_figure_and_its_age() -> None:
    result = query_result([("n1", 90.0, 0.5), ("stranger", 90.0, 0.7)], 100.0)
    assert told(result) == (MeasuredUsage("Prometheus", QUERY, None, "", (MeasuredNode("n1", 0.5, 10.0, 1),)),)


def test_what_nobody_answered_has_its_problem() -> None:
    assert told(QueryResult(1.0, problem="down")) == (MeasuredUsage("Prometheus", QUERY, None, "down", ()),)
    assert measured_usage(a_cluster(std_node("n1")), a_prometheus_policy()) == ()


def test_the_document_has_it_only_where_somebody_was_asked() -> None:
    plan = small_report().plan
    assert "usage" not in document(plan)
    asked = json.loads(msgspec.json.encode(document(structs.replace(plan, usage=(USAGE,)))))
    assert asked["usage"][0]["nodes"] == [{"node": "n1", "value": 0.9512, "ageSeconds": 12.0, "samples": 240}]


def test_wide_and_html_show_query_figure_and_age() -> None:
    report = small_report()
    report = replace(report, plan=structs.replace(report.plan, usage=(USAGE,)))
    written = io.StringIO()
    print_wide(report, Console(file=written, width=200))
    assert f"Usage by Prometheus, p90 of {QUERY}" in written.getvalue()
    assert "n1    0.9512  12 s old       240" in written.getvalue()
    page = render_html(report)
    assert "Usage by Prometheus, p90 of &lt;b&gt;load&lt;/b&gt;" in page
    assert "<td>0.9512</td><td>12 s old</td><td>240</td>" in page
    assert 'href="#usage"' in page
    assert 'href="#usage"' not in render_html(small_report())
