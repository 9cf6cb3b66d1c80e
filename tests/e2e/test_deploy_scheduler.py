"""The manifests of restow scheduler are accepted, and their rights are all that it needs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from e2e.binaries import tool
from e2e.control_plane import ControlPlane
from e2e.schedulers import PATIENCE, Scheduler
from e2e.shipped import DEPLOY, NAMESPACE, kustomized, rights, try_out
from e2e.waiting import wait_until
from e2e.workloads import deployment, pods_of, wait_for_ready

pytestmark = pytest.mark.e2e

NAME = "restow-scheduler"
CHART = DEPLOY / "helm" / NAME
SHIPPED = DEPLOY / "kubernetes" / "scheduler"
USER = f"system:serviceaccount:{NAMESPACE}:{NAME}"


@pytest.fixture
def kubeconfig(plane: ControlPlane, kustomize: None) -> Iterator[Path]:
    """Of the account with its rights, and what holds it to less; all is as before afterwards."""
    shipped = kustomized(SHIPPED)
    guard = [each for each in shipped if each["kind"].startswith("ValidatingAdmissionPolicy")]
    objects = [*rights(shipped), *guard]
    for each in objects:
        plane.admin.create(each)
    yield plane.kubeconfig_for(plane.token_of(NAME, NAMESPACE), NAME)
    for each in objects:
        plane.admin.delete(each["kind"], each["metadata"]["name"], NAMESPACE)


def test_every_object_is_accepted(plane: ControlPlane, kustomize: None) -> None:
    for thing in kustomized(SHIPPED):
        answer = try_out(plane.admin, thing)
        assert answer.status == 201, (thing["kind"], answer.body)


def test_the_chart_installs_the_same(plane: ControlPlane, kustomize: None) -> None:
    """But for the name of the configuration, and the namespace, which Helm adds by itself."""
    command = [tool("helm"), "template", "mine", CHART, "--namespace", NAMESPACE]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    chart = {each["kind"]: each for each in yaml.safe_load_all(done.stdout) if each is not None}
    manifests = {each["kind"]: each for each in kustomized(SHIPPED)}

    assert chart.keys() == manifests.keys()
    configured = [objects["Deployment"]["spec"]["template"]["spec"]["volumes"][0] for objects in (chart, manifests)]
    for objects, volume in zip((chart, manifests), configured, strict=True):
        assert volume["configMap"]["name"] == objects["ConfigMap"]["metadata"]["name"]
    assert chart["ConfigMap"]["data"] == manifests["ConfigMap"]["data"]
    guard = [objects["ValidatingAdmissionPolicy"]["spec"] for objects in (chart, manifests)]
    assert guard[0] == guard[1]
    for kind in ("ClusterRole", "Role"):
        assert chart[kind]["rules"] == manifests[kind]["rules"]
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        assert chart[kind]["subjects"] == manifests[kind]["subjects"]
    for thing in chart.values():
        answer = try_out(plane.admin, thing)
        assert answer.status == 201, (thing["kind"], answer.body)


def test_its_rights_are_enough_for_everything_that_it_does(
    plane: ControlPlane, namespace: str, kubeconfig: Path, tmp_path: Path
) -> None:
    """It leads, binds, tells, says why not, preempts, and asks who may read; the API server refuses none of it."""
    ours = {"schedulerName": "my-scheduler"}
    plane.admin.create_all(
        [
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": f"{namespace}-high"},
                "value": 1000,
            },
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": f"{namespace}-scraping"},
                "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
            },
            deployment("low", 1, cpu="2", namespace=namespace, spec=ours),
            deployment("large", 1, cpu="900", namespace=namespace, spec=ours),
        ]
    )
    scraper = plane.service_account("scraper", namespace, roles=(f"{namespace}-scraping",))
    other = plane.service_account("other", namespace)
    configuration = f"--config={SHIPPED / 'scheduler.yaml'}"
    with Scheduler(tmp_path, kubeconfig, configuration, open_paths="/healthz,/readyz,/livez") as scheduler:
        pages = [("/metrics", scraper), ("/configz", scraper), ("/metrics", other), ("/metrics", "x"), ("/metrics", "")]
        assert [scheduler.page(*page)[0] for page in pages] == [200, 403, 403, 401, 401]
        [low] = wait_for_ready(plane.admin, "low", 1, namespace, PATIENCE)
        wait_until("it is said why", lambda: scheduler.lines("Unable to schedule pod"), PATIENCE)
        node = plane.admin.get("Node", low["spec"]["nodeName"])
        plane.admin.create(
            deployment(
                "high",
                1,
                cpu=node["status"]["allocatable"]["cpu"],
                namespace=namespace,
                spec=ours | {"priorityClassName": f"{namespace}-high"},
                node_selector={"kubernetes.io/hostname": node["metadata"]["labels"]["kubernetes.io/hostname"]},
            )
        )
        wait_for_ready(plane.admin, "high", 1, namespace, PATIENCE)
        assert not scheduler.lines("may not")
        assert scheduler.stop() == 0

    assert low["metadata"]["name"] not in {pod["metadata"]["name"] for pod in pods_of(plane.admin, "low", namespace)}
    calls = plane.audit.calls(user=USER)
    assert [call.requestURI for call in calls if call.response_status.code in (403, 422)] == []
    written = {
        (call.verb, call.object_ref.resource, call.object_ref.subresource)
        for call in calls
        if call.verb not in ("get", "list", "watch")
    }
    assert written <= {
        ("create", "pods", "binding"),
        ("patch", "pods", "status"),
        ("delete", "pods", ""),
        ("create", "events", ""),
        ("update", "events", ""),
        ("create", "leases", ""),
        ("update", "leases", ""),
        ("create", "tokenreviews", ""),
        ("create", "subjectaccessreviews", ""),
    }
