"""Why a proven move is made or not: every code of a refusal, certainty, and when the replacement comes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from builders import (
    HOSTNAME,
    Object,
    a_node,
    a_pdb,
    a_pod,
    a_pv,
    a_pvc,
    a_storage_class,
    claim_volume,
    node_affinity,
    node_term,
)
from descheduling.harness import NOW, a_cluster
from descheduling.trials import a_profile
from proving.proven import TOLD, codes, landings, moved, reasons
from restow.descheduling.cycle import Cycle
from restow.descheduling.framework import NodeTest, Strategy, Suggestion, Suggestions, View
from restow.kube.timestamps import parse_time
from restow.policies.arguments import PluginArgs
from restow.policies.codes import PlacementConstraint
from restow.policies.policy import CertaintySetting, Policy, RestowSettings
from restow.policies.schema import PluginSchema
from restow.proving.search import prove_cycle

OWNER = ("ReplicaSet", "web")
ON_N2 = node_affinity([node_term((HOSTNAME, "In", "n2"))])
TWO = [a_node(name, cpu="2", labels={HOSTNAME: name}) for name in ("n1", "n2")]


def wanting(
    *names: str,
    constraint: PlacementConstraint = PlacementConstraint.ELSEWHERE,
    accepts: NodeTest | None = None,
    worse: NodeTest | None = None,
) -> Strategy:
    """Suggests pods of these names as long as they are on n1."""

    def suggest(view: View, args: Any) -> Suggestions:
        for name in names:
            pods = [row for row, each in enumerate(view.pods.names) if each == name]
            for pod in pods:
                if view.state.exists[pod] and view.state.node[pod] == 0:
                    yield Suggestion(pod, f"{name} is on n1", constraint, accepts=accepts, worse=worse)

    return Strategy(PluginSchema(name="Trial", extension_points=("deschedule",), args=PluginArgs), suggest)


def proof(*objects: Object, want: Strategy | None = None, certainty: CertaintySetting = "likely") -> Cycle:
    """A proven plan at NOW of a strategy that wants ``p`` to leave n1."""
    policy = Policy(profiles=(a_profile(deschedule=("Trial",)),), restow=RestowSettings(certainty=certainty))
    cycle = prove_cycle(a_cluster(*objects), policy, {"Trial": want or wanting("p")}, parse_time(NOW))
    cycle.state.validate()
    return cycle


def the_pod(**fields: Any) -> Object:
    return a_pod("p", node="n1", **({"owner": OWNER} | fields))


def test_a_move_names_its_landing_place() -> None:
    cycle = proof(*TWO, *TOLD, the_pod())
    (move,) = cycle.record.evictions
    assert landings(cycle) == {"p": "n2"}
    assert (move.landing.certainty, move.landing.candidates) == ("certain", (1,))
    assert not cycle.missing


def test_no_fit_says_what_the_scheduler_says() -> None:
    found = reasons(proof(*TWO, *TOLD, the_pod(affinity=ON_N2, cpu="1"), a_pod("q", node="n2", cpu="2")))
    told = (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector. "
        "no new claims to deallocate, preemption: 0/2 nodes are available: "
        "1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
    )
    assert found == {"p": ("placement", "NoFit", told)}


def test_nothing_is_preempted_for_a_move() -> None:
    found = reasons(
        proof(*TWO, *TOLD, the_pod(affinity=ON_N2, cpu="1", priority=10), a_pod("q", node="n2", cpu="2", priority=0))
    )
    assert found["p"][:2] == ("placement", "NeedsPreemption")
    assert found["p"][2].startswith("it would fit only if default/q left n2: 0/2 nodes are available: ")


def test_a_pod_that_would_come_back_stays() -> None:
    found = reasons(proof(*TWO, *TOLD, the_pod(cpu="1"), a_pod("q", node="n2", cpu="1500m")))
    assert found["p"] == ("placement", "SameNode", "it would land on n1 again; the other nodes: 1 Insufficient cpu")


def test_a_node_that_scores_more_is_told() -> None:
    found = reasons(proof(*TWO, *TOLD, the_pod(cpu="100m"), a_pod("q", node="n2", cpu="1500m")))
    assert found["p"][2] == "it would land on n1 again, which scores more than 1 other node where it fits"


def test_a_pod_may_come_back_where_that_is_all_the_same() -> None:
    cycle = proof(
        *TWO,
        *TOLD,
        the_pod(),
        a_pod("q", node="n2", cpu="1500m"),
        want=once("p"),
    )
    assert landings(cycle) == {"p": "n1"}


def once(name: str) -> Strategy:
    """Suggests an observed pod, which may land anywhere."""

    def suggest(view: View, args: Any) -> Suggestions:
        pod = view.pods.names.index(name)
        if view.state.exists[pod]:
            yield Suggestion(pod, "old", PlacementConstraint.ANYWHERE)

    return Strategy(PluginSchema(name="Trial", extension_points=("deschedule",), args=PluginArgs), suggest)


def test_the_strategy_must_accept_the_landing_place() -> None:
    nowhere = wanting("p", accepts=lambda nodes: np.zeros(len(nodes), dtype=bool))
    found = reasons(proof(*TWO, *TOLD, the_pod(), want=nowhere))
    assert found["p"] == ("placement", "NoGain", "it would land on n2, where Trial gains nothing")


THREE = [*TWO, a_node("n3", cpu="2", labels={HOSTNAME: "n3"})]
#: Not n3.
ONLY_N2 = wanting("p", accepts=lambda nodes: nodes == 1)


def test_every_node_that_could_win_must_do() -> None:
    found = reasons(proof(*THREE, *TOLD, the_pod(), want=ONLY_N2))
    assert found["p"] == (
        "placement",
        "NotCertain",
        (
            "it would land well with a probability of 0.50, and certainty in the policy's restow section asks for 0.80: "
            "2 nodes could win, and 1 of them would not do: n3"
        ),
    )
    certain = reasons(proof(*THREE, *TOLD, the_pod(), want=ONLY_N2, certainty="certain"))
    assert "asks for 1: 2 nodes could win" in certain["p"][2]


def test_the_policy_may_be_content_with_what_is_possible() -> None:
    (move,) = proof(*THREE, *TOLD, the_pod(), want=ONLY_N2, certainty="possible").record.evictions
    assert (move.landing.certainty, move.landing.target, move.landing.candidates) == ("possible", 1, (1, 2))


@pytest.mark.parametrize(("certainty", "moves"), [("likely", 0), (0.51, 0), (0.5, 1), (0.01, 1), ("possible", 1)])
def test_a_policy_says_how_probable_success_must_be(certainty, moves) -> None:
    """n2 and n3 tie, and n2 alone would do."""
    cycle = proof(*THREE, *TOLD, the_pod(), want=ONLY_N2, certainty=certainty)
    assert len(cycle.record.evictions) == moves


def test_a_move_says_how_probable_it_is_and_each_of_its_candidates() -> None:
    five = [*THREE, *(a_node(f"n{number}", cpu="2", labels={HOSTNAME: f"n{number}"}) for number in (4, 5, 6))]
    (move,) = proof(*five, *TOLD, the_pod(), want=wanting("p", accepts=lambda nodes: nodes != 5)).record.evictions
    landing = move.landing
    assert (landing.certainty, landing.probability) == ("likely", 0.8)
    assert (landing.candidates, landing.probabilities, landing.in_vain) == ((1, 2, 3, 4, 5), (0.2,) * 5, (5,))


def test_no_move_is_made_that_may_do_harm_however_little_is_asked_for() -> None:
    """n3 would not do; whether the pod is only moved in vain there is for the strategy to say."""
    harmless = wanting("p", accepts=lambda nodes: nodes == 1, worse=lambda nodes: nodes == 0)
    assert len(proof(*THREE, *TOLD, the_pod(), want=harmless, certainty="possible").record.evictions) == 1
    harmful = wanting("p", accepts=lambda nodes: nodes == 1, worse=lambda nodes: nodes == 2)
    found = reasons(proof(*THREE, *TOLD, the_pod(), want=harmful, certainty="possible"))
    message = "with a probability of 0.50 it would land on n3, worse off than n1"
    assert found["p"] == ("placement", "Harmful", message)


def test_nobody_creates_a_bare_pod_again() -> None:
    """The evictor protects bare pods; those whose owners are nothing that creates pods are left to this check."""
    bare = the_pod(owner=None)
    found = reasons(proof(*TWO, *TOLD, bare))
    assert found["p"][1] == "NoReplacement"


def test_a_failed_pod_is_cleared_and_nothing_lands() -> None:
    cycle = proof(*TWO, *TOLD, the_pod(phase="Failed"))
    (move,) = cycle.record.evictions
    assert (landings(cycle), move.landing.certainty, move.landing.candidates) == ({"p": ""}, "certain", ())


def test_a_failed_pod_is_cleared_where_the_replacement_of_a_running_one_has_no_place() -> None:
    """What was found out about a pod is not held against one that has ended: nothing has to land for it."""
    full = a_pod("r", node="n2", cpu="2")
    pods = [
        a_pod(name, node="n1", cpu="1", affinity=ON_N2, owner=OWNER, phase=phase)
        for name, phase in (("p", "Running"), ("q", "Failed"))
    ]
    cycle = proof(*TWO, *TOLD, full, *pods, want=wanting("p", "q"))
    assert codes(cycle) == {"p": "NoFit"}
    assert landings(cycle) == {"q": ""}


def test_the_rules_of_another_scheduler_are_not_known() -> None:
    found = reasons(proof(*TWO, *TOLD, the_pod(spec={"schedulerName": "mine"})))
    assert found["p"][:2] == ("placement", "UnknownScheduler")
    assert '"mine"' in found["p"][2]


def test_what_is_not_told_of_could_rule_out_nodes() -> None:
    told = [each for each in TOLD if each["kind"] != "PersistentVolumeClaim"]
    cycle = proof(*TWO, *told, the_pod(volumes=[claim_volume("data")]))
    message = "its placement depends on PersistentVolumeClaims, which the input lacks"
    assert reasons(cycle)["p"] == ("placement", "Unknown", message)
    assert cycle.missing == {"PersistentVolumeClaim"}


def test_without_budgets_in_the_input_nothing_is_evicted() -> None:
    told = [each for each in TOLD if each["kind"] != "PodDisruptionBudget"]
    cycle = proof(*TWO, *told, the_pod())
    message = "its eviction depends on PodDisruptionBudgets, which the input lacks"
    assert reasons(cycle)["p"] == ("budget", "Unknown", message)
    assert cycle.missing == {"PodDisruptionBudget"}


NO_SERVICES = [each for each in TOLD if each["kind"] != "Service"]


@pytest.mark.parametrize("certainty", ["certain", "likely", "possible"])
def test_where_scores_are_not_known_every_node_that_fits_could_win(certainty: str) -> None:
    """The old node fits, and the pod must leave it: a policy that asks for certainty keeps the pod there."""
    cycle = proof(*TWO, *NO_SERVICES, the_pod(), certainty=certainty)
    assert cycle.missing == {"Service"}
    if certainty == "certain":
        assert reasons(cycle)["p"] == (
            "placement",
            "NotCertain",
            (
                "2 nodes could win, as far as can be told without Services, which the input lacks, and 1 of "
                "them would not do: n1; certainty in the policy's restow section asks for 1"
            ),
        )
    else:
        (move,) = cycle.record.evictions
        assert (move.landing.certainty, move.landing.target, move.landing.candidates) == ("possible", 1, (0, 1))


def test_where_every_node_that_fits_would_do_no_score_has_to_be_known() -> None:
    cycle = proof(*TWO, *NO_SERVICES, the_pod(affinity=ON_N2))
    (move,) = cycle.record.evictions
    assert (move.landing.certainty, move.landing.candidates) == ("certain", (1,))
    anywhere = proof(*TWO, *NO_SERVICES, the_pod(), want=wanting("p", constraint=PlacementConstraint.ANYWHERE))
    assert [each.landing.certainty for each in anywhere.record.evictions] == ["certain"]


def test_a_budget_without_disruptions_left_keeps_its_pods() -> None:
    budget = a_pdb("web", selector={"matchLabels": {"app": "web"}}, disruptions_allowed=1)
    pods = [a_pod(name, node="n1", owner=OWNER, labels={"app": "web"}) for name in ("p", "q")]
    cycle = proof(*TWO, *TOLD, budget, *pods, want=wanting("p", "q"))
    assert moved(cycle) == ["p"]
    assert reasons(cycle)["q"] == (
        "budget",
        "DisruptionBudget",
        "default/web allows 0 more disruptions; this plan uses 1",
    )


def test_two_budgets_forbid_an_eviction() -> None:
    budgets = [a_pdb(name, selector={}, disruptions_allowed=5) for name in ("one", "two")]
    assert codes(proof(*TWO, *TOLD, *budgets, the_pod())) == {"p": "SeveralBudgets"}


def test_places_are_reserved_for_the_moves_before() -> None:
    """Two pods that each would fit n2 alone."""
    pods = [a_pod(name, node="n1", owner=OWNER, cpu="1", affinity=ON_N2) for name in ("p", "q")]
    others = [a_pod("r", node="n2", cpu="1")]
    cycle = proof(*TWO, *TOLD, *pods, *others, want=wanting("p", "q"))
    assert landings(cycle) == {"p": "n2"}
    assert codes(cycle) == {"q": "NoFit"}


def test_two_of_a_workload_do_not_change_places() -> None:
    """Each may only go to the other's node: one move would undo the other, so nothing is gained."""
    bound = {name: node_affinity([node_term((HOSTNAME, "In", "n1", "n2"))]) for name in ("p", "q")}

    def suggest(view: View, args: Any) -> Suggestions:
        for name in ("p", "q"):
            pod = view.pods.names.index(name)
            if view.state.exists[pod]:
                yield Suggestion(pod, "change", PlacementConstraint.ELSEWHERE)

    change = Strategy(PluginSchema(name="Trial", extension_points=("deschedule",), args=PluginArgs), suggest)
    port = [{"name": "c", "ports": [{"containerPort": 1, "hostPort": 80}]}]
    pods = [
        a_pod(name, node=node, owner=OWNER, containers=port, affinity=bound[name])
        for name, node in (("p", "n1"), ("q", "n2"))
    ]
    cycle = proof(*TWO, *TOLD, *pods, want=change)
    assert moved(cycle) == []
    assert set(codes(cycle)) == {"p", "q"}


