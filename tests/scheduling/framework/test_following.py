"""Whoever is told of pods that come and go knows, whatever happened, what a count of all pods would tell."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.entry_points import entry_points, offering
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import SchedulerPlugin
from restow.scheduling.framework.extension_points import FilterResult
from restow.scheduling.loop.decision import Scheduler
from scheduling.configurations import a_configuration, a_profile, a_set, loaded
from scheduling.random_scenes import Changes, Scene


def counted(state: ClusterState) -> Counter:
    """The pods of each label set by node."""
    pods = np.flatnonzero(state.holds_resources() & (state.node >= 0))
    return Counter(zip(state.node[pods].tolist(), state.cluster.pods.labels[pods].tolist(), strict=True))


class Counting:
    """Passes every node, and compares what it was told with the state whenever it is asked."""

    def __init__(self, context: Context, _args: None) -> None:
        self._state = context.state
        self._counts: Counter = Counter()

    def add_pod(self, pod: int, node: int) -> None:
        self._counts[node, int(self._state.cluster.pods.labels[pod])] += 1

    def remove_pod(self, pod: int, node: int) -> None:
        self._counts[node, int(self._state.cluster.pods.labels[pod])] -= 1

    def filter(self, _pod: int, nodes: np.ndarray) -> FilterResult:
        assert +self._counts == counted(self._state)
        return FilterResult(np.full(len(nodes), -1), ())


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_counts_that_follow_are_those_of_the_state(seed):
    """Pods are placed, taken back, created, changed and deleted, and dry runs of preemption try things out."""
    made = []

    def make(context, args):
        made.append(Counting(context, args))
        return made[-1]

    choice = Random(seed)
    state = ClusterState(a_cluster(*Scene(seed).objects()))
    everyone = list(range(len(state.exists)))
    with entry_points(offering("Own", SchedulerPlugin("Own", ("filter",), make))):
        (profile,) = loaded(a_configuration(a_profile(multiPoint=a_set("Own")))).profiles
        scheduler = Scheduler(Context.of(state), profile)
    changes = Changes(state, choice, everyone)
    for _ in range(5):
        for pod in scheduler.queue().pods[:5]:
            verdicts = scheduler.decide(pod).verdicts
            reasons = [reason for each in verdicts.rejections for reason in each.outcome.reasons]
            assert not [reason for reason in reasons if "failed" in reason]
        for _ in range(choice.choice([0, 1, 5])):
            changes.once()
