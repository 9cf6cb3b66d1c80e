"""What is kept of dry runs that are about resources alone says what a dry run would say now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import a_pod
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.kube.objects import PodGroup
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.post_filtering import Preemption
from restow.scheduling.loop.decision import Scheduler
from restow.scheduling.plugins.default_preemption import _resolvable
from restow.scheduling.preemption import dry_runs
from restow.scheduling.preemption.candidates import Candidates, KnownCandidates, RankedCandidates, least
from scheduling.crowds import GROUPS, a_crowd, in_groups, random_group
from scheduling.random_scenes import Changes

SEEDS = st.integers(0, 2**32)
#: How many changes come between two questions: few nodes are tried out otherwise than many.
BURSTS = (0, 1, 1, 2, 5, 40)


def a_scheduler(choice: Random, *, grouped: bool = False) -> Scheduler:
    """With groups it is one of Kubernetes 1.37, where their pods may go together."""
    if not grouped:
        return Scheduler(Context.of(ClusterState(a_cluster(*a_crowd(choice)))))
    cluster = replace(a_cluster(*in_groups(choice, a_crowd(choice))), server_minor=37)
    return Scheduler(Context.of(ClusterState(cluster)))


def change_a_group(state: ClusterState, choice: Random) -> None:
    name = choice.choice(GROUPS)
    made = msgspec.convert(random_group(choice, name), PodGroup)
    state.put("PodGroup", ("default", name), choice.choice([made, made, None]))


def change_a_budget(state: ClusterState, choice: Random) -> None:
    budgets = state.cluster.kind("PodDisruptionBudget")
    if budgets:
        key = choice.choice(sorted(budgets))
        status = msgspec.structs.replace(budgets[key].status, disruptions_allowed=choice.randint(0, 2))
        state.put("PodDisruptionBudget", key, msgspec.structs.replace(budgets[key], status=status))


@pytest.mark.parametrize("grouped", [False, True])
@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_what_is_kept_is_what_dry_runs_find(seed, grouped):
    """Every node's victims, the violated budgets, the best nodes, and why the others are no candidates."""
    choice = Random(seed)
    scheduler = a_scheduler(choice, grouped=grouped)
    state, preemptor, filters = scheduler._state, scheduler._post_filters[-1], scheduler._filters
    changes = Changes(state, choice, list(range(len(state.exists))))
    for _ in range(6):
        for pod in scheduler.queue().pods:
            if scheduler._nominations.node(pod) >= 0:
                continue
            verdicts = filters.run(pod)
            if not verdicts.rejections:
                # Nobody has objected to any node for any pod so far, so nobody asks for preemption.
                assert verdicts.passes.all()
                continue
            wanted = _resolvable(verdicts)
            found, reasons = preemptor._try_out(pod, wanted)
            expected, given_reasons = preemptor._try_out_each(filters.prefilter(pod), wanted)
            assert (found.candidates, found.best) == (expected.candidates, expected.best)
            assert found.best or +reasons == +given_reasons
            trials, fit = preemptor._resource_trials, filters.only_usage(filters.prefilter(pod))
            # A pod that came may keep others away, and then more than resources is at stake.
            if fit is not None:
                trials.ranked_candidates(trials._size(fit, pod)).validate()
        for pod in scheduler.queue().pods[: choice.choice([0, 1, 3])]:
            scheduler.settle(scheduler.decide(pod))
        for _ in range(choice.choice(BURSTS)):
            changes.once()
        if grouped and choice.random() < 0.3:
            change_a_group(state, choice)
        if choice.random() < 0.3:
            change_a_budget(state, choice)


@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_nodes_one_by_one_have_the_victims_that_all_at_once_have(seed):
    scheduler = a_scheduler(Random(seed))
    filters, trials = scheduler._filters, scheduler._post_filters[-1]._resource_trials
    everywhere = np.arange(len(scheduler._state.running))
    for pod in scheduler.queue().pods:
        size = trials._size(filters.only_usage(filters.prefilter(pod)), pod)
        potential = scheduler._post_filters[-1]._search.potential(size[0], everywhere)
        one_by_one, all_at_once = trials._try_out_one_by_one(size, potential), trials._try_out_all(size, potential)
        assert one_by_one.tolist() == all_at_once.tolist()


def test_the_crowds_have_what_is_to_be_compared():
    """Pods preempt on some nodes of many, some nodes tie and some do not, and some pods find no victims."""
    chosen, ties, hopeless = 0, 0, 0
    for seed in range(40):
        scheduler = a_scheduler(Random(seed))
        for pod in scheduler.queue().pods:
            preemption = scheduler.decide(pod).preemption
            if preemption is not None:
                chosen += 0 < len(preemption.best) < len(preemption.candidates)
                ties += len(preemption.best) > 1
                hopeless += preemption.chosen is None
    assert min(chosen, ties, hopeless) > 5


@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_the_best_follow_whatever_nodes_change(seed):
    choice, count = Random(seed), 12
    pods = a_cluster(
        *(a_pod(f"p{number}", priority=choice.randint(0, 1)) for number in range(count)),
    ).pods
    ranked_candidates, by_node = RankedCandidates(pods, count, KnownCandidates()), {}
    for _ in range(20):
        changed = sorted(choice.sample(range(count), choice.choice([1, 1, 2, count])))
        having = [node for node in changed if choice.random() < 0.7]
        violations = [choice.randint(0, 1) for _ in having]
        ranked_candidates.replace(np.array(changed), _of_one_victim(having, violations))
        by_node = {node: by_node[node] for node in by_node if node not in changed} | dict(
            zip(having, violations, strict=True)
        )
        ranked_candidates.validate()
        wanted = np.array([choice.random() < 0.5 for _ in range(count)])
        rank = {node: (violations, pods.priority[node]) for node, violations in by_node.items() if wanted[node]}
        best = [node for node in sorted(rank) if rank[node] == min(rank.values())]
        assert [each.node for each in ranked_candidates.among(wanted).best] == best


def _of_one_victim(nodes: list[int], violations: list[int]) -> Candidates:
    """A candidate for each node, whose victim has the number of the node."""
    columns = np.array(nodes, dtype=np.int64)
    return Candidates(columns, np.arange(len(nodes) + 1), columns, np.array(violations, dtype=np.int64), columns < 0)


def test_candidates_of_the_past_are_forgotten_when_there_are_too_many(monkeypatch):
    monkeypatch.setattr(dry_runs, "CAPACITY", 0)
    scheduler = a_scheduler(Random(3))
    pods = scheduler.queue().pods
    told = [preemption and preemption.candidates for preemption in (scheduler.decide(pod).preemption for pod in pods)]
    assert any(told)
    assert told == [preemption and preemption.candidates for preemption in map(alone(scheduler), pods)]


def alone(scheduler: Scheduler) -> Callable[[int], Preemption | None]:
    """What a scheduler that never saw another pod would do for one."""
    return lambda pod: Scheduler(Context.of(scheduler._state)).decide(pod).preemption


def test_least_goes_by_one_criterion_after_the_other():
    criteria = np.array([[1, 0, 0, 0], [0, 2, 1, 1], [0, 0, 5, 5]])
    assert least(criteria, np.arange(4)).tolist() == [2, 3]
