"""Explanations of plans of builder objects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from builders import NOW
from descheduling.harness import Object, a_cluster, a_policy
from proving.proven import TOLD, read_policy
from restow.descheduling.cycle import run_cycle
from restow.descheduling.registry import strategies
from restow.explaining.answers import explain_node, explain_pod
from restow.explaining.explanation import NodeExplanation, PodExplanation, StrategyView, SuggestedChange
from restow.explaining.what_if import Setting
from restow.kube.timestamps import parse_time
from restow.policies.codes import Placement, SteeringMode
from restow.proving.planning import policy_as_asked
from restow.proving.search import prove_cycle
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile

TAINTS = a_policy("RemovePodsViolatingNodeTaints", {})


def a_setting(
    policy: Object,
    *objects: Object,
    placement: Placement = "prove",
    steering: SteeringMode = "none",
    profile: SchedulerProfile = DEFAULT_PROFILE,
    minor: int | None = None,
) -> Setting:
    """The plan of a policy on some objects."""
    cluster = replace(a_cluster(*objects), server_minor=minor)
    rules, now = read_policy(policy), parse_time(NOW)
    if placement == "prove":
        cycle = prove_cycle(cluster, rules, strategies(), now, (profile,), steering=steering)
    else:
        cycle = run_cycle(cluster, rules, strategies(), now)
    asked = policy_as_asked(rules, placement)
    return Setting(cycle, cluster, asked, strategies(), now, placement, steering, (profile,))


def explained(
    policy: Object,
    *objects: Object,
    pod: str = "p",
    placement: Placement = "prove",
    steering: SteeringMode = "none",
    profile: SchedulerProfile = DEFAULT_PROFILE,
    minor: int | None = None,
) -> PodExplanation:
    """The explanation of a pod in the default namespace, with ``TOLD`` beside the objects; the cycle stays as it was."""
    setting = a_setting(policy, *objects, *TOLD, placement=placement, steering=steering, profile=profile, minor=minor)
    pods = setting.cluster.pods
    where = setting.cycle.state.node.copy()
    explanation = explain_pod(setting, pods.names.index(pod))
    assert np.array_equal(setting.cycle.state.node, where)
    return explanation


def node_explained(
    policy: Object, *objects: Object, node: str, placement: Placement = "prove", steering: SteeringMode = "none"
) -> NodeExplanation:
    """The explanation of a node, with ``TOLD`` beside the objects."""
    setting = a_setting(policy, *objects, *TOLD, placement=placement, steering=steering)
    return explain_node(setting, setting.cluster.nodes.index[node])


def view(explanation: PodExplanation) -> StrategyView:
    """What the only strategy says."""
    (only,) = explanation.strategies
    return only


def gates(explanation: PodExplanation) -> dict[str, tuple[Any, str]]:
    """Whether each stage passes and its code, by stage."""
    return {each.stage: (each.passes, each.code) for each in view(explanation).gates}


def told(change: SuggestedChange) -> list[str]:
    """The steps of a change, as people read them."""
    return [each.message for each in change.steps]


def helps(explanation: PodExplanation) -> list[str]:
    """What would help; the steps of one change joined."""
    assert all(each.verified for each in view(explanation).changes)
    return [" and ".join(told(each)) for each in view(explanation).changes]
