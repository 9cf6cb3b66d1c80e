"""Which replacements may change places, and which landings a plan accepts."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from builders import a_node, a_pod, pod_anti_affinity, pod_term
from descheduling.harness import Object, a_cluster, a_policy
from executing.double import Double, a_task, carry_out, endings
from proving.proven import TOLD, read_policy
from restow.descheduling.registry import strategies
from restow.executing.deciding import tasks_of
from restow.executing.following import FreePlaces
from restow.executing.task import Landed, LandingMatch, Task
from restow.kube.timestamps import parse_time
from restow.proving.search import prove_cycle

NOW = "2026-11-21T00:00:00Z"
THRESHOLDS = {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}}


def alike(pod: str, number: int, *candidates: str) -> Task:
    """A move whose replacement may change places with others."""
    return structs.replace(a_task(pod, pod, number=number, candidates=candidates), interchangeable="small")


def landings(told: list[object]) -> list[tuple[str, LandingMatch, bool]]:
    return [(each.node, each.match, each.invalidates_plan) for each in told if isinstance(each, Landed)]


def test_replacements_alike_change_places() -> None:
    """The second place of the plan is taken first, and then the first one; nothing leads astray."""
    plan = [alike("web-0", 0, "b", "c"), alike("api-0", 1, "c")]
    told = carry_out(Double.of(plan, land=lambda pod: "c" if pod == "web-0" else "b"), plan)
    assert landings(told) == [("c", LandingMatch.PREDICTED, False), ("b", LandingMatch.PREDICTED, False)]
    assert set(endings(told).values()) == {"Settled"}


def test_a_node_takes_no_more_than_the_plan_has_places_there() -> None:
    """The one who finds its own place taken leads astray, for its node is fuller than anybody has proven."""
    plan = [alike("web-0", 0, "b", "c"), alike("api-0", 1, "c"), alike("db-0", 2, "b")]
    told = carry_out(Double.of(plan, land=lambda _: "c"), plan)
    assert [astray for *_, astray in landings(told)] == [False, True, True]


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (structs.replace(alike("api-0", 1, "c"), interchangeable="large"), "pods of another kind"),
        (structs.replace(alike("api-0", 1, "c"), interchangeable=None), "a pod that has its own place"),
    ],
    ids=["another kind", "its own place"],
)
def test_pods_that_are_not_alike_do_not_change_places(other: Task, why: str) -> None:
    assert not FreePlaces([alike("web-0", 0, "b", "c"), other]).take(alike("web-0", 0, "b", "c"), "c"), why


def test_nobody_takes_a_place_on_the_node_that_it_leaves_or_where_it_is_in_vain() -> None:
    leaving = alike("web-0", 0, "b")
    vain = structs.replace(leaving, move=structs.replace(leaving.move, candidates=("b", "c"), in_vain=("c",)))
    places = FreePlaces([leaving, alike("api-0", 1, "a"), alike("db-0", 2, "c")])
    assert leaving.move.source == "a"
    assert not places.take(leaving, "a")
    assert not places.take(vain, "c")
    assert places.take(leaving, "c")


def test_a_move_of_its_own_keeps_to_its_target() -> None:
    plan = [a_task("web-0", candidates=["b", "c"]), a_task("api-0", "api", number=1)]
    places = FreePlaces(plan)
    assert [places.take(plan[0], node) for node in ("b", "c")] == [True, False]
    assert places.take(plan[1], "anywhere"), "the plan does not say where"


def of_a_full_node(*features: dict[str, Any], policy: Object | None = None, steering: Any = "none") -> list[Task]:
    """The moves off a full node, one pod for each of some features."""
    pods = [
        a_pod(f"p-{at}", node="full", owner=("ReplicaSet", f"app-{at}"), **({"cpu": "900m"} | each))
        for at, each in enumerate(features)
    ]
    nodes = [a_node(name, cpu="4") for name in ("full", "b", "c")]
    cluster = a_cluster(*nodes, *pods, *TOLD)
    read = read_policy(policy or a_policy("LowNodeUtilization", THRESHOLDS))
    cycle = prove_cycle(cluster, read, strategies(), parse_time(NOW), steering=steering)
    return list(tasks_of(cycle, read))


def test_pods_with_the_same_requests_may_whosever_they_are() -> None:
    found = of_a_full_node({}, {}, {}, {})
    assert len(found) > 1
    assert len({each.interchangeable for each in found}) == 1
    assert found[0].interchangeable is not None


@pytest.mark.parametrize(
    "other",
    [{"cpu": "901m"}, {"tolerations": [{"operator": "Exists"}]}, {"priority": 7}],
    ids=["requests", "tolerations", "priority"],
)
def test_pods_that_differ_in_anything_the_scheduler_asks_for_may_not(other: dict[str, Any]) -> None:
    found = of_a_full_node({}, {}, other, other)
    kinds = {each.move.pod.name in ("p-2", "p-3"): each.interchangeable for each in found}
    assert len(found) > 1
    assert len(set(kinds.values())) == len(kinds)


def with_duplicates() -> Object:
    """A policy of a strategy that looks at owners, beside the other."""
    both = a_policy("LowNodeUtilization", THRESHOLDS)
    both["profiles"][0]["pluginConfig"].append({"name": "RemoveDuplicates", "args": {}})
    both["profiles"][0]["plugins"]["balance"]["enabled"].append("RemoveDuplicates")
    return both


@pytest.mark.parametrize(
    ("features", "options"),
    [
        ({"affinity": pod_anti_affinity([pod_term({"matchLabels": {"app": "x"}})])}, {}),
        ({}, {"steering": "nominate"}),
        ({}, {"policy": with_duplicates()}),
    ],
    ids=["a rule about other pods", "nominated", "a strategy that looks at owners"],
)
def test_none_may_where_places_are_their_own(features: dict[str, Any], options: dict[str, Any]) -> None:
    found = of_a_full_node(features, features, features, features, **options)
    assert len(found) > 1
    assert {each.interchangeable for each in found} == {None}
