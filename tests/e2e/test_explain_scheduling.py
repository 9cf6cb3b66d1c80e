"""``restow explain scheduling`` asks a real ``restow scheduler`` beside a real API server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders import a_pod
from e2e.control_plane import ControlPlane
from e2e.schedulers import PATIENCE, Scheduler
from e2e.waiting import wait_until

pytestmark = pytest.mark.e2e

COMMAND = (sys.executable, "-c", "from restow.cli.main import main; main()", "explain", "scheduling")
NAME = "my-scheduler"


def explained(pod: str, scheduler: Scheduler, kubeconfig: Path, *flags: str) -> tuple[int, str, str]:
    """Exit status and both streams of the command."""
    asked = [*COMMAND, pod, f"--scheduler-url=https://127.0.0.1:{scheduler.port}", f"--kubeconfig={kubeconfig}", *flags]
    sources = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(asked, capture_output=True, text=True, timeout=PATIENCE, check=False, env=sources)
    return ran.returncode, ran.stdout, ran.stderr


def test_whoever_may_ask_is_told_why_a_pod_waits_and_others_what_is_missing(
    plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    reader = plane.service_account("reader", namespace, roles=(role(plane, namespace),))
    accounts = {"reader": reader, "stranger": plane.service_account("stranger", namespace)}
    files = {name: plane.kubeconfig_for(token, f"{name}-{namespace}") for name, token in accounts.items()}
    create(plane, "waits", namespace, NAME, cpu="900")
    create(plane, "placed", namespace, NAME)
    create(plane, "theirs", namespace, "absent")

    with Scheduler(tmp_path, plane.kubeconfig, "--leader-elect=false", "--explain-pods") as scheduler:
        wait_until("it says why", lambda: explained(f"{namespace}/waits", scheduler, files["reader"])[0] == 0, PATIENCE)
        wait_until("the other has a node", lambda: node_of(plane, "placed", namespace), PATIENCE)
        wait_until(
            "it waits again",
            lambda: "is in the queue unschedulable" in explained(f"{namespace}/waits", scheduler, files["reader"])[1],
            PATIENCE,
        )
        _, page, _ = explained(f"{namespace}/waits", scheduler, files["reader"])
        status, told, _ = explained(f"{namespace}/waits", scheduler, files["reader"], "--output=json")
        forbidden = explained(f"{namespace}/waits", scheduler, files["stranger"])
        others = {
            name: explained(f"{namespace}/{name}", scheduler, plane.kubeconfig)
            for name in ("placed", "theirs", "nobody")
        }

    assert ", and rejected by NodeResourcesFit the last time." in page
    assert "5 nodes do not fit now\n 5  NodeResourcesFit  Insufficient cpu\n" in page
    assert (status, json.loads(told)["rejectedBy"]) == (0, ["NodeResourcesFit"])
    assert (forbidden[0], "nonResourceURLs" in forbidden[2]) == (1, True)
    assert {status for status, _, _ in others.values()} == {2}
    assert f"placed does not wait: it is on {node_of(plane, 'placed', namespace)}" in others["placed"][2]
    assert "theirs names the scheduler absent, and does not wait for the one at" in others["theirs"][2]
    assert f"the cluster holds no pod {namespace}/nobody" in others["nobody"][2]


def test_a_scheduler_that_does_not_explain_pods_is_told_to(plane: ControlPlane, tmp_path: Path) -> None:
    with Scheduler(tmp_path, plane.kubeconfig, "--leader-elect=false") as scheduler:
        status, _, told = explained("default/any", scheduler, plane.kubeconfig)
    assert (status, "it runs without --explain-pods" in told) == (1, True)


def role(plane: ControlPlane, namespace: str) -> str:
    """A ClusterRole that lets its users ask why pods wait; its name."""
    name = f"why-pods-wait-{namespace}"
    plane.admin.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": [{"nonResourceURLs": ["/pods/*"], "verbs": ["get"]}],
        }
    )
    return name


def create(plane: ControlPlane, name: str, namespace: str, scheduler: str, cpu: str = "1m") -> None:
    spec = {"schedulerName": scheduler, "terminationGracePeriodSeconds": 0}
    made = a_pod(name, namespace=namespace, cpu=cpu, spec=spec)
    made["spec"]["containers"][0] |= {"name": "c", "image": "example/app:1"}
    plane.admin.create(made)


def node_of(plane: ControlPlane, name: str, namespace: str) -> str | None:
    node: str | None = plane.admin.get("Pod", name, namespace)["spec"].get("nodeName")
    return node
