"""What the operator makes runs: with its arguments, its policy and its rights, predictive without an eviction and automatic with
those that were predicted. The process stands for the pod, of which there is no kubelet."""

from __future__ import annotations

import base64
import gzip
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.kubedeschedulers import an_object
from e2e.control_plane import ControlPlane
from e2e.operators import Operator, an_operator, definition_of, edit, last_plan, observed, remove, the_pod
from e2e.rest import Rest, name_of
from e2e.waiting import wait_until
from e2e.workloads import deployment, pods_of, wait_for_ready
from restow.operator.resource import NAMESPACE
from restow.operator.rights import OPERAND, PLAN_CONFIG_MAP

pytestmark = pytest.mark.e2e

_PATIENCE = 120.0
USER = f"system:serviceaccount:{NAMESPACE}:{OPERAND}"


@pytest.fixture
def operator(plane: ControlPlane, operators_namespace: str, tmp_path: Path) -> Iterator[Operator]:
    with definition_of(plane), an_operator(plane, tmp_path) as operator:
        try:
            yield operator
        finally:
            remove(plane.admin)


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


def written(plane: ControlPlane) -> set[tuple[str, str, str]]:
    """What the descheduler asked to change."""
    calls = plane.audit.calls(user=USER)
    return {
        (each.verb, f"{each.object_ref.resource}/{each.object_ref.subresource}".rstrip("/"), each.object_ref.name)
        for each in calls
        # The test itself asks what this account may do.
        if each.verb not in ("list", "watch", "get") and each.object_ref.resource != "selfsubjectaccessreviews"
    }


def evicted(plane: ControlPlane) -> list[str]:
    return [each.object_ref.name for each in plane.audit.calls("create", "pods", "eviction", user=USER)]


def test_predictive_shows_what_automatic_does_and_back_again_nothing_is_done_any_more(
    plane: ControlPlane, operator: Operator, namespace: str, tmp_path: Path
) -> None:
    admin = plane.admin
    with plane.cordoned([name_of(each) for each in admin.items("Node")][1:]):
        admin.create(deployment("web", 2, namespace=namespace))
        before = {name_of(each) for each in wait_for_ready(admin, "web", 2, namespace, timeout=_PATIENCE)}
    plane.audit.restart()
    custom = {"namespaces": {"included": [namespace]}}
    admin.create(an_object("TopologyAndDuplicates", deschedulingIntervalSeconds=2, custom=custom))
    observed(admin, operator)
    caller = plane.rest(plane.token_of(OPERAND, NAMESPACE))
    wait_until("it may read", lambda: may(caller, "list", "pods"), _PATIENCE)

    with the_pod(plane, tmp_path, "predictive"):
        told = wait_until("the status tells of the plan", lambda: last_plan(admin), _PATIENCE)
    assert (told["dryRun"], told["moves"], told["evicted"], told["nodesOutOfBalance"]) == (True, 1, 0, 1)
    assert told["configMap"] == PLAN_CONFIG_MAP
    config = admin.get("ConfigMap", PLAN_CONFIG_MAP, NAMESPACE)
    (move,) = json.loads(gzip.decompress(base64.b64decode(config["binaryData"]["plan.json.gz"])))["moves"]
    assert move["pod"]["name"] in before
    assert written(plane) == {("patch", "configmaps", PLAN_CONFIG_MAP)}
    assert {name_of(each) for each in pods_of(admin, "web", namespace)} == before

    edit(admin, mode="Automatic")
    observed(admin, operator)
    wait_until("it may evict", lambda: may(caller, "create", "pods", "eviction"), _PATIENCE)
    with the_pod(plane, tmp_path, "automatic") as automatic:
        wait_until("the status tells of the eviction", lambda: last_plan(admin).get("evicted"), _PATIENCE)
        assert evicted(plane) == [move["pod"]["name"]]
        assert last_plan(admin)["landed"]["asPredicted"] == 1

        edit(admin, mode="Predictive")
        observed(admin, operator)
        wait_until("it may not evict", lambda: not may(caller, "create", "pods", "eviction"), _PATIENCE)
        # The kubelet of the pod would be told to end it.
        automatic.send(signal.SIGTERM)
        assert automatic.wait(_PATIENCE) == 0
    plane.audit.restart()
    with plane.cordoned([name_of(each) for each in admin.items("Node")][1:]):
        admin.create(deployment("more", 2, namespace=namespace))
        wait_for_ready(admin, "more", 2, namespace, timeout=_PATIENCE)
    with the_pod(plane, tmp_path, "predictive-again") as again:
        again.wait_for_line("Evicted pod in dry run mode", timeout=_PATIENCE)
        wait_until("the status tells of the plan", lambda: last_plan(admin)["dryRun"], _PATIENCE)
    assert written(plane) == {("patch", "configmaps", PLAN_CONFIG_MAP)}
