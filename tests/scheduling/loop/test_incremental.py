"""Whatever is kept from one question to the next must say what looking afresh would say.

Plugins, counts and caches follow the changes of one state. After any changes - pods placed, moved, removed, terminating,
all of it taken back - a scheduler that has been asked all along and one that has just been made must decide the same, in
every respect: verdicts, scores of every plugin, totals, candidates for preemption, messages.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders import HOSTNAME, a_node, a_pod, pod_anti_affinity, pod_term, selector
from descheduling.harness import a_cluster
from restow.cluster.pod_columns import PodGroups
from restow.cluster.pods import PENDING
from restow.cluster.state import ClusterState
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE
from restow.scheduling.framework.caches import PerNode
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.extension_points import CycleError
from restow.scheduling.framework.pod_counts import PodCounts
from restow.scheduling.framework.scoring import rank
from restow.scheduling.loop.decision import Scheduler, SchedulingDecision
from restow.scheduling.plugins.resource_scoring import NonzeroUsage
from scheduling.random_scenes import Changes, Scene

SEEDS = st.integers(0, 2**32)
#: How many changes come between two questions; caches may look at few of them otherwise than at many.
BURSTS = (0, 1, 1, 1, 2, 3, 4, 100)


def told(decision: SchedulingDecision) -> dict[str, object]:
    """All that a decision says, by name and not by internal number."""
    verdicts, ranking, preempts = decision.verdicts, decision.ranking, decision.preemption
    told: dict[str, object] = {
        "verdicts": [verdicts.rejection(node) or verdict for node, verdict in enumerate(verdicts.verdict.tolist())],
        "prefilter": verdicts.prefilter,
        "preemption": preempts and (preempts.candidates, preempts.best, preempts.message, preempts.keeps_nomination),
        "message": decision.message,
        "best": decision.best.tolist(),
        "error": decision.error,
        "node": (decision.node, decision.nominated_node, decision.victims),
    }
    if ranking is not None:
        told["scores"] = {name: scores.tolist() for name, scores in ranking.by_plugin.items()}
        told["totals"] = (ranking.nodes.tolist(), ranking.total.tolist())
    return told


def placed(state: ClusterState) -> list[list[object]]:
    """Where every pod is, and what that leaves on the nodes."""
    arrays = (state.node, state.exists, state.terminating, state.running, state.requested)
    return [each.tolist() for each in arrays]


def nominations(scheduler: Scheduler) -> dict[int, int]:
    kept = scheduler._nominations
    return {pod: kept.node(pod) for pod in range(len(scheduler._state.exists)) if kept.node(pod) >= 0}


def a_fresh_one(asked_before: Scheduler, state: ClusterState) -> Scheduler:
    """A scheduler made now; who is nominated for what is no part of the state, so it is told."""
    fresh, known = Scheduler(Context.of(state)), nominations(asked_before)
    for pod in nominations(fresh):
        fresh._nominations.drop(pod)
    for pod, node in known.items():
        fresh._nominations._add(pod, node)
    return fresh


def asked_about(state: ClusterState, choice: Random) -> list[int]:
    """Pods that wait, and some others: a pod may be asked about wherever it is."""
    everyone = [pod for pod, name in enumerate(state.cluster.pods.names) if name]
    waiting = [pod for pod in everyone if state.exists[pod] and state.node[pod] == PENDING]
    return sorted({*choice.sample(waiting, min(3, len(waiting))), *choice.sample(everyone, 2)})


def movable(state: ClusterState) -> list[int]:
    """The pods whose placement reserves no volume: a scheduler made later cannot know of reservations."""
    return [pod for pod, name in enumerate(state.cluster.pods.names) if name and name[0] != "w"]


@given(seed=SEEDS)
# A pod got labels that no other had, and preemption looked at its affinity before any filter did.
@example(seed=428273)
@settings(max_examples=30, deadline=None)
def test_a_scheduler_that_has_seen_every_change_decides_as_one_made_now(seed):
    choice, scene = Random(seed), Scene(seed)
    state = ClusterState(a_cluster(*scene.objects()))
    scheduler, pods = Scheduler(Context.of(state)), movable(state)
    changes = Changes(state, choice, pods)
    for _ in range(6):
        before = placed(state)
        fresh = a_fresh_one(scheduler, choice.choice([state, state.fork()]))
        for pod in asked_about(state, choice):
            said, expected = scheduler.decide(pod), fresh.decide(pod)
            assert told(said) == told(expected), state.cluster.pods.full_name(pod)
            assert scheduler.odds(said).nodes.tolist() == fresh.odds(expected).nodes.tolist()
        assert scheduler.queue() == fresh.queue()
        assert placed(state) == before, "a decision changes nothing"
        state.validate()
        for pod in [pod for pod in scheduler.queue().pods if pod in pods][: choice.choice([0, 0, 1, 3])]:
            scheduler.settle(scheduler.decide(pod))
        for _ in range(choice.choice(BURSTS)):
            changes.once()


@given(seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_pods_that_differ_in_one_thing_are_not_taken_for_one_another(seed):
    """One scheduler for all pods decides as one that never saw another pod."""
    state = ClusterState(a_cluster(*Scene(seed, variety=0.9).objects()))
    scheduler, everyone = Scheduler(Context.of(state)), list(range(len(state.exists)))
    Random(seed).shuffle(everyone)
    for pod in everyone:
        alone = Scheduler(Context.of(state))
        assert told(scheduler.decide(pod)) == told(alone.decide(pod)), state.cluster.pods.full_name(pod)


@pytest.mark.parametrize(
    "other", [pytest.param({"namespace": "other"}, id="namespace"), pytest.param({"labels": {"app": "b"}}, id="labels")]
)
def test_a_pod_that_someone_repels_is_not_taken_for_one_that_nobody_does(other):
    node, wanted = a_node("n", labels={HOSTNAME: "n"}), {"namespace": "default", "labels": {"app": "a"}}
    repelling = a_pod("guard", node="n", affinity=pod_anti_affinity([pod_term(selector(labels={"app": "a"}))]))
    state = ClusterState(a_cluster(node, repelling, a_pod("p", **wanted), a_pod("q", **wanted | other)))
    scheduler, names = Scheduler(Context.of(state)), state.cluster.pods.names
    assert [scheduler.decide(names.index(name)).node for name in "qp"] == [0, PENDING]


@given(seed=SEEDS)
@settings(max_examples=20, deadline=None)
def test_a_decision_says_later_what_it_said_at_once(seed):
    """What is worked out when it is read must not see what has happened since."""
    choice, scene = Random(seed), Scene(seed)
    state = ClusterState(a_cluster(*scene.objects()))
    scheduler, pods = Scheduler(Context.of(state)), movable(state)
    changes = Changes(state, choice, pods)
    held: list[tuple[SchedulingDecision, dict[str, object]]] = []
    for _ in range(5):
        fresh = a_fresh_one(scheduler, state)
        held += [(scheduler.decide(pod), told(fresh.decide(pod))) for pod in asked_about(state, choice)]
        for _ in range(choice.choice(BURSTS)):
            changes.once()
    for decision, expected in held:
        assert told(decision) == expected, state.cluster.pods.full_name(decision.pod)


@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_asking_in_between_makes_no_difference(seed):
    """Two equal states change alike; one scheduler is asked all along, the other at the end only.

    Here pods may reserve volumes, which a scheduler learns from the changes that it sees.
    """
    cluster = a_cluster(*Scene(seed).objects())
    asked, silent = (Scheduler(Context.of(ClusterState(cluster))) for _ in range(2))
    everyone = list(range(len(asked._state.exists)))
    equal = [Changes(each._state, Random(seed), everyone) for each in (asked, silent)]
    choice = Random(seed)
    for _ in range(5):
        for _ in range(choice.choice(BURSTS)):
            for each in equal:
                each.once()
        for pod in asked_about(asked._state, choice):
            asked.decide(pod)
    for pod in everyone:
        assert told(asked.decide(pod)) == told(silent.decide(pod)), cluster.pods.full_name(pod)


@given(seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_some_nodes_are_told_of_as_all_are(seed):
    """Which of them fit, and which of them score highest among themselves, when others have changed too."""
    choice = Random(seed)
    state = ClusterState(a_cluster(*Scene(seed).objects()))
    asked = Scheduler(Context.of(state))
    changes = Changes(state, choice, movable(state))
    nodes = range(len(state.cluster.nodes))
    for _ in range(6):
        for _ in range(choice.choice(BURSTS)):
            changes.once()
        for pod in asked_about(state, choice):
            some = np.array(sorted(choice.sample(nodes, choice.randint(1, len(nodes)))))
            fresh = a_fresh_one(asked, state)
            assert asked.passing(pod, some).tolist() == some[fresh.fitting(pod)[some]].tolist()
            assert asked.best_of(pod, some).tolist() == best_by_rank(fresh, pod, some)
            if choice.random() < 0.3:
                assert told(asked.decide(pod)) == told(fresh.decide(pod))


def best_by_rank(scheduler: Scheduler, pod: int, nodes) -> list[int]:
    among = np.zeros(len(scheduler._state.cluster.nodes), dtype=bool)
    among[nodes] = True
    try:
        return rank(pod, among, scheduler._scores).best.tolist()
    except CycleError:
        return nodes.tolist()


@given(seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_what_is_counted_on_the_way_is_what_a_recount_finds(seed):
    """Counts of chosen pods, requests with defaults, and arrays that are computed anew where something changed."""
    choice = Random(seed)
    state = ClusterState(a_cluster(*Scene(seed).objects()))
    everyone = np.arange(len(state.exists))
    usage, counts = NonzeroUsage(state), PodCounts(state)
    # The conditions of each pod are its own, so each is a group of its own.
    one_by_one = PodGroups(state.cluster.pods, "conditions")
    kept = PerNode(
        state, len(state.cluster.nodes), lambda row, nodes: state.requested[row, nodes] + state.running[nodes]
    )
    changes = Changes(state, choice, everyone.tolist())
    for step in range(12):
        members = np.flatnonzero([choice.random() < 0.3 for _ in everyone])
        counts.tracker(step, one_by_one, members.tolist, set(members.tolist()).__contains__)
        usage.requested()
        row = choice.randrange(len(state.requested))
        kept.of(row)
        some = np.flatnonzero([choice.random() < 0.4 for _ in state.cluster.nodes.names])
        for _ in range(choice.choice(BURSTS)):
            changes.once()
        if choice.random() < 0.6:
            counts.validate()
            assert usage.requested().tolist() == NonzeroUsage(state).requested().tolist()
            assert kept.at(row, some).tolist() == (state.requested[row] + state.running)[some].tolist()
        if choice.random() < 0.6:
            assert kept.of(row).tolist() == (state.requested[row] + state.running).tolist()
    state.validate()


def test_sums_with_defaults_that_no_int64_holds_wrap_around():
    """As Go's do: a pod of 8Ei leaves no room for another one's 200Mi, which it does not request."""
    full = a_pod("full", node="n1", requests={"memory": str(2**63 - 1)})
    state = ClusterState(a_cluster(a_node("n1"), a_node("n2"), full, a_pod("small", node="n2", memory=None)))
    usage = NonzeroUsage(state)
    usage.requested()
    small = state.cluster.pods.names.index("small")
    state.remove(small)
    state.place(small, 0)
    assert usage.requested().tolist() == NonzeroUsage(state).requested().tolist()
    assert usage.requested()[1, 0] < 0


def test_the_scenes_have_what_is_to_be_compared():
    """Each plugin rejects or scores something, pods preempt, and nominations matter, in a few dozen scenes."""
    objecting, scoring, preempting, skipped = set(), set(), 0, 0
    for seed in range(40):
        scheduler = Scheduler(Context.of(ClusterState(a_cluster(*Scene(seed).objects()))))
        for pod in scheduler.queue().pods:
            decision = scheduler.decide(pod)
            objecting |= {each.plugin for each in decision.verdicts.rejections}
            scoring |= set(decision.ranking.by_plugin) if decision.ranking else set()
            preempting += decision.nominated_node >= 0
            skipped += -2 in decision.verdicts.verdict
    assert {*DEFAULT_PROFILE.plugins["filter"]} - objecting == {"NodeName", "DynamicResources", "NodeDeclaredFeatures"}
    assert len(scoring) == 7
    assert min(preempting, skipped) > 5
