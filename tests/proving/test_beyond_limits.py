"""A refusal for a limit says whether a higher limit would help."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from builders import NOW, Object, a_node, a_pod
from descheduling.harness import a_policy
from proving.proven import TOLD, prove, proven, reasons
from restow.descheduling.cycle import Cycle
from restow.descheduling.plan import Refusal
from restow.kube.timestamps import parse_time
from restow.policies.codes import RefusalCode, Stage, SteeringMode
from restow.proving.planning import make_plan

TAINTS = "RemovePodsViolatingNodeTaints"
#: Three pods have to leave n1.
LEFT = a_node("n1", cpu="8", taints=["gone=yes:NoSchedule"])


def pods(count: int = 3, **features: Any) -> list[Object]:
    return [a_pod(f"web-{at}", node="n1", cpu="1", owner=("ReplicaSet", "web"), **features) for at in range(count)]


def refusals(cycle: Cycle) -> tuple[Refusal, ...]:
    return make_plan(cycle, parse_time(NOW), "prove").refusals


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("maxNoOfPodsToEvictPerNode", RefusalCode.MAX_PER_NODE),
        ("maxNoOfPodsToEvictPerNamespace", RefusalCode.MAX_PER_NAMESPACE),
        ("maxNoOfPodsToEvictTotal", RefusalCode.MAX_TOTAL),
    ],
)
def test_a_limit_that_is_not_the_last_obstacle_names_the_last_too(limit: str, code: RefusalCode) -> None:
    """n2 has room for one pod: with a higher limit the others would fit nowhere."""
    found = refusals(proven(TAINTS, {}, LEFT, a_node("n2", cpu="1"), *pods(), **{limit: 1}))
    assert found
    for each in found:
        assert (each.stage, each.code) == (Stage.LIMIT, code)
        assert each.also_refused_by is not UNSET
        assert (each.also_refused_by.stage, each.also_refused_by.code) == (Stage.PLACEMENT, RefusalCode.NO_FIT)
        assert each.message.endswith(f"; with a higher limit NoFit: {each.also_refused_by.message}")


def test_a_limit_that_is_the_last_obstacle_stands_alone() -> None:
    found = refusals(proven(TAINTS, {}, LEFT, a_node("n2", cpu="8"), *pods(), maxNoOfPodsToEvictPerNode=1))
    assert found
    for each in found:
        assert each.also_refused_by is UNSET
        assert "higher" not in each.message


def test_an_unknown_scheduler_is_named_behind_the_limit() -> None:
    objects = [LEFT, a_node("n2", cpu="8"), *pods(1), *pods(3, spec={"schedulerName": "other"})[1:]]
    (found, *_) = refusals(proven(TAINTS, {}, *objects, maxNoOfPodsToEvictPerNode=1))
    assert found.also_refused_by is not UNSET
    assert found.also_refused_by.code == RefusalCode.UNKNOWN_SCHEDULER


@pytest.mark.parametrize("steering", [SteeringMode.NONE, SteeringMode.NOMINATE])
def test_asking_changes_neither_moves_nor_codes(steering: SteeringMode) -> None:
    objects = [LEFT, a_node("n2", cpu="1"), *pods(), *TOLD]
    limited = prove(objects, a_policy(TAINTS, {}, maxNoOfPodsToEvictPerNode=1), steering=steering)
    assert len(limited.record.evictions) == 1
    assert {code for _, code, _ in reasons(limited).values()} == {RefusalCode.MAX_PER_NODE}
