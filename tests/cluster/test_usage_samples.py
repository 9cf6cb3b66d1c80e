"""From samples to the figure of a node, and to its trend."""

from __future__ import annotations

import math

import pytest

from restow.cluster.usage_samples import Figure, NodeSamples, QueryResult, falls_to, figure_of, query_result

AT = 10_000.0


def series(*values: float, step: float = 60.0, end: float = AT) -> NodeSamples:
    """Values, the last one at ``end``."""
    count = len(values)
    [found] = query_result((("n1", end - (count - 1 - i) * step, value) for i, value in enumerate(values)), AT).samples
    return found


def figure(samples: NodeSamples, percentile: float | None = None, window: float = 3600.0) -> Figure | None:
    return figure_of(samples, AT, percentile=percentile, window=window)


def test_the_newest_sample_counts_with_its_age() -> None:
    assert figure(series(0.1, 0.9, end=AT - 30)) == Figure(0.9, 30.0, 2)


def test_a_percentile_is_interpolated_as_prometheus_does() -> None:
    found = figure(series(0.0, 1.0, 2.0, 3.0, 4.0), 95)
    assert found is not None
    assert found.value == pytest.approx(3.8)


def test_a_spike_shows_in_the_95th_percentile_only_where_it_is_longer_than_a_twentieth() -> None:
    for minutes, shows in ((5, True), (2, False)):
        found = figure(series(*[0.2] * (60 - minutes), *[0.9] * minutes), 95)
        assert found is not None
        assert (found.value > 0.5) == shows


def test_samples_before_the_window_do_not_count() -> None:
    found = figure(series(0.9, 0.9, 0.1, 0.1), 100, window=120.0)
    assert found == Figure(0.1, 0.0, 2)


def test_samples_that_are_no_numbers_do_not_count() -> None:
    assert figure(series(0.5, math.nan, math.inf)) == Figure(0.5, 120.0, 1)
    assert figure(series(math.nan)) is None


def test_the_samples_of_a_node_are_put_in_order_wherever_they_stand() -> None:
    result = query_result([("b", 2.0, 0.2), ("a", 1.0, 0.5), ("b", 1.0, 0.1)], AT)
    assert [(each.node, each.values.tolist()) for each in result.samples] == [("b", [0.1, 0.2]), ("a", [0.5])]


def test_what_falls_goes_on_falling() -> None:
    """From 0.9 to 0.7 in ten minutes, so 0.5 after ten more."""
    falling = series(*(0.9 - 0.02 * minute for minute in range(11)))
    assert falls_to(falling, AT, 601.0) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("values", [(0.5, 0.6, 0.7), (0.5, 0.5, 0.5), (0.9, 0.5), ()], ids=str)
def test_what_rises_or_stays_or_is_hardly_known_does_not_fall(values: tuple[float, ...]) -> None:
    samples = series(*values) if values else NodeSamples("n1", *(series(0.1).times[:0],) * 2)
    assert falls_to(samples, AT, 3600.0) is None


def test_a_result_keeps_as_many_cycles_as_it_is_told() -> None:
    results = [QueryResult(float(at)) for at in range(4)]
    last = results[0]
    for each in results[1:]:
        last = each.after(last, 3)
    assert [each.at for each in last.earlier] == [2.0, 1.0]
    assert all(not each.earlier for each in last.earlier)
