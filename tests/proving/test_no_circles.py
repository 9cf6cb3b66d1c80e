"""Nothing goes round in circles: planning again on what a plan predicts never moves a pod's replacement again.

Random clusters and policies, each strategy alone and several together. Without limits and budgets in play one plan does
all there is to do. ``RESTOW_PLAN_SEEDS=5000:7000`` tries other cases, or more; ``make oracle`` tries 200.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from oracle.cases import a_case
from oracle.comparison import Case
from oracle.moving_cases import MOVING_SUBJECTS, TIMELESS, a_large_moving_case, a_moving_case
from proving.plan_limits import beyond_limits
from proving.proven import plans, read_policy
from restow.descheduling.cycle import Cycle
from restow.errors import InputError
from restow.policies.policy import Policy

CHUNK = 20
QUICK = 20
SEEDS = range(*map(int, os.environ.get("RESTOW_PLAN_SEEDS", "0:200").split(":")))
CHUNKS = [SEEDS[start : start + CHUNK] for start in range(0, len(SEEDS), CHUNK)]
#: The first are quick enough for every day.
in_chunks = pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(chunk, id=f"{chunk.start}:{chunk.stop}", marks=() if chunk.stop <= QUICK else pytest.mark.oracle)
        for chunk in CHUNKS
    ],
)


@pytest.mark.parametrize("subject", MOVING_SUBJECTS)
@in_chunks
def test_nothing_goes_round_in_circles(subject: str, seeds: range) -> None:
    wrong = [wrong_of(a_moving_case, subject, seed) for seed in seeds]
    assert not any(wrong), "\n".join(filter(None, wrong))


@pytest.mark.parametrize("subject", MOVING_SUBJECTS)
@in_chunks
def test_nothing_goes_round_where_much_is_odd(subject: str, seeds: range) -> None:
    """The clusters of the comparison with the Descheduler: malformed, unready, terminating, without times."""
    wrong = [wrong_of(a_case, subject, seed) for seed in seeds]
    assert not any(wrong), "\n".join(filter(None, wrong))


@pytest.mark.oracle
@pytest.mark.parametrize("subject", MOVING_SUBJECTS)
def test_nothing_goes_round_where_the_scheduler_looks_at_some_nodes(subject: str) -> None:
    wrong = [wrong_of(a_large_moving_case, subject, seed) for seed in range(5)]
    assert not any(wrong), "\n".join(filter(None, wrong))


def test_the_cases_have_moves() -> None:
    """A third of the plans moves something, and every strategy does in some."""
    cases = [(subject, a_moving_case(subject, seed)) for subject in MOVING_SUBJECTS for seed in range(QUICK)]
    moving = [subject for subject, case in cases if next(plans(case.cluster, case.policy)).record.evictions]
    assert len(moving) > len(cases) / 3
    assert set(moving) == set(MOVING_SUBJECTS)


def wrong_of(make: Callable[[str, int], Case], subject: str, seed: int) -> str:
    """What is wrong about the plans of one case; empty if nothing is."""
    case = make(subject, seed)
    try:
        policy = read_policy(case.policy)
    except InputError:
        return ""
    gone: set[str] = set()
    ended = False
    for cycle in plans(case.cluster, case.policy):
        moves = names(cycle)
        found = _broken(cycle, policy)
        if gone & moves:
            found = f"moves {sorted(gone & moves)} again"
        elif ended and moves:
            found = f"moves {sorted(moves)} after a plan that nothing held back"
        if found:
            return f"{make.__name__}({subject!r}, {seed}): {found}"
        gone |= moves
        ended = not _is_held_back(cycle, policy)
    return ""


def names(cycle: Cycle) -> set[str]:
    pods = cycle.state.cluster.pods
    return {pods.full_name(each.pod) for each in cycle.record.evictions}


def _is_held_back(cycle: Cycle, policy: Policy) -> bool:
    """Whether something ends the plan that a later one may find open again."""
    stages = {each.reason[0] for each in cycle.record.refusals}
    arguments = [args for profile in policy.profiles for args in profile.args.values()]
    return bool(stages & {"limit", "budget"}) or any(getattr(args, "eviction_limits", None) for args in arguments)


def _broken(cycle: Cycle, policy: Policy) -> str:
    """Which promise the moves of a plan break."""
    pods, moves = cycle.state.cluster.pods, cycle.record.evictions
    if len({each.pod for each in moves}) < len(moves):
        return "moves a pod twice"
    for each in moves:
        landing = each.landing
        if landing.target < 0:
            continue
        if landing.target not in landing.candidates:
            return f"{pods.full_name(each.pod)} lands on none of its candidates"
        excluded = each.node in landing.candidates if landing.certainty == "certain" else each.node == landing.target
        if excluded and each.ref.plugin not in TIMELESS:
            return f"{pods.full_name(each.pod)} could come back"
    return beyond_limits(cycle, policy)
