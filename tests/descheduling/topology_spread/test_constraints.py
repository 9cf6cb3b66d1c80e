"""Which constraints are the same. Ids are the rows of upstream's unit tests (ID), restated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from builders import Object, a_pod, selector, spread, tc
from descheduling.harness import a_cluster
from restow.descheduling.topology_spread import SpreadConstraint, spread_constraints

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"


def found(*variants: Object, actions: tuple[str, ...] = (HARD,)) -> list[SpreadConstraint]:
    """The constraints of pods of one namespace, made with these arguments."""
    pods = a_cluster(*(a_pod(f"p{index}", **each) for index, each in enumerate(variants))).pods
    return spread_constraints(pods, np.arange(len(pods)), actions)


def carrying(*constraints: Object, **same: Any) -> Object:
    return {"spread": list(constraints), **same}


PAIRS = {
    "ID-1": (carrying(tc(2)), carrying(tc(2)), 1),
    "ID-2": (carrying(tc(2)), carrying(tc(3, "node")), 2),
    "both in one pod": (carrying(tc(2), tc(2)), {}, 1),
    "other namespace": (carrying(tc(1)), carrying(tc(1), namespace="other"), 2),
    "hard and soft": (carrying(tc(1)), carrying(tc(1, when=SOFT)), 1),
    "minDomains": (carrying(tc(1)), carrying(tc(1, min_domains=3)), 1),
    "policies by default and by name": (
        carrying(tc(1)),
        carrying(tc(1, node_affinity_policy="Honor", node_taints_policy="Ignore")),
        1,
    ),
    "node selectors": (carrying(tc(1)), carrying(tc(1), node_selector={"a": "b"}), 2),
    "node selectors that do not count": (
        carrying(tc(1, node_affinity_policy="Ignore")),
        carrying(tc(1, node_affinity_policy="Ignore"), node_selector={"a": "b"}),
        1,
    ),
    "tolerations that do not count": (carrying(tc(1)), carrying(tc(1), tolerations=["a"]), 1),
    "tolerations": (
        carrying(tc(1, node_taints_policy="Honor")),
        carrying(tc(1, node_taints_policy="Honor"), tolerations=["a"]),
        2,
    ),
    "labels that do not count": (carrying(tc(1), labels={"a": "1"}), carrying(tc(1), labels={"a": "2"}), 1),
    "matchLabelKeys": (
        carrying(tc(1, match_label_keys=["a"]), labels={"a": "1"}),
        carrying(tc(1, match_label_keys=["a"]), labels={"a": "2"}),
        2,
    ),
}


@pytest.mark.parametrize(("one", "other", "count"), PAIRS.values(), ids=PAIRS.keys())
def test_what_makes_a_constraint_another(one: Object, other: Object, count: int) -> None:
    assert len(found(one, other, actions=(HARD, SOFT))) == count


def test_match_label_keys_narrow_the_selector_to_the_pods_own_values() -> None:
    [constraint] = found(carrying(tc(1, match_label_keys=["hash", "absent"]), labels={"foo": "bar", "hash": "1"}))
    assert constraint.selector.matches({"foo": "bar", "hash": "1"})
    assert not constraint.selector.matches({"foo": "bar", "hash": "2"})
    assert not constraint.selector.matches({"hash": "1"})


def test_a_selector_that_matches_nothing_stays_so_with_match_label_keys() -> None:
    [constraint] = found(carrying(spread(1, "zone", None, match_label_keys=["hash"]), labels={"hash": "1"}))
    assert not constraint.selector.matches({"hash": "1"})


def test_only_the_actions_asked_for_count() -> None:
    assert len(found(carrying(tc(1), tc(2, when=SOFT)))) == 1
    assert found({}, actions=(HARD, SOFT)) == []


def test_a_bad_selector_does_not_hide_the_constraints_beside_it() -> None:
    broken = spread(1, "zone", selector(("a", "Near", "b")))
    assert len(found(carrying(broken, tc(1)))) == 1
