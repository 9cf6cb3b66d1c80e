"""Random clusters in which other controllers forbid things: no proven plan does any of them."""

from __future__ import annotations

import json
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from descheduling.harness import Object
from oracle.moving_cases import MOVING_SUBJECTS, a_moving_case
from proving.proven import prove
from proving.vetoing import ALL_OFF, closed_nodes, forbidden_pods, neutral, with_vetoes
from restow.descheduling.cycle import Cycle
from restow.policies.codes import SteeringMode

#: Of 33 scenes.
MATTERING = 5
CASES = st.tuples(st.sampled_from(MOVING_SUBJECTS), st.integers(0, 1000), st.integers(0, 1000))


def scene(subject: str, seed: int, vetoes: int) -> tuple[list[Object], Object]:
    case = a_moving_case(subject, seed)
    policy = json.loads(case.policy)
    policy["restow"] = {"certainty": "possible"}
    return with_vetoes(case.cluster, vetoes), policy


@settings(max_examples=30, deadline=None)
@given(CASES, st.sampled_from(SteeringMode))
def test_no_forbidden_pod_moves_and_nothing_lands_on_a_closed_node(
    case: tuple[str, int, int], steering: SteeringMode
) -> None:
    """Neither a target is closed, nor any candidate that counts as good."""
    objects, policy = scene(*case)
    cycle = prove(objects, policy, steering=steering)
    names, closed = cycle.state.cluster.nodes.names, closed_nodes(objects)
    pods = cycle.state.cluster.pods
    assert not {pods.full_name(each.pod) for each in cycle.record.evictions} & forbidden_pods(objects)
    for each in cycle.record.evictions:
        landing = each.landing
        good = {*landing.candidates, *([landing.target] if landing.target >= 0 else [])} - set(landing.in_vain)
        assert not {names[node] for node in good} & closed


@settings(max_examples=20, deadline=None)
@given(CASES, st.sampled_from(SteeringMode))
def test_with_all_switches_off_the_plan_is_that_of_a_cluster_without_vetoes(
    case: tuple[str, int, int], steering: SteeringMode
) -> None:
    objects, policy = scene(*case)
    policy["restow"]["vetoes"] = ALL_OFF
    assert told(prove(objects, policy, steering=steering)) == told(prove(neutral(objects), policy, steering=steering))


def test_scenes_have_vetoes_that_matter() -> None:
    """In several of them the plan differs from the one with all switches off."""
    differing = 0
    for subject, seed in product(MOVING_SUBJECTS, range(3)):
        objects, policy = scene(subject, seed, seed)
        off = {**policy, "restow": {**policy["restow"], "vetoes": ALL_OFF}}
        differing += told(prove(objects, policy)) != told(prove(objects, off))
    assert differing >= MATTERING


def told(cycle: Cycle) -> list[tuple[object, ...]]:
    """The moves of a plan and where they land."""
    return [(each.pod, each.node, each.ref, each.landing) for each in cycle.record.evictions]
