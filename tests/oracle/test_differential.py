"""restow's ``upstream`` placement against the real Kubernetes Descheduler v0.36, on random clusters and policies.

What must agree is said in ``comparison``, what the cases are made of in the ``random_*`` modules. The differences that
are meant are in ``docs/reference/differences.md``; the generator keeps away from them. Not here: ``prove`` placement,
which promises something else.

Upstream's answer is one of several, so a case passes when restow gives one that upstream gives too, in at most 2,423
cycles. The few cases with too many outcomes to meet one by chance (spread constraints and duplicates without
priorities to tell pods apart) are compared by what all of upstream's cycles have in common.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from oracle.cases import FAULTY, OLD, SEEDS, SUBJECTS, a_case, write_case
from oracle.comparison import Case, Run, disagreement, restow_run
from oracle.oracle_process import OracleProcess
from restow.descheduling.registry import plugins
from restow.errors import InputError
from restow.policies.load import convert_policy

pytestmark = pytest.mark.oracle

#: Cases of one test: enough to be quick, few enough to tell where it breaks.
CHUNK = 50
CHUNKS = [SEEDS[start : start + CHUNK] for start in range(0, len(SEEDS), CHUNK)]
in_chunks = pytest.mark.parametrize("seeds", CHUNKS, ids=[f"{chunk.start}:{chunk.stop}" for chunk in CHUNKS])


def report(subject: str, seeds: range, wrong: Callable[[Case], str]) -> str:
    """What is wrong about each of the cases, and where to look at it."""
    found = []
    for seed in seeds:
        case = a_case(subject, seed)
        if text := wrong(case):
            found.append(f"{subject}-{seed}: {text}\nSee {write_case(f'{subject}-{seed}', case)}")
    return "\n\n".join(found)


@pytest.mark.parametrize("subject", SUBJECTS)
@in_chunks
def test_restow_answers_as_the_descheduler_does(
    oracle: OracleProcess, subject: str, seeds: range, compared: Counter[str]
) -> None:
    wrong = report(subject, seeds, lambda case: disagreement(case, oracle))
    compared[subject] += len(seeds)
    assert not wrong, wrong


@in_chunks
def test_an_old_policy_does_what_its_conversion_does(
    oracle: OracleProcess, seeds: range, compared: Counter[str]
) -> None:
    """Read by restow, converted and read by restow, converted and read by the Descheduler: one answer."""
    wrong = report(OLD, seeds, lambda case: unlike_its_conversion(case, oracle))
    compared[OLD] += len(seeds)
    assert not wrong, wrong


def unlike_its_conversion(case: Case, oracle: OracleProcess) -> str:
    """What converting the policy changes; a policy that is refused is not converted either."""
    ours = answer(case)
    try:
        text, _ = convert_policy(case.policy.encode(), "policy.yaml", plugins())
    except InputError as refusal:
        return "" if ours is None else f"runs, but cannot be converted: {refusal}"
    converted = Case(case.cluster, text)
    if answer(converted) != ours:
        return f"restow runs the conversion differently:\n{text}"
    return disagreement(converted, oracle)


def answer(case: Case) -> Run | None:
    """restow's answer; None where it refuses the policy."""
    try:
        return restow_run(case)
    except InputError:
        return None


@pytest.mark.parametrize("subject", [subject for subject in (*SUBJECTS, OLD) if subject != FAULTY])
def test_the_cases_have_something_to_decide(subject: str) -> None:
    """Agreement on doing nothing proves little: a sixth of the cases evict, at least."""
    runs = [answer(a_case(subject, seed)) for seed in range(50)]
    assert sum(run is not None and bool(run.moves) for run in runs) > 50 / 6
