"""A plan decided again: the same on the same cluster, and refused move by move where something has changed."""

from __future__ import annotations

from collections.abc import Sequence
from tempfile import NamedTemporaryFile
from typing import Any

import pytest
from msgspec import UNSET, structs

from bench.problems import generate, policy_for
from builders import HOSTNAME, NOW, Object, a_namespace, a_node, a_pdb, a_pod, node_affinity, node_term
from descheduling.harness import a_cluster, a_policy
from proving.proven import TOLD, read_policy
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.plan import Move
from restow.errors import InputError
from restow.kube.timestamps import parse_time
from restow.policies.codes import Placement, SteeringMode
from restow.policies.policy import Policy
from restow.proving.planning import decided, make_plan
from restow.proving.replaying import Replay, check_plugins_enabled, replay
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE
from restow.sources.documents import load_cluster
from restow.sources.synthetic import write_list

AT = parse_time(NOW)
SOME = ("mixed", "full", "low-utilization", "duplicates", "spread-zone", "lifetime")
DUPLICATES = a_policy("RemoveDuplicates", {})
HIGH = a_policy("HighNodeUtilization", {"thresholds": {"cpu": 30}})
LOW = a_policy("LowNodeUtilization", {"thresholds": {"cpu": 30}, "targetThresholds": {"cpu": 60}})


def planned(
    cluster: ClusterSnapshot, policy: Policy, placement: Placement = "prove", steering: SteeringMode = "none"
) -> tuple[Move, ...]:
    """The moves that a plan of a cluster has."""
    cycle = decided(cluster, policy, placement, AT, (DEFAULT_PROFILE,), steering=steering)
    return make_plan(cycle, AT, placement).moves


def again(
    cluster: ClusterSnapshot,
    policy: Policy,
    moves: Sequence[Move],
    placement: Placement = "prove",
    steering: SteeringMode = "none",
) -> Replay:
    found = replay(cluster, policy, moves, AT, (DEFAULT_PROFILE,), placement=placement, steering=steering)
    found.cycle.state.validate()
    return found


def made(found: Replay, placement: Placement = "prove") -> tuple[Move, ...]:
    return make_plan(found.cycle, AT, placement).moves


def refused(found: Replay) -> dict[str, tuple[str, str]]:
    return {each.move.pod.name: (each.code, each.message) for each in found.refused}


def town(*changes: Object, without: Sequence[str] = ()) -> list[Object]:
    """Three nodes; three replicas of ``web`` on n1, of which one each goes to n2 and n3; ``changes`` replace objects."""
    owner = ("ReplicaSet", "web")
    objects = [a_node(f"n{at}", cpu="4", labels={HOSTNAME: f"n{at}"}) for at in (1, 2, 3)]
    objects += [a_pod(f"web-{at}", node="n1", owner=owner, cpu="1", phase="Running") for at in range(3)]
    objects = [each for each in objects if each["metadata"]["name"] not in without]
    changed = {(each["kind"], each["metadata"]["name"]) for each in changes}
    kept = [each for each in objects if (each["kind"], each["metadata"]["name"]) not in changed]
    return [*kept, *changes, *TOLD]


def test_of_the_scene_two_replicas_move() -> None:
    moves = planned(a_cluster(*town()), read_policy(DUPLICATES))
    assert [(each.pod.name, each.source) for each in moves] == [("web-1", "n1"), ("web-2", "n1")]
    assert {each.target for each in moves} == {"n2", "n3"}


@pytest.mark.parametrize("how", [("prove", "none"), ("prove", "nominate"), ("upstream", "none")], ids=" ".join)
@pytest.mark.parametrize("profile", SOME)
def test_on_the_same_cluster_every_move_is_made_and_lands_as_planned(
    profile: str, how: tuple[Placement, SteeringMode]
) -> None:
    cluster, policy = generated(profile), read_policy(policy_for(profile))
    moves = planned(cluster, policy, *how)
    assert moves
    found = again(cluster, policy, moves, *how)
    assert made(found, how[0]) == moves
    assert found.refused == ()


@pytest.mark.parametrize("profile", SOME)
def test_a_plan_without_steering_is_steered_to_its_targets_where_that_is_possible(profile: str) -> None:
    cluster, policy = generated(profile), read_policy(policy_for(profile))
    moves = planned(cluster, policy)
    steered = {each.pod.uid: each for each in made(again(cluster, policy, moves, steering="nominate"))}
    assert {uid: each.target for uid, each in steered.items()} == {each.pod.uid: each.target for each in moves}
    assert any(each.steering for each in steered.values())


