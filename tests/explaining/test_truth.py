"""What ``restow explain`` says would help does help: its words are acted upon, and the plan is made again from nothing.

Random clusters and policies, in both placements. Every change that is told as tried is made in the objects and in the
policy by its words alone (``told_changes``). Then the pod moves to the node that was told; with less of an amount, or
without one of several steps, it stays.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

import pytest

from builders import NOW, Object
from descheduling.harness import a_cluster
from explaining.explained import a_setting
from explaining.told_changes import Question, as_worded, changed, less
from oracle.moving_cases import MOVING_SUBJECTS, a_moving_case
from proving.proven import read_policy
from restow.descheduling.cycle import Cycle
from restow.explaining.answers import explain_pod
from restow.explaining.explanation import PodExplanation, Step, SuggestedChange
from restow.kube.timestamps import parse_time
from restow.policies.codes import Placement
from restow.proving.planning import decided
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE

SEEDS = range(*map(int, os.environ.get("RESTOW_EXPLAIN_SEEDS", "0:2").split(":")))
#: Pods of a case that are asked about.
ASKED = 4
#: Evictors that protect many pods.
STRICT: tuple[Object, ...] = (
    {"minReplicas": 8},
    {"minPodAge": "100000h"},
    {"labelSelector": {"matchLabels": {"no": "pod"}}},
    {"namespaceLabelSelector": {"matchLabels": {"no": "namespace"}}, "nodeFit": True},
    {"priorityThreshold": {"value": -5}, "noEvictionPolicy": "Mandatory"},
    {"podProtections": {"extraEnabled": ["PodsWithPVC", "PodsWithoutPDB"]}},
    {"ignorePvcPods": True, "nodeFit": True},
)


@pytest.mark.parametrize("placement", list(Placement))
@pytest.mark.parametrize("subject", MOVING_SUBJECTS)
def test_what_would_help_helps_and_less_does_not(subject: str, placement: Placement) -> None:
    wrong = [each for seed in SEEDS for each in wrong_of(subject, seed, placement)]
    assert not wrong, "\n".join(wrong)


def test_the_cases_have_something_to_tell() -> None:
    """Changes of the cluster and of the policy, in each placement."""
    kinds = {placement: Counter(kinds_told(placement)) for placement in list(Placement)}
    assert {"resources", "protection", "limit"} <= kinds["prove"].keys()
    assert {"protection", "limit"} <= kinds["upstream"].keys()


def kinds_told(placement: Placement) -> Iterator[str]:
    """The kinds of the steps that are told of in some cases."""
    for subject in MOVING_SUBJECTS:
        for seed in (0, 1):
            for _, _, change in told(question_of(subject, seed), placement):
                yield from (step.kind for step in change.steps)


def wrong_of(subject: str, seed: int, placement: Placement) -> Iterator[str]:
    """Each sentence that is not so."""
    question = question_of(subject, seed)
    for explanation, ref, change in told(question, placement):
        found = untrue(question, explanation, ref, change, placement)
        if found:
            words = " and ".join(each.message for each in change.steps)
            yield f"{subject} {seed} {placement}: {explanation.pod} would move {words}: {found}"


def untrue(
    question: Question, explanation: PodExplanation, ref: tuple[str, str], change: SuggestedChange, placement: Placement
) -> str:
    """What is wrong about a change; empty if nothing is."""

    def landing(steps: Sequence[Step]) -> str | None:
        asked = question
        for step in steps:
            asked = changed(asked, explanation, ref, step)
        return landing_of(explanation, replanned(asked, placement))

    if landing(change.steps) != (change.to or ""):
        return f"it lands on {landing(change.steps)}, not {change.to}"
    if landing([as_worded(each) for each in change.steps]) is None:
        return "but not with the amounts as they are worded"
    for index, step in enumerate(change.steps):
        others = [*change.steps[:index], *change.steps[index + 1 :]]
        if landing(others) is not None:
            return f"it moves without '{step.message}' too"
        for smaller in less(step, limit_now(question, step, ref)):
            if landing([*others[:index], smaller, *others[index:]]) is not None:
                return f"it moves with less too: {smaller}"
    return ""


def limit_now(question: Question, step: Step, ref: tuple[str, str]) -> int:
    """The limit that a step raises; 0 where it raises none."""
    field = step.message.removeprefix("with ").partition(" of ")[0]
    if step.kind == "limit" and field == "evictionLimits.node":
        profile = next(each for each in question.policy["profiles"] if each["name"] == ref[0])
        args = next(each["args"] for each in profile["pluginConfig"] if each["name"] == ref[1])
        return int(args["evictionLimits"]["node"])
    return int(question.policy[field]) if step.kind == "limit" else 0


def question_of(subject: str, seed: int) -> Question:
    """A random cluster and a policy, as ``restow plan`` is given them; every other policy holds most pods back."""
    case = a_moving_case(subject, seed)
    policy = json.loads(case.policy)
    if seed % 2:
        tighten(policy, Random(seed))
    # As text, so that no two objects share a part.
    return Question(json.loads(json.dumps(case.cluster)), policy, NOW)


def tighten(policy: Object, choice: Random) -> None:
    """Low limits, and an evictor that asks for much."""
    policy |= {
        "maxNoOfPodsToEvictPerNode": choice.choice((0, 1)),
        "maxNoOfPodsToEvictPerNamespace": choice.choice((1, 3)),
    }
    for profile in policy["profiles"]:
        entry = next((each for each in profile["pluginConfig"] if each["name"] == "DefaultEvictor"), None)
        if entry is None:
            entry = {"name": "DefaultEvictor"}
            profile["pluginConfig"].append(entry)
        entry["args"] = choice.choice(STRICT)


def told(question: Question, placement: Placement) -> Iterator[tuple[PodExplanation, tuple[str, str], SuggestedChange]]:
    """The changes that are told as tried, of some pods that stay; with the strategy for which they are."""
    setting = a_setting(question.policy, *question.objects, placement=placement)
    refused = sorted({each.pod for each in setting.cycle.record.refusals})
    for pod in refused[:: max(1, len(refused) // ASKED)]:
        explanation = explain_pod(setting, pod)
        for view in explanation.strategies:
            for change in view.changes:
                if change.verified:
                    yield explanation, (view.profile, view.plugin), change


def replanned(question: Question, placement: Placement) -> Cycle:
    """The plan from nothing."""
    objects: list[Object] = question.objects
    policy = read_policy(question.policy)
    now = parse_time(question.now)
    return decided(a_cluster(*objects), policy, placement, now, (DEFAULT_PROFILE,), steering=question.steering)


def landing_of(explanation: PodExplanation, cycle: Cycle) -> str | None:
    """Where a plan moves the pod; empty where nobody knows or nothing lands, None if the plan does not move it."""
    pods, nodes = cycle.state.cluster.pods, cycle.state.cluster.nodes.names
    for each in cycle.record.evictions:
        if pods.full_name(each.pod) == str(explanation.pod):
            return nodes[each.landing.target] if each.landing.target >= 0 else ""
    return None
