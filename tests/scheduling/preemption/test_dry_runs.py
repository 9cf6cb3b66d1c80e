"""Dry runs of preemption say what taking every pod off the state, and putting it back, says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from descheduling.harness import a_cluster
from restow.cluster.pods import PENDING
from restow.cluster.state import ClusterState
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.extension_points import PASSES, CycleError
from restow.scheduling.loop.decision import Scheduler
from restow.scheduling.preemption.dry_runs import DryRuns, NodeTrial
from restow.scheduling.preemption.victims import VictimSearch
from scheduling.crowds import in_groups
from scheduling.random_scenes import Scene

#: More than any pod of a scene has.
HIGHEST = 2**31


def by_the_state(filters, asked, potential):
    """The definition: all potential victims leave, and come back one by one."""
    victims, reasons = np.zeros(len(potential.pods), dtype=bool), Counter()
    for plugin in asked.plugins:
        plugin.filter(asked.pod, potential.nodes)
    for position, node in enumerate(potential.nodes.tolist()):
        place = potential.of(position)
        victims_here = [tuple(potential.units.get(pod, (pod,))) for pod in potential.pods[place].tolist()]
        pods = [pod for unit in victims_here for pod in unit]
        trial = NodeTrial(filters.state, node, None, lambda node=node: filters.run_on(asked, node) == PASSES)
        told = trial.run(victims_here, pods, lambda node=node: filters.run_on(asked, node))
        victims[place] = told[0]
        if told[1] != PASSES:
            reasons.update(filters.rejections[told[1]].outcome.reasons)
    return victims.tolist(), reasons


@pytest.mark.parametrize("grouped", [False, True])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_what_leaves_only_in_arithmetic_matters_to_resources_alone(seed, grouped):
    """With groups it is Kubernetes 1.37, where their pods may go together."""
    choice, objects = Random(seed), Scene(seed).objects()
    objects = in_groups(choice, objects) if grouped else objects
    state = ClusterState(replace(a_cluster(*objects), server_minor=37 if grouped else None))
    scheduler = Scheduler(Context.of(state))
    filters, search = scheduler._filters, VictimSearch(Context.of(state))
    waiting = [pod for pod in range(len(state.exists)) if state.node[pod] == PENDING]
    for pod in choice.sample(waiting, min(3, len(waiting))):
        try:
            asked = filters.prefilter(pod)
        except CycleError:
            continue
        unhindered = np.flatnonzero(
            [
                all(p.filter(pod, np.array([n])).passes.all() for p in asked.plugins if filters.is_static(p))
                for n in range(len(state.running))
            ]
        )
        potential = search.potential(HIGHEST, unhindered)
        victims, reasons = DryRuns(filters, asked).run(potential)
        assert (victims.tolist(), +reasons) == by_the_state(filters, asked, potential)
        state.validate()
