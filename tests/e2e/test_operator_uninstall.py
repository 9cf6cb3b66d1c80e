"""An operator comes and goes: after ``restow operator uninstall`` the control plane is as it was before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders.kubedeschedulers import an_object
from e2e.control_plane import ControlPlane
from e2e.operators import Operator
from e2e.rest import Rest, name_of
from e2e.shipped import DEPLOY, kustomized, try_out
from e2e.waiting import wait_until
from restow.operator.objects import SELECTOR
from restow.operator.resource import NAMESPACE
from restow.operator.soft_taints import OVERUTILIZED
from restow.operator.syncing import FINALIZER
from restow.operator.uninstalling import OPERATOR

pytestmark = pytest.mark.e2e

_PATIENCE = 120.0
_COMMAND = (sys.executable, "-c", "from restow.cli.main import main; main()", "operator", "uninstall")
_ACCOUNT = "openshift-descheduler"
#: What comes and goes by itself, or is written anew again and again.
_RESTLESS = {"events", "leases", "apiservices", "flowschemas", "prioritylevelconfigurations", "endpointslices"}
SOFT = {"key": OVERUTILIZED, "value": "true", "effect": "PreferNoSchedule"}
FOREIGN = {"key": "example.com/mine", "effect": "PreferNoSchedule"}


def everything(admin: Rest) -> dict[str, Any]:
    """Every object of every kind that is served, as its labels, annotations, finalizers, and of nodes the taints."""
    groups = ["/api/v1", *(f"/apis/{each['preferredVersion']['groupVersion']}" for each in _groups(admin))]
    found: dict[str, Any] = {}
    for group in groups:
        served = admin.ask("GET", group)
        for kind in served.body["resources"] if served.status == 200 else ():
            if "list" not in kind["verbs"] or "/" in kind["name"] or kind["name"] in _RESTLESS:
                continue
            answer = admin.ask("GET", f"{group}/{kind['name']}")
            # What is not served any more stands in the list of what is served for a moment.
            for item in answer.body["items"] if answer.status == 200 else ():
                metadata = item["metadata"]
                key = f"{group}/{kind['name']}/{metadata.get('namespace', '')}/{metadata['name']}"
                kept = {name: metadata.get(name) for name in ("labels", "annotations", "finalizers")}
                found[key] = kept | ({"taints": item["spec"].get("taints")} if kind["kind"] == "Node" else {})
    return found


def _groups(admin: Rest) -> list[Any]:
    groups: list[Any] = admin.call("GET", "/apis")["groups"]
    return groups


def install(plane: ControlPlane) -> None:
    """As ``kubectl apply --server-side -k deploy/operator``."""
    for each in kustomized(DEPLOY / "operator"):
        plane.admin.create(each)
    wait_until("the resource is served", lambda: try_out(plane.admin, _resource()).status == 201, _PATIENCE)
    plane.wait_for_accounts(NAMESPACE)


def _resource() -> Any:
    return an_object("LongLifecycle")


def uninstall(plane: ControlPlane, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command as an administrator."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [*_COMMAND, f"--kubeconfig={plane.kubeconfig}", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=400)


@pytest.fixture(scope="module")
def worker(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane with two nodes, for these tests alone."""
    with ControlPlane(tmp_path_factory.mktemp("uninstall")) as plane:
        names = plane.add_nodes(2)
        plane.admin.patch("Node", names[0], {"spec": {"taints": [FOREIGN]}})
        yield plane


def taint(admin: Rest) -> None:
    """As a soft tainter that was killed leaves a node."""
    name = next(name_of(each) for each in admin.items("Node") if each["spec"].get("taints"))
    admin.patch("Node", name, {"spec": {"taints": [FOREIGN, SOFT]}})


def difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What is there now and was not, is not and was, or is other."""
    return {key: (before.get(key), after.get(key)) for key in before | after if before.get(key) != after.get(key)}


def check_restored(admin: Rest, before: dict[str, Any]) -> None:
    """Controllers may still be at it."""
    wait_until("all is as it was before", lambda: difference(before, everything(admin)) == {}, _PATIENCE)


def test_an_operator_that_works_leaves_nothing(worker: ControlPlane, tmp_path: Path) -> None:
    """Under its own account, with the rights of the manifests."""
    admin = worker.admin
    before = everything(admin)
    install(worker)
    kubeconfig = worker.kubeconfig_for(worker.token_of(_ACCOUNT, NAMESPACE), "operator")
    operator = Operator(tmp_path, kubeconfig)
    operator.start()
    try:
        admin.create(_resource())
        wait_until("the descheduler is there", lambda: admin.find("Deployment", "descheduler", NAMESPACE), _PATIENCE)
        taint(admin)
        done = uninstall(worker, "--yes", "-o", "json")
    finally:
        # Its account is gone, and it may be, too.
        operator.kill()
    assert done.returncode == 0, (done.stdout, done.stderr)
    removal = json.loads(done.stdout)
    assert (removal["left"], removal["problems"], removal["interrupted"]) == ([], [], False)
    steps = [each["step"] for each in removal["removed"]]
    assert set(steps) == {"resource", "objects", "taints", "operator", "namespace", "definition"}
    assert steps[0] == "resource"
    assert steps[-2:] == ["namespace", "definition"]
    check_restored(admin, before)


def test_an_operator_that_is_gone_already_leaves_nothing_either(worker: ControlPlane) -> None:
    """Its finalizer waits for nobody, and what it made belongs to no one."""
    admin = worker.admin
    before = everything(admin)
    install(worker)
    thing = _resource()
    thing["metadata"]["finalizers"] = [FINALIZER]
    admin.create(thing)
    labels = dict(each.split("=") for each in SELECTOR.split(","))
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": []}
    admin.create(role | {"metadata": {"name": "openshift-descheduler-operand", "labels": labels}})
    admin.delete("Deployment", OPERATOR, NAMESPACE)
    taint(admin)
    first = uninstall(worker, "--yes", "--timeout", "3s")
    assert first.stdout.splitlines()[0].split() == ["STEP", "KIND", "NAME"]
    done = uninstall(worker, "--yes")
    assert done.returncode == 0, (first.stdout, first.stderr, done.stdout, done.stderr)
    check_restored(admin, before)
    again = uninstall(worker, "--yes")
    assert (again.returncode, again.stdout) == (0, "there is no operator\n")


def test_what_somebody_else_holds_is_told(worker: ControlPlane) -> None:
    admin = worker.admin
    before = everything(admin)
    install(worker)
    thing = _resource()
    thing["metadata"]["finalizers"] = [FINALIZER, "example.com/backup"]
    admin.create(thing)
    done = uninstall(worker, "--yes", "--timeout", "3s")
    assert done.returncode == 1
    left = done.stdout.partition(" left:\n")[2]
    assert ["resource", "KubeDescheduler", f"{NAMESPACE}/cluster"] in [line.split() for line in left.splitlines()]
    assert "freeing the KubeDescheduler: not done within 3 s" in done.stderr
    assert admin.get("KubeDescheduler", "cluster", NAMESPACE)["metadata"]["finalizers"] == ["example.com/backup"]
    admin.patch("KubeDescheduler", "cluster", {"metadata": {"finalizers": None}}, NAMESPACE)
    assert uninstall(worker, "--yes").returncode == 0
    check_restored(admin, before)


def test_an_interruption_is_told_and_the_next_try_goes_on(worker: ControlPlane) -> None:
    admin = worker.admin
    before = everything(admin)
    install(worker)
    thing = _resource()
    thing["metadata"]["finalizers"] = [FINALIZER]
    admin.create(thing)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [*_COMMAND, f"--kubeconfig={worker.kubeconfig}", "--yes", "--timeout=300s"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as running:
        assert running.stderr is not None
        assert "deleting the KubeDescheduler" in running.stderr.readline()
        running.send_signal(2)
        out, _ = running.communicate(timeout=_PATIENCE)
    assert running.returncode == 130
    assert "Interrupted; run the command again to go on." in out
    uninstall(worker, "--yes", "--timeout", "3s")
    assert uninstall(worker, "--yes").returncode == 0
    check_restored(admin, before)
