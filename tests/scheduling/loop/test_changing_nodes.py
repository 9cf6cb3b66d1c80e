"""A scheduler that has seen nodes come, change and go decides as one that is made now, on the cluster of a dump made now."""

from __future__ import annotations

from random import Random

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import HOSTNAME, ZONE, a_node, a_pod, node_metrics, selector, spread
from builders.entry_points import entry_points, offering
from descheduling.harness import a_cluster
from restow.cluster.node_store import read_node
from restow.cluster.nodes import NodeRow
from restow.cluster.state import ClusterState
from restow.kube.objects import Node
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import SchedulerPlugin
from restow.scheduling.framework.extension_points import FilterResult, Outcome, one_outcome
from restow.scheduling.loop.decision import Scheduler, SchedulingDecision
from restow.scheduling.plugins.balanced_allocation import BalancedAllocation
from restow.scheduling.plugins.node_resources_fit import NodeResourcesFit
from restow.scheduling.sampling.landing_odds import LandingOdds
from scheduling.configurations import a_configuration, a_profile, a_set, loaded
from scheduling.loop.test_incremental import BURSTS, asked_about, movable, nominations, placed, told
from scheduling.random_scenes import GPU, Changes, Scene

SEEDS = st.integers(0, 2**32)
FULL, DISK = Outcome(("the rack is full",)), "ephemeral-storage"


class FewOfARack:
    """A plugin of another package: it keeps what nodes were like when it was made, and counts pods by what it kept."""

    def __init__(self, context, _args):
        column = context.state.cluster.nodes.label_column("rack")
        self._rack = np.where(column.codes < 0, len(column.values), column.codes)
        self._count = np.zeros(len(column.values) + 1, dtype=np.int64)

    def add_pod(self, _pod, node):
        self._count[self._rack[node]] += 1

    def remove_pod(self, _pod, node):
        self._count[self._rack[node]] -= 1

    def filter(self, _pod: int, nodes: np.ndarray) -> FilterResult:
        return one_outcome(self._count[self._rack[nodes]] > 4, FULL)


