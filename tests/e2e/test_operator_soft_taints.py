"""Soft taints on a real control plane: what the guard lets pass and what not, and a soft tainter that comes and goes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from builders import Object
from builders.kubedeschedulers import INSTALLED, OPENSHIFT, an_object
from builders.loopback import Loopback, Reply
from deploy.manifests import documents
from e2e.child import Child
from e2e.control_plane import ControlPlane
from e2e.kinds import path_of
from e2e.operators import installed
from e2e.rest import Rest, name_of
from e2e.shipped import DEPLOY, rights, try_out
from e2e.waiting import wait_until
from restow.operator.desired import desired
from restow.operator.operand import SOFT_TAINTER_ACCOUNT
from restow.operator.resource import NAMESPACE, resource_of
from restow.operator.soft_taints import APPROPRIATE, EFFECT, KEYS, OVERUTILIZED, VALUE

pytestmark = pytest.mark.e2e

_PATIENCE = 120.0
_COMMAND = (sys.executable, "-c", "from restow.cli.main import main; main()", "operator", "soft-tainter")
JSON_PATCH = "application/json-patch+json"
FOREIGN = {"key": "example.com/mine", "value": "x", "effect": "NoSchedule"}
SOFT = {"key": OVERUTILIZED, "value": VALUE, "effect": EFFECT}


def objects() -> list[Object]:
    """Of a soft tainter."""
    thing = an_object("KubeVirtRelieveAndMigrate", mode="Automatic", custom={"devLowNodeUtilizationThresholds": "Low"})
    made = desired(resource_of(thing), OPENSHIFT, INSTALLED)
    prefixes = (SOFT_TAINTER_ACCOUNT, "softtainter")
    return [each for each in made.objects if each["metadata"]["name"].startswith(prefixes)]


@pytest.fixture(scope="module")
def tainter(plane: ControlPlane, operators_namespace: str) -> Iterator[Rest]:
    """The account of the soft tainter, with its rights and its guard, which the API server knows of by now."""
    granted = rights(objects())
    with installed(plane):
        for each in granted:
            plane.admin.create(each)
        caller = plane.rest(plane.token_of(SOFT_TAINTER_ACCOUNT, NAMESPACE))
        node = name_of(plane.admin.items("Node")[0])
        spoilt = [{"op": "add", "path": "/metadata/annotations/spoilt", "value": "x"}]
        wait_until("the guard works", lambda: "soft tainter" in refusal(caller, node, spoilt), _PATIENCE)
        yield caller
        for each in granted:
            plane.admin.delete(each["kind"], name_of(each), operators_namespace)


def refusal(caller: Rest, node: str, patch: list[Any], part: str = "") -> str:
    """What the API server says to a patch, which it does not keep; empty if it would."""
    path = path_of("Node", node) + (f"/{part}" if part else "")
    answer = caller.ask("PATCH", path, patch, query={"dryRun": "All"}, content=JSON_PATCH)
    return "" if answer.status == 200 else str(answer.body["message"])


@pytest.fixture
def node(plane: ControlPlane) -> Iterator[str]:
    """A node with somebody else's taint."""
    name = name_of(plane.admin.items("Node")[0])
    plane.admin.patch("Node", name, {"spec": {"taints": [FOREIGN]}})
    yield name
    plane.admin.patch("Node", name, {"spec": {"taints": None}})


def taints(*things: Object) -> list[Any]:
    return [{"op": "add", "path": "/spec/taints", "value": [*things]}]


@pytest.mark.parametrize("key", KEYS)
def test_soft_taints_come_and_go(plane: ControlPlane, tainter: Rest, node: str, key: str) -> None:
    soft = SOFT | {"key": key}
    assert refusal(tainter, node, taints(FOREIGN, soft)) == ""
    plane.admin.patch("Node", node, {"spec": {"taints": [FOREIGN, soft]}})
    assert refusal(tainter, node, taints(FOREIGN)) == ""


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        (taints(), "may change no taint of a node but"),
        (taints(FOREIGN | {"key": "example.com/other"}), "may change no taint of a node but"),
        (taints(FOREIGN | {"value": "y"}), "may change no taint of a node but"),
        (taints(FOREIGN, SOFT | {"effect": "NoSchedule"}), "may change no taint of a node but"),
        (taints(FOREIGN, SOFT | {"effect": "NoExecute"}), "may change no taint of a node but"),
        (taints(FOREIGN, SOFT | {"key": "other"}), "may change no taint of a node but"),
        ([{"op": "add", "path": "/spec/unschedulable", "value": True}], "nothing in the spec of a node but"),
        ([{"op": "add", "path": "/spec/providerID", "value": "x"}], "nothing in the spec of a node but"),
        ([{"op": "add", "path": "/metadata/labels/x", "value": "y"}], "may not change the metadata of a node"),
        ([{"op": "add", "path": "/metadata/finalizers", "value": ["a/b"]}], "may not change the metadata of a node"),
    ],
    ids=lambda value: json.dumps(value)[:60] if isinstance(value, list) else "",
)
def test_all_else_is_refused(tainter: Rest, node: str, patch: list[Any], said: str) -> None:
    assert said in refusal(tainter, node, patch)


