"""A resource that is not Automatic, or lists no profile, leaves no right to evict and no replica that evicts.

That holds whatever else is wrong with it or with the cluster, and whatever an Automatic resource of before has left.
"""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Object
from builders.kubedeschedulers import INSTALLED, OPENSHIFT, a_kubedescheduler
from builders.operator_scenes import DEPLOYMENT, RESOURCE, Scene
from deploy.manifests import granted
from restow.client.errors import Forbidden
from restow.errors import ClientError, InputError
from restow.operator import resource
from restow.operator.applying import evicts, lets_evict
from restow.operator.desired import desired
from restow.operator.operand import SOFT_TAINTER_ACCOUNT
from restow.operator.resource import NAMESPACE
from restow.operator.rights import OPERAND

ROLE = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{OPERAND}"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"


def rights(things: list[Object]) -> set[tuple[str, str, str]]:
    """What the roles among some objects grant."""
    return granted([rule for each in things for rule in each.get("rules") or ()])


def deschedulers(things: list[Object]) -> list[Object]:
    return [each for each in things if "template" in each.get("spec", {}) and evicts(each)]


def can_evict(things: list[Object]) -> bool:
    return ("", "pods/eviction", "create") in rights(things) or bool(deschedulers(things))


def automatic(**spec: Any) -> Scene:
    """A cluster whose descheduler evicts."""
    scene = Scene().with_resource("LongLifecycle", mode="Automatic", **spec)
    scene.sync()
    assert can_evict(list(scene.made().values()))
    return scene


def changed(scene: Scene, *profiles: str, **spec: Any) -> None:
    """Another generation of the resource, and what a sync makes of it."""
    scene.with_resource(*profiles, **spec)
    try:
        scene.sync()
    except ClientError:
        assert scene.condition("Degraded")[0] == "True"


PROBLEMS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "a PriorityClass that does not exist": (("LongLifecycle",), {"custom": {"thresholdPriorityClassName": "none"}}),
    "no profile": ((), {}),
    "a protected namespace": (("LongLifecycle",), {"custom": {"namespaces": {"included": ["kube-system"]}}}),
    "both forms of a priority": (
        ("LongLifecycle",),
        {"custom": {"thresholdPriority": 1, "thresholdPriorityClassName": "high"}},
    ),
    "an unknown query": (("LongLifecycle",), {"custom": {"devActualUtilizationProfile": "none"}}),
    "a field of another type": (("LongLifecycle",), {"evictionLimits": {"total": "many"}}),
    "an unknown profile": (("Nonsense",), {}),
    "profiles that exclude each other": (("LongLifecycle", "LifecycleAndUtilization"), {}),
    "a negative interval": (("LongLifecycle",), {"deschedulingIntervalSeconds": -1}),
}


@pytest.mark.parametrize("interval", [0, 60], ids=["Job", "Deployment"])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_predictive_ends_evictions_whatever_else_is_wrong(problem: str, interval: int) -> None:
    profiles, spec = PROBLEMS[problem]
    scene = automatic(deschedulingIntervalSeconds=interval)
    changed(scene, *profiles, **{"mode": "Predictive", **spec})
    assert not can_evict(list(scene.made().values()))
    assert scene.condition("Degraded")[0] == "True"
    assert scene.sync() == []


def test_no_profile_ends_evictions_of_an_automatic_resource_and_the_status_says_that_none_runs() -> None:
    scene = automatic()
    changed(scene, mode="Automatic")
    assert not can_evict(list(scene.made().values()))
    assert scene.condition("Degraded")[1] == "NoProfiles"
    assert scene.condition("Available")[:2] == ("False", "Stopped")
    assert scene.condition("Progressing")[0] == "False"
    changed(scene, "LongLifecycle", mode="Automatic")
    assert can_evict(list(scene.made().values()))


@pytest.mark.parametrize("refused", ["priorityclasses", "namespaces", "/apis"])
def test_a_fact_that_cannot_be_read_does_not_keep_predictive_from_ending_evictions(refused: str) -> None:
    def forbidden(_: str, path: str) -> None:
        if path.endswith(refused):
            raise Forbidden(403, "Forbidden", "not for you")

    scene = automatic()
    scene.api.trouble = forbidden
    changed(scene, "LongLifecycle", mode="Predictive")
    assert not can_evict(list(scene.made().values()))


@pytest.mark.parametrize("refused", [ROLE, f"{DEPLOYMENT}/scale"], ids=["the role", "the Deployment"])
def test_what_cannot_be_written_does_not_keep_the_rest_from_ending_evictions(refused: str) -> None:
    def forbidden(method: str, path: str) -> None:
        if method == "PATCH" and path == refused:
            raise Forbidden(403, "Forbidden", "not for you")

    scene = automatic()
    scene.api.trouble = forbidden
    changed(scene, mode="Predictive")
    things = list(scene.made().values())
    left = (("", "pods/eviction", "create") in rights(things), bool(deschedulers(things)))
    assert left == (refused == ROLE, refused != ROLE)
    assert scene.condition("Degraded")[1] == "Forbidden"


def test_a_descheduler_that_only_looks_goes_on_with_its_policy() -> None:
    scene = Scene().with_resource("LongLifecycle")
    scene.sync()
    changed(scene, "LongLifecycle", custom={"thresholdPriorityClassName": "none"})
    assert scene.api.stored[DEPLOYMENT]["spec"]["replicas"] == 1
    assert scene.condition("Degraded")[1] == "UnusablePriorityThreshold"