def a_rich_profile() -> SchedulerProfile:
    """One that looks at more of nodes than the default does."""
    resources = [{"name": name, "weight": 1} for name in ("cpu", GPU)]
    added = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "Exists"}]}]}
    args = {
        "NodeResourcesBalancedAllocation": {"resources": resources},
        "NodeResourcesFit": {"scoringStrategy": {"type": "MostAllocated", "resources": resources}},
        "NodeAffinity": {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": added}},
        "LoadVariationRiskBalancing": {"guardSeconds": 60},
    }
    plugins = a_set("FewOfARack", "LoadVariationRiskBalancing=3")
    return loaded(a_configuration(a_profile(multiPoint=plugins, args=args))).profiles[0]


@pytest.fixture(scope="module")
def profiles():
    """Profiles by name; the plugin of another package is installed as long as they are used."""
    with entry_points(offering("FewOfARack", SchedulerPlugin("FewOfARack", ("filter",), FewOfARack))):
        yield {"default": DEFAULT_PROFILE, "rich": a_rich_profile()}


def row_of(drawn) -> NodeRow:
    """The row of a builder node."""
    return read_node(msgspec.json.decode(msgspec.json.encode(drawn), type=Node)).row


def a_fresh_one(asked_before: Scheduler, state: ClusterState, profile: SchedulerProfile) -> Scheduler:
    """A scheduler made now, with the nominations of the other one."""
    fresh, known = Scheduler(Context.of(state), profile), nominations(asked_before)
    for pod in nominations(fresh):
        fresh._nominations.drop(pod)
    for pod, node in known.items():
        fresh._nominations._add(pod, node)
    return fresh


def assert_alike(asked: Scheduler, fresh: Scheduler, pods: list[int]) -> None:
    """Both say the same of some pods."""
    for pod in pods:
        said, expected = asked.decide(pod), fresh.decide(pod)
        assert told(said) == told(expected), fresh._state.cluster.pods.full_name(pod)
        assert asked.odds(said).nodes.tolist() == fresh.odds(expected).nodes.tolist()
        admitting = asked.admitting(pod).tolist()
        assert admitting == fresh.admitting(pod).tolist()
        assert set(fresh.fitting(pod).nonzero()[0].tolist()) <= set(admitting), "a node that takes it is left out"


class NodeChanges:
    """Random changes of the nodes of a state, with the objects that a dump would have."""

    def __init__(self, state: ClusterState, scene: Scene, choice: Random) -> None:
        self.state, self._scene, self._choice = state, scene, choice
        self.there = {}
        self._names = [*scene.nodes, "n0", "n15", "z"]

    def once(self) -> None:
        nodes, choice = self.state.cluster.nodes, self._choice
        name = choice.choice(self._names)
        if name not in nodes.index:
            self.there[name] = self._scene._node(name)
            self.state.create_node(row_of(self.there[name]))
        elif choice.random() < 0.3:
            self.there[name] = None
            self.state.delete_node(nodes.index[name])
        else:
            self.there[name] = self._changed(name)
            self.state.update_node(nodes.index[name], row_of(self.there[name]))

    def _changed(self, name):
        """A node that is different in one thing, or in all."""
        drawn, before = self._scene._node(name), self.there[name]
        if before is None or self._choice.random() < 0.3:
            return drawn
        part = self._choice.choice(["metadata", "spec", "status"])
        return before | {part: drawn[part]}


@pytest.mark.parametrize("name", ["default", "rich"])
@given(seed=SEEDS)
@settings(max_examples=12, deadline=None)
def test_it_decides_as_on_a_dump_of_the_nodes_as_they_are(profiles, name, seed):
    choice, scene, profile = Random(seed), Scene(seed), profiles[name]
    objects = [*scene.objects(), *(node_metrics(node, cpu="1", memory="1Gi") for node in scene.nodes[::2])]
    state = ClusterState(a_cluster(*objects))
    scheduler, changes = Scheduler(Context.of(state), profile), NodeChanges(state, scene, choice)
    changes.there = {each["metadata"]["name"]: each for each in objects if each["kind"] == "Node"}
    others = [each for each in objects if each["kind"] != "Node"]
    for _ in range(4):
        dumped = ClusterState(a_cluster(*others, *filter(None, changes.there.values())))
        assert_alike(scheduler, a_fresh_one(scheduler, dumped, profile), asked_about(state, choice))
        state.validate()
        for _ in range(choice.choice([1, 1, 2, 5])):
            changes.once()


@pytest.mark.parametrize("name", ["default", "rich"])
@given(seed=SEEDS)
@settings(max_examples=12, deadline=None)
def test_it_follows_nodes_and_pods_in_any_order(profiles, name, seed):
    """Moves, pods that come and go, and all of it taken back included."""
    choice, scene, profile = Random(seed), Scene(seed), profiles[name]
    objects = scene.objects()
    state = ClusterState(a_cluster(*objects))
    scheduler, pods = Scheduler(Context.of(state), profile), movable(state)
    of_pods, of_nodes = Changes(state, choice, pods), NodeChanges(state, scene, choice)
    of_nodes.there = {each["metadata"]["name"]: each for each in objects if each["kind"] == "Node"}
    held: list[tuple[SchedulingDecision, dict[str, object]]] = []
    for _ in range(5):
        before = placed(state)
        fresh = a_fresh_one(scheduler, choice.choice([state, state.fork()]), profile)
        assert_alike(scheduler, fresh, asked_about(state, choice))
        assert placed(state) == before, "a decision changes nothing"
        held += [(scheduler.decide(pod), told(fresh.decide(pod))) for pod in asked_about(state, choice)[:1]]
        state.validate()
        for pod in [pod for pod in scheduler.queue().pods if pod in pods][: choice.choice([0, 0, 1, 3])]:
            scheduler.settle(scheduler.decide(pod))
        for _ in range(choice.choice(BURSTS[:-1])):
            choice.choice([of_pods, of_nodes]).once()
    for decision, expected in held:
        assert told(decision) == expected, "what is worked out when it is read does not see what has happened since"


@given(seed=SEEDS)
@settings(max_examples=12, deadline=None)
def test_nodes_that_have_gone_again_leave_no_trace(seed):
    """Nominations and reserved volumes, which a scheduler made now could not know of, included."""
    cluster = a_cluster(*Scene(seed).objects())
    visited, quiet = (Scheduler(Context.of(ClusterState(cluster))) for _ in range(2))
    everyone = list(range(len(quiet._state.exists)))
    equal = [Changes(each._state, Random(seed), everyone) for each in (visited, quiet)]
    choice, guests = Random(seed), Scene(seed)
    for _ in range(5):
        for _ in range(choice.choice(BURSTS[:-1])):
            for each in equal:
                each.once()
        for pod in visited.queue().pods[: choice.choice([0, 1, 3])]:
            for each in (visited, quiet):
                each.settle(each.decide(pod))
        be_visited(visited, guests, choice)
        # Nothing is kept for pods that are gone once somebody had to catch up.
        quiet._state._let_readers_catch_up()
        assert nominations(visited) == nominations(quiet)
    for pod in everyone:
        assert told(visited.decide(pod)) == told(quiet.decide(pod)), cluster.pods.full_name(pod)


def be_visited(scheduler: Scheduler, guests: Scene, choice: Random) -> None:
    """A node comes and goes, with a decision in between or without; or one that is there goes and comes back."""
    state = scheduler._state
    name = choice.choice(["a", "n11", "z", *state.cluster.nodes.names])
    known = state.cluster.nodes.index.get(name)
    mark = state.checkpoint()
    if known is not None:
        state.delete_node(known)
    else:
        state.create_node(row_of(guests._node(name)))
    if choice.random() < 0.5 and known is None:
        for pod in scheduler.queue().pods[:2]:
            scheduler.decide(pod)
    if known is None and choice.random() < 0.5:
        state.delete_node(state.cluster.nodes.index[name])
    else:
        state.undo(mark)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda context: BalancedAllocation(context, ("cpu", DISK)), id="balanced"),
        pytest.param(lambda context: NodeResourcesFit(context, weights={"cpu": 1, DISK: 1}), id="fit"),
    ],
)
def test_a_resource_counts_in_scores_from_the_first_node_on_that_has_it(make):
    """Neither a node nor a pod has named it before."""
    state = ClusterState(a_cluster(a_node("n1"), a_pod("p", cpu="1"), a_pod("q", node="n2", cpu="2")))
    context = Context.of(state)
    plugin, everywhere = make(context), np.ones(2, dtype=bool)
    plugin.score_all(0, everywhere[:1])
    state.create_node(row_of(a_node("n2")))
    plugin.score_all(0, everywhere)
    state.update_node(1, row_of(a_node("n2", extended={DISK: "10Gi"})))
    found = plugin.score_all(0, everywhere).tolist()
    assert found == make(Context.of(state)).score_all(0, everywhere).tolist()
    assert found[0] != found[1]


