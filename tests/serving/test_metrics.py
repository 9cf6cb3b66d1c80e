"""What is counted, and under which names."""

from __future__ import annotations

import pytest

from restow.serving.figures import CycleFigures
from restow.serving.metrics import EvictionLabels, Metrics

POD = EvictionLabels(strategy="PodLifeTime", profile="default", namespace="shop", node="n1")
LABELS = 'strategy="PodLifeTime",profile="default",namespace="shop",node="n1"'
STRATEGY_BOUNDS = ".01 .025 .05 .1 .25 .5 1 2.5 5 10 25 50 100"


@pytest.fixture
def metrics():
    return Metrics()


def a_cycle(**figures):
    return CycleFigures(**{"result": "done", "ended": 100.0, "seconds": 2.0} | figures)


def value(metrics, series):
    """The value of a series, None if there is none."""
    lines = [line for line in metrics.text().splitlines() if line.startswith(f"{series} ")]
    assert len(lines) < 2
    return float(lines[0].rpartition(" ")[2]) if lines else None


def types(metrics):
    lines = [line.split() for line in metrics.text().splitlines() if line.startswith("# TYPE ")]
    assert len({name for _, _, name, _ in lines}) == len(lines)
    return {name: kind for _, _, name, kind in lines}


class TestTheDeschedulersNames:
    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("descheduler_build_info", "gauge"),
            ("descheduler_pods_evicted", "counter"),
            ("descheduler_pods_evicted_total", "counter"),
            ("descheduler_descheduler_loop_duration_seconds", "histogram"),
            ("descheduler_loop_duration_seconds", "histogram"),
            ("descheduler_descheduler_strategy_duration_seconds", "histogram"),
            ("descheduler_strategy_duration_seconds", "histogram"),
        ],
    )
    def test_names_and_types(self, metrics, name, kind):
        metrics.evicted("success", POD)
        metrics.strategy_done("PodLifeTime", "default", 0.3)
        assert types(metrics)[name] == kind

    def test_there_are_no_others(self, metrics):
        metrics.evicted("success", POD)
        metrics.strategy_done("PodLifeTime", "default", 0.3)
        assert sum(name.startswith("descheduler_") for name in types(metrics)) == 7

    def test_labels_of_the_build(self, metrics):
        (line,) = (line for line in metrics.text().splitlines() if line.startswith("descheduler_build_info{"))
        for label in ("GoVersion", "AppVersion", "DeschedulerVersion", "GitBranch", "GitSha1"):
            assert f'{label}="' in line
        assert line.endswith(" 1")

    @pytest.mark.parametrize("name", ["descheduler_pods_evicted", "descheduler_pods_evicted_total"])
    def test_an_eviction_is_counted_under_both_names(self, metrics, name):
        metrics.evicted("success", POD)
        metrics.evicted("success", POD)
        metrics.evicted("error", POD)
        assert value(metrics, f'{name}{{result="success",{LABELS}}}') == 2
        assert value(metrics, f'{name}{{result="error",{LABELS}}}') == 1

    @pytest.mark.parametrize("name", ["descheduler_loop", "descheduler_descheduler_loop"])
    def test_a_cycle_is_measured_under_both_names(self, metrics, name):
        metrics.cycle_done(a_cycle(seconds=2.0))
        assert value(metrics, f'{name}_duration_seconds_bucket{{le="1"}}') == 0
        assert value(metrics, f'{name}_duration_seconds_bucket{{le="2.5"}}') == 1
        assert value(metrics, f"{name}_duration_seconds_sum") == 2

    @pytest.mark.parametrize("name", ["descheduler_strategy", "descheduler_descheduler_strategy"])
    def test_a_strategy_is_measured_under_both_names(self, metrics, name):
        metrics.strategy_done("PodLifeTime", "default", 0.3)
        labels = 'strategy="PodLifeTime",profile="default"'
        assert value(metrics, f"{name}_duration_seconds_count{{{labels}}}") == 1
        assert value(metrics, f'{name}_duration_seconds_bucket{{{labels},le="0.5"}}') == 1

    @pytest.mark.parametrize(("name", "more"), [("strategy", ""), ("loop", " 250 500")])
    def test_bounds_of_buckets(self, metrics, name, more):
        metrics.strategy_done("s", "p", 0)
        found = [
            line.rpartition('le="')[2].partition('"')[0]
            for line in metrics.text().splitlines()
            if line.startswith(f"descheduler_{name}_duration_seconds_bucket")
        ]
        assert [*map(float, found)] == [*map(float, (STRATEGY_BOUNDS + more).split()), float("inf")]
        assert not any(bound.endswith(".0") for bound in found)


