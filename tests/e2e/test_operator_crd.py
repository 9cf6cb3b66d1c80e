"""A real API server takes the CustomResourceDefinition, and refuses with its messages what the operator would refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
import yaml

from builders import Object
from builders.kubedeschedulers import EXAMPLES, INSTALLED, OPENSHIFT, an_object
from e2e.control_plane import ControlPlane
from e2e.rest import Rest
from e2e.shipped import DEPLOY, try_out
from e2e.waiting import wait_until
from restow.operator.desired import desired
from restow.operator.facts import Facts
from restow.operator.resource import NAMESPACE, ProfileName, resource_of
from restow.operator.rules import (
    BOTH_PRIORITIES,
    BOTH_THRESHOLDS,
    CONFLICTS,
    DUPLICATES,
    NEGATIVE_LIFETIME,
    SINGLETON,
    check_spec,
    conditions_of,
)

pytestmark = pytest.mark.e2e

_PATIENCE = 120.0
BOTH = {"devLowNodeUtilizationThresholds": "Low", "devDeviationThresholds": "High"}


def is_established(definition: Object) -> bool:
    # Null until the API server has looked at it.
    conditions = definition["status"].get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


@pytest.fixture(scope="module")
def admin(plane: ControlPlane, operators_namespace: str) -> Iterator[Rest]:
    """An administrator of a control plane that knows the resource, for as long as these tests last."""
    (definition,) = yaml.safe_load_all((DEPLOY / "operator" / "crd.yaml").read_text())
    kind, name = definition["kind"], definition["metadata"]["name"]
    answer = try_out(plane.admin, definition)
    assert answer.status == 201, answer.body
    plane.admin.create(definition)
    wait_until("the resource is served", lambda: is_established(plane.admin.get(kind, name)), _PATIENCE)
    # The path is served a moment later than the condition says.
    wait_until(
        "it can be created", lambda: try_out(plane.admin, an_object("AffinityAndTaints")).status == 201, _PATIENCE
    )
    yield plane.admin
    plane.admin.delete(kind, name)
    wait_until("the resource is gone", lambda: plane.admin.find(kind, name) is None, _PATIENCE)


def refusal(admin: Rest, *profiles: str, **settings: Any) -> str:
    answer = try_out(admin, an_object(*profiles, **settings))
    assert answer.status == 422, answer.body
    message: str = answer.body["message"]
    return message


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_accepted_and_so_are_its_objects(admin: Rest, path: Any) -> None:
    thing = yaml.safe_load(path.read_text())
    answer = try_out(admin, thing)
    assert answer.status == 201, answer.body
    facts = [
        Facts(prometheus_route=OPENSHIFT.prometheus_route),
        Facts(prometheus_route=OPENSHIFT.prometheus_route, is_openshift=True),
    ]
    for fact in facts:
        for each in desired(resource_of(answer.body), fact, INSTALLED).objects:
            made = try_out(admin, each)
            assert made.status == 201, (each["kind"], made.body)


def test_the_job_of_a_single_run_is_accepted(admin: Rest) -> None:
    thing = resource_of(an_object("AffinityAndTaints", deschedulingIntervalSeconds=0))
    for each in desired(thing, OPENSHIFT, INSTALLED).objects:
        assert try_out(admin, each).status == 201, each["kind"]


def test_what_is_not_set_is_what_the_operator_takes_it_for(admin: Rest) -> None:
    stored = try_out(admin, an_object("AffinityAndTaints")).body
    assert stored["spec"] == {
        "profiles": ["AffinityAndTaints"],
        "mode": "Predictive",
        "managementState": "Managed",
        "deschedulingIntervalSeconds": 3600,
        "logLevel": "Normal",
        "operatorLogLevel": "Normal",
    }
    assert resource_of(stored).spec == resource_of(an_object("AffinityAndTaints")).spec


@pytest.mark.parametrize("pair", CONFLICTS, ids=" and ".join)
def test_conflicting_profiles_are_refused(admin: Rest, pair: tuple[str, str]) -> None:
    one, other = pair
    assert f"cannot declare {one} and {other} profiles simultaneously" in refusal(admin, other, one)


@pytest.mark.parametrize(
    ("profiles", "settings", "message"),
    [
        pytest.param(("LongLifecycle", "LongLifecycle"), {}, DUPLICATES, id="twice"),
        pytest.param(("AffinityAndTaints",), {"name": "other"}, SINGLETON, id="another name"),
        pytest.param(("KubeVirtRelieveAndMigrate",), {"custom": BOTH}, BOTH_THRESHOLDS, id="both forms of thresholds"),
        pytest.param(
            ("AffinityAndTaints",),
            {"custom": {"thresholdPriority": 0, "thresholdPriorityClassName": "x"}},
            BOTH_PRIORITIES,
            id="both forms of a priority",
        ),
        pytest.param(
            ("AffinityAndTaints",),
            {"custom": {"namespaces": {"included": ["a"], "excluded": ["b"]}}},
            "It is forbidden to combine both included and excluded namespaces",
            id="included and excluded",
        ),
        pytest.param(
            ("LifecycleAndUtilization",), {"custom": {"podLifetime": "-5m"}}, NEGATIVE_LIFETIME, id="negative lifetime"
        ),
        pytest.param(
            ("AffinityAndTaints",),
            {"evictionLimits": {"total": -1}},
            "spec.evictionLimits.total in body should be greater than or equal to 0",
            id="negative limit",
        ),
        pytest.param(
            ("AffinityAndTaints",),
            {"deschedulingIntervalSeconds": -10},
            "spec.deschedulingIntervalSeconds in body should be greater than or equal to 0",
            id="negative interval",
        ),
        pytest.param(("Affinity",), {}, 'Unsupported value: "Affinity"', id="an unknown profile"),
        pytest.param(("AffinityAndTaints",), {"mode": "On"}, 'Unsupported value: "On"', id="an unknown mode"),
        pytest.param(("AffinityAndTaints",), {"managementState": ""}, "spec.managementState", id="an empty state"),
        pytest.param(
            ("LifecycleAndUtilization",),
            {"custom": {"podLifetime": "long"}},
            "must be of type duration",
            id="no duration",
        ),
    ],
)
def test_what_cannot_be_is_refused(admin: Rest, profiles: tuple[str, ...], settings: Any, message: str) -> None:
    assert message in refusal(admin, *profiles, **settings)


@pytest.mark.parametrize(
    ("profiles", "settings"),
    [
        *(((profile,), {}) for profile in get_args(ProfileName)),
        (("LongLifecycle", "DevPreviewLongLifecycle"), {}),
        (("CompactAndScale", "SoftTopologyAndDuplicates"), {}),
        (("LifecycleAndUtilization",), {"custom": BOTH}),
        ((), {}),
        (("AffinityAndTaints",), {"deschedulingIntervalSeconds": 0, "evictionLimits": {"total": 0, "node": 0}}),
        (("KubeVirtRelieveAndMigrate",), {"custom": {**BOTH, "devDeviationThresholds": ""}}),
        (("AffinityAndTaints",), {"custom": {"podLifetime": "1.5s", "thresholdPriority": -1}}),
        (("AffinityAndTaints",), {"observedConfig": {"a": {"b": 1}}, "unsupportedConfigOverrides": None}),
        (("AffinityAndTaints",), {"custom": {"thresholdPriority": 1, "thresholdPriorityClassName": ""}}),
        (("AffinityAndTaints",), {"custom": {"namespaces": {"included": [], "excluded": ["a"]}}, "logLevel": ""}),
    ],
    ids=str,
)
def test_what_openshift_accepts_is_accepted(admin: Rest, profiles: tuple[str, ...], settings: Any) -> None:
    thing = an_object(*profiles, **settings)
    answer = try_out(admin, thing)
    assert answer.status == 201, answer.body
    assert not any(each.stops for each in check_spec(resource_of(answer.body).spec))


def test_a_status_with_conditions_and_generations_is_accepted_and_kept(admin: Rest) -> None:
    admin.create(an_object("AffinityAndTaints"))
    conditions = [
        {"type": each.type, "status": each.status, "reason": each.reason, "lastTransitionTime": "2026-11-22T00:00:00Z"}
        for each in conditions_of((), ())
    ]
    generation = {"group": "apps", "resource": "deployments", "namespace": NAMESPACE, "name": "descheduler"}
    status = {
        "conditions": conditions,
        "generations": [{**generation, "lastGeneration": 3, "hash": ""}],
        "observedGeneration": 1,
        "readyReplicas": 1,
    }
    admin.patch("KubeDescheduler", "cluster", {"status": status}, NAMESPACE, part="status")
    stored = admin.get("KubeDescheduler", "cluster", NAMESPACE)
    assert stored["status"] == status
    assert stored["metadata"]["generation"] == 1
