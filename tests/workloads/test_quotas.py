"""Which ResourceQuotas have room for one pod more."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Object
from restow.executing.quotas import without_room


def a_spec(*, cpu: str = "500m", limit: str = "", **spec: Any) -> Object:
    resources = {"requests": {"cpu": cpu, "nvidia.com/gpu": "1"} if cpu else {}} | (
        {"limits": {"memory": limit}} if limit else {}
    )
    return {"containers": [{"name": "c", "resources": resources}]} | spec


def a_quota(resource: str, hard: str, used: str, **spec: Any) -> Object:
    return {
        "metadata": {"name": "team"},
        "spec": spec,
        "status": {"hard": {resource: hard}, "used": {resource: used}},
    }


def refused(quota: Object, spec: Object | None = None) -> bool:
    return without_room([quota], {"spec": spec or a_spec()}) is not None


@pytest.mark.parametrize(
    ("resource", "hard", "used", "refuses"),
    [
        ("pods", "3", "2", False),
        ("pods", "3", "3", True),
        ("count/pods", "3", "3", True),
        ("cpu", "1", "500m", False),
        ("requests.cpu", "1", "501m", True),
        ("requests.nvidia.com/gpu", "8", "8", True),
        ("memory", "1Gi", "1Gi", False),
        ("limits.memory", "2Gi", "1Gi", False),
        ("limits.memory", "1Gi", "600Mi", True),
        ("services", "1", "1", False),
    ],
)
def test_a_quota_refuses_what_would_be_more_than_it_allows(
    resource: str, hard: str, used: str, *, refuses: bool
) -> None:
    assert refused(a_quota(resource, hard, used), a_spec(limit="512Mi")) == refuses


def test_the_answer_names_the_quota_and_what_it_lacks() -> None:
    assert without_room([a_quota("requests.cpu", "1", "750m")], {"spec": a_spec()}) == (
        "ResourceQuota team has no room for one pod more: 750m of 1 requests.cpu are used, and it takes 500m"
    )


def test_all_quotas_of_the_namespace_are_asked() -> None:
    quotas = [a_quota("pods", "9", "1"), {"metadata": {"name": "new"}}, a_quota("cpu", "1", "1")]
    assert without_room(quotas, {"spec": a_spec()}) is not None


@pytest.mark.parametrize(
    ("scope", "spec", "concerns"),
    [
        ({"scopes": ["NotTerminating"]}, {}, True),
        ({"scopes": ["Terminating"]}, {}, False),
        ({"scopes": ["Terminating"]}, {"activeDeadlineSeconds": 5}, True),
        ({"scopes": ["BestEffort"]}, {}, False),
        ({"scopes": ["BestEffort"]}, {"cpu": ""}, True),
        ({"scopes": ["NotBestEffort", "Terminating"]}, {}, False),
        ({"scopes": ["VolumeAttributesClass"]}, {}, False),
    ],
)
def test_a_quota_concerns_the_pods_of_all_of_its_scopes(scope: Object, spec: Object, *, concerns: bool) -> None:
    assert refused(a_quota("pods", "1", "1", **scope), a_spec(**spec)) == concerns


@pytest.mark.parametrize(
    ("operator", "values", "concerns"),
    [
        ("In", ["high"], True),
        ("In", ["low"], False),
        ("NotIn", ["low"], True),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
    ],
)
def test_a_quota_may_concern_pods_of_some_priority_classes(operator: str, values: list[str], *, concerns: bool) -> None:
    selector = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": operator, "values": values}]}
    quota = a_quota("pods", "1", "1", scopeSelector=selector)
    assert refused(quota, a_spec(priorityClassName="high")) == concerns