def test_the_replacement_comes_while_the_old_pod_is_there() -> None:
    """Its host port is still taken then, so it cannot come back; once the name is free it can, and would."""
    port = [{"name": "c", "resources": {"requests": {"cpu": "100m"}}, "ports": [{"containerPort": 1, "hostPort": 80}]}]
    others = a_pod("q", node="n2", cpu="1500m")
    assert landings(proof(*TWO, *TOLD, others, the_pod(containers=port))) == {"p": "n2"}
    stateful = the_pod(containers=port, owner=("StatefulSet", "web"))
    assert codes(proof(*TWO, *TOLD, others, stateful)) == {"p": "SameNode"}


def test_the_old_pod_makes_room_where_nothing_else_fits() -> None:
    """Both n1 and n2 are full while the old pod is there; then it would come back."""
    full = [the_pod(cpu="1500m"), a_pod("q", node="n2", cpu="1500m")]
    assert codes(proof(*TWO, *TOLD, *full)) == {"p": "SameNode"}


def test_a_replacement_comes_with_volumes_of_its_own() -> None:
    """The old pod's ephemeral volume binds it to n1; the new one's can be made anywhere."""
    volume = {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    pod = the_pod(volumes=[volume])
    claim = a_pvc("p-data", volume="pv", storage_class="late")
    claim["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod["metadata"]["uid"], "controller": True}
    ]
    disk = a_pv("pv", storage_class="late")
    disk["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [node_term((HOSTNAME, "In", "n1"))]}}
    late = a_storage_class("late", binding="WaitForFirstConsumer")
    assert landings(proof(*TWO, *TOLD, claim, disk, late, pod)) == {"p": "n2"}


def test_pods_alike_are_judged_by_what_wants_them_gone() -> None:
    """Where the first of two equal pods gains nothing, the second may: the scheduler's answer is kept, not the verdict."""

    def suggest(view: View, args: Any) -> Suggestions:
        for name, accepts in (("p", False), ("q", True)):
            pod = view.pods.names.index(name)
            if view.state.exists[pod]:
                yield Suggestion(
                    pod, "mine", PlacementConstraint.BETTER, accepts=lambda nodes, good=accepts: nodes == nodes * good
                )

    picky = Strategy(PluginSchema(name="Trial", extension_points=("deschedule",), args=PluginArgs), suggest)
    pods = [a_pod(name, node="n1", owner=OWNER) for name in ("p", "q")]
    cycle = proof(*TWO, *TOLD, *pods, want=picky)
    assert landings(cycle) == {"q": "n2"}
    assert codes(cycle) == {"p": "NoGain"}
