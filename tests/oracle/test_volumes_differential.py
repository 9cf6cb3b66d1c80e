"""The volume plugins held against the real kube-scheduler on random clusters with claims, volumes and disks.

Pods are asked about in the scheduler's order, and each is put where the scheduler puts it before the next is asked
about, so that what was reserved for one pod counts for the next. ``RESTOW_ORACLE_SEEDS=1000:4000`` compares other cases.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from descheduling.harness import a_cluster
from oracle.chance import Chance
from oracle.random_storage import a_storage_cluster
from oracle.scheduler_process import Outcome, Rejection, SchedulerProcess, scheduler_binary
from restow.cluster.state import ClusterState
from restow.scheduling.context import Context
from restow.scheduling.decision import Scheduler
from restow.scheduling.filtering import Objection, Verdicts

pytestmark = pytest.mark.oracle

SEEDS = range(*map(int, os.environ.get("RESTOW_ORACLE_SEEDS", "0:400").split(":")))
#: Cases that one test compares.
BATCH = 20


@pytest.fixture(scope="module")
def scheduler() -> Iterator[SchedulerProcess]:
    with SchedulerProcess(scheduler_binary()) as process:
        yield process


@pytest.mark.parametrize("first", range(SEEDS.start, SEEDS.stop, BATCH))
def test_volumes_reject_the_nodes_that_the_scheduler_rejects(scheduler: SchedulerProcess, first: int) -> None:
    for seed in range(first, min(first + BATCH, SEEDS.stop)):
        objects = a_storage_cluster(Chance(f"storage-{seed}"))
        state = ClusterState(a_cluster(*objects))
        ours = Scheduler(Context.of(state))
        answer = scheduler.ask(objects, scores_for="needed")
        assert not answer.error, f"seed {seed}"
        for theirs in answer.pods:
            pod = state.cluster.pods.names.index(theirs.pod.split("/")[1])
            assert _said(state, ours.decide(pod).verdicts) == _meant(theirs), f"seed {seed}, {theirs.pod}"
            if theirs.node:
                state.place(pod, state.cluster.nodes.index[theirs.node])


Said = tuple[Rejection | None, dict[str, Rejection]]


def _meant(theirs: Outcome) -> Said:
    return theirs.pre_filter, theirs.rejected


def _said(state: ClusterState, verdicts: Verdicts) -> Said:
    if verdicts.prefilter is not None:
        return _rejection(verdicts.prefilter), {}
    found = {name: verdicts.objection(node) for node, name in enumerate(state.cluster.nodes.names)}
    return None, {name: _rejection(each) for name, each in found.items() if each is not None}


def _rejection(objection: Objection) -> Rejection:
    outcome = objection.outcome
    return Rejection(objection.plugin, outcome.reasons, "UAU" if outcome.unresolvable else "U")
