"""Priority thresholds become numbers: by value, by class name, or the system's."""

from __future__ import annotations

import pytest

from restow.errors import InputError
from restow.policies.arguments import PriorityThreshold, resolve_priority_threshold


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        pytest.param(None, 2_000_000_000, id="absent"),
        pytest.param(PriorityThreshold(), 2_000_000_000, id="empty"),
        pytest.param(PriorityThreshold(value=0), 0, id="zero"),
        pytest.param(PriorityThreshold(value=-5), -5, id="negative"),
        pytest.param(PriorityThreshold(name="high"), 1000, id="class"),
        pytest.param(PriorityThreshold(name="system-cluster-critical"), 2_000_000_000, id="built-in class"),
    ],
)
def test_a_threshold_is_a_number(threshold, expected):
    assert resolve_priority_threshold(threshold, {"high": 1000}) == expected


def test_built_in_classes_need_no_cluster():
    assert resolve_priority_threshold(PriorityThreshold(name="system-cluster-critical"), None) == 2_000_000_000


@pytest.mark.parametrize("classes", [None, {}, {"high": 1}])
def test_a_missing_class_is_told_in_upstreams_words(classes):
    with pytest.raises(InputError, match=r'priority class: priorityclasses\.scheduling\.k8s\.io "zz" not found'):
        resolve_priority_threshold(PriorityThreshold(name="zz"), classes)


@pytest.mark.parametrize(
    "threshold", [PriorityThreshold(value=2_000_000_001), PriorityThreshold(name="system-node-critical")]
)
def test_no_threshold_is_above_the_systems_priorities(threshold):
    with pytest.raises(InputError, match="priority threshold can't be greater than 2000000000"):
        resolve_priority_threshold(threshold, {})
