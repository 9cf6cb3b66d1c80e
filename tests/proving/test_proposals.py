"""Proposals: several moves that pass evictor, limits, budgets and placement together, or of which none is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from builders import HOSTNAME, Object, a_node, a_pdb, a_pod, node_affinity, node_term
from descheduling.harness import NOW, a_cluster
from descheduling.trials import a_profile, evicted, trial
from proving.proven import TOLD, codes, landings, moved, reasons
from restow.descheduling.cycle import Cycle
from restow.descheduling.framework import (
    NodeTest,
    PendingFilters,
    Proposal,
    Strategy,
    Suggestion,
    Suggestions,
    Verdict,
    View,
)
from restow.kube.timestamps import parse_time
from restow.policies.arguments import PluginArgs
from restow.policies.codes import PlacementConstraint, SteeringMode
from restow.policies.policy import Policy, RestowSettings
from restow.policies.schema import PluginSchema
from restow.proving.planning import make_plan
from restow.proving.search import prove_cycle

PURPOSE = "empty n1"


def nodes(*cpus: str) -> list[Object]:
    """``n1`` and so on, with so many CPUs each."""
    return [a_node(f"n{at}", cpu=cpu, labels={HOSTNAME: f"n{at}"}) for at, cpu in enumerate(cpus, 1)]


def a_replica(name: str, node: str, cpu: str = "1", **fields: Any) -> Object:
    """A pod of a ReplicaSet of its own."""
    return a_pod(name, node=node, cpu=cpu, **({"owner": ("ReplicaSet", f"rs-{name}")} | fields))


def only_on(node: str) -> dict[str, Any]:
    """The affinity of pods that may be on one node alone."""
    return node_affinity([node_term((HOSTNAME, "In", node))])


def proposing(
    *proposals: Sequence[str],
    heard: list[Verdict] | None = None,
    accepts: NodeTest | None = None,
    pending: PendingFilters = PendingFilters.ALL,
) -> Strategy:
    """Proposes to move these pods together, each proposal once and only while its pods are where they were observed.

    Proposals of one name are single suggestions.
    """

    def suggest(view: View, args: Any) -> Suggestions:
        for names in proposals:
            pods = [view.pods.names.index(name) for name in names]
            if not all(view.state.exists[pod] for pod in pods):
                continue
            wanted = [
                Suggestion(pod, "wanted", PlacementConstraint.ELSEWHERE, pending, accepts=accepts) for pod in pods
            ]
            verdict = yield wanted[0] if len(wanted) == 1 else Proposal(tuple(wanted), PURPOSE)
            if heard is not None:
                heard.append(verdict)

    return Strategy(PluginSchema(name="Trial", extension_points=("deschedule",), args=PluginArgs), suggest)


def proof(
    strategy: Strategy, *objects: Object, steering: SteeringMode = "nominate", certainty: Any = "likely", **policy: Any
) -> Cycle:
    """A proven plan at NOW; every change of the state is checked against a recomputation at the end."""
    settings = Policy(
        profiles=(a_profile(deschedule=("Trial",)),), restow=RestowSettings(certainty=certainty), **policy
    )
    cycle = prove_cycle(a_cluster(*objects, *TOLD), settings, {"Trial": strategy}, parse_time(NOW), steering=steering)
    cycle.state.validate()
    return cycle


# Two pods change places


#: Each may only be on the other's node, and both nodes are full.
SWAP = [
    *nodes("1", "1", "1"),
    a_replica("p", "n1", affinity=only_on("n2")),
    a_replica("q", "n2", affinity=only_on("n1")),
]


def test_two_pods_swap_places_that_could_not_move_alone() -> None:
    alone = proof(proposing(["p"], ["q"]), *SWAP)
    assert {pod: code for pod, (_, code, _) in reasons(alone).items()} == {"p": "NoFit", "q": "NoFit"}
    together = proof(proposing(["p", "q"]), *SWAP)
    assert landings(together) == {"p": "n2", "q": "n1"}
    assert not together.record.refusals


def test_a_replacement_without_a_place_waits_for_the_next_move() -> None:
    """``p`` goes first and finds no place until ``q`` has left n2; the plan says so, for whoever carries it out."""
    plan = make_plan(proof(proposing(["p", "q"]), *SWAP), parse_time(NOW), "prove")
    assert [(each.pod.name, each.proposal.waits) for each in plan.moves] == [("p", True), ("q", False)]


@pytest.mark.parametrize("steering", ["none", "nominate"])
def test_a_replacement_that_waits_is_not_steered(steering: SteeringMode) -> None:
    """Whoever waits behind a gate is let go before the place is free."""
    cycle = proof(proposing(["p", "q"]), *SWAP, steering=steering)
    assert landings(cycle) == {"p": "n2", "q": "n1"}
    assert [each.landing.steering for each in cycle.record.evictions] == [
        None,
        None if steering == "none" else steering,
    ]


def test_a_swap_is_refused_where_the_second_has_no_place_either() -> None:
    stays = a_replica("r", "n1", "100m")
    cycle = proof(proposing(["p", "q"]), *SWAP[:4], a_replica("q", "n2", affinity=only_on("n3"), cpu="2"), stays)
    assert moved(cycle) == []
    (refused,) = reasons(cycle).items()
    assert refused[0] == "q"
    assert refused[1][:2] == ("placement", "NoFit")


def test_replicas_of_one_workload_do_not_swap() -> None:
    web = {"owner": ("ReplicaSet", "web")}
    pods = [a_replica("p", "n1", affinity=only_on("n2"), **web), a_replica("q", "n2", affinity=only_on("n1"), **web)]
    cycle = proof(proposing(["p", "q"]), *nodes("1", "1", "1"), *pods)
    assert moved(cycle) == []
    assert [code for _, code, _ in reasons(cycle).values()] == ["Undoes"]


# A node is emptied, or not


def test_all_pods_of_a_node_go() -> None:
    cycle = proof(proposing(["p", "q", "r"]), *nodes("3", "2", "1"), *(a_replica(name, "n1") for name in "pqr"))
    assert sorted(landings(cycle).values()) == ["n2", "n2", "n3"]


def test_no_pod_of_a_node_goes_where_one_of_them_cannot() -> None:
    """Two of three have a place; one refusal names the third, and all are where they were."""
    objects = [*nodes("3", "2"), *(a_replica(name, "n1") for name in "pqr")]
    cycle = proof(proposing(["p", "q", "r"]), *objects)
    assert moved(cycle) == []
    (refused,) = cycle.record.refusals
    assert reasons(cycle)["r"][0] == "placement"
    assert reasons(cycle)["r"][2].endswith("; so Trial does not empty n1")
    assert [cycle.state.cluster.pods.names[each] for each in refused.others] == ["p", "q"]
    assert cycle.state.requested[0].tolist() == [3000, 0]


def test_what_was_found_out_on_the_way_is_forgotten() -> None:
    """``q`` fits nowhere once ``p`` has gone, but it does where ``p`` has stayed after all."""
    web = {"owner": ("ReplicaSet", "web"), "cpu": "1"}
    cordoned = a_node("n1", cpu="2", labels={HOSTNAME: "n1"}, unschedulable=True)
    objects = [cordoned, nodes("1", "1")[1], *(a_replica(name, "n1", **web) for name in "pq")]
    assert codes(proof(proposing(["p", "q"]), *objects, steering="none")) == {"q": "NoFit"}
    assert landings(proof(proposing(["p", "q"], ["q"]), *objects, steering="none")) == {"q": "n2"}


def test_the_plan_names_the_proposal_of_a_move_and_of_a_refusal() -> None:
    objects = [*nodes("3", "2"), *(a_replica(name, "n1") for name in "pqr")]
    plan = make_plan(proof(proposing(["p", "q", "r"], ["p", "q"]), *objects), parse_time(NOW), "prove")
    assert [each.proposal.moves for each in plan.moves] == [2, 2]
    assert {(each.proposal.purpose, each.proposal.certainty, each.proposal.probability) for each in plan.moves} == {
        (PURPOSE, "certain", 1.0)
    }
    plan = make_plan(proof(proposing(["p", "q", "r"]), *objects), parse_time(NOW), "prove")
    (refusal,) = plan.refusals
    assert (refusal.pod.name, [each.name for each in refusal.proposal.also_staying]) == ("r", ["p", "q"])


# Every stage judges them as one


def test_a_protected_pod_holds_all_others_back() -> None:
    bare = a_pod("q", node="n1", cpu="1")
    heard: list[Verdict] = []
    cycle = proof(proposing(["p", "q"], heard=heard), *nodes("2", "2"), a_replica("p", "n1"), bare)
    assert (moved(cycle), heard) == ([], [Verdict.REFUSED])
    assert {pod: reason[:2] for pod, reason in reasons(cycle).items()} == {"q": ("evictor", "NoOwner")}


@pytest.mark.parametrize(
    ("limit", "verdict", "moves"),
    [
        ({"max_no_of_pods_to_evict_total": 1}, Verdict.REFUSED, []),
        ({"max_no_of_pods_to_evict_per_node": 1}, Verdict.REFUSED, []),
        ({"max_no_of_pods_to_evict_per_namespace": 1}, Verdict.REFUSED, []),
        ({"max_no_of_pods_to_evict_total": 0}, Verdict.TOTAL_LIMIT, []),
        ({"max_no_of_pods_to_evict_total": 2}, Verdict.EVICTED, ["p", "q"]),
    ],
)
def test_limits_hold_for_all_moves_together(limit: dict[str, int], verdict: Verdict, moves: list[str]) -> None:
    """A limit that leaves room for something says nothing of smaller proposals."""
    heard: list[Verdict] = []
    pods = [a_replica(name, "n1") for name in "pq"]
    cycle = proof(proposing(["p", "q"], heard=heard), *nodes("2", "2"), *pods, **limit)
    assert (moved(cycle), heard[0]) == (moves, verdict)


def test_a_refused_proposal_uses_nothing_of_limits_and_budgets() -> None:
    """``q`` cannot go; the budget and the limit have room for one pod of ``web``, and ``r`` gets it."""
    web = {"labels": {"app": "web"}}
    budget = a_pdb("web", selector={"matchLabels": {"app": "web"}}, disruptions_allowed=1)
    pods = [a_replica("p", "n1", **web), a_replica("q", "n1", "3"), a_replica("r", "n1", **web)]
    heard: list[Verdict] = []
    strategy = proposing(["p", "q"], ["r"], heard=heard)
    cycle = proof(strategy, *nodes("5", "2"), *pods, budget, max_no_of_pods_to_evict_total=2)
    assert (moved(cycle), heard[:2]) == (["r"], [Verdict.REFUSED, Verdict.EVICTED])


def test_budgets_hold_for_all_moves_together() -> None:
    budget = a_pdb("web", selector={"matchLabels": {"app": "web"}}, disruptions_allowed=1)
    pods = [a_replica(name, "n1", labels={"app": "web"}) for name in "pq"]
    cycle = proof(proposing(["p", "q"]), *nodes("2", "2"), *pods, budget)
    assert moved(cycle) == []
    assert reasons(cycle)["q"][:2] == ("budget", "DisruptionBudget")


ELEVEN = nodes("3", "3", "3", "3", "3", "3", "3", "3", "3", "3", "3")


@pytest.mark.parametrize(("certainty", "moves"), [("certain", 0), (0.85, 0), (0.75, 2), ("possible", 2)])
def test_all_moves_together_must_be_as_probable_as_the_policy_asks(certainty: Any, moves: int) -> None:
    """Of ten nodes that could win one would not do: 0.9 for the first of two moves, 0.89 for the second, 0.79 at least for both."""
    pods = [a_replica(name, "n1", "100m") for name in "pq"]
    strategy = proposing(["p", "q"], accepts=lambda found: found != 10)
    cycle = proof(strategy, *ELEVEN, *pods, steering="none", certainty=certainty)
    assert len(moved(cycle)) == moves
    if moves:
        whole = cycle.record.evictions[0].together
        assert whole is not None
        assert whole.probability == pytest.approx(1 - 1 / 10 - 1 / 9, abs=1e-3)
    elif certainty == 0.85:
        (reason,) = reasons(cycle).values()
        assert reason[1] == "NotCertain"
        assert reason[2].startswith("all 2 moves together would land well with a probability of ")


def test_upstream_placement_makes_all_or_none_too() -> None:
    objects = [*nodes("2", "2"), *(a_replica(name, "n1") for name in "pq"), a_pod("bare", node="n1")]
    assert evicted(trial({"Trial": proposing(["p", "q"])}, *objects)) == ["p", "q"]
    cycle = trial({"Trial": proposing(["p", "bare", "q"])}, *objects)
    assert (evicted(cycle), [each.reason[1] for each in cycle.record.refusals]) == ([], ["NoOwner"])


def test_a_strategy_is_told_where_each_pod_of_its_proposal_has_landed() -> None:
    told: list[int] = []

    def suggest(view: View, args: Any) -> Suggestions:
        pods = [view.pods.names.index(name) for name in "pq"]
        if all(view.state.exists[pod] for pod in pods):
            yield Proposal(tuple(Suggestion(pod, "wanted", PlacementConstraint.ELSEWHERE) for pod in pods), PURPOSE)
            told.extend(view.landing_of(pod) for pod in (*pods, view.pods.names.index("r")))

    strategy = Strategy(PluginSchema(name="Trial", extension_points=("deschedule",), args=PluginArgs), suggest)
    proof(strategy, *nodes("3", "1", "1"), *(a_replica(name, "n1") for name in "pqr"))
    assert (sorted(told[:2]), told[2]) == ([1, 2], -1)


def test_a_replacement_of_this_plan_is_not_moved_again() -> None:
    """A later plan would empty n2 with what has come there: then ``p`` had better stay."""

    def suggest(view: View, args: Any) -> Suggestions:
        first = view.pods.names.index("p")
        if view.state.exists[first] and view.state.node[first] == 0:
            yield Suggestion(first, "leaves n1", PlacementConstraint.ELSEWHERE, accepts=lambda found: found == 1)
        there = np.flatnonzero(view.state.exists & (view.state.node == 1)).tolist()
        if len(there) > 1:
            yield Proposal(
                tuple(Suggestion(pod, "leaves n2", PlacementConstraint.ELSEWHERE) for pod in there), "empty n2"
            )

    strategy = Strategy(PluginSchema(name="Trial", extension_points=("deschedule",), args=PluginArgs), suggest)
    objects = [*nodes("1", "3", "3"), a_replica("p", "n1"), a_replica("q", "n2", "500m")]
    cycle = proof(strategy, *objects, certainty="possible")
    assert moved(cycle) == []
    assert reasons(cycle)["p"][:2] == ("placement", "Circle")


@pytest.mark.parametrize("pods", [[], [3, 3]])
def test_a_proposal_moves_at_least_one_pod_and_each_once(pods: list[int]) -> None:
    with pytest.raises(ValueError, match="a proposal to empty n1 must move at least one pod, and each pod once"):
        Proposal(tuple(Suggestion(pod, "wanted") for pod in pods), PURPOSE)
