"""The objects of the soft tainter: when they are there, what they may do, and what holds them to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders.kubedeschedulers import INSTALLED, OPENSHIFT, a_kubedescheduler
from deploy.manifests import granted, only, pod_of
from restow.operator.desired import desired
from restow.operator.facts import Facts
from restow.operator.guards import GUARDS
from restow.operator.operand import SOFT_TAINTER_ACCOUNT, needs_soft_tainter
from restow.operator.resource import NAMESPACE

VANILLA = Facts(prometheus_route=OPENSHIFT.prometheus_route)
KUBEVIRT = "KubeVirtRelieveAndMigrate"


def made(*profiles: str, facts: Facts = OPENSHIFT, installed: Any = INSTALLED, **settings: Any) -> Any:
    return desired(a_kubedescheduler(*profiles, **settings), facts, installed)


def of_tainter(things: Any) -> list[Any]:
    names = ("softtainter", SOFT_TAINTER_ACCOUNT)
    return [each for each in things if each["metadata"]["name"].startswith(names)]


@pytest.fixture(params=[OPENSHIFT, VANILLA], ids=["OpenShift", "Kubernetes"])
def objects(request: pytest.FixtureRequest) -> list[Any]:
    return of_tainter(made(KUBEVIRT, facts=request.param, mode="Automatic").objects)


@pytest.mark.parametrize(
    ("profile", "settings", "needed"),
    [
        (KUBEVIRT, {"mode": "Automatic"}, True),
        ("DevKubeVirtRelieveAndMigrate", {"mode": "Automatic"}, True),
        (KUBEVIRT, {}, False),
        (KUBEVIRT, {"mode": "Automatic", "deschedulingIntervalSeconds": 0}, False),
        ("LongLifecycle", {"mode": "Automatic", "custom": {"devEnableSoftTainter": True}}, False),
    ],
)
def test_it_is_there_while_virtual_machines_are_moved(profile, settings, needed):
    done = made(profile, **settings)
    assert (done.action, done.soft_taints, bool(of_tainter(done.objects))) == ("apply", needed, needed)
    assert needs_soft_tainter(a_kubedescheduler(profile, **settings).spec) == needed


@pytest.mark.parametrize("state", ["Removed", "Unmanaged"])
def test_where_nothing_is_carried_out_nodes_bear_none(state):
    assert not made(KUBEVIRT, mode="Automatic", managementState=state).soft_taints


def test_its_objects_on_openshift():
    things = of_tainter(made(KUBEVIRT, mode="Automatic").objects)
    assert [(each["kind"], each["metadata"]["name"]) for each in things] == [
        ("ServiceAccount", "openshift-descheduler-softtainter"),
        ("ClusterRole", "openshift-descheduler-softtainter"),
        ("ClusterRoleBinding", "openshift-descheduler-softtainter"),
        ("Role", "openshift-descheduler-softtainter"),
        ("RoleBinding", "openshift-descheduler-softtainter"),
        ("ClusterRoleBinding", "openshift-descheduler-softtainter-monitoring"),
        ("Deployment", "softtainter"),
    ]


def test_elsewhere_nobody_grants_the_monitoring_of_openshift():
    things = of_tainter(made(KUBEVIRT, facts=VANILLA, mode="Automatic").objects)
    assert "openshift-descheduler-softtainter-monitoring" not in [each["metadata"]["name"] for each in things]
    assert len(things) == 6


def test_it_may_patch_nodes_and_read_its_resource(objects):
    assert granted(only(objects, "ClusterRole")["rules"]) == {("", "nodes", verb) for verb in ("get", "list", "patch")}
    assert granted(only(objects, "Role")["rules"]) == {("operator.openshift.io", "kubedeschedulers", "get")}


@pytest.mark.parametrize("missing", [(), *((each,) for each in GUARDS)], ids=str)
def test_there_is_none_where_a_guard_is_missing_and_the_status_says_what_to_apply(missing):
    done = made(KUBEVIRT, mode="Automatic", facts=replace(OPENSHIFT, missing_guards=missing))
    assert (done.soft_taints, bool(of_tainter(done.objects))) == (not missing, not missing)
    told = [each.message for each in done.notices if each.reason == "NotGuarded"]
    assert len(told) == len(missing)
    for name in missing:
        assert f"the admission policies {name} are not in force" in told[0]
        assert "apply deploy/operator/guarding.yaml" in told[0]


def test_the_pod_is_as_unprivileged_as_that_of_the_descheduler():
    things = list(made(KUBEVIRT, mode="Automatic", logLevel="Debug").objects)
    operand, tainter = (
        pod_of(each) for each in things if each["kind"] == "Deployment"
    )  # fmt: skip
    for field in ("priorityClassName", "securityContext", "terminationGracePeriodSeconds"):
        assert tainter["spec"][field] == operand["spec"][field]
    (mine,), (other,) = (each["spec"]["containers"] for each in (tainter, operand))
    assert mine["securityContext"] == other["securityContext"]
    assert mine["command"] == ["restow"]
    assert mine["args"] == [
        "operator",
        "soft-tainter",
        "--policy-config-file=/policy-dir/policy.yaml",
        f"--namespace={NAMESPACE}",
        "-v=4",
    ]
    for probe in ("livenessProbe", "readinessProbe"):
        assert mine[probe]["httpGet"]["port"] == "https"
    hashes = {each["metadata"]["annotations"]["restow.dev/policy-hash"] for each in (tainter, operand)}
    assert len(hashes) == 1


def test_its_image_is_that_of_the_descheduler_unless_it_has_its_own():
    def image(**own: str) -> str:
        done = made(KUBEVIRT, mode="Automatic", installed=replace(INSTALLED, **own))
        (one,) = pod_of(only(of_tainter(done.objects), "Deployment"))["spec"]["containers"]
        return one["image"]

    assert image() == INSTALLED.image
    assert image(soft_tainter_image="mine") == "mine"
