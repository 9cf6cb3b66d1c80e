"""What plugins say of windows, against what they say of the nodes of each window alone."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.framework.context import Context
from restow.scheduling.plugins.inter_pod_affinity import InterPodAffinity
from restow.scheduling.plugins.node_affinity import NodeAffinity
from restow.scheduling.plugins.pod_topology_spread import PodTopologySpread
from restow.scheduling.plugins.taint_toleration import TaintToleration
from restow.scheduling.sampling.relative_scores import Peaked, Ranged, sorted_out
from scheduling.large_clusters import a_large_cluster

PLUGINS = (
    (TaintToleration, "taints"),
    (NodeAffinity, "node-affinity"),
    (PodTopologySpread, "spread"),
    (PodTopologySpread, "default-spread"),
    (InterPodAffinity, "pod-affinity"),
)


@pytest.mark.parametrize(("plugin", "subject"), PLUGINS)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([1, 2, 3, 7, 20, 60]))
@settings(max_examples=8, deadline=None)
def test_each_window_is_scored_as_if_it_were_all(plugin, subject, seed, size) -> None:
    context = Context.of(ClusterState(a_cluster(*a_large_cluster(Random(seed), subject))))
    asked, pod = plugin(context), context.state.cluster.pods.names.index("p")
    nodes = np.random.default_rng(seed).permutation(len(context.state.cluster.nodes))
    relative = asked.relative(pod, nodes)
    everywhere = asked.score(pod, nodes)
    found = None if relative is None else relative.scores(size)
    scales = [] if found is None else found.of_window.everywhere()
    for start in range(len(nodes) - size + 1):
        window = slice(start, start + size)
        alone = asked.score(pod, nodes[window])
        if relative is None or found is None:
            together = None if everywhere is None else np.broadcast_to(everywhere, len(nodes))[window]
            assert np.array_equal(np.broadcast_to(alone, size), np.broadcast_to(together, size))
        else:
            told = found.table[scales[start], relative.kinds[window]]
            assert np.array_equal(np.broadcast_to(alone, size), told)


@given(st.lists(st.one_of(st.integers(-5, 5), st.integers(-(10**9), 10**9)), max_size=30))
def test_values_are_sorted_out_as_numpy_does_it(values) -> None:
    entries = np.array(values, dtype=np.int64)
    distinct, places = np.unique(entries, return_inverse=True)
    found, at = sorted_out(entries)
    assert (found.tolist(), at.tolist()) == (distinct.tolist(), places.tolist())


def test_equal_raw_scores_do_not_depend_on_the_window() -> None:
    equal = np.array([7, 7, 7])
    assert Peaked.of(equal, lambda raw, _: raw) is None
    assert Ranged.of(equal, lambda raw, *_: raw) is None
    assert Peaked.of(equal[:0], lambda raw, _: raw) is None


def test_scales_are_the_extremes_of_each_window() -> None:
    raw = np.array([5, 9, 5, 1])
    peaked, ranged = Peaked.of(raw, lambda values, highest: highest - values), Ranged.of(raw, lambda values, *_: values)
    assert peaked is not None
    assert ranged is not None
    assert ranged.scores(2).of_window.everywhere().tolist() == [0, 0, 1]
    assert peaked.scores(2).table.tolist() == [[8, 4, 0], [4, 0, 0]]
