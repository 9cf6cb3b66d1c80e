"""No plan moves a part of a group: random clusters and policies, with groups of all kinds.

By default no pod of a group of several moves; with ``groups: together`` all of a group or none. Limits hold for all of them,
and the next plan moves none of them again. ``RESTOW_GROUP_SEEDS=0:500`` tries more.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from random import Random
from typing import Final

import pytest

from builders import Object
from builders.cluster_objects import a_pod_group
from oracle.comparison import Case
from oracle.moving_cases import MOVING_SUBJECTS, a_moving_case
from proving.plan_limits import beyond_limits
from proving.proven import plans, read_policy
from restow.descheduling.cycle import Cycle
from restow.errors import InputError
from restow.policies.codes import SteeringMode
from restow.policies.policy import Policy
from restow.workloads.groups import Groups

SEEDS: Final = range(*map(int, os.environ.get("RESTOW_GROUP_SEEDS", "0:8").split(":")))
LABELS: Final = ("ray.io/cluster", "jobset.sigs.k8s.io/jobset-name", "scheduling.x-k8s.io/pod-group")
STEERING: Final = (SteeringMode.NONE, SteeringMode.NOMINATE)
LWS: Final = "leaderworkerset.sigs.k8s.io"


def a_grouped_case(subject: str, seed: int, groups: str) -> Case:
    """A moving case in which half of the pods belong to groups of one to five pods."""
    case, random = a_moving_case(subject, seed), Random(f"{subject}-{seed}")
    by_namespace: defaultdict[str, list[Object]] = defaultdict(list)
    for each in case.cluster:
        if each["kind"] == "Pod" and random.random() < 0.5:
            by_namespace[each["metadata"].get("namespace", "")].append(each)
    for pods in by_namespace.values():
        random.shuffle(pods)
        while pods:
            members = [pods.pop() for _ in range(min(len(pods), random.randint(1, 5)))]
            case.cluster.extend(_mark(random, members, f"g{len(pods)}"))
    policy = json.loads(case.policy)
    return Case(case.cluster, json.dumps(policy | {"restow": policy.get("restow", {}) | {"groups": groups}}))


def _mark(random: Random, pods: list[Object], name: str) -> list[Object]:
    """Make pods a group; returns the object that it is, if it is one."""
    kind = random.choice((*LABELS, LWS, "spec.schedulingGroup", "scheduling.k8s.io/group-name"))
    for pod in pods:
        metadata = pod["metadata"]
        if kind == "spec.schedulingGroup":
            pod["spec"]["schedulingGroup"] = {"podGroupName": name}
        elif kind == "scheduling.k8s.io/group-name":
            metadata["annotations"] = (metadata.get("annotations") or {}) | {kind: name}
        else:
            marks = {f"{LWS}/name": "lws", f"{LWS}/group-index": name} if kind == LWS else {kind: name}
            metadata["labels"] = (metadata.get("labels") or {}) | marks
    namespace = pods[0]["metadata"].get("namespace", "")
    return [a_pod_group(name, namespace=namespace, least=len(pods))] if kind == "spec.schedulingGroup" else []


@pytest.mark.parametrize("groups", ["stay", "together"])
@pytest.mark.parametrize("subject", MOVING_SUBJECTS)
def test_no_plan_moves_a_part_of_a_group(subject: str, groups: str) -> None:
    wrong = [wrong_of(a_grouped_case(subject, seed, groups), groups, STEERING[seed % 2]) for seed in SEEDS]
    assert not any(wrong), [f"seed {seed}: {text}" for seed, text in zip(SEEDS, wrong, strict=True) if text]


def test_groups_move_in_some_of_the_cases() -> None:
    whole = [
        each.together.moves
        for subject in MOVING_SUBJECTS
        for seed in range(8)
        for each in next(plans(*_given(a_grouped_case(subject, seed, "together")))).record.evictions
        if each.together is not None and each.together.purpose.startswith("move ")
    ]
    assert len(whole) > 20


def _given(case: Case) -> tuple[list[Object], str]:
    return case.cluster, case.policy


def wrong_of(case: Case, groups: str, steering: SteeringMode) -> str:
    """What is wrong about the plans of one case; empty if nothing is."""
    try:
        policy = read_policy(case.policy)
    except InputError:
        return ""
    gone: set[str] = set()
    ended = False
    for cycle in plans(*_given(case), steering=steering):
        pods = cycle.state.cluster.pods
        moves = {pods.full_name(each.pod) for each in cycle.record.evictions}
        found = _parted(cycle, groups) or beyond_limits(cycle, policy)
        if gone & moves:
            found = f"moves {sorted(gone & moves)} again"
        elif ended and moves:
            found = f"moves {sorted(moves)} after a plan that nothing held back"
        if found:
            return found
        gone |= moves
        ended = not _is_held_back(cycle, policy)
    return ""


def _parted(cycle: Cycle, groups: str) -> str:
    """Which group a plan moves a part of, or moves although it must stay."""
    cluster = cycle.state.cluster
    found = Groups(cluster)
    numbers = found.of_pod.values
    alive = cluster.pods.read() & ~cluster.pods.terminal
    moved = {each.pod for each in cycle.record.evictions}
    for number, group in enumerate(found.known.keys()):
        members = {int(pod) for pod in (alive & (numbers == number)).nonzero()[0]}
        going = members & moved
        if going and (going != members or (groups == "stay" and len(members) > 1)):
            return f"moves {len(going)} of the {len(members)} pods of {group}"
    return ""


def _is_held_back(cycle: Cycle, policy: Policy) -> bool:
    """Whether something ends the plan that a later one may find open again."""
    stages = {each.reason[0] for each in cycle.record.refusals}
    arguments = [args for profile in policy.profiles for args in profile.args.values()]
    return bool(stages & {"limit", "budget"}) or any(getattr(args, "eviction_limits", None) for args in arguments)
