"""Which nodes could win where only some of the feasible ones are scored, and how probably (sections M and N of the rows)."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import ZONE, a_node, a_pod, node_affinity, node_term
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.configuration.profiles import SchedulerProfile, plugins_of
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.scoring import rank
from restow.scheduling.loop.decision import Scheduler
from restow.scheduling.sampling import shares
from restow.scheduling.sampling.landing_odds import feasible_to_find, visiting_order
from restow.scheduling.sampling.relative_scores import RelativePlugin
from scheduling.large_clusters import SUBJECTS, a_large_cluster

if TYPE_CHECKING:
    from collections.abc import Mapping

REGION = "topology.kubernetes.io/region"
LEGACY_ZONE, LEGACY_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
#: The nodes of the table.
NODES: list[Mapping[str, str]] = [
    {},
    {REGION: "region-1"},
    {ZONE: "zone-2"},
    {REGION: "region-1", ZONE: "zone-2"},
    {REGION: "region-1", ZONE: "zone-2"},
    {REGION: "region-1", ZONE: "zone-3"},
    *[{REGION: "region-2", ZONE: "zone-2"}] * 3,
]


class Sampled:
    """The decision about the pod ``p`` of a cluster."""

    def __init__(self, *objects, percentage=0) -> None:
        context = Context.of(ClusterState(a_cluster(*objects)))
        profile = SchedulerProfile(percentage_of_nodes_to_score=percentage)
        self.nodes = context.state.cluster.nodes
        self.scores = plugins_of(profile, context).scores
        self.scheduler = Scheduler(context, profile)
        self.decision = self.scheduler.decide(context.state.cluster.pods.names.index("p"))
        self.size = feasible_to_find(len(self.nodes), percentage)

    def candidates(self) -> list[str]:
        return self._names(self.scheduler.odds(self.decision).nodes)

    def probabilities(self) -> dict[str, float]:
        odds = self.scheduler.odds(self.decision)
        return dict(zip(self._names(odds.nodes), odds.probability.tolist(), strict=True))

    def odds_of_all_starts(self) -> dict[str, float]:
        """The definition: for each start, score the first feasible nodes; the best share its probability alike."""
        order = visiting_order(self.nodes.labels)
        feasible = np.isin(order, self.decision.verdicts.feasible)
        won = np.zeros(len(order))
        for start in range(len(order)):
            found = np.roll(order, -start)[np.roll(feasible, -start)][: self.size]
            scored = np.isin(np.arange(len(order)), found)
            best = rank(self.decision.pod, scored, self.scores).best
            won[best] += 1 / len(best) / len(order)
        winners = np.flatnonzero(won)
        return dict(zip(self._names(winners), won[winners].tolist(), strict=True))

    def _names(self, nodes) -> list[str]:
        return [self.nodes.names[node] for node in nodes]


def numbered(count, **fields):
    """Nodes n000, n001..."""
    return [a_node(f"n{number:03}", **fields) for number in range(count)]


@pytest.mark.parametrize(
    ("nodes", "found"),
    [
        *((1, 1), (99, 99), (100, 100), (125, 100), (250, 120), (500, 230), (1000, 420), (2000, 680)),
        *((3000, 780), (5000, 500), (6000, 300), (10000, 500), (15000, 750)),
    ],
)
def test_how_many_feasible_nodes_are_enough_m09(nodes, found) -> None:
    assert feasible_to_find(nodes) == found


@pytest.mark.parametrize(("percentage", "nodes", "found"), [(10, 1000, 100), (100, 1000, 1000), (30, 500, 150)])
def test_a_percentage_of_the_nodes_is_enough_m10(percentage, nodes, found) -> None:
    assert feasible_to_find(nodes, percentage) == found


def test_a_better_node_in_every_window_keeps_others_from_winning() -> None:
    """Of 150 nodes 100 are found: those 60 before and after the best one win where it is not among them."""
    nodes = [*numbered(149), a_node("the-best", cpu="64", memory="128Gi"), a_pod("p", cpu="1")]
    assert Sampled(*nodes).decision.best.tolist() == [149]
    assert len(Sampled(*nodes).candidates()) == 150
    three = [a_node(f"n{number:03}-best", cpu="64", memory="128Gi") for number in (50, 100)]
    assert Sampled(*nodes, *three).candidates() == ["n050-best", "n100-best", "the-best"]


def test_a_window_is_as_probable_as_there_are_places_to_begin_it() -> None:
    """Of 200 nodes 100 take pods, which is enough; 50 of them stand behind the only 100 that do not."""
    cordoned = [a_node(f"n{number:03}-cordoned", unschedulable=True) for number in range(100)]
    full = [a_node("a-best", cpu="64", memory="128Gi"), *numbered(150)]
    sampled = Sampled(*full, *cordoned, a_pod("p", cpu="1"))
    assert sampled.probabilities() == pytest.approx(sampled.odds_of_all_starts())
    assert sampled.probabilities()["a-best"] > 100 / 151


def test_the_case_of_300_nodes_of_which_120_are_empty() -> None:
    """144 of them are looked at: 37 of 300 searches see nodes in use only. All others end at an empty node."""
    nodes = numbered(300)
    used = [a_pod(f"u{number}", node=f"n{number:03}", cpu="1") for number in range(120, 300)]
    sampled = Sampled(*nodes, *used, a_pod("p", cpu="1"))
    empty = sum(odds for name, odds in sampled.probabilities().items() if name < "n120")
    assert empty == pytest.approx(1 - 37 / 300)


def test_ties_share_alike_where_all_nodes_are_looked_at() -> None:
    nodes = [*numbered(3), a_node("small", cpu="2"), a_pod("p", cpu="1")]
    assert Sampled(*nodes).probabilities() == pytest.approx({"n000": 1 / 3, "n001": 1 / 3, "n002": 1 / 3})


@pytest.mark.parametrize("subject", SUBJECTS)
def test_where_windows_stand_for_others_the_odds_are_near(subject, monkeypatch) -> None:
    """With an estimate from 32 windows no node is off by more than the windows that it may have missed or won."""
    monkeypatch.setattr(shares, "MOST_SCALES", 1)
    monkeypatch.setattr(shares, "SAMPLES", 32)
    for seed in range(5):
        sampled = Sampled(*a_large_cluster(Random(seed), subject))
        odds, expected = sampled.scheduler.odds(sampled.decision), sampled.odds_of_all_starts()
        assert odds.probability.sum() == pytest.approx(1)
        assert max(abs(odds.probability - list(expected.values()))) < 0.15
        nodes = np.array([True] + [False] * (len(expected) - 1))
        assert odds.at_most(nodes) <= 1
        assert odds.at_most(~nodes | nodes) == 1


@pytest.mark.parametrize("first", [0, 20, 98, 99, 100, 149])
def test_windows_go_round(first) -> None:
    """Of two better nodes one is in every window of 100 unless as many others stand between them, either way round."""
    for apart, others_win in ((50, False), (51, False), (49, True), (101, True), (99, False), (100, False)):
        nodes = numbered(150)
        for better in (first, (first + apart) % 150):
            nodes[better] = a_node(f"n{better:03}", cpu="64", memory="128Gi")
        winners = Sampled(*nodes, a_pod("p", cpu="1")).candidates()
        assert (len(winners) > 2) == others_win, apart


def test_as_many_feasible_nodes_as_are_looked_for_are_all_scored() -> None:
    nodes = [*numbered(100), a_node("zz-best", cpu="64", memory="128Gi")]
    rejected = [a_node(f"r{number}", unschedulable=True) for number in range(60)]
    assert Sampled(*nodes[1:], *rejected, a_pod("p", cpu="1")).candidates() == ["zz-best"]
    assert len(Sampled(*nodes, *rejected, a_pod("p", cpu="1")).candidates()) == 101


def test_a_profile_that_looks_at_all_nodes_takes_the_best() -> None:
    nodes = [*numbered(150), a_node("the-best", cpu="64", memory="128Gi"), a_pod("p", cpu="1")]
    assert Sampled(*nodes, percentage=100).candidates() == ["the-best"]


def test_a_pod_that_names_its_node_gets_it_m13() -> None:
    affinity = node_affinity([node_term(fields=[("metadata.name", "In", "n007")])])
    assert Sampled(*numbered(150), a_pod("p", affinity=affinity)).candidates() == ["n007"]


def test_named_nodes_are_found_in_any_order() -> None:
    """Of 110 named nodes 100 are found; if 99 are worse than the rest, one of the rest is always among them."""
    worse, better = numbered(99), [a_node(f"s{number:02}", cpu="64", memory="128Gi") for number in range(51)]
    named = [each["metadata"]["name"] for each in (*worse, *better[:11])]
    affinity = node_affinity([node_term(fields=[("metadata.name", "In", name)]) for name in named])
    assert Sampled(*worse, *better, a_pod("p", cpu="1", affinity=affinity)).candidates() == named[99:]


def test_named_nodes_whose_scores_depend_on_the_others_may_all_win() -> None:
    nodes = [*numbered(149), a_node("soft", taints=["a:PreferNoSchedule"])]
    named = [each["metadata"]["name"] for each in nodes]
    affinity = node_affinity([node_term(fields=[("metadata.name", "In", name)]) for name in named])
    assert Sampled(*nodes, a_pod("p", affinity=affinity)).candidates() == sorted(named)


def test_the_first_of_equals_may_be_any_n02() -> None:
    """The scheduler takes the one at index 3 of these; which node stands there is a matter of chance."""
    idle, busy = {"cpu": "8"}, {"cpu": "4"}
    nodes = [a_node("n0", **busy), a_node("n1", **busy), a_node("n2", **idle), a_node("n3", **idle)]
    assert Sampled(*nodes, a_node("n4", **idle), a_pod("p", cpu="1")).candidates() == ["n2", "n3", "n4"]


def test_the_only_feasible_node_wins_n03() -> None:
    nodes = [a_node(f"n{number:03}", unschedulable=number != 42) for number in range(150)]
    assert Sampled(*nodes, a_pod("p")).candidates() == ["n042"]


@pytest.mark.parametrize("count", [5, 150])
def test_the_nominated_node_wins_if_it_fits_n04(count) -> None:
    nodes = [*numbered(count), a_node("the-best", cpu="64", memory="128Gi")]
    assert Sampled(*nodes, a_pod("p", cpu="1", nominated_node="n001")).candidates() == ["n001"]


def test_otherwise_the_search_is_as_usual_n05() -> None:
    nodes = numbered(150)
    pod = a_pod("p", cpu="1", nominated_node="small")
    assert Sampled(*nodes, a_node("small", cpu="500m"), pod).candidates() == [f"n{number:03}" for number in range(150)]


def test_a_pod_that_fits_nowhere_has_no_candidates() -> None:
    assert Sampled(*numbered(120), a_pod("p", cpu="100")).candidates() == []


def test_windows_follow_the_zones_in_turn() -> None:
    """By name all 60 of zone b stand together and some window has none of them; in turn every window has some."""
    nodes = [a_node(f"a{number:03}", labels={ZONE: "a"}) for number in range(100)]
    nodes += [a_node(f"b{number:03}", cpu="64", memory="128Gi", labels={ZONE: "b"}) for number in range(60)]
    assert Sampled(*nodes, a_pod("p", cpu="1")).candidates() == [f"b{number:03}" for number in range(60)]


@pytest.mark.parametrize("subject", SUBJECTS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=8, deadline=None)
def test_a_node_wins_as_often_as_it_is_the_best_from_a_start(subject, seed) -> None:
    chance = Random(seed)
    sampled = Sampled(*a_large_cluster(chance, subject), percentage=chance.choice((0, 5, 70)))
    expected = sampled.odds_of_all_starts()
    assert sampled.candidates() == list(expected)
    assert sampled.probabilities() == pytest.approx(expected)


@pytest.mark.parametrize("subject", SUBJECTS[1:])
def test_clusters_of_these_tests_have_scores_that_depend_on_the_window(subject) -> None:
    """Otherwise the test before this one would compare the simple case only."""
    for seed in range(20):
        sampled = Sampled(*a_large_cluster(Random(seed), subject))
        feasible = sampled.decision.verdicts.feasible
        relative = [each.plugin for each in sampled.scores if isinstance(each.plugin, RelativePlugin)]
        if any(plugin.relative(sampled.decision.pod, feasible) is not None for plugin in relative):
            return
    pytest.fail("scores never depend on the window")


def order(*added: int) -> list[int]:
    """The nodes of the table, added in this order, as they are visited."""
    return [added[place] for place in visiting_order(NODES[node] for node in added).tolist()]


@pytest.mark.parametrize(
    ("added", "visited"),
    [
        pytest.param(range(9), [0, 1, 2, 3, 5, 6, 4, 7, 8], id="m01"),
        pytest.param(range(4), [0, 1, 2, 3], id="m02"),
        pytest.param([4, 5, 6, 7, 8, 3], [4, 5, 6, 3, 7, 8], id="m05"),
        pytest.param([6, 7], [6, 7], id="m06-what-is-left"),
        pytest.param([], [], id="no-nodes"),
    ],
)
def test_zones_take_turns(added, visited) -> None:
    assert order(*added) == visited


def test_the_first_node_of_each_zone_comes_first_m08() -> None:
    zones = ["a", "a", "a", "b", "c", "c"]
    assert visiting_order({ZONE: zone} for zone in zones).tolist() == [0, 3, 4, 1, 5, 2]


@pytest.mark.parametrize(
    ("labels", "same"),
    [
        pytest.param({LEGACY_ZONE: "a", ZONE: "b"}, {ZONE: "a"}, id="the-legacy-label-goes-first"),
        pytest.param({LEGACY_ZONE: "", ZONE: "b"}, {}, id="even-if-it-is-empty"),
        pytest.param(
            {LEGACY_REGION: "x", ZONE: "a"}, {REGION: "x", LEGACY_ZONE: "a"}, id="old-and-new-labels-are-mixed"
        ),
        pytest.param({REGION: "", ZONE: ""}, {}, id="empty-labels-are-no-labels"),
    ],
)
def test_labels_that_name_the_same_zone(labels, same) -> None:
    assert visiting_order([labels, {ZONE: "other"}, same]).tolist() == [0, 1, 2]
    assert visiting_order([labels, same, {ZONE: "other"}]).tolist() == [0, 2, 1]


@given(st.lists(st.sampled_from("abcd"), max_size=30))
def test_every_node_is_visited_once_and_a_zone_in_its_own_order(zones) -> None:
    visited = visiting_order({ZONE: zone} for zone in zones).tolist()
    assert sorted(visited) == list(range(len(zones)))
    turns = {node: zones[:node].count(zones[node]) for node in visited}
    first = list(dict.fromkeys(zones))
    assert visited == sorted(visited, key=lambda node: (turns[node], first.index(zones[node])))
