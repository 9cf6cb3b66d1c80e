"""Every candidate of a move has its probability wherever that can be computed, and so has the target."""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import NamedTemporaryFile

import pytest

from bench.problems import generate, policy_for
from builders import HOSTNAME, Object, a_node
from descheduling.harness import NOW
from oracle.moving_cases import MOVING_SUBJECTS, a_moving_case
from proving.proven import TOLD, prove, read_policy
from proving.test_proof import proof, the_pod, wanting
from restow.descheduling.cycle import Cycle
from restow.descheduling.plan import Move, PlanDocument
from restow.descheduling.registry import strategies
from restow.kube.timestamps import parse_time
from restow.policies.codes import SteeringMode
from restow.proving import landings
from restow.proving.planning import make_plan
from restow.proving.search import prove_cycle
from restow.sources.documents import load_cluster
from restow.sources.synthetic import write_list

#: What rounding to four digits may take off one probability, or add to it.
ROUNDING = 0.00005
SEEDS = range(6)


def plan_of(cycle: Cycle) -> PlanDocument:
    return make_plan(cycle, parse_time(NOW), "prove")


def generated(profile: str, nodes: int, pods: int) -> PlanDocument:
    with NamedTemporaryFile(suffix=".json") as file:
        write_list(generate(profile, nodes, pods, 3), file)  # type: ignore[arg-type]
        file.flush()
        cluster = load_cluster([file.name])[0]
    return plan_of(prove_cycle(cluster, read_policy(policy_for(profile)), strategies(), parse_time(NOW)))  # type: ignore[arg-type]


def random_plans(steering: SteeringMode) -> Iterator[PlanDocument]:
    cases = (a_moving_case(subject, seed) for subject in MOVING_SUBJECTS for seed in SEEDS)
    return (plan_of(prove(case.cluster, case.policy, steering=steering)) for case in cases)


def check(move: Move) -> None:
    """The figures of one move agree with one another."""
    if move.target is None:
        assert (move.probabilities, move.target_probability) == ((), None)
        return
    assert len(move.probabilities) == len(move.candidates) > 0
    assert move.target_probability == move.probabilities[move.candidates.index(move.target)]
    slack = ROUNDING * len(move.candidates) + 1e-9
    if move.candidate_count == len(move.candidates):
        assert sum(move.probabilities) == pytest.approx(1, abs=slack)
    good = [p for name, p in zip(move.candidates, move.probabilities, strict=True) if name not in move.in_vain]
    assert move.probability is not None
    if move.candidate_count == len(move.candidates):
        assert sum(good) == pytest.approx(move.probability, abs=slack)


def check_summary(plan: PlanDocument) -> None:
    assert sum(plan.summary.gains.values()) == len(plan.moves) == sum(plan.summary.targets.values())


@pytest.mark.parametrize("steering", ["none", "nominate"])
def test_on_random_clusters_the_figures_of_each_move_add_up(steering: SteeringMode) -> None:
    moves = 0
    for plan in random_plans(steering):
        check_summary(plan)
        moves += len(plan.moves)
        for move in plan.moves:
            if move.probability is not None and (move.probabilities or move.certainty != "certain"):
                check(move)
    assert moves > 50


@pytest.mark.parametrize(("profile", "nodes", "pods"), [("low-utilization", 120, 1500), ("spread-zone", 150, 1200)])
def test_where_the_scheduler_looks_at_some_nodes_no_move_is_without_probabilities(
    profile: str, nodes: int, pods: int
) -> None:
    plan = generated(profile, nodes, pods)
    assert any(each.candidate_count > 16 for each in plan.moves)
    check_summary(plan)
    for move in plan.moves:
        check(move)


def ties(count: int) -> list[Object]:
    """n1, which the pod leaves, and so many equal nodes."""
    return [a_node(f"n{number:03}", cpu="2", labels={HOSTNAME: f"n{number:03}"}) for number in range(1, count + 2)]


def test_a_certain_move_with_many_candidates_says_how_probable_each_is() -> None:
    (move,) = plan_of(proof(*ties(20), *TOLD, the_pod() | {"spec": the_pod()["spec"] | {"nodeName": "n001"}})).moves
    assert (move.certainty, move.candidate_count, move.probabilities) == ("certain", 20, (0.05,) * 20)
    assert move.target_probability == 0.05


def test_of_more_candidates_than_a_plan_holds_the_listed_ones_have_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landings, "MOST_CANDIDATES", 3)
    only_last = wanting("p", accepts=lambda nodes: nodes == 5)
    pod = the_pod() | {"spec": the_pod()["spec"] | {"nodeName": "n001"}}
    (move,) = plan_of(proof(*ties(5), *TOLD, pod, want=only_last, certainty="possible")).moves
    assert (move.target, move.candidates, move.candidate_count) == ("n006", ("n002", "n003", "n006"), 5)
    assert (move.probabilities, move.target_probability) == ((0.2,) * 3, 0.2)


def test_what_depends_on_kinds_that_the_input_lacks_has_no_figures() -> None:
    """Without Services nobody knows how the pod is spread; a node that alone fits is certain all the same."""
    told = [each for each in TOLD if each["kind"] != "Service"]
    pod = the_pod() | {"spec": the_pod()["spec"] | {"nodeName": "n001"}}
    (open_move,) = plan_of(proof(*ties(3), *told, pod)).moves
    assert open_move.candidate_count > 1
    assert (open_move.probabilities, open_move.target_probability) == ((), None)
    cordoned = [*ties(1)[1:], a_node("n001", cpu="2", unschedulable=True, labels={HOSTNAME: "n001"})]
    (move,) = plan_of(proof(*cordoned, *told, pod)).moves
    assert (move.candidates, move.probabilities, move.target_probability) == (("n002",), (1.0,), 1.0)
