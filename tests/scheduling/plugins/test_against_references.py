"""Both plugins against plain loops, on random clusters and after any sequence of changes.

The plugins follow the changes of one state; a plugin made afresh on that state, and plain loops over its objects, must
say the same. Judging some of the nodes must say of those what judging all says. Clusters are drawn from a seed: small
ones, as hypothesis prefers them, have too few pods that mean one another.
"""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import (
    a_namespace,
    a_node,
    a_pod,
    a_replica_set,
    a_service,
    node_affinity,
    node_term,
    pod_affinity,
    pod_anti_affinity,
    pod_term,
    selector,
    spread,
)
from restow.cluster.pods import PENDING
from restow.kube.objects import TopologySpreadConstraint
from restow.scheduling.framework.context import Context
from restow.scheduling.plugins.inter_pod_affinity import InterPodAffinity
from restow.scheduling.plugins.pod_topology_spread import PodTopologySpread
from scheduling.plugins.affinity_reference import affinity_codes, affinity_scores
from scheduling.plugins.asking import a_context, scores, statuses
from scheduling.plugins.spread_reference import HOST, SYSTEM, ZONE, spread_codes, spread_scores
from scheduling.plugins.world import World

NODES = ("n1", "n2", "n3", "n4", "n5", "n6")
KEYS = [HOST, ZONE, "rack"]
LISTED = [
    {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
    {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"},
]
SELECTORS = [
    None,
    {},
    *[selector(("app", "Exists"))] * 4,
    selector(("app", "In", "a")),
    selector(("app", "In", "a", "b"), ("tier", "In", "x")),
    selector(("app", "NotIn", "a")),
    selector(("tier", "DoesNotExist")),
]
NAMESPACE_SELECTORS = [
    *[None] * 4,
    {},
    selector(labels={"team": "a"}),
    selector(("team", "DoesNotExist")),
    selector(("team", "NotIn", "b")),
]
BEHIND = [
    a_service("s1", selector={"app": "a"}),
    a_service("s2", selector={"tier": "x"}),
    a_service("s3", namespace="other", selector={"app": "b"}),
    a_service("s4", selector={}),
    a_service("s5"),
    a_replica_set("rs", selector=selector(("app", "In", "a", "b"))),
    a_replica_set("rs", namespace="other", selector=selector(labels={"app": "a"})),
]
TEAMS = [a_namespace("default", labels={"team": "a"}), a_namespace("other", labels={"team": "b"})]


def some_of(choice, things, least=0):
    """Some of the things, in order."""
    kept = set(choice.sample(range(len(things)), choice.randint(least, len(things))))
    return [each for number, each in enumerate(things) if number in kept]


def labelled(choice, **values):
    """Labels of which each is there three times out of four, with one of the values."""
    return {key: choice.choice(each) for key, each in values.items() if choice.random() < 0.75}


def drawn_nodes(choice):
    taints = [None, None, ["closed=yes:NoSchedule"], ["slow:PreferNoSchedule"]]
    return [
        a_node(
            name,
            labels=labelled(choice, **{HOST: [name], ZONE: ["", "z1", "z1", "z2", "z2"], "rack": "rs"}),
            taints=choice.choice(taints),
        )
        for name in NODES
    ]


def drawn_pods(choice, parts):
    """Pods p0, p1... each with the parts that ``parts`` draws for it."""
    return [
        a_pod(
            f"p{number}",
            namespace=choice.choice(["default", "default", "other", "third"]),
            node=choice.choice([None, *NODES]),
            labels=labelled(choice, app="ab", tier="xy", own="12"),
            phase=choice.choice([None, "Pending", "Running", "Running", "Succeeded"]),
            deleted=choice.choice([None, None, None, "2026-01-01T00:00:00Z"]),
            **parts(choice),
        )
        for number in range(choice.randint(1, 14))
    ]


def constraint(choice):
    when = choice.choice(["DoNotSchedule", "ScheduleAnyway"])
    return spread(
        choice.randint(1, 3),
        choice.choice(KEYS),
        choice.choice(SELECTORS),
        when=when,
        min_domains=choice.choice([None, 1, 3]) if when == "DoNotSchedule" else None,
        node_affinity_policy=choice.choice([None, "Honor", "Ignore"]),
        node_taints_policy=choice.choice([None, "Honor", "Ignore"]),
        match_label_keys=choice.choice([None, None, ["tier"], ["own", "absent"]]),
    )


def spreading(choice):
    return {
        "spread": [constraint(choice) for _ in range(choice.choice([0, 0, 1, 1, 2]))],
        "affinity": choice.choice([None, None, node_affinity([node_term(("rack", "Exists"))])]),
        "node_selector": choice.choice([None, None, {ZONE: "z1"}]),
        "tolerations": choice.choice([None, ["closed=yes:NoSchedule"]]),
        "owner": choice.choice([None, ("ReplicaSet", "rs"), ("ReplicaSet", "gone"), ("Job", "job")]),
    }


def attracting(choice):
    if choice.random() < 0.3:
        return {}
    required = [[term(choice) for _ in range(choice.choice([0, 0, 1, 2]))] for _ in range(2)]
    preferred = [[(choice.randint(1, 9), term(choice)) for _ in range(choice.choice([0, 1, 2]))] for _ in range(2)]
    return {
        "affinity": pod_affinity(required[0], preferred[0]) | pod_anti_affinity(required[1], preferred[1]),
    }


def term(choice):
    return pod_term(
        choice.choice(SELECTORS),
        topology=choice.choice(KEYS),
        namespaces=choice.choice([None, None, None, ["other"], ["default", "third"]]),
        namespace_selector=choice.choice(NAMESPACE_SELECTORS),
    )


def changed(state, choice):
    """Place, remove, terminate or take back a few times; yields after each change."""
    yield
    for _ in range(4):
        mark = state.checkpoint()
        pod = choice.randrange(len(state.exists))
        what = choice.choice(["place", "place", "remove", "terminate"])
        if what == "place" or not state.exists[pod]:
            state.place(pod, choice.choice([PENDING, *range(len(NODES))]))
        elif what == "remove":
            state.remove(pod)
        else:
            state.terminate(pod)
        yield
        if choice.random() < 0.3:
            state.undo(mark)
            yield


SEEDS = st.integers(0, 2**32)
SETTINGS = settings(max_examples=30, deadline=None)


@pytest.mark.parametrize("defaults", [SYSTEM, LISTED, []], ids=["system", "listed", "none"])
@given(seed=SEEDS)
@SETTINGS
def test_spread_is_what_plain_loops_say(defaults, seed):
    choice = Random(seed)
    listed = [msgspec.convert(each, TopologySpreadConstraint) for each in defaults]
    args = ("System",) if defaults is SYSTEM else ("List", listed)
    objects = [*drawn_nodes(choice), *drawn_pods(choice, spreading), *some_of(choice, BEHIND)]
    context = a_context(*objects)
    plugin = PodTopologySpread(context, *args)
    for _ in changed(context.state, choice):
        world, fresh = World.of(context.state, objects), PodTopologySpread(Context.of(context.state), *args)
        feasible = some_of(choice, NODES, 1)
        for pod in range(len(world.pods)):
            everywhere = statuses(context, plugin, pod)
            assert {name: status[0] for name, status in everywhere.items()} == spread_codes(world, pod, defaults)
            assert everywhere == statuses(context, fresh, pod)
            assert statuses(context, plugin, pod, feasible) == {name: everywhere[name] for name in feasible}
            scored = scores(context, plugin, pod, feasible)
            assert scored == spread_scores(world, pod, feasible, defaults) == scores(context, fresh, pod, feasible)
    context.counts.validate()


@pytest.mark.parametrize("weighing", [(1, False), (0, False), (5, True)], ids=["default", "no weight", "ignoring"])
@given(seed=SEEDS)
@SETTINGS
def test_affinity_is_what_plain_loops_say(weighing, seed):
    choice = Random(seed)
    hard_weight, ignore = weighing
    args = {"hard_weight": hard_weight, "ignore_preferred_of_existing": ignore}
    objects = [*drawn_nodes(choice), *drawn_pods(choice, attracting), *some_of(choice, TEAMS)]
    context = a_context(*objects)
    plugin = InterPodAffinity(context, **args)
    for _ in changed(context.state, choice):
        world, fresh = World.of(context.state, objects), InterPodAffinity(Context.of(context.state), **args)
        feasible = some_of(choice, NODES, 1)
        for pod in range(len(world.pods)):
            everywhere = statuses(context, plugin, pod)
            assert everywhere == affinity_codes(world, pod) == statuses(context, fresh, pod)
            assert statuses(context, plugin, pod, feasible) == {name: everywhere[name] for name in feasible}
            scored = scores(context, plugin, pod, feasible)
            expected = affinity_scores(world, pod, feasible, hard_weight, ignore_existing=ignore)
            assert scored == expected == scores(context, fresh, pod, feasible)
    context.counts.validate()
