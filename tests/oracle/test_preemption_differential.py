"""restow's scheduler against the real kube-scheduler 1.36, where room is short: who fits, who must go, what is said.

Not here: volumes, and clusters of more than a handful of nodes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from builders import Object
from descheduling.harness import a_cluster
from oracle.random_contests import Contest
from oracle.scheduler_process import Candidate, Outcome, SchedulerProcess, scheduler_binary
from restow.cluster.state import ClusterState
from restow.scheduling.context import Context
from restow.scheduling.decision import Decision, Scheduler

pytestmark = pytest.mark.oracle

#: ``RESTOW_PREEMPTION_SEEDS=5000:6000`` compares other cases, or more.
SEEDS = range(*map(int, os.environ.get("RESTOW_PREEMPTION_SEEDS", "0:400").split(":")))
CHUNK = 50
CHUNKS = [SEEDS[start : start + CHUNK] for start in range(0, len(SEEDS), CHUNK)]

Telling = dict[str, Any]


@pytest.fixture(scope="module")
def scheduler() -> Iterator[SchedulerProcess]:
    with SchedulerProcess(scheduler_binary()) as process:
        yield process


def theirs(outcome: Outcome) -> Telling:
    """What the real scheduler says of a pod, as far as it is compared."""
    if outcome.gated:
        return {"gated": outcome.gated}
    return {
        "feasible": list(outcome.feasible),
        "rejected": {
            node: (each.plugin, sorted(each.reasons), each.code == "UAU") for node, each in outcome.rejected.items()
        },
        "best": list(outcome.best),
        "totals": {node: scores["total"] for node, scores in outcome.scores.items()},
        "message": outcome.message,
        "candidates": outcome.candidates,
        "bestCandidates": list(outcome.best_candidates),
        "nominatedNode": outcome.nominated_node,
    }


class Restow:
    """restow's answers about one cluster, in the words of the oracle."""

    def __init__(self, cluster: list[Object]) -> None:
        self._state = ClusterState(a_cluster(*cluster))
        self._names = self._state.cluster.nodes.names
        self._context = Context.of(self._state)
        self._scheduler = Scheduler(self._context)

    def answers(self) -> dict[str, Telling]:
        """What becomes of each waiting pod, after those before it."""
        name = self._state.cluster.pods.full_name
        queue = self._scheduler.queue()
        told = {}
        for pod in queue.pods:
            decision = self._scheduler.decide(pod)
            told[name(pod)] = self._tell(decision)
            self._scheduler.settle(decision)
            self._state.validate()
            self._context.counts.validate()
        return told | {name(pod): {"gated": why} for pod, why in queue.gated.items()}

    def _tell(self, decision: Decision) -> Telling:
        candidates = decision.preemption.candidates if decision.preemption else ()
        best = decision.preemption.best if decision.preemption else ()
        name = self._state.cluster.pods.full_name
        return {
            "feasible": self._nodes(decision.verdicts.feasible),
            "rejected": self._rejected(decision),
            "best": self._nodes(decision.best),
            "totals": {}
            if decision.ranking is None
            else dict(zip(self._nodes(decision.ranking.nodes), decision.ranking.total.tolist(), strict=True)),
            "message": decision.message,
            "candidates": {
                self._names[each.node]: Candidate(tuple(map(name, each.victims)), each.violations)
                for each in candidates
            },
            "bestCandidates": [self._names[each.node] for each in best],
            "nominatedNode": "" if decision.nominated_node < 0 else self._names[decision.nominated_node],
        }

    def _nodes(self, nodes: Any) -> list[str]:
        return [self._names[node] for node in nodes.tolist()]

    def _rejected(self, decision: Decision) -> Telling:
        """Who rejects each node that was looked at; those excluded beforehand name no plugin."""
        if decision.verdicts.prefilter is not None:
            return {}
        objections = {name: decision.verdicts.objection(node) for node, name in enumerate(self._names)}
        return {
            name: (each.plugin, sorted(each.outcome.reasons), each.outcome.unresolvable)
            for name, each in objections.items()
            if each is not None and each.plugin
        }


def queue_of(answers: dict[str, Telling]) -> list[str]:
    return [pod for pod, telling in answers.items() if "gated" not in telling]


def difference(seed: int, scheduler: SchedulerProcess) -> str:
    """What restow says differently in one case; empty where it agrees."""
    cluster = Contest(seed).cluster()
    answer = scheduler.ask(cluster, scores_for="all")
    expected = {outcome.pod: theirs(outcome) for outcome in answer.pods}
    found = Restow(cluster).answers()
    assert not answer.error, answer.error
    if queue_of(found) != queue_of(expected) or set(found) != set(expected):
        return f"seed {seed}: pods {list(expected)}, restow {list(found)}"
    for pod, telling in expected.items():
        for part, value in telling.items():
            if found[pod].get(part) != value:
                return f"seed {seed}: {pod}: {part}\n  expected {value}\n  restow   {found[pod].get(part)}"
    return ""


@pytest.mark.parametrize("seeds", CHUNKS, ids=[f"{chunk.start}:{chunk.stop}" for chunk in CHUNKS])
def test_restow_schedules_as_kube_scheduler_does(scheduler: SchedulerProcess, seeds: range) -> None:
    found = [text for seed in seeds if (text := difference(seed, scheduler))]
    assert not found, "\n".join(found)


def test_the_cases_have_something_to_decide() -> None:
    """Agreement on doing nothing proves little: a quarter of the cases find victims."""
    told = [Restow(Contest(seed).cluster()).answers().values() for seed in range(50)]
    assert sum(any(each.get("nominatedNode") for each in case) for case in told) > 50 / 4
