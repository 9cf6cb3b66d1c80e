"""Asks preemption alone, with verdicts of the filters that a test makes up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from builders import a_node, a_pod, ago
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.extension_points import Outcome
from restow.scheduling.framework.filtering import Filters, PluginRejection, Verdicts
from restow.scheduling.framework.post_filtering import Handle, run_post_filters
from restow.scheduling.framework.waiting_pods import Nominations
from restow.scheduling.plugins.default_preemption import DefaultPreemption
from restow.scheduling.plugins.dynamic_resources import Deallocation
from restow.scheduling.plugins.inter_pod_affinity import InterPodAffinity
from restow.scheduling.plugins.node_resources_fit import NodeResourcesFit

if TYPE_CHECKING:
    from builders import Object

PRIORITIES = {"neg": -100, "low": 0, "mid": 100, "high": 1000, "vhigh": 10000}
SIZES = {"zero": 0, "small": 100, "medium": 200, "large": 300, "vlarge": 500}


@dataclass(frozen=True)
class Told:
    """An answer by name: the victims on each candidate, the violations there, the best nodes, and the message."""

    victims: dict[str, list[str]]
    violations: dict[str, int]
    best: list[str]
    message: str
    keeps_nomination: bool


def room(name: str, size: int = 500) -> Object:
    """A node with so many milli CPU and bytes."""
    return a_node(name, cpu=f"{size}m", memory=str(size), labels={"kubernetes.io/hostname": name})


def one_pod(name: str) -> Object:
    """A node that knows no resource but pod slots, and has one."""
    return a_node(name, cpu=None, memory=None, pods=1)


def sized(name: str, priority: str, size: str, *, node: str | None = None, start: float = 0, **more) -> Object:
    """A pod of a named priority and size, started so many seconds into the test."""
    amount = SIZES[size]
    started = ago(1000 - start) if node else None
    return a_pod(
        name,
        node=node,
        cpu=f"{amount}m",
        memory=str(amount),
        priority=PRIORITIES[priority],
        started=started,
        **more,
    )


def preempt(*objects: Object, lasting: tuple[str, ...] = ()) -> Told:
    """What preemption says to the pod without a node; every node rejects it, ``lasting`` ones for good."""
    state = ClusterState(a_cluster(*objects))
    context, pods, names = Context.of(state), state.cluster.pods, state.cluster.nodes.names
    nominations = Nominations(state, frozenset({"default-scheduler"}))
    filters = Filters(context, [NodeResourcesFit(context), InterPodAffinity(context)], nominations)
    verdict = np.array([int(name in lasting) for name in names])
    rejections = [PluginRejection("made-up", Outcome((), unresolvable=unresolvable)) for unresolvable in (False, True)]
    (pod,) = np.flatnonzero(pods.node < 0).tolist()
    handle = Handle(context, filters, nominations, DEFAULT_PROFILE.plugins["preFilter"])
    answer = run_post_filters([Deallocation(handle), DefaultPreemption(handle)], pod, Verdicts(verdict, rejections))
    state.validate()
    return Told(
        victims={names[each.node]: [pods.names[victim] for victim in each.victims] for each in answer.candidates},
        violations={names[each.node]: each.violations for each in answer.candidates},
        best=[names[each.node] for each in answer.best],
        message=answer.message.removeprefix("no new claims to deallocate, preemption: "),
        keeps_nomination=answer.keeps_nomination,
    )
