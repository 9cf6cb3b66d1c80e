"""Upstream's validation texts of DefaultEvictor, in upstream's order."""

from __future__ import annotations

import pytest

from builders.policies import PLUGINS, as_yaml, strategy_policy
from restow.descheduling.evictor_args import DefaultEvictorArgs, construct_default_evictor
from restow.kube.objects import LabelSelector, LabelSelectorRequirement
from restow.policies.load import validate_policy

EXTRA = "Valid options are: [PodsWithPVC PodsWithoutPDB PodsWithResourceClaims]"
DEFAULT = "Valid options are: [PodsWithLocalStorage SystemCriticalPods FailedBarePods DaemonSetPods]"
MIXED = "cannot use Deprecated fields alongside PodProtections.ExtraEnabled or PodProtections.DefaultDisabled"


def protected_classes(*names):
    return {"config": {"PodsWithPVC": {"protectedStorageClasses": [{"name": name} for name in names]}}}


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"minReplicas": 1, "nodeSelector": "((("}, [], id="what is only a warning"),
        pytest.param(
            {"priorityThreshold": {"value": 5, "name": "x"}},
            ["priority threshold misconfigured, only one of priorityThreshold fields can be set"],
            id="threshold by value and name",
        ),
        pytest.param({"priorityThreshold": {"value": 0}}, [], id="threshold 0"),
        pytest.param({"noEvictionPolicy": "Mandatory"}, [], id="no-eviction policy"),
        pytest.param(
            {"noEvictionPolicy": "Always"},
            ['noEvictionPolicy accepts only ["Preferred" "Mandatory"] values'],
            id="unknown no-eviction policy",
        ),
        pytest.param(
            {"evictLocalStoragePods": True, "podProtections": {"extraEnabled": ["PodsWithPVC"]}}, [MIXED], id="mixed"
        ),
        pytest.param(
            {"evictLocalStoragePods": True, "podProtections": protected_classes("a")}, [], id="old switch with config"
        ),
        pytest.param(
            {"podProtections": {"extraEnabled": ["DaemonSetPods"], "defaultDisabled": ["PodsWithPVC"]}},
            [
                f'invalid pod protection policy in ExtraEnabled: "DaemonSetPods". {EXTRA}',
                f'invalid pod protection policy in DefaultDisabled: "PodsWithPVC". {DEFAULT}',
            ],
            id="protections in the wrong list",
        ),
        pytest.param(
            {
                "podProtections": {
                    "extraEnabled": ["PodsWithPVC"] * 2,
                    "defaultDisabled": ["DaemonSetPods"] * 2,
                }
            },
            [
                "PodProtections.DefaultDisabled contains duplicate entries",
                "PodProtections.ExtraEnabled contains duplicate entries",
            ],
            id="repeated protections",
        ),
        pytest.param(
            {"podProtections": {"extraEnabled": ["PodsWithPVC"]} | protected_classes("a", "")},
            ["PodProtections.Config.PodsWithPVC.ProtectedStorageClasses[1] name cannot be empty"],
            id="nameless storage class",
        ),
        pytest.param({"podProtections": protected_classes("")}, [], id="nameless storage class, not protected"),
    ],
)
def test_default_evictor(args, expected):
    found = validate_policy(as_yaml(strategy_policy("DefaultEvictor", args)), "p.yaml", PLUGINS)
    assert [finding.message for finding in found] == [f"in profile P: {text}" for text in expected]


def test_the_evictors_selectors_are_compiled_only_when_it_is_built():
    """Its label selector is told before its namespace selector, bare; upstream stops there."""
    bad = LabelSelector(match_expressions=(LabelSelectorRequirement(key="a", operator="Foo"),))

    assert construct_default_evictor(DefaultEvictorArgs()) == []
    assert construct_default_evictor(DefaultEvictorArgs(label_selector=bad, namespace_label_selector=bad)) == [
        '"Foo" is not a valid label selector operator',
        'unable to convert namespaceLabelSelector to label selector: "Foo" is not a valid label selector operator',
    ]
    assert construct_default_evictor(DefaultEvictorArgs(namespace_label_selector=bad)) == [
        'unable to convert namespaceLabelSelector to label selector: "Foo" is not a valid label selector operator'
    ]
