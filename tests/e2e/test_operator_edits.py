"""Random edits of the resource: none of them ends the operator, and its status tells the truth about each that is accepted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import Object
from builders.kubedeschedulers import an_object
from e2e.control_plane import ControlPlane
from e2e.operators import (
    INSTALLED,
    LEGAL_PAIRS,
    PATIENCE,
    Operator,
    an_operator,
    condition,
    definition_of,
    facts,
    has_policy,
    made,
    observed,
    remove,
    wait_for_objects,
)
from e2e.rest import Rest, name_of
from e2e.waiting import wait_until
from restow.operator.desired import Desired, desired
from restow.operator.resource import NAMESPACE, ProfileName, resource_of

pytestmark = pytest.mark.e2e

#: Edits; ``RESTOW_E2E_OPERATOR_EDITS=1000`` makes more.
EDITS = int(os.environ.get("RESTOW_E2E_OPERATOR_EDITS", "10"))
_PATH = f"/apis/operator.openshift.io/v1/namespaces/{NAMESPACE}/kubedeschedulers/cluster"
_SINGLES = [(each,) for each in get_args(ProfileName)]


def _optional(**fields: Any) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({}, optional=fields)


_THRESHOLDS = st.sampled_from(
    [{}, {"devLowNodeUtilizationThresholds": "High"}, {"devDeviationThresholds": "AsymmetricLow"}]
)
_PRIORITIES = st.sampled_from(
    [
        {},
        {"thresholdPriority": 1000},
        {"thresholdPriority": 2_000_000_001},
        {"thresholdPriorityClassName": "system-node-critical"},
        {"thresholdPriorityClassName": "none\u202e"},
    ]
)
_NAMESPACES = st.sampled_from(
    [{}, {"included": ["default"]}, {"included": ["kube-system"]}, {"excluded": ["default", "openshift-x"]}]
)
_CUSTOM = _optional(
    podLifetime=st.sampled_from(["5m", "0.0000000001s", "87600h"]),
    namespaces=_NAMESPACES,
    devHighNodeUtilizationThresholds=st.sampled_from(["", "Minimal"]),
    devActualUtilizationProfile=st.sampled_from(["", "PrometheusCPUUsage", "query:", "x", "query:}"]),
    devMigrationCooldown=st.just("15m"),
)
#: What the API server accepts, whether or not a policy follows from it.
ACCEPTED = st.fixed_dictionaries(
    {
        "profiles": st.sampled_from([*_SINGLES, *LEGAL_PAIRS, ()]).map(list),
        "profileCustomizations": st.builds(lambda *parts: {k: v for each in parts for k, v in each.items()}, _CUSTOM,
                                           _THRESHOLDS, _PRIORITIES),
    },
    optional={
        "mode": st.sampled_from(["Predictive", "Automatic"]),
        "managementState": st.sampled_from(["Managed", "Managed", "Force", "Unmanaged", "Removed"]),
        "deschedulingIntervalSeconds": st.sampled_from([0, 1, 3600, 2**31 - 1]),
        "logLevel": st.sampled_from(["", "Normal", "TraceAll"]),
        "operatorLogLevel": st.sampled_from(["", "Normal", "Debug"]),
        "evictionLimits": st.dictionaries(st.sampled_from(["total", "node"]), st.integers(0, 5), max_size=2),
        "observedConfig": st.sampled_from([None, {"a": [1]}]),
    },
)  # fmt: skip
#: Anything.
ANY = _optional(
    profiles=st.lists(st.sampled_from([*get_args(ProfileName), "Nonsense"]), max_size=3),
    mode=st.sampled_from(["Predictive", "Automatic", ""]),
    managementState=st.sampled_from(["Managed", "Unmanaged", "Removed", "Force", "x"]),
    deschedulingIntervalSeconds=st.sampled_from([-1, 0, 1, 3600, 2**31, "1"]),
    logLevel=st.sampled_from(["", "Normal", "TraceAll", 3]),
    evictionLimits=st.dictionaries(st.sampled_from(["total", "node"]), st.integers(-1, 5), max_size=2),
    profileCustomizations=_optional(
        podLifetime=st.sampled_from(["5m", "-1s", "x", None]),
        thresholdPriority=st.sampled_from([None, 0, -1]),
        thresholdPriorityClassName=st.sampled_from([None, "", "system-node-critical"]),
        namespaces=_optional(
            included=st.lists(st.sampled_from(["default", "kube-system", "\u0000", "x" * 300]), max_size=2),
            excluded=st.lists(st.sampled_from(["default", "openshift-x"]), max_size=2),
        ),
        devLowNodeUtilizationThresholds=st.sampled_from([None, "", "Low", "High", "Other"]),
        devDeviationThresholds=st.sampled_from([None, "", "AsymmetricLow"]),
    ),
)


@pytest.fixture
def running(plane: ControlPlane, operators_namespace: str, tmp_path: Any) -> Iterator[Operator]:
    """One operator for all edits, and a node for virtual machines."""
    admin, node = plane.admin, name_of(plane.admin.items("Node")[0])
    admin.patch("Node", node, {"metadata": {"labels": {"kubevirt.io/schedulable": "true"}}})
    with definition_of(plane), an_operator(plane, tmp_path) as operator:
        admin.create(an_object("AffinityAndTaints"))
        yield operator
        remove(admin)
        wait_until("nothing is left", lambda: made(admin) == {}, PATIENCE)
    admin.patch("Node", node, {"metadata": {"labels": {"kubevirt.io/schedulable": None}}})


def edited(admin: Rest, spec: Object) -> int:
    """Exchange the whole spec; returns what the API server says to that."""
    change = [{"op": "replace", "path": "/spec", "value": spec}]
    return admin.ask("PATCH", _PATH, change, content="application/json-patch+json").status


def policy_of(admin: Rest) -> Object | None:
    return (admin.find("ConfigMap", "cluster", NAMESPACE) or {}).get("data")


def told(thing: Object) -> set[tuple[str, str, str, str]]:
    """Type, status, reason and message of the conditions."""
    return {(each["type"], each["status"], each["reason"], each["message"]) for each in thing["status"]["conditions"]}


def check(admin: Rest, thing: Object, wanted: Desired, policy: Object | None) -> None:
    """The status says what follows from the spec, and the cluster is as the status says; ``policy`` is that before."""
    conditions = {(each.type, each.status, each.reason, each.message) for each in wanted.conditions}
    assert conditions <= told(thing)
    match wanted.action:
        case "apply":
            assert has_policy(admin, wanted.policy)
            wait_for_objects(admin, wanted.objects)
        case "remove":
            assert condition(thing, "Available") == ("False", "Removed")
            wait_until("nothing is left", lambda: made(admin) == {}, PATIENCE)
        case "stop":
            assert condition(thing, "Available") == ("False", "Stopped")
            deployment = admin.find("Deployment", "descheduler", NAMESPACE)
            assert deployment is None or deployment["spec"]["replicas"] == 0
            assert policy_of(admin) == policy
        case "leave":
            assert policy_of(admin) == policy


def test_random_edits_never_end_it_and_its_status_tells_the_truth_about_the_newest_generation(
    plane: ControlPlane, running: Operator
) -> None:
    admin = plane.admin
    facts_now = facts(admin)

    def follow(spec: Object, *statuses: int) -> None:
        policy = policy_of(admin)
        assert edited(admin, spec) in statuses, spec
        thing = observed(admin, running)
        check(admin, thing, desired(resource_of(thing), facts_now, INSTALLED), policy)

    observed(admin, running)

    @settings(max_examples=EDITS // 2, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(ACCEPTED, ANY)
    def both(accepted: Object, any_spec: Object) -> None:
        follow(accepted, 200)
        follow(any_spec, 200, 400, 422)

    both()
    log = running.log.read_text()
    assert "Traceback" not in log
    assert "Sync failed" not in log
