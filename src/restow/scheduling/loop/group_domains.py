"""Groups whose pods have to share a domain: nodes that have the same value of a label.

The pods are tried on the nodes of one domain after the other, or if some of them have nodes already, on those of theirs
alone. Of the domains that would do, the one is taken that has the most pods of the group, and that is the fullest then: the
sum of PodGroupPodsCount, which gives 100 to the most pods, and of NodeResourcesFit, which scores all nodes of a domain as
one, with its weight. Where several are the best, kube-scheduler draws one; restow takes the first by name. If none will do,
it reports what one of them had to say, in an order of chance; restow, the first by name. With the feature gate, which a
group shows that has to share a domain, all nodes are the one domain of any other group.
Source: TopologyPlacementGenerator and podGroupSchedulingPlacementAlgorithm, Kubernetes 1.37.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from restow.cluster.interning import BoolArray
from restow.scheduling.framework.scheduling_groups import GroupKey
from restow.scheduling.loop.group_trial import FAILED, GroupTrial
from restow.scheduling.loop.schedulers import Schedulers

#: The domain of a node that is in none.
_NONE: Final = -1
_NO_DOMAINS: Final = "no feasible placements found"

#: Tries the pods of the group on some nodes, bool[node].
Attempt = Callable[[BoolArray], GroupTrial]


def in_best_domain(schedulers: Schedulers, group: GroupKey, topology: str, attempt: Attempt) -> GroupTrial:
    """What comes of a group in the best of its domains, the values of this label; the state is the same afterwards.

    Without a label it is free to go anywhere.
    """
    before = schedulers.groups.placed(group)
    own, problem = _domain_of(schedulers, topology, before) if topology else (None, "")
    if problem:
        return GroupTrial(len(before), error=f"cannot determine domain for already scheduled pods: {problem}")
    domains = _domains(schedulers, topology, own) if topology else [_everywhere(schedulers)]
    trials: list[GroupTrial] = []
    for nodes in domains:
        with schedulers.taken_back():
            trials.append(attempt(nodes))
        if trials[-1].broken:
            return trials[-1]
    if not trials:
        return GroupTrial(len(before), told=_NO_DOMAINS)
    successful = [(trial, nodes) for trial, nodes in zip(trials, domains, strict=True) if not trial.told]
    return _best(schedulers, successful) if successful else _told_first(trials)


def _everywhere(schedulers: Schedulers) -> BoolArray:
    return np.ones(len(schedulers.cluster.nodes), dtype=bool)


def _domain_of(schedulers: Schedulers, topology: str, pods: Sequence[int]) -> tuple[str | None, str]:
    """The domain of pods that have nodes, None where there are none; and why it cannot be told, or nothing."""
    state, labels, own = schedulers.context.state, schedulers.cluster.nodes.labels, ""
    for pod in pods:
        domain = labels[int(state.node[pod])].get(topology)
        if domain is None:
            return None, f"no topology domain found for pod {schedulers.cluster.pods.full_name(pod)}"
        if own not in ("", domain):
            return None, f"more than 1 domain found for pod group: {own}, {domain}"
        own = domain
    return own if pods else None, ""


def _domains(schedulers: Schedulers, topology: str, own: str | None) -> list[BoolArray]:
    """The nodes of each domain, bool[node], by its name; only those of ``own`` where that is given."""
    values = [each.get(topology) for each in schedulers.cluster.nodes.labels]
    names = sorted({each for each in values if each is not None and own in (None, each)})
    numbers = {name: number for number, name in enumerate(names)}
    domain = np.array([_NONE if each is None else numbers.get(each, _NONE) for each in values], dtype=np.int64)
    return [np.equal(domain, number) for number in range(len(names))]


def _best(schedulers: Schedulers, trials: Sequence[tuple[GroupTrial, BoolArray]]) -> GroupTrial:
    """The first of the best of some trials that would do, each with its nodes."""
    most = max(trial.scheduled for trial, _ in trials)
    return max(trials, key=lambda each: _score(schedulers, each[0], each[1], most))[0]


def _score(schedulers: Schedulers, trial: GroupTrial, nodes: BoolArray, most: int) -> int:
    pods = [pod for pod, _ in trial.placements]
    asked = schedulers.scheduler_of(trial.decisions[0].pod)
    return 100 * trial.scheduled // most + asked.fullness(pods, np.flatnonzero(nodes))


def _told_first(trials: Sequence[GroupTrial]) -> GroupTrial:
    """The first of some trials of which none would do, with what the group is told of that."""
    first = trials[0]
    # Of what was clear before any pod was tried, only the beginning is repeated.
    status = FAILED if first.told.startswith(FAILED) else first.told
    first.told = f"{FAILED}, 0/{len(trials)} placements are available, first placement status: {status}"
    return first
