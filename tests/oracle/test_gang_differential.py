"""Groups of Workloads: what restow says of each pod after one pass over the queue, and what kube-scheduler 1.35 does.

The real loop is asked (``ScheduleOne``), with the feature gates that make it mind Workloads, until no pod is left to try;
pods at Permit wait on their nodes meanwhile. The program has to be built (``make oracle MINORS=1.35``). Of each pod are
compared what came of its last attempt: the order of these, the feasible nodes, the node that it gets, or waits on, the
message, the node that is kept for it, and whom it preempts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from builders import Object
from oracle.random_gangs import GangContest
from oracle.scheduler_comparison import Restow
from oracle.scheduler_process import Outcome, SchedulerProcess, scheduler_of
from oracle.scheduling_cases import SEEDS, write_scheduling_case
from oracle.test_group_differential import without_those_leaving
from restow.scheduling.loop.decision import SchedulingDecision
from restow.scheduling.loop.scheduling_pass import schedule

pytestmark = pytest.mark.oracle

_MINOR = 35
#: What Permit says of a pod that waits; the scheduler tells nobody.
_WAITS = "waiting for minCount pods from a gang to be waiting on permit"


@pytest.fixture(scope="module")
def asked() -> Iterator[SchedulerProcess]:
    try:
        binary = scheduler_of(_MINOR)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    with SchedulerProcess(binary) as process:
        yield process


def test_pods_of_workloads_wait_for_one_another_as_in_kube_scheduler(asked: SchedulerProcess) -> None:
    found = []
    for seed in SEEDS:
        cluster = GangContest(seed).cluster()
        if text := difference(cluster, asked):
            found.append(f"{seed}: {text}\nSee {write_scheduling_case('workloads', seed, cluster)}")
    assert not found, "\n\n".join(found)


def difference(cluster: list[Object], scheduler: SchedulerProcess) -> str:
    answer = scheduler.ask(cluster, groups=True)
    if answer.error:
        return f"the oracle cannot answer: {answer.error}"
    expected = {each.pod: _expected(each) for each in answer.pods}
    found = _found(Restow(cluster, minor=_MINOR))
    for reports in (expected, found):
        for report in reports.values():
            report["victims"] = without_those_leaving(cluster, report.get("victims", ()))
    if list(found) != list(expected):
        return f"pods {list(expected)}, restow {list(found)}"
    for pod, report in expected.items():
        if found[pod] != report:
            return f"{pod}\n  expected {report}\n  restow   {found[pod]}"
    return ""


def _expected(outcome: Outcome) -> dict[str, Any]:
    if outcome.gated:
        return {"gated": outcome.gated}
    is_waiting = not outcome.node and not outcome.message
    return {
        "feasible": list(outcome.feasible),
        "node": outcome.node,
        "message": _WAITS if is_waiting else outcome.message,
        "nominated": outcome.nominated_node,
        "victims": outcome.victims,
    }


def _found(restow: Restow) -> dict[str, dict[str, Any]]:
    queue, name = restow.scheduler.queue(), restow.state.cluster.pods.full_name
    told = {name(each.pod): _told(restow, each) for each in schedule(restow.scheduler, queue.pods)}
    restow.state.validate()
    return told | {pod: {"gated": why} for pod, why in sorted((name(pod), why) for pod, why in queue.gated.items())}


def _told(restow: Restow, decision: SchedulingDecision) -> dict[str, Any]:
    names, name = restow.state.cluster.nodes.names, restow.state.cluster.pods.full_name
    return {
        "feasible": [names[node] for node in decision.verdicts.feasible.tolist()],
        "node": names[decision.node] if decision.node >= 0 else "",
        "message": decision.message,
        "nominated": names[decision.nominated_node] if decision.nominated_node >= 0 else "",
        "victims": tuple(map(name, decision.victims)),
    }
