"""The page about deploying names files, roles and schedules as they are."""

from __future__ import annotations

import re

import pytest

from deploy.manifests import KUBERNETES, ROOT, WAYS, documents, manifests, only

PAGE = (ROOT / "docs" / "how-to" / "deploy.md").read_text()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\bdeploy/[\w./-]*\w", PAGE))))
def test_every_file_that_it_names_exists(path):
    assert (ROOT / path).exists()


@pytest.mark.parametrize("path", re.findall(r"kubectl apply -f (\S+)", PAGE))
def test_what_is_applied_without_kustomize_needs_no_namespace_from_it(path):
    """The API server refuses a binding to a service account without one."""
    bindings = [each for each in documents(ROOT / path) if "subjects" in each]
    assert all("namespace" in subject for each in bindings for subject in each["subjects"])


def test_the_roles_of_its_table_are_those_of_the_manifests():
    objects = [*manifests(KUBERNETES / "deployment"), *documents(KUBERNETES / "metrics-api" / "metrics-api.yaml")]
    roles = {each["metadata"]["name"] for each in objects if each["kind"] in {"Role", "ClusterRole"}}
    assert set(re.findall(r"^\| `(restow-[a-z-]+)` \|", PAGE, re.MULTILINE)) == roles


def test_it_tells_when_cycles_are_made():
    deployment = only(manifests(KUBERNETES / "deployment"), "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert "--descheduling-interval=5m" in container["args"]
    assert "a cycle every five minutes; two replicas" in PAGE
    assert deployment["spec"]["replicas"] == 2
    assert only(manifests(KUBERNETES / "cronjob"), "CronJob")["spec"]["schedule"] == "*/10 * * * *"
    assert "a cycle every ten minutes" in PAGE


def test_it_tells_of_every_way():
    assert set(re.findall(r"kubectl apply -k deploy/kubernetes/(\w+)", PAGE)) == {*WAYS, "shadow", "page", "recording"}
