"""``restow run --confirm-replacements`` on a real API server: webhooks and policies of others speak before the eviction."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from builders import Object
from builders.policies import strategy_policy
from e2e.control_plane import ControlPlane
from e2e.rest import RefusedError, Rest
from e2e.running import Descheduler
from e2e.shipped import ACCOUNT, DEPLOY, NAMESPACE, USER, kubeconfig_of_restow, kustomized, rendered, rights
from e2e.waiting import wait_until
from e2e.workloads import a_template, deployment, pods_of, stateful_set, wait_for_ready

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("kustomize")]

NAME = "restow-confirming"
APPS = ("web", "db")
_GUARD = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
_ENDS = "Number of evictions/requests"


def component(tmp_path: Path) -> list[Object]:
    """The job with the component."""
    copy = tmp_path / "kubernetes"
    shutil.copytree(DEPLOY / "kubernetes", copy)
    (copy / "mine").mkdir()
    kustomization = {"resources": ["../job"], "components": ["../confirming"]}
    (copy / "mine" / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    return kustomized(copy / "mine")


@pytest.fixture(scope="class")
def crowded(own_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> ControlPlane:
    """Four replicas of a Deployment and of a StatefulSet on two of five nodes, and restow's account with the shipped rights."""
    own_plane.add_nodes(5)
    shipped = component(tmp_path_factory.mktemp("shipped"))
    for thing in (*rights(shipped), *(each for each in shipped if each["kind"] in _GUARD)):
        own_plane.admin.create(thing)
    with own_plane.cordoned(["node-3", "node-4", "node-5"]):
        own_plane.admin.create(deployment("web", 4))
        own_plane.admin.create(stateful_set("db", 4))
        for app in APPS:
            wait_for_ready(own_plane.admin, app, 4)
    return own_plane


@contextmanager
def changing_pods(plane: ControlPlane) -> Iterator[None]:
    """Somebody's policy puts a node selector into every new pod, which the pods that run do not have."""
    group = "admissionregistration.k8s.io/v1"
    patch = "[JSONPatch{op: 'add', path: '/spec/nodeSelector', value: {'kubernetes.io/os': 'linux'}}]"
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}]
    policy = {
        "apiVersion": group,
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": "selecting"},
        "spec": {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": rules},
            "mutations": [mutation],
        },
    }
    binding = {
        "apiVersion": group,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": "selecting"},
        "spec": {"policyName": "selecting"},
    }
    plane.admin.create(policy)
    plane.admin.create(binding)
    wait_until("the policy is in force", lambda: "nodeSelector" in _tried(plane.admin)["spec"])
    try:
        yield
    finally:
        plane.admin.delete("MutatingAdmissionPolicyBinding", "selecting")
        plane.admin.delete("MutatingAdmissionPolicy", "selecting")
        wait_until("the policy is gone", lambda: "nodeSelector" not in _tried(plane.admin)["spec"])


def _tried(rest: Rest) -> Object:
    """A pod as the API server would keep it."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "web-"}, "spec": a_template("web")["spec"]}
    made: Object = rest.call("POST", "/api/v1/namespaces/default/pods", pod, query={"dryRun": "All"})
    return made


def run(plane: ControlPlane, tmp_path: Path, *flags: str) -> Descheduler:
    """One cycle under restow's own account."""
    policy = strategy_policy("RemoveDuplicates")
    with Descheduler(
        tmp_path, policy=policy, kubeconfig=kubeconfig_of_restow(plane), flags=["--v=3", *flags]
    ) as running:
        assert running.wait() == 0, running.lines()
    return running


def uids(plane: ControlPlane) -> set[str]:
    return {pod["metadata"]["uid"] for app in APPS for pod in pods_of(plane.admin, app)}


class TestConfirming:
    def test_the_guard_lets_restow_create_pods_in_dry_runs_only(self, crowded: ControlPlane) -> None:
        restow = crowded.rest(crowded.token_of(ACCOUNT, NAMESPACE))
        _tried(restow)
        wait_until("the guard is in force", lambda: _refused(restow))
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": a_template("web")["spec"]}
        with pytest.raises(RefusedError, match="in a dry run only"):
            restow.call("POST", "/api/v1/namespaces/default/pods", pod)

    def test_what_somebody_would_change_is_not_evicted_and_the_log_says_what(
        self, crowded: ControlPlane, tmp_path: Path
    ) -> None:
        before = uids(crowded)
        with changing_pods(crowded):
            ran = run(crowded, tmp_path, "--confirm-replacements")
        assert ran.lines("its replacement would not be as planned: its spec.nodeSelector")
        assert ran.lines(f'"{_ENDS}" totalEvicted=0')
        assert uids(crowded) == before

    def test_without_the_right_to_create_pods_nothing_is_evicted(self, crowded: ControlPlane, tmp_path: Path) -> None:
        before = uids(crowded)
        binding = crowded.admin.get("ClusterRoleBinding", NAME)
        crowded.admin.delete("ClusterRoleBinding", NAME)
        wait_until("the right is gone", lambda: not _may_create(crowded))
        try:
            ran = run(crowded, tmp_path, "--confirm-replacements")
        finally:
            crowded.admin.create({**binding, "metadata": {"name": NAME}})
            wait_until("the right is back", lambda: _may_create(crowded))
        assert ran.lines(re.compile("may not get (replicasets|statefulsets); add the rule"))
        assert uids(crowded) == before

    def test_pods_that_come_back_as_planned_are_moved(self, crowded: ControlPlane, tmp_path: Path) -> None:
        before = uids(crowded)
        run(crowded, tmp_path, "--confirm-replacements")
        assert len(before - uids(crowded)) == 4


def _refused(rest: Rest) -> bool:
    """Whether a pod that would be kept is refused."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "trial"}, "spec": a_template("web")["spec"]}
    return rest.ask("POST", "/api/v1/namespaces/default/pods", pod).status == 422


def _may_create(plane: ControlPlane) -> bool:
    spec = {
        "user": USER,
        "resourceAttributes": {"resource": "pods", "verb": "create", "namespace": "default"},
    }
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer = plane.admin.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


def test_the_chart_has_the_same_objects_and_only_where_they_are_asked_for(built: Path, tmp_path: Path) -> None:
    chart = rendered(kind="Deployment", confirmReplacements={"enabled": True})
    assert _named(chart) == _named(component(tmp_path))
    assert _named(rendered(kind="Deployment")) == {}
    (workload,) = (each for each in chart if each["kind"] == "Deployment")
    assert "--confirm-replacements" in workload["spec"]["template"]["spec"]["containers"][0]["args"]


def _named(objects: list[Object]) -> dict[str, Object]:
    """The objects of confirming by kind, without labels."""
    found = {each["kind"]: each for each in objects if each["metadata"]["name"] == NAME}
    for each in found.values():
        each["metadata"].pop("labels", None)
    return found