def test_a_descheduler_whose_labels_were_removed_is_ended_too() -> None:
    scene = automatic()
    scene.api.stored[DEPLOYMENT]["metadata"]["labels"] = {}
    scene.api.stored[ROLE]["metadata"]["labels"] = {}
    changed(scene, mode="Predictive")
    assert not can_evict([scene.api.stored[DEPLOYMENT], scene.api.stored[ROLE]])


@pytest.mark.parametrize("spec", [{"mode": "Predictive"}, {"mode": "Automatic", "profiles": []}], ids=str)
def test_unmanaged_is_touched_by_people_only(spec: dict[str, Any]) -> None:
    scene = automatic()
    scene.with_resource("LongLifecycle", managementState="Unmanaged")
    scene.api.stored[RESOURCE]["spec"] |= spec
    assert scene.sync() == [("PATCH", f"{RESOURCE}/status")]


@pytest.mark.parametrize("resource", ["Removed", "deleted by force"])
def test_a_taint_that_cannot_be_taken_off_does_not_keep_a_descheduler_evicting(resource: str) -> None:
    """Whether the resource asks for none, or is not there any more."""
    scene = automatic()
    scene.api.put(
        f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{SOFT_TAINTER_ACCOUNT}",
        {"metadata": {"name": SOFT_TAINTER_ACCOUNT}},
    )

    def forbidden(_: str, path: str) -> None:
        if path.endswith("/nodes"):
            raise Forbidden(403, "Forbidden", "not for you")

    scene.api.trouble = forbidden
    if resource == "Removed":
        changed(scene, "LongLifecycle", mode="Automatic", managementState="Removed")
    else:
        del scene.api.stored[RESOURCE]
        with pytest.raises(Forbidden):
            scene.sync()
    assert not can_evict(list(scene.made().values()))


def test_a_resource_whose_finalizer_somebody_took_ends_evictions_and_makes_nothing() -> None:
    scene = automatic()
    scene.with_resource("LongLifecycle", mode="Predictive")
    del scene.api.stored[RESOURCE]["metadata"]["finalizers"]
    assert {method for method, _ in scene.sync()} == {"PATCH"}
    assert not can_evict(list(scene.made().values()))


PROFILES = st.lists(st.sampled_from([*get_args(resource.ProfileName), "Nonsense"]), max_size=3)
CUSTOM = st.fixed_dictionaries(
    {},
    optional={
        "podLifetime": st.sampled_from(["5m", "-1s", "x"]),
        "thresholdPriority": st.sampled_from([0, 2_000_000_001, "1"]),
        "thresholdPriorityClassName": st.sampled_from(["", "high", "none"]),
        "namespaces": st.fixed_dictionaries(
            {},
            optional={
                "included": st.lists(st.sampled_from(["shop", "kube-system"]), max_size=2),
                "excluded": st.lists(st.sampled_from(["shop", "openshift-x"]), max_size=2),
            },
        ),
        "devLowNodeUtilizationThresholds": st.sampled_from(["", "Low", "Other"]),
        "devDeviationThresholds": st.sampled_from(["", "AsymmetricLow"]),
        "devActualUtilizationProfile": st.sampled_from(["PrometheusCPUUsage", "query:", "x"]),
    },
)
SPECS = st.fixed_dictionaries(
    {"profiles": PROFILES},
    optional={
        "mode": st.sampled_from([*get_args(resource.Mode), "", "automatic", 1, None]),
        "managementState": st.sampled_from(["Managed", "Force", "Removed", "", "x"]),
        "deschedulingIntervalSeconds": st.sampled_from([-1, 0, 60, "1", 2**31]),
        "logLevel": st.sampled_from(["", "Debug", 3]),
        "evictionLimits": st.dictionaries(st.sampled_from(["total", "node"]), st.sampled_from([-1, 0, 5, "x"])),
        "profileCustomizations": CUSTOM,
    },
).filter(lambda spec: spec.get("mode") != "Automatic" or not spec["profiles"])
#: What the operator may not read or write at the time.
TROUBLES = st.sampled_from(["", "priorityclasses", "namespaces", "/apis", "configmaps/cluster", "serviceaccounts"])


@given(SPECS, TROUBLES, st.sampled_from([0, 60]))
@settings(max_examples=150, deadline=None)
def test_nothing_evicts_for_any_resource_that_does_not_ask_for_it(spec: Object, refused: str, before: int) -> None:
    def forbidden(_: str, path: str) -> None:
        if refused and path.rsplit("?", 1)[0].endswith(refused):
            raise Forbidden(403, "Forbidden", "not for you")

    scene = automatic(deschedulingIntervalSeconds=before)
    scene.api.trouble = forbidden
    assert not lets_evict({"spec": spec})
    changed(scene, **spec)
    assert not can_evict(list(scene.made().values()))


@given(SPECS)
@settings(max_examples=150, deadline=None)
def test_the_objects_for_such_a_resource_cannot_evict(spec: Object) -> None:
    try:
        made = desired(a_kubedescheduler(**spec), OPENSHIFT, INSTALLED)
    except InputError:
        return
    assert not can_evict(list(made.objects))
