"""What is rendered runs: with its arguments, its policy and its rights, predictive without a write and automatic with evictions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import Object
from builders.kubedeschedulers import INSTALLED, an_object
from deploy.manifests import only
from e2e.control_plane import ControlPlane
from e2e.rest import Rest, name_of
from e2e.running import Descheduler
from e2e.shipped import rights
from e2e.waiting import wait_until
from e2e.workloads import deployment, pods_of, wait_for_ready
from restow.operator.desired import desired
from restow.operator.facts import Facts
from restow.operator.reading import resource_of
from restow.operator.resource import NAMESPACE
from restow.operator.rights import OPERAND

pytestmark = pytest.mark.e2e

_PATIENCE = 120.0
USER = f"system:serviceaccount:{NAMESPACE}:{OPERAND}"


def objects_of(namespace: str, mode: str) -> list[Object]:
    """A single run that spreads the replicas of a namespace."""
    custom = {"namespaces": {"included": [namespace]}}
    thing = an_object("TopologyAndDuplicates", mode=mode, deschedulingIntervalSeconds=0, custom=custom)
    return list(desired(resource_of(thing), Facts(), INSTALLED).objects)


def may(caller: Rest, verb: str, resource: str, subresource: str = "") -> bool:
    """Whether a caller may, as the API server sees it by now."""
    asked = {"verb": verb, "resource": resource, "subresource": subresource}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }
    answer = caller.call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    allowed: bool = answer["status"]["allowed"]
    return allowed


@pytest.fixture
def operand(plane: ControlPlane, operators_namespace: str, namespace: str) -> Iterator[ControlPlane]:
    """The control plane with the rights of a predictive descheduler."""
    granted = rights(objects_of(namespace, "Predictive"))
    for each in granted:
        plane.admin.create(each)
    yield plane
    for each in granted:
        plane.admin.delete(each["kind"], name_of(each), operators_namespace)


def run_of(plane: ControlPlane, namespace: str, mode: str, directory: Path) -> Descheduler:
    """The container of the Job, as a process."""
    objects = objects_of(namespace, mode)
    policy = directory / f"{mode}.yaml"
    policy.write_text(only(objects, "ConfigMap", "cluster")["data"]["policy.yaml"])
    (container,) = only(objects, "Job")["spec"]["template"]["spec"]["containers"]
    mounted, *flags = container["args"]
    assert mounted.startswith("--policy-config-file=")
    kubeconfig = plane.kubeconfig_for(plane.token_of(OPERAND, NAMESPACE), OPERAND)
    return Descheduler(directory, policy=policy, kubeconfig=kubeconfig, flags=flags, name=mode)


def test_predictive_writes_nothing_and_automatic_evicts_what_was_predicted(
    operand: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    plane, caller = operand, operand.rest(operand.token_of(OPERAND, NAMESPACE))
    with plane.cordoned([name_of(each) for each in plane.admin.items("Node")][1:]):
        plane.admin.create(deployment("web", 2, namespace=namespace))
        before = {name_of(each) for each in wait_for_ready(plane.admin, "web", 2, namespace, timeout=_PATIENCE)}
    wait_until("it may read", lambda: may(caller, "list", "pods"), _PATIENCE)
    assert not may(caller, "create", "pods", "eviction")

    plane.audit.restart()
    with run_of(plane, namespace, "Predictive", tmp_path) as predictive:
        assert predictive.wait(_PATIENCE) == 0
    (predicted,) = predictive.lines("Evicted pod in dry run mode")
    assert {call.verb for call in plane.audit.calls(user=USER)} <= {"list", "watch", "get"}
    assert {name_of(each) for each in pods_of(plane.admin, "web", namespace)} == before

    plane.admin.replace(only(objects_of(namespace, "Automatic"), "ClusterRole"))
    wait_until("it may evict", lambda: may(caller, "create", "pods", "eviction"), _PATIENCE)
    with run_of(plane, namespace, "Automatic", tmp_path) as automatic:
        assert automatic.wait(_PATIENCE) == 0
    evicted = {call.object_ref.name for call in plane.audit.calls("create", "pods", "eviction", user=USER)}
    assert len(evicted) == 1
    assert evicted <= before
    assert evicted.pop() in predicted
    refused = [call.requestURI for call in plane.audit.calls(user=USER) if call.response_status.code == 403]
    assert refused == []
