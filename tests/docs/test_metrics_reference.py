"""The reference of metrics has every metric with its type, labels and label values, and no others."""

from __future__ import annotations

from typing import get_args

import pytest

from builders.kubedeschedulers import INSTALLED, a_kubedescheduler
from builders.pressure_views import a_view
from docs.pages import code_spans, rows, section, text_of
from restow.client.prometheus import InstantVector
from restow.operator.desired import desired
from restow.operator.facts import Facts
from restow.operator.status import OperatorMetrics, SyncResult, status_of
from restow.policies.codes import SURENESS, LoopCause, MoveResult, Prediction, SteeringMode
from restow.pressure.monitoring import PressureMetrics
from restow.pressure.samples import RuleResults
from restow.scheduler.reporter import Gauges, SchedulerMetrics
from restow.serving.exposition import exposed_name
from restow.serving.figures import CycleFigures, CycleResult
from restow.serving.metrics import EvictionLabels, EvictionResult, Metrics

PAGE = text_of("docs/reference/metrics.md")
_SECTIONS = ("## The Descheduler's", "## restow's own", "## The process")
_OF_OPERATOR = ("## restow operator's", "## The process")
_OF_SCHEDULER = ("## restow scheduler's", "## The process")
_OF_PRESSURE = ("## restow pressure's", "## The process")


@pytest.fixture(scope="module")
def families():
    """Every metric, with something to tell, as type and labels by name."""
    metrics = Metrics(lambda: {"Pod": 1.0}, lambda: {"Pod": True})
    metrics.evicted("success", EvictionLabels("s", "p", "ns", "n"))
    metrics.landed_well(0.9, well=True)
    metrics.strategy_done("s", "p", 1)
    metrics.left_out({"Pod": 1})
    metrics.shadow.came_to("moved", repeated=False)
    metrics.shadow.forecast("certain", 0.0)
    metrics.shadow.planned("certain")
    metrics.cycle_done(
        CycleFigures(
            result="done",
            ended=1,
            seconds=1,
            phases={"decide": 1},
            moves={("p", "s", "certain"): 1},
            refusals={("limit", "PerNode"): 1},
            imbalance={"cpu": (0, 0)},
        )
    )
    return described(metrics.registry)


def described(registry):
    return {
        exposed_name(family): (family.type, {key for sample in family.samples for key in sample.labels} - {"le"})
        for family in registry.collect()
    }


@pytest.fixture(scope="module")
def written():
    return rows_of(_SECTIONS)


def rows_of(sections):
    """Type and labels by name, as the page says."""
    found = {}
    for heading in sections:
        for name, (kind, labels, _) in rows(section(PAGE, heading).partition("###")[0]).items():
            found[name] = (kind, set(code_spans(labels)))
    return found


def test_every_metric_has_a_row_and_no_row_is_of_another(families, written):
    assert written == families


def test_every_metric_of_a_scheduler_has_a_row():
    held = Gauges(
        cached={"nodes": 1},
        rejected={("NodeResourcesFit", "mine"): 1},
        incoming={("active", "NodeAdd"): 1},
        in_flight={"NodeAdd": 1},
    )
    metrics = SchedulerMetrics()
    metrics.show(lambda: held)
    metrics.attempted("scheduled", "mine")
    metrics.took("scheduled", "mine", deciding=1, lasted=1)
    metrics.waited(1, 1)
    metrics.timed("mine", {("Score", "", "Success"): 1, ("Score", "ImageLocality", "Success"): 1})
    metrics.leads("my-scheduler", True)
    assert rows_of(_OF_SCHEDULER) == described(metrics.registry)


def test_every_metric_of_pressure_has_a_row():
    view = a_view(2, minutes=1)
    metrics = PressureMetrics()
    metrics.judged(RuleResults([InstantVector((), 0), None], {}), view.situation, view.criteria)
    metrics.written("label", "set", "done")
    assert rows_of(_OF_PRESSURE) == described(metrics.registry)


def test_every_metric_of_the_operator_has_a_row():
    metrics = OperatorMetrics()
    metrics.conditions([{"type": "Degraded", "status": "True"}])
    assert rows_of(_OF_OPERATOR) == described(metrics.registry)


def test_every_condition_that_is_a_metric_is_told_of():
    status = status_of({}, 1, desired(a_kubedescheduler("LongLifecycle"), Facts(), INSTALLED), {}, plan=None, now="")
    meaning = rows(PAGE)["restow_operator_condition"][-1]
    assert {each["type"] for each in status["conditions"]} <= set(code_spans(meaning))


@pytest.mark.parametrize(
    ("metric", "values"),
    [
        ("restow_moves_total", MoveResult),
        ("restow_predictions_total", Prediction),
        ("restow_loops_suppressed_total", LoopCause),
        ("restow_operator_syncs_total", get_args(SyncResult)),
        ("restow_cycles_total", get_args(CycleResult)),
        ("restow_predictions_total", SURENESS),
        ("restow_steering", SteeringMode),
    ],
)
def test_values_of_labels_are_told_of(metric, values):
    meaning = rows(PAGE)[metric][-1]
    assert set(values) <= set(code_spans(meaning))


def test_results_of_evictions():
    assert set(rows(section(PAGE, "### Results of evictions"))) == {"result", *get_args(EvictionResult)}