def test_the_status_of_a_node_is_out_of_reach(tainter: Rest, node: str) -> None:
    assert "cannot patch resource" in refusal(tainter, node, taints(), part="status")


def test_others_are_not_held_to_it(plane: ControlPlane, tainter: Rest, node: str) -> None:
    assert refusal(plane.admin, node, taints()) == ""


class UsagePrometheus(Loopback):
    """Answers every query with these figures; without any it is out of order."""

    def __init__(self, usage: dict[str, float]) -> None:
        super().__init__()
        self.usage = usage

    def reply(self, path: str, form: str) -> Reply:
        """The figures as an instant vector."""
        result = [{"metric": {"instance": name}, "value": [0, str(value)]} for name, value in self.usage.items()]
        document = {"status": "success", "data": {"resultType": "vector", "result": result}}
        return Reply(json.dumps(document).encode(), 200 if self.usage else 503)


@contextmanager
def definition_of(admin: Rest) -> Iterator[None]:
    """Has the API server serve the resource."""
    (definition,) = documents(DEPLOY / "operator" / "crd.yaml")
    admin.create(definition)
    wait_until("the resource is served", lambda: try_out(admin, an_object("LongLifecycle")).status == 201, _PATIENCE)
    yield
    kind, name = definition["kind"], name_of(definition)
    admin.delete(kind, name)
    wait_until("the resource is gone", lambda: admin.find(kind, name) is None, _PATIENCE)


def keys_on(admin: Rest, name: str) -> set[str]:
    return {each["key"] for each in admin.get("Node", name)["spec"].get("taints", ())} & set(KEYS)


def test_a_soft_tainter_taints_busy_nodes_and_takes_it_back(
    plane: ControlPlane, operators_namespace: str, tainter: Rest, node: str, tmp_path: Path
) -> None:
    """With its own account: what it lacks would be refused."""
    admin = plane.admin
    names = [name_of(each) for each in admin.items("Node")]
    idle = next(each for each in names if each != node)
    for each in (node, idle):
        admin.patch("Node", each, {"metadata": {"labels": {"kubevirt.io/schedulable": "true"}}})
    usage = {node: 0.9, idle: 0.05}
    custom = {"devLowNodeUtilizationThresholds": "Low"}
    thing = an_object("KubeVirtRelieveAndMigrate", mode="Automatic", deschedulingIntervalSeconds=10, custom=custom)
    kubeconfig = plane.kubeconfig_for(plane.token_of(SOFT_TAINTER_ACCOUNT, NAMESPACE), SOFT_TAINTER_ACCOUNT)
    with UsagePrometheus(usage) as prometheus, definition_of(admin):
        policy = desired(resource_of(thing), OPENSHIFT, INSTALLED).policy
        file = tmp_path / "policy.yaml"
        file.write_text(policy.replace("https://prometheus.example.com", prometheus.url))
        admin.create(thing)
        sources = {"PYTHONPATH": os.pathsep.join(sys.path)}
        command = [*_COMMAND, f"--policy-config-file={file}", f"--kubeconfig={kubeconfig}", "--secure-port=0"]
        child = Child(command, tmp_path / "tainter.log", environment={**os.environ, **sources})
        child.start()
        try:
            wait_until("the busy node is tainted", lambda: keys_on(admin, node) == {*KEYS}, _PATIENCE)
            assert keys_on(admin, idle) == set()
            assert FOREIGN["key"] in {each["key"] for each in admin.get("Node", node)["spec"]["taints"]}
            usage[node] = 0.2
            wait_until("it is used as it should be", lambda: keys_on(admin, node) == {APPROPRIATE}, _PATIENCE)
            admin.patch("KubeDescheduler", "cluster", {"spec": {"mode": "Predictive"}}, NAMESPACE)
            wait_until("Predictive takes it off", lambda: keys_on(admin, node) == set(), _PATIENCE)
            child.check()
        finally:
            child.terminate()
        admin.delete("KubeDescheduler", "cluster", NAMESPACE)
        wait_until("the resource is gone", lambda: not admin.find("KubeDescheduler", "cluster", NAMESPACE), _PATIENCE)
    for each in (node, idle):
        admin.patch("Node", each, {"metadata": {"labels": {"kubevirt.io/schedulable": None}}})
