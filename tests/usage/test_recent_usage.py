"""Usage that is watched: the same figures as those of a stored history, of all nodes at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cluster.histories import a_series
from restow.cluster.usage_samples import figure_of
from restow.cluster.usage_series import mean, std
from restow.kube.quantity import NANO_PER_MILLI, NANO_PER_UNIT
from restow.usage.measured import RecentUsage, with_sample

NODES = ("a", "b", "c")
START = 1_795_219_200


def amounts(cpu: int, memory: int) -> dict[str, int]:
    return {"cpu": cpu * NANO_PER_MILLI, "memory": memory * NANO_PER_UNIT}


def watched(samples: list[tuple[int, dict[str, int]]], keep: int = 10_000) -> RecentUsage:
    """Of samples at times, milli-CPUs by node; a byte of memory for each."""
    found = None
    for at, used in samples:
        found = with_sample(found, at, {name: amounts(cpu, cpu) for name, cpu in used.items()}, keep)
    assert found is not None
    return found


SAMPLES = st.lists(
    st.tuples(st.integers(1, 60), st.dictionaries(st.sampled_from(NODES), st.integers(0, 100_000), min_size=1)),
    min_size=1,
    max_size=12,
)


@given(steps=SAMPLES, window=st.integers(1, 300), keep=st.integers(300, 400))
def test_figures_are_those_of_a_history_of_the_same_samples(
    steps: list[tuple[int, dict[str, int]]], window: int, keep: int
) -> None:
    times = np.cumsum([step for step, _ in steps]).tolist()
    samples = [(START + at, used) for at, (_, used) in zip(times, steps, strict=True)]
    recent = watched(samples, keep)
    means, stds = recent.figures((*NODES, "unknown"), window)
    assert recent.end == samples[-1][0]
    for at, name in enumerate(NODES):
        series = a_series({when: used[name] for when, used in samples if name in used})
        average = mean(series, window, recent.end)
        for row in range(2):
            if average is None:
                assert np.isnan(means[row, at])
                assert stds[row, at] == 0
            else:
                np.testing.assert_allclose(means[row, at], average)
                np.testing.assert_allclose(stds[row, at], std(series, window, recent.end), atol=1e-6)
    assert np.isnan(means[:, len(NODES)]).all()


def test_samples_are_kept_for_so_long_and_nodes_as_long_as_they_have_one() -> None:
    recent = watched([(100, {"a": 1}), (150, {"b": 2}), (190, {"b": 3})], keep=60)
    assert recent.names == ("b",)
    assert recent.times.tolist() == [150, 190]


def test_a_sample_of_the_same_time_replaces_the_one_before() -> None:
    recent = watched([(100, {"a": 1}), (100, {"a": 5})])
    assert recent.times.tolist() == [100]
    assert recent.figures(("a",), 60)[0][0].tolist() == [5]


@given(steps=SAMPLES, window=st.integers(1, 300), percentile=st.integers(1, 100))
def test_percentiles_of_all_are_those_of_each(
    steps: list[tuple[int, dict[str, int]]], window: int, percentile: int
) -> None:
    times = np.cumsum([step for step, _ in steps]).tolist()
    recent = watched([(START + at, used) for at, (_, used) in zip(times, steps, strict=True)])
    found = recent.percentiles(percentile, window, recent.end)
    for at, name in enumerate(recent.names):
        samples = recent.samples(name, "cpu", recent.end)
        assert samples is not None
        figure = figure_of(samples, recent.end, percentile=percentile, window=window)
        assert np.isnan(found[0, at]) if figure is None else found[0, at] == figure.value


def test_samples_after_now_do_not_count() -> None:
    recent = watched([(START, {"a": 1}), (START + 60, {"a": 9})])
    assert recent.percentiles(100, 600, START + 30)[0].tolist() == [1]
    assert np.isnan(recent.percentiles(100, 600, START - 1)).all()
    assert recent.samples("b", "cpu", START) is None
