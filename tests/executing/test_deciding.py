"""By which rules is decided, and what a cycle knows of its own past."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from builders import HOSTNAME, Object, a_node, a_pod, ago
from builders.metadata import uid_of
from builders.policies import strategy_policy
from descheduling import harness
from descheduling.harness import a_cluster
from proving.proven import TOLD
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.framework import Strategy, Suggestions, View, suggest_by_node
from restow.descheduling.limits import PriorEviction
from restow.descheduling.registry import plugins
from restow.executing.deciding import Before, CycleDecision, CycleRules, decide
from restow.kube.timestamps import parse_time
from restow.policies.codes import PlacementConstraint
from restow.policies.load import load_policy
from restow.policies.policy import Policy
from restow.proving.search import prove_cycle

NOW = parse_time(harness.NOW)


def a_policy(**restow: Any) -> Policy:
    document = strategy_policy("RemoveDuplicates", restow=restow)
    return load_policy(msgspec.json.encode(document), "policy.json", plugins()).policy


def duplicates() -> ClusterSnapshot:
    """Three replicas on one of three nodes."""
    nodes: list[Object] = [a_node(f"n{at}", cpu="4", pods="110", labels={HOSTNAME: f"n{at}"}) for at in range(3)]
    same: dict[str, Any] = {"owner": ("ReplicaSet", "web"), "created": ago(3600), "images": ["web:1"]}
    return a_cluster(*nodes, *(a_pod(f"web-{at}", node="n0", **same) for at in range(3)), *TOLD)


def moves(decision: CycleDecision) -> list[str]:
    return [task.move.pod.name for task in decision.tasks]


@pytest.mark.parametrize(
    ("policy", "asked", "placement"),
    [
        ({}, None, "prove"),
        ({"placement": "upstream"}, None, "upstream"),
        ({"placement": "prove"}, None, "prove"),
        ({"placement": "upstream"}, "prove", "prove"),
        ({}, "upstream", "upstream"),
    ],
)
def test_the_flag_goes_before_the_policy_and_without_either_moves_are_proven(
    policy: dict[str, Any], asked: Any, placement: str
) -> None:
    rules = CycleRules(a_policy(**policy), asked)
    assert rules.placement == placement
    decision = decide(duplicates(), rules, Before(), NOW)
    assert {task.is_proven for task in decision.tasks} == {placement == "prove"}


@pytest.mark.parametrize("placement", ["prove", "upstream"])
def test_what_was_evicted_counts_and_the_time_is_told(placement: Any) -> None:
    policy = msgspec.structs.replace(a_policy(), max_no_of_pods_to_evict_total=2)
    prior_evictions = PriorEviction("default", "n0", "P", "RemoveDuplicates")
    decision = decide(duplicates(), CycleRules(policy, placement), Before((prior_evictions,)), NOW)
    assert len(decision.tasks) == 1
    assert decision.seconds > 0
    assert set(decision.utilisation.before) == {"cpu", "memory"}


def test_no_proof_counts_on_a_pod_that_was_given_up() -> None:
    rules = CycleRules(a_policy())
    first = decide(duplicates(), rules, Before(), NOW)
    assert len(moves(first)) == 2
    uid = first.tasks[0].move.pod.uid
    again = decide(duplicates(), rules, Before(given_up={uid}), NOW)
    assert first.tasks[0].move.pod.name not in moves(again)
    refusals = {each.pod: each.reason[1] for each in again.cycle.record.refusals}
    assert refusals[again.cycle.state.cluster.pods.uids.index(uid)] == "GivenUp"


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_repaired_plan_moves_only_pods_that_it_may_move(count: int) -> None:
    rules = CycleRules(a_policy())
    first = moves(decide(duplicates(), rules, Before(), NOW))
    allowed = {uid_of("Pod", "default", name) for name in first[:count]}
    assert moves(decide(duplicates(), rules, Before(may_move=allowed), NOW)) == first[:count]
    given_up = decide(duplicates(), rules, Before(may_move=allowed, given_up=allowed), NOW)
    assert moves(given_up) == []


def test_in_a_repaired_plan_strategies_see_all_pods_and_know_which_are_due() -> None:
    cluster, seen = duplicates(), []

    def suggest(view: View, _args: Any) -> Suggestions:
        on_nodes = {node: pods.tolist() for node, pods in view.by_node(view.running_pods(None, None))}
        seen.append((on_nodes, view.due(np.arange(3)).tolist(), view.due_nodes()))
        yield from suggest_by_node(view, dict.fromkeys(range(3), "asked"), PlacementConstraint.ELSEWHERE)

    asked = {"RemoveDuplicates": Strategy(plugins()["RemoveDuplicates"], suggest)}
    found = prove_cycle(cluster, a_policy(), asked, NOW, may_move={cluster.pods.uids[1]})
    assert seen[0] == ({0: [0, 1, 2]}, [1], {0})
    assert [each.pod for each in found.record.evictions] == [1]
    assert found.record.refusals == ()


def test_a_repaired_plan_says_nothing_of_pods_that_wait_for_a_later_one() -> None:
    """Each of them would be one more refusal in each of hundreds of plans."""
    rules = CycleRules(a_policy())
    whole = decide(duplicates(), rules, Before(), NOW)
    assert len(moves(whole)) == 2
    uid = whole.tasks[0].move.pod.uid
    repaired = decide(duplicates(), rules, Before(may_move={uid}), NOW)
    uids = repaired.cycle.state.cluster.pods.uids
    assert moves(repaired) == moves(whole)[:1]
    assert {uids[each.pod] for each in repaired.cycle.record.refusals} <= {uid}
