"""The manifests of restow pressure are accepted, their rights are enough, and they hold it to its label and its taint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.control_plane import ControlPlane
from e2e.kinds import path_of
from e2e.pressure import PATIENCE, Pressure
from e2e.prometheus import Prometheus
from e2e.rest import Rest
from e2e.shipped import DEPLOY, NAMESPACE, kustomized, try_out
from e2e.test_pressure_check import a_query
from e2e.waiting import wait_until

pytestmark = pytest.mark.e2e

NAME = "restow-pressure"
SHIPPED = DEPLOY / "kubernetes" / "pressure"
ENOUGH = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
GUARD = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
SOFT = {"key": "status", "value": "presure", "effect": "PreferNoSchedule"}
LEASE = ("--leader-elect", "--leader-elect-resource-namespace", NAMESPACE)


@pytest.fixture
def token(plane: ControlPlane) -> Iterator[str]:
    """Of the account, with its rights and what guards them; all is as before afterwards."""
    objects = [each for each in kustomized(SHIPPED) if each["kind"] in (*ENOUGH, *GUARD)]
    for each in sorted(objects, key=lambda each: (*ENOUGH, *GUARD).index(each["kind"])):
        plane.admin.create(each)
    yield plane.token_of(NAME, NAMESPACE)
    for each in objects:
        plane.admin.delete(each["kind"], each["metadata"]["name"], NAMESPACE)
    for node in ("node-1", "node-2"):
        plane.admin.patch("Node", node, {"metadata": {"labels": {"status": None}}, "spec": {"taints": None}})


def test_every_object_is_accepted(plane: ControlPlane) -> None:
    for thing in kustomized(SHIPPED):
        answer = try_out(plane.admin, thing)
        assert answer.status == 201, (thing["kind"], answer.body)


def change(account: Rest, node: str, patch: Any, part: str = "") -> int:
    """The status of a patch that is only tried."""
    path = path_of("Node", node) + part
    return account.ask("PATCH", path, patch, query={"dryRun": "All"}, content="application/merge-patch+json").status


def test_its_rights_are_enough_and_it_is_held_to_its_marks(plane: ControlPlane, token: str, tmp_path: Path) -> None:
    account = plane.rest(token)
    other = {"metadata": {"labels": {"team": "search"}}}
    # The API server takes a moment to know a new policy.
    wait_until("the guard is up", lambda: change(account, "node-1", other) == 422, PATIENCE)
    rules = {
        "cpu": {"Promsql": a_query(node_1=0.9).replace("node.1", "node-1"), "Threshold": 0.8},
        "mem": {"Promsql": a_query(node_2=0.9).replace("node.2", "node-2"), "Threshold": 0.8, "effect": "taint"},
    }
    kubeconfig = plane.kubeconfig_for(token, NAME)
    with (
        Prometheus(tmp_path, targets={}) as prometheus,
        Pressure(tmp_path, kubeconfig, prometheus.url, rules, *LEASE) as pressure,
    ):
        wait_until("node-1 is labelled", lambda: pressure.nodes() == ["node-1"], PATIENCE)
        wait_until("node-2 is tainted", lambda: SOFT in taints(plane, "node-2"), PATIENCE)
        assert not pressure.lines("may not")

    assert change(account, "node-1", {"metadata": {"labels": {"status": None}}}) == 200
    assert change(account, "node-2", {"spec": {"taints": None}}) == 200
    for refused in (
        other,
        {"metadata": {"labels": {"kubernetes.io/hostname": None}}},
        {"metadata": {"annotations": {"a": "b"}}},
        {"spec": {"unschedulable": True}},
        {"spec": {"taints": [SOFT | {"effect": "NoExecute"}]}},
        {"spec": {"taints": [SOFT, {"key": "team", "value": "x", "effect": "NoSchedule"}]}},
    ):
        assert change(account, "node-1", refused) == 422, refused
    assert change(account, "node-1", {"status": {"phase": "Pending"}}, "/status") == 403


def taints(plane: ControlPlane, node: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = plane.admin.get("Node", node)["spec"].get("taints", [])
    return found