class TestCycles:
    def test_what_the_last_cycle_decided_replaces_what_the_one_before_did(self, metrics):
        metrics.cycle_done(a_cycle(moves={("p", "s", "certain"): 3}, refusals={("limit", "PerNode"): 2}))
        metrics.cycle_done(a_cycle(moves={("p", "s", "possible"): 1}))
        assert value(metrics, 'restow_last_cycle_moves{profile="p",strategy="s",certainty="possible"}') == 1
        assert value(metrics, 'restow_last_cycle_moves{profile="p",strategy="s",certainty="certain"}') is None
        assert value(metrics, 'restow_last_cycle_refusals{stage="limit",code="PerNode"}') is None

    def test_circles_add_up(self, metrics):
        for _ in range(2):
            metrics.cycle_done(a_cycle(refusals={("placement", "Circle"): 2, ("placement", "NoFit"): 5}))
        metrics.backed_off()
        assert value(metrics, 'restow_loops_suppressed_total{cause="circle"}') == 4
        assert value(metrics, 'restow_loops_suppressed_total{cause="back-off"}') == 1

    def test_imbalance(self, metrics):
        metrics.cycle_done(a_cycle(imbalance={"cpu": (0.3, 0.1)}))
        assert value(metrics, 'restow_imbalance{resource="cpu",moment="before"}') == 0.3
        assert value(metrics, 'restow_imbalance{resource="cpu",moment="after"}') == 0.1

    def test_phases(self, metrics):
        metrics.cycle_done(a_cycle(phases={"decide": 0.2, "execute": 30}))
        assert value(metrics, 'restow_cycle_phase_duration_seconds_sum{phase="execute"}') == 30

    def test_a_failed_cycle_leaves_what_the_last_good_one_decided(self, metrics):
        metrics.cycle_done(a_cycle(ended=50, imbalance={"cpu": (0.3, 0.1)}))
        metrics.cycle_done(a_cycle(ended=60, result="failed"))
        assert value(metrics, 'restow_cycles_total{result="failed"}') == 1
        assert value(metrics, "descheduler_loop_duration_seconds_count") == 2
        assert value(metrics, "restow_last_cycle_timestamp_seconds") == 50
        assert value(metrics, 'restow_imbalance{resource="cpu",moment="after"}') == 0.1


def test_moves_and_predictions(metrics):
    metrics.moved("evicted")
    metrics.moved("dropped", "Gone")
    metrics.landed("hit", "certain")
    assert value(metrics, 'restow_moves_total{result="evicted",reason=""}') == 1
    assert value(metrics, 'restow_moves_total{result="dropped",reason="Gone"}') == 1
    assert value(metrics, 'restow_predictions_total{result="hit",certainty="certain"}') == 1
    assert value(metrics, 'restow_predictions_total{result="miss",certainty="certain"}') == 0


@pytest.mark.parametrize(
    ("probability", "bucket"), [(0.3, "0.5"), (0.8, "0.8"), (0.8001, "0.9"), (0.9999, "1"), (1.0, "1")]
)
def test_landings_are_counted_by_the_probability_that_they_had(metrics, probability, bucket):
    metrics.landed_well(probability, well=True)
    metrics.landed_well(probability, well=False)
    for result in ("well", "in-vain"):
        assert value(metrics, f'restow_landings_total{{probability="{bucket}",result="{result}"}}') == 1