def test_a_tainted_node_counts_no_more_for_constraints_that_honour_taints():
    """The zone without pods is the reason that no other zone may have more."""
    zones = {"n1": "z1", "n2": "z2"}
    nodes = [a_node(name, labels={HOSTNAME: name, ZONE: zone}) for name, zone in zones.items()]
    hard = spread(1, ZONE, selector(labels={"app": "a"}), node_taints_policy="Honor")
    there = a_pod("p", node="n1", labels={"app": "a"})
    state = ClusterState(a_cluster(*nodes, there, a_pod("q", labels={"app": "a"}, spread=[hard])))
    scheduler, pod = Scheduler(Context.of(state)), state.cluster.pods.names.index("q")
    assert scheduler.decide(pod).best.tolist() == [1]
    tainted = a_node("n2", labels={HOSTNAME: "n2", ZONE: "z2"}, taints=["gone=yes:NoSchedule"])
    state.update_node(1, row_of(tainted))
    assert scheduler.decide(pod).best.tolist() == [0]
    state.undo(0)
    assert scheduler.decide(pod).best.tolist() == [1]


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_which_nodes_could_win_follows_where_only_some_are_looked_at(seed):
    """In zones that nodes come to, leave and change."""
    choice = Random(seed)

    def drawn(number):
        zone = choice.choice(["z1", "z2", "z3"])
        return a_node(f"n{number:03}", cpu=choice.choice(["2", "3"]), labels={HOSTNAME: f"n{number:03}", ZONE: zone})

    soft = [spread(1, key, selector(labels={"app": "a"}), when="ScheduleAnyway") for key in (ZONE, HOSTNAME)]
    pods = [a_pod(f"p{number}", node=f"n{number:03}", labels={"app": "a"}) for number in range(0, 120, 7)]
    there = {number: drawn(number) for number in range(120)}
    state = ClusterState(a_cluster(*there.values(), *pods, a_pod("q", labels={"app": "a"}, spread=soft)))
    scheduler, pod = Scheduler(Context.of(state)), state.cluster.pods.names.index("q")
    held: list[tuple[LandingOdds, list[float]]] = []
    for _ in range(4):
        dumped = ClusterState(a_cluster(*there.values(), *pods, a_pod("q", labels={"app": "a"}, spread=soft)))
        fresh = Scheduler(Context.of(dumped))
        assert_alike(scheduler, fresh, [pod])
        held.append((scheduler.odds(scheduler.decide(pod)), fresh.odds(fresh.decide(pod)).probability.tolist()))
        number = choice.randrange(125)
        if number not in there:
            there[number] = drawn(number)
            state.create_node(row_of(there[number]))
        elif choice.random() < 0.4:
            state.delete_node(state.cluster.nodes.index[f"n{number:03}"])
            del there[number]
        else:
            there[number] = drawn(number)
            state.update_node(state.cluster.nodes.index[f"n{number:03}"], row_of(there[number]))
    for odds, expected in held:
        assert odds.probability.tolist() == expected
