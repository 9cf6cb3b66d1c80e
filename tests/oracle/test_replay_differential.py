"""Proven plans replayed on the real kube-scheduler 1.36: every move lands where the plan says that it could.

Step by step as ``replaying`` says. Of each move the nodes that could win are the plan's candidates; those of a certain
move satisfy its placement constraint, all of them. Of a plan that moves nothing the refusals are compared too: the message,
whether others would be preempted, the node where the pod would be again.
``RESTOW_REPLAY_SEEDS=1000:2000`` replays other plans, or more.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from itertools import islice

import pytest

from oracle.comparison import Case
from oracle.moving_cases import MOVING_SUBJECTS, TIMELESS, a_large_moving_case, a_moving_case
from oracle.replaying import Landed, Replay
from oracle.scheduler_process import SchedulerProcess, scheduler_binary
from proving.proven import prove
from restow.descheduling.arbiter import RefusedSuggestion
from restow.descheduling.cycle import Cycle

pytestmark = pytest.mark.oracle

SEEDS = range(*map(int, os.environ.get("RESTOW_REPLAY_SEEDS", "0:60").split(":")))
#: Codes of what the scheduler has been asked about.
ASKED = ("NoFit", "NeedsPreemption", "SameNode", "NoGain", "NotCertain")


@pytest.fixture(scope="module")
def scheduler() -> Iterator[SchedulerProcess]:
    with SchedulerProcess(scheduler_binary()) as process:
        yield process


@pytest.mark.parametrize("subject", MOVING_SUBJECTS)
def test_every_move_lands_on_one_of_its_candidates(
    scheduler: SchedulerProcess, subject: str, scheduled: Counter[str]
) -> None:
    wrong = [f"{seed}: {text}" for seed in SEEDS if (text := difference(a_moving_case(subject, seed), scheduler))]
    scheduled[f"replay {subject}"] += len(SEEDS)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("subject", MOVING_SUBJECTS)
def test_moves_in_clusters_of_which_the_scheduler_looks_at_a_part(scheduler: SchedulerProcess, subject: str) -> None:
    wrong = [
        f"{seed}: {text}"
        for seed in range(3)
        if (text := difference(a_large_moving_case(subject, seed), scheduler, most=10))
    ]
    assert not wrong, "\n".join(wrong)


def test_the_replays_have_something_to_say() -> None:
    """More than 200 of the plans move something; some landings are ties, some not certain, some after the old pod."""
    plans = [prove_case(a_moving_case(subject, seed)) for subject in MOVING_SUBJECTS for seed in range(60)]
    landings = [each.landing for plan in plans for each in plan.record.evictions]
    assert sum(bool(plan.record.evictions) for plan in plans) > 200
    assert sum(len(landing.candidates) > 1 for landing in landings) > 20
    assert sum(landing.certainty != "certain" for landing in landings) > 5


def prove_case(case: Case) -> Cycle:
    return prove(case.cluster, case.policy)


def difference(case: Case, scheduler: SchedulerProcess, most: int | None = None) -> str:
    """Where the real scheduler does not do what the plan of a case says (its first moves); empty where it does."""
    cycle = prove_case(case)
    replay = Replay(case.cluster, scheduler)
    if not cycle.record.evictions:
        found = (_refusal_difference(cycle, each, replay) for each in cycle.record.refusals)
    else:
        found = (_move_difference(cycle, each) for each in islice(replay.moves(cycle), most))
    return next(filter(None, found), "")


def _move_difference(cycle: Cycle, landed: Landed) -> str:
    obliged = landed.eviction.ref.plugin not in TIMELESS and landed.eviction.landing.certainty == "certain"
    wrong = "it could come back" if obliged and landed.source in landed.best else landed.difference()
    return wrong and f"{cycle.state.cluster.pods.full_name(landed.eviction.pod)}: {wrong}"


def _refusal_difference(cycle: Cycle, refused: RefusedSuggestion, replay: Replay) -> str:
    """Whether the real scheduler gives the same reason to stay; the state is as it was observed."""
    stage, code, message = refused.reason
    if stage != "placement" or code not in ASKED:
        return ""
    name, nodes = cycle.state.cluster.pods.full_name(refused.pod), cycle.state.cluster.nodes.names
    outcome = replay.outcomes(name)[0]
    preempting = bool(outcome.nominated_node)
    true = {
        "NoFit": not outcome.best and not preempting and message == outcome.message,
        "NeedsPreemption": preempting and message.endswith(f"left {outcome.nominated_node}: {outcome.message}"),
        "SameNode": outcome.best == (nodes[refused.node],),
        "NoGain": bool(outcome.best),
        "NotCertain": bool(outcome.best),
    }
    if true[code]:
        return ""
    return f"{name} stays, {code}: {message}\nreally: {outcome.best} {outcome.nominated_node} {outcome.message}"