def test_the_age_of_the_cache_is_asked_for_when_it_is_told():
    ages = {"Pod": 1.0}
    metrics = Metrics(lambda: ages)
    ages["Pod"] = 2.5
    assert value(metrics, 'restow_cache_age_seconds{kind="Pod"}') == 2.5


def test_which_kinds_are_known_is_asked_for_when_it_is_told():
    known = {"Pod": True, "Namespace": True}
    metrics = Metrics(known=lambda: known)
    known["Namespace"] = False
    assert value(metrics, 'restow_kind_known{kind="Pod"}') == 1
    assert value(metrics, 'restow_kind_known{kind="Namespace"}') == 0


def test_leading_policies_and_back_offs(metrics):
    assert value(metrics, "restow_leader") == 0
    metrics.leads(True)
    metrics.policy_read("broken")
    metrics.workloads_backing_off(4)
    assert value(metrics, "restow_leader") == 1
    assert value(metrics, 'restow_policy_loads_total{result="broken"}') == 1
    assert value(metrics, "restow_backed_off_workloads") == 4


def test_objects_that_are_left_out_are_counted_by_kind_as_long_as_they_are(metrics):
    metrics.left_out({"Pod": 2, "Namespace": 1})
    metrics.left_out({"Pod": 3})
    assert value(metrics, 'restow_left_out_objects{kind="Pod"}') == 3
    assert value(metrics, 'restow_left_out_objects{kind="Namespace"}') is None


def test_evictions_from_nodes_that_are_gone_are_forgotten(metrics):
    for node in ("n1", "n2"):
        for result in ("success", "error"):
            metrics.evicted(result, POD._replace(node=node))
    metrics.keep_nodes(["n2", "n3"])
    assert 'node="n1"' not in metrics.text()
    assert value(metrics, f'descheduler_pods_evicted_total{{result="success",{LABELS.replace("n1", "n2")}}}') == 1
    metrics.evicted("success", POD)
    assert value(metrics, f'descheduler_pods_evicted_total{{result="success",{LABELS}}}') == 1


def test_series_do_not_grow_where_nodes_come_and_go(metrics):
    metrics.evicted("success", POD)
    size = len(metrics.text().splitlines())
    for at in range(1000):
        metrics.evicted("success", POD._replace(node=f"spot-{at}"))
        metrics.keep_nodes(["n1", f"spot-{at}"])
    assert len(metrics.text().splitlines()) == size + 2


def test_metrics_are_not_shared():
    one, other = Metrics(), Metrics()
    one.leads(True)
    assert value(other, "restow_leader") == 0
    from prometheus_client import REGISTRY

    assert REGISTRY.get_sample_value("restow_leader") is None


def test_the_process_tells_of_itself(metrics):
    assert value(metrics, "process_resident_memory_bytes") > 0


def test_any_name_can_be_a_label(metrics):
    metrics.strategy_done("s", 'a "profile"\\\n', 1)
    assert r'profile="a \"profile\"\\\n"' in metrics.text()


def test_nothing_is_told_of_when_a_metric_was_created(metrics):
    metrics.cycle_done(a_cycle())
    assert "_created" not in metrics.text()


def test_prometheus_clients_parser_reads_it(metrics):
    from prometheus_client.parser import text_string_to_metric_families

    metrics.evicted("success", POD)
    metrics.cycle_done(a_cycle(imbalance={"cpu": (0.3, 0.1)}, moves={("p", "s", ""): 3}))
    read = {sample.name for family in text_string_to_metric_families(metrics.text()) for sample in family.samples}
    assert {"descheduler_pods_evicted_total", "descheduler_loop_duration_seconds_bucket", "restow_imbalance"} <= read
