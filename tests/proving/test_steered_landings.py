"""Where replacements are steered: each strategy to the node that serves it best, and nothing where that cannot be done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from builders import HOSTNAME, ZONE, Object, a_node, a_pod, ago, spread
from descheduling.harness import a_cluster, a_policy
from oracle.comparison import Case
from oracle.moving_cases import MOVING_SUBJECTS, a_moving_case
from proving.proven import TOLD, codes, landings, plans, prove
from restow.descheduling.arbiter import Eviction, RefusedSuggestion
from restow.descheduling.cycle import Cycle
from restow.policies.codes import SteeringMode
from restow.proving.steering import can_be_steered
from restow.scheduling.loop.schedulers import Schedulers

LOW = a_policy("LowNodeUtilization", {"thresholds": {"cpu": 30}, "targetThresholds": {"cpu": 60}})
HIGH = a_policy("HighNodeUtilization", {"thresholds": {"cpu": 30}})
DUPLICATES = a_policy("RemoveDuplicates", {})
SPREAD = a_policy("RemovePodsViolatingTopologySpreadConstraint", {})
SPREADING = [spread(1, ZONE, {"matchLabels": {"app": "web"}})]
TAINTS = a_policy("RemovePodsViolatingNodeTaints", {})


def nodes(count: int, **fields: Any) -> list[Object]:
    """``n1`` and so on, with 4 CPUs each."""
    return [a_node(f"n{at}", **({"cpu": "4", "labels": {HOSTNAME: f"n{at}"}} | fields)) for at in range(1, count + 1)]


def filler(node: str, cpu: str) -> Object:
    """What is on a node and stays."""
    return a_pod(f"filler-{node}", node=node, cpu=cpu, owner=("DaemonSet", "filler"), phase="Running")


def a_replica(name: str, node: str, cpu: str = "400m", **fields: Any) -> Object:
    """A pod of a ReplicaSet of its own, which the scheduler spreads with no other."""
    fields = {"owner": ("ReplicaSet", f"rs-{name}"), "phase": "Running"} | fields
    return a_pod(name, node=node, cpu=cpu, **fields)


def steered(policy: Object, *objects: Object) -> Cycle:
    """A plan whose replacements can be steered."""
    return prove([*objects, *TOLD], policy, steering="nominate")


def test_low_node_utilization_evens_out_most() -> None:
    """Of the nodes that stay below their target the emptiest takes the pod."""
    loads = [filler("n1", "2500m"), filler("n2", "1"), filler("n3", "500m"), filler("n4", "800m")]
    cycle = steered(LOW, *nodes(4), *loads, a_replica("p", "n1"))
    assert landings(cycle) == {"p": "n3"}


def test_of_many_nodes_as_empty_as_one_another_those_of_every_zone_are_looked_at() -> None:
    """Nodes of a zone are neighbours by name, and two zones have a replica already."""
    at = {f"n{number:03}": "abc"[number // 130] for number in range(390)}
    labelled = [a_node(name, cpu="4", labels={HOSTNAME: name, ZONE: zone}) for name, zone in at.items()]
    apart = [spread(1, ZONE, {"matchLabels": {"app": "web"}}, when="ScheduleAnyway")]
    web = {"owner": ("ReplicaSet", "web"), "labels": {"app": "web"}, "spread": apart}
    there = [a_replica("web-a", "n001", cpu="1", **web), a_replica("web-c", "n389", cpu="1", **web)]
    moved = a_replica("web-p", "n000", cpu="1", **web)
    (target,) = landings(steered(LOW, *labelled, filler("n000", "2500m"), moved, *there)).values()
    assert at[target] == "b"


def test_of_many_nodes_that_serve_a_strategy_alike_all_get_pods() -> None:
    """Each move compares some of them, and other ones every time: no node is filled while another stays empty."""
    zones = {f"{zone}{number:03}": zone for zone in "ab" for number in range(300)}
    labelled = [a_node(name, cpu="4", labels={HOSTNAME: name, ZONE: zone}) for name, zone in zones.items()]
    pods = [
        a_replica(
            f"p{number:03}-{at}",
            f"a{number:03}",
            owner=("ReplicaSet", f"rs-{number}"),
            labels={"app": f"web-{number}"},
            spread=[spread(1, ZONE, {"matchLabels": {"app": f"web-{number}"}})],
        )
        for number in range(300)
        for at in range(2)
    ]
    taken = Counter(landings(steered(SPREAD, *labelled, *pods)).values())
    assert sum(taken.values()) == 300
    assert len(taken) > 270
    assert max(taken.values()) == 2


def test_high_node_utilization_fills_the_fullest_node_that_takes_the_pod() -> None:
    """n4 is fuller still, and has no room; the scheduler would prefer n2, the emptiest."""
    loads = [filler("n2", "1500m"), filler("n3", "2500m"), filler("n4", "3800m")]
    cycle = steered(HIGH, *nodes(4), *loads, a_replica("p", "n1"))
    assert landings(cycle) == {"p": "n3"}
    assert codes(prove([*nodes(4), *loads, a_replica("p", "n1"), *TOLD], HIGH))["p"] in ("SameNode", "NoGain")


def test_a_duplicate_goes_to_a_node_without_one() -> None:
    web = {"owner": ("ReplicaSet", "web"), "labels": {"app": "web"}}
    pods = [a_replica(f"web-{at}", node, **web) for at, node in enumerate(("n1", "n1", "n1", "n2", "n2", "n3"))]
    # n4 is full, and n3 has fewer replicas than n2.
    cycle = steered(DUPLICATES, *nodes(4), filler("n4", "3900m"), *pods)
    assert list(landings(cycle).values()) == ["n3"]


def test_a_pod_of_a_crowded_domain_goes_to_the_emptiest() -> None:
    """And there to the node that the scheduler scores highest."""
    zones = {"n1": "a", "n2": "b", "n3": "c", "n4": "c"}
    labelled = [a_node(name, cpu="4", labels={HOSTNAME: name, ZONE: zone}) for name, zone in zones.items()]
    web = {"owner": ("ReplicaSet", "web"), "labels": {"app": "web"}, "spread": SPREADING}
    pods = [a_replica(f"web-{at}", node, **web) for at, node in enumerate(("n1", "n1", "n1", "n2", "n2"))]
    cycle = steered(SPREAD, *labelled, filler("n3", "2"), *pods)
    assert list(landings(cycle).values()) == ["n4"]


def test_of_places_as_good_the_scheduler_scores() -> None:
    """Taints care for no place in particular: the emptiest node scores highest."""
    tainted = a_node("n1", cpu="4", labels={HOSTNAME: "n1"}, taints=["a=b:NoSchedule"])
    loads = [filler("n2", "2"), filler("n3", "1"), filler("n4", "3")]
    cycle = steered(TAINTS, tainted, *nodes(4)[1:], *loads, a_replica("p", "n1"))
    assert landings(cycle) == {"p": "n3"}


def test_a_pod_that_no_node_lets_in_stays() -> None:
    """Its own node has lost the label that it selects."""
    selecting = a_replica("p", "n1", spec={"nodeSelector": {"disk": "fast"}})
    cycle = steered(LOW, *nodes(4), filler("n1", "2500m"), selecting)
    assert landings(cycle) == {}
    assert codes(cycle)["p"] == "NoFit"


def test_a_steered_move_is_certain_and_has_one_candidate() -> None:
    cycle = steered(LOW, *nodes(4), filler("n1", "2500m"), a_replica("p", "n1"))
    (move,) = cycle.record.evictions
    landing = move.landing
    assert (landing.steering, landing.certainty, landing.probability) == ("nominate", "certain", 1.0)
    assert (landing.candidates, landing.probabilities, landing.in_vain) == ((landing.target,), (1.0,), ())


@pytest.mark.parametrize(
    ("owner", "known"),
    [
        (("ReplicaSet", "rs"), True),
        (("StatefulSet", "db"), True),
        (("Job", "etl"), True),
        (("Operator", "kafka"), True),
        (None, False),
        (("DaemonSet", "log"), False),
        (("Node", "n1"), False),
    ],
)
def test_a_replacement_can_be_steered_if_a_controller_creates_it_for_any_node(
    owner: tuple[str, str] | None, known: bool
) -> None:
    cluster = a_cluster(*nodes(1), a_pod("p", node="n1", owner=owner))
    assert can_be_steered(cluster.pods, 0, SteeringMode.NOMINATE) is known
    assert not can_be_steered(cluster.pods, 0, SteeringMode.NONE)


def test_a_pod_of_a_daemon_set_fares_as_without_steering() -> None:
    tainted = a_node("n1", cpu="4", labels={HOSTNAME: "n1"}, taints=["a=b:NoSchedule"])
    policy = a_policy("RemovePodsViolatingNodeTaints", {}, evictor={"evictDaemonSetPods": True})
    cycle = steered(policy, tainted, *nodes(2)[1:], a_replica("p", "n1", owner=("DaemonSet", "log")))
    assert landings(cycle) == {"p": "n2"}
    assert [each.landing.steering for each in cycle.record.evictions] == [None]


def test_nothing_is_steered_where_the_replacement_would_have_to_wait() -> None:
    """It fits only once the old pod has gone, and behind its gate it would not be tried again and again."""
    life = a_policy("PodLifeTime", {"maxPodLifeTimeSeconds": 60})
    cycle = steered(life, *nodes(2), filler("n2", "3"), a_replica("p", "n1", "3", created=ago(7200)))
    assert landings(cycle) == {"p": "n1"}
    assert [each.landing.steering for each in cycle.record.evictions] == [None]


def test_the_objections_of_other_strategies_are_respected() -> None:
    """The emptiest node has a replica already: RemoveDuplicates would move the second one on."""
    both = {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "profiles": [
            {
                "name": "both",
                "pluginConfig": [
                    {"name": "DefaultEvictor", "args": {}},
                    {"name": "RemoveDuplicates", "args": {}},
                    {"name": "LowNodeUtilization", "args": LOW["profiles"][0]["pluginConfig"][1]["args"]},
                ],
                "plugins": {"balance": {"enabled": ["LowNodeUtilization", "RemoveDuplicates"]}},
            }
        ],
    }
    web = {"owner": ("ReplicaSet", "web"), "labels": {"app": "web"}}
    pods = [a_replica("web-1", "n1", "500m", **web), a_replica("web-2", "n2", "100m", **web)]
    objects = [*nodes(3), filler("n1", "2500m"), filler("n3", "900m"), *pods]
    assert landings(steered(LOW, *objects)) == {"web-1": "n2"}
    assert landings(steered(both, *objects)) == {"web-1": "n3"}


WEB: Object = {"owner": ("ReplicaSet", "web"), "labels": {"app": "web"}, "spread": SPREADING}
#: What is on six nodes of three zones, by the policy that finds something to do about it.
UNEVEN: dict[str, tuple[Object, list[Object]]] = {
    "low": (LOW, [filler("n1", "2"), filler("n3", "500m"), *(a_replica(f"p{at}", "n1", "300m") for at in range(6))]),
    "high": (HIGH, [filler("n3", "1500m"), filler("n5", "2500m"), *(a_replica(f"p{at}", "n1") for at in range(2))]),
    "duplicates": (DUPLICATES, [a_replica(f"web-{at}", f"n{1 + at // 6}", "300m", **WEB) for at in range(12)]),
    "spread": (SPREAD, [a_replica(f"web-{at}", f"n{1 + at // 6}", "300m", **WEB) for at in range(12)]),
}


@pytest.mark.parametrize("name", UNEVEN)
def test_a_second_plan_moves_nothing_again(name: str) -> None:
    policy, pods = UNEVEN[name]
    zones = dict(zip(("n1", "n2", "n3", "n4", "n5", "n6"), "aabbcc", strict=True))
    cluster = [a_node(each, cpu="4", labels={HOSTNAME: each, ZONE: zone}) for each, zone in zones.items()]
    first, *others = plans([*cluster, *pods, *TOLD], policy, steering="nominate")
    assert first.record.evictions
    assert all(each.landing.steering == "nominate" for each in first.record.evictions)
    assert [len(each.record.evictions) for each in others] == [0]


def test_asking_about_the_best_nodes_first_finds_what_asking_about_all_finds(monkeypatch) -> None:
    """The filters may be asked about the best nodes alone, or, where none of those fits, about every node."""
    cases = [a_moving_case(subject, seed) for subject in MOVING_SUBJECTS for seed in range(4)]
    first = [told(case) for case in cases]
    assert sum(each.landing.steering == "nominate" for moves, _ in first for each in moves) > 20
    monkeypatch.setattr(Schedulers, "passing", lambda _self, _pod, nodes: nodes[:0])
    assert [told(case) for case in cases] == first


def told(case: Case) -> tuple[Sequence[Eviction], Sequence[RefusedSuggestion]]:
    """The moves with their landings, and the refusals, of a plan whose replacements can be steered."""
    record = prove(case.cluster, case.policy, steering="nominate").record
    return record.evictions, record.refusals