def generated(profile: str, nodes: int = 14, pods: int = 200) -> ClusterSnapshot:
    """Small enough for a test, large enough for rounds in which strategies answer one another."""
    with NamedTemporaryFile(suffix=".json") as file:
        write_list(generate(profile, nodes, pods, 3), file)  # type: ignore[arg-type]
        file.flush()
        return load_cluster([file.name])[0]


def test_what_a_strategy_does_not_ask_for_any_more_is_made_all_the_same() -> None:
    """Whoever applies a plan has decided about it: here one replica of the three is gone, and n1 has two left."""
    policy = read_policy(DUPLICATES)
    moves = planned(a_cluster(*town()), policy)
    left = a_cluster(*town(without=["web-0"]))
    assert [each.pod.name for each in planned(left, policy)] != [each.pod.name for each in moves]
    assert [each.pod.name for each in made(again(left, policy, moves))] == ["web-1", "web-2"]


CHANGES: dict[str, tuple[list[Object], str, str]] = {
    "opted out": (
        [a_namespace("default", annotations={"restow.dev/eviction": "disabled"})],
        "NamespaceOptedOut",
        "pod namespace is protected",
    ),
    "budget full": ([a_pdb("web", selector={})], "DisruptionBudget", "default/web allows 0 more"),
    "source not ready": (
        [a_node("n1", cpu="4", ready=False)],
        "Stale",
        "n1 is not ready, or not selected by the policy any more",
    ),
    "too few nodes": (
        [a_node("n1", cpu="4", ready=False), a_node("n2", cpu="4", ready=False)],
        "Stale",
        "of two nodes that are ready and selected by the policy there is one",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_refuses_every_move(change: str) -> None:
    policy = read_policy(DUPLICATES)
    moves = planned(a_cluster(*town()), policy)
    objects, code, message = CHANGES[change]
    found = again(a_cluster(*town(*objects)), policy, moves)
    assert made(found) == ()
    assert {each.code for each in found.refused} == {code}
    assert all(message in each.message for each in found.refused)


def test_a_pod_that_is_gone_or_another_one_of_the_same_name_is_refused_alone() -> None:
    policy = read_policy(DUPLICATES)
    moves = planned(a_cluster(*town()), policy)
    other = a_pod("web-2", uid="another", node="n1", owner=("ReplicaSet", "web"), cpu="1", phase="Running")
    found = again(a_cluster(*town(other)), policy, moves)
    assert refused(found) == {"web-2": ("Gone", "it is already gone")}
    assert [each.pod.name for each in made(found)] == ["web-1"]


def test_a_pod_on_another_node_than_the_plan_has_it_is_refused() -> None:
    policy = read_policy(DUPLICATES)
    moves = planned(a_cluster(*town()), policy)
    elsewhere = a_pod("web-2", node="n3", owner=("ReplicaSet", "web"), cpu="1", phase="Running")
    assert refused(again(a_cluster(*town(elsewhere)), policy, moves))["web-2"] == (
        "Stale",
        "it is not on n1, from where the plan moves it",
    )


def test_a_pod_that_has_ended_is_not_cleared_away_by_a_plan_that_would_have_moved_it() -> None:
    policy = read_policy(DUPLICATES)
    moves = planned(a_cluster(*town()), policy)
    over = a_pod("web-2", node="n1", owner=("ReplicaSet", "web"), cpu="1", phase="Succeeded")
    found = again(a_cluster(*town(over)), policy, moves)
    assert refused(found)["web-2"] == ("Stale", "it has ended, so nothing would come in its place")


@pytest.mark.parametrize("steering", ["none", "nominate"])
def test_a_target_that_somebody_has_filled_is_not_replaced_by_a_node_that_the_plan_does_not_name(
    steering: SteeringMode,
) -> None:
    """n2 and n3 are full, and n4 is new: it would do for the strategy, and nobody has agreed to it."""
    policy = read_policy(DUPLICATES)
    moves = planned(a_cluster(*town()), policy, steering=steering)
    fillers = [a_pod(f"filler-{at}", node=f"n{at}", owner=("DaemonSet", "filler"), cpu="4") for at in (2, 3)]
    now = a_cluster(*town(*fillers, a_node("n4", cpu="4", labels={HOSTNAME: "n4"})))
    assert {each.target for each in planned(now, policy, steering=steering)} == {"n4"}
    found = again(now, policy, moves, steering=steering)
    assert made(found) == ()
    said = {
        "none": "it would land on n4, where the plan does not want it",
        "nominate": "it does not fit on the one node where the plan wants it: 1 Insufficient cpu",
    }
    assert {(each.code, each.message) for each in found.refused} == {("NoGain", said[steering])}


def test_a_landing_that_the_plan_does_not_name_counts_as_harm() -> None:
    """n3 is new, and as good as n2 to the scheduler; by certainty alone a half would be enough."""
    policy = read_policy({**DUPLICATES, "restow": {"certainty": 0.4}})
    moves = planned(a_cluster(*town(without=["n3", "web-2"])), policy)
    assert [(each.pod.name, each.target) for each in moves] == [("web-1", "n2")]
    found = again(a_cluster(*town(without=["web-2"])), policy, moves)
    message = "with a probability of 0.50 it would land on n3, where the plan does not want it"
    assert refused(found) == {"web-1": ("Harmful", message)}


def test_a_target_that_has_become_hot_is_not_filled_further() -> None:
    """n2 still has room for the pod, but LowNodeUtilization would take pods off it."""
    policy = read_policy(LOW)
    web = a_pod("web", node="n1", owner=("ReplicaSet", "web"), cpu="500m", phase="Running")
    hot = [a_pod("hot", node="n1", owner=("DaemonSet", "hot"), cpu="3"), web]
    moves = planned(a_cluster(*nodes_of_four_cpus(2), *hot, *TOLD), policy)
    assert [each.target for each in moves] == ["n2"]
    filler = a_pod("filler", node="n2", owner=("DaemonSet", "filler"), cpu="3")
    found = again(a_cluster(*nodes_of_four_cpus(2), *hot, filler, *TOLD), policy, moves)
    assert refused(found) == {"web": ("NoGain", "it would land on n2, where the plan does not want it")}


def test_a_target_that_has_its_share_of_replicas_meanwhile_is_not_given_another() -> None:
    """Somebody has scaled the workload, and n2 and n3 have as many replicas as n1."""
    policy = read_policy(DUPLICATES)
    moves = planned(a_cluster(*town()), policy)
    more = [
        a_pod(f"more-{at}", node=f"n{2 + at % 2}", owner=("ReplicaSet", "web"), cpu="100m", phase="Running")
        for at in range(6)
    ]
    found = again(a_cluster(*town(*more)), policy, moves)
    assert made(found) == ()


def test_where_a_strategy_lacks_what_it_goes_by_its_moves_are_refused() -> None:
    """The plan was made with metrics, and now there are none."""
    args = {
        "thresholds": {"cpu": 30},
        "targetThresholds": {"cpu": 60},
        "metricsUtilization": {"source": "KubernetesMetrics"},
    }
    policy = read_policy(a_policy("LowNodeUtilization", args, metricsProviders=[{"source": "KubernetesMetrics"}]))
    web = a_pod("web", node="n1", owner=("ReplicaSet", "web"), cpu="500m", phase="Running")
    objects = [*nodes_of_four_cpus(2), web, a_pod("hot", node="n1", owner=("DaemonSet", "hot"), cpu="3"), *TOLD]
    moves = planned(a_cluster(*objects), read_policy(LOW))
    named = [structs.replace(each, profile="test") for each in moves]
    ((name, (code, message)),) = refused(again(a_cluster(*objects), policy, named)).items()
    assert (name, code) == ("web", "Unknown")
    assert message.startswith("LowNodeUtilization could not judge it: ")


def two_to_be_emptied(**second: Any) -> list[Object]:
    """n1 has two small pods that fill n2; the scheduler would put them back. Together they empty n1."""
    pods = [
        a_pod("p-0", node="n1", owner=("ReplicaSet", "rs-0"), cpu="100m", phase="Running"),
        a_pod("p-1", **({"node": "n1", "owner": ("ReplicaSet", "rs-1"), "cpu": "100m", "phase": "Running"} | second)),
        a_pod("filler", node="n2", owner=("DaemonSet", "filler"), cpu="2", phase="Running"),
    ]
    return [*nodes_of_four_cpus(2), *pods, *TOLD]


def test_moves_that_are_made_together_are_made_again_together() -> None:
    policy = read_policy(HIGH)
    moves = planned(a_cluster(*two_to_be_emptied()), policy, steering="nominate")
    assert [(each.pod.name, each.proposal is UNSET) for each in moves] == [("p-0", False), ("p-1", False)]
    assert made(again(a_cluster(*two_to_be_emptied()), policy, moves, steering="nominate")) == moves


def test_a_node_that_a_protected_pod_keeps_takes_pods_again() -> None:
    """n2 is underused as n1 is, and what is on it stays; n3 is full."""
    full = a_pod("full", node="n3", cpu="3900m", owner=("DaemonSet", "full"))
    kept = [a_pod("bare", node="n2", cpu="100m"), full]
    cluster = [*nodes_of_four_cpus(3), *kept, a_pod("p", node="n1", cpu="400m", owner=("ReplicaSet", "p")), *TOLD]
    policy = read_policy(HIGH)
    moves = planned(a_cluster(*cluster), policy, steering="nominate")
    assert [(each.pod.name, each.target) for each in moves] == [("p", "n2")]
    assert made(again(a_cluster(*cluster), policy, moves, steering="nominate")) == moves


def test_nodes_are_merged_again() -> None:
    """The pods of n1 and n2 can be on these nodes alone, and n2 is the fuller one."""
    pool = node_affinity([node_term((HOSTNAME, "In", "n1", "n2"))])
    placed = [("p", "n1", "100m"), ("q", "n2", "300m")]
    replicas = [
        a_pod(name, node=node, cpu=cpu, owner=("ReplicaSet", name), affinity=pool) for name, node, cpu in placed
    ]
    half = a_pod("half", node="n3", cpu="2", owner=("DaemonSet", "half"))
    cluster = [*nodes_of_four_cpus(3), *replicas, half, *TOLD]
    policy = read_policy(HIGH)
    moves = planned(a_cluster(*cluster), policy, steering="nominate")
    assert [(each.pod.name, each.target) for each in moves] == [("p", "n2")]
    assert made(again(a_cluster(*cluster), policy, moves, steering="nominate")) == moves


@pytest.mark.parametrize(
    ("change", "code"),
    [({"uid": "another"}, "Gone"), ({"node": "n2"}, "Stale"), ({"cpu": "3"}, "SameNode"), ({"priority": 2_000_000_000}, "SystemCriticalPods")],
    ids=lambda each: each if isinstance(each, str) else "",
)  # fmt: skip
def test_where_one_of_them_does_not_hold_none_is_made(change: dict[str, Any], code: str) -> None:
    policy = read_policy(HIGH)
    moves = planned(a_cluster(*two_to_be_emptied()), policy, steering="nominate")
    found = again(a_cluster(*two_to_be_emptied(**change)), policy, moves, steering="nominate")
    assert made(found) == ()
    assert {name: told for name, (told, _) in refused(found).items()} == {"p-0": code, "p-1": code}


def test_what_is_known_to_stay_takes_those_along_that_are_made_with_it() -> None:
    policy, cluster = read_policy(HIGH), a_cluster(*two_to_be_emptied())
    moves = planned(cluster, policy, steering="nominate")
    changed = {moves[0].pod.uid: ("Window", "no window of the policy is open")}
    found = replay(
        cluster, policy, moves, AT, (DEFAULT_PROFILE,), placement="prove", steering="nominate", changed=changed
    )
    assert refused(found) == {
        "p-0": ("Window", "no window of the policy is open"),
        "p-1": ("Window", "it is moved together with default/p-0 or not at all: no window of the policy is open"),
    }


def nodes_of_four_cpus(count: int) -> list[Object]:
    return [a_node(f"n{at}", cpu="4", labels={HOSTNAME: f"n{at}"}) for at in range(1, count + 1)]


def test_the_limits_of_the_policy_hold() -> None:
    policy = read_policy(DUPLICATES)
    moves = planned(a_cluster(*town()), policy)
    limited = structs.replace(policy, max_no_of_pods_to_evict_total=1)
    found = again(a_cluster(*town()), limited, moves)
    assert [each.pod.name for each in made(found)] == ["web-1"]
    assert refused(found)["web-2"][0] == "MaxPodsToEvictTotal"


def test_moves_are_made_in_the_order_of_the_plan() -> None:
    """Rounds make strategies take turns: moves of one strategy are not brought together."""
    cluster, policy = generated("mixed"), read_policy(policy_for("mixed"))
    moves = planned(cluster, policy, steering="nominate")
    mixed = (*moves[::2], *moves[1::2])
    left = [each.pod.uid for each in made(again(cluster, policy, mixed, steering="nominate"))]
    assert left == [each.pod.uid for each in mixed if each.pod.uid in left]
    assert left != [each.pod.uid for each in moves if each.pod.uid in left]


def test_a_move_of_a_strategy_that_the_policy_does_not_enable_is_named() -> None:
    policy = read_policy(DUPLICATES)
    moves = planned(a_cluster(*town()), policy)
    check_plugins_enabled(moves, policy, "plan.json")
    with pytest.raises(
        InputError, match=r"plan.json: moves\[0\].plugin: the plan's policy enables no RemoveDuplicates"
    ):
        check_plugins_enabled(moves, read_policy(LOW), "plan.json")
