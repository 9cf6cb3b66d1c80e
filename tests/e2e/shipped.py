"""What is below deploy/, rendered by the programs that users render it with, and put into a control plane."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from builders import Object
from e2e.binaries import ROOT, tool
from e2e.control_plane import ControlPlane
from e2e.kinds import collection
from e2e.rest import Answer, Rest
from e2e.waiting import wait_until

DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "restow"
#: Where the manifests put restow, and as whom.
NAMESPACE, ACCOUNT = "kube-system", "restow"
USER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
LEASE = "descheduler"
#: Rights to some kinds are for one object.
_NAMES = {"leases": LEASE, "configmaps": "restow-steering"}
#: What says who may do what.
RIGHTS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
_ORDER = {kind: at for at, kind in enumerate(("ServiceAccount", "ClusterRole", "Role"))}


def kustomized(directory: Path) -> list[Object]:
    """The objects of a kustomization."""
    return _objects([tool("kustomize"), "build", directory])


def rendered(release: str = "restow", **values: Any) -> list[Object]:
    """The objects of the chart with these values, in kube-system. Raises ValueError with what Helm says."""
    settings = [
        argument for name, value in values.items() for argument in ("--set-json", f"{name}={json.dumps(value)}")
    ]
    return _objects([tool("helm"), "template", release, CHART, "--namespace", NAMESPACE, *settings])


def rights(objects: Iterable[Object]) -> list[Object]:
    """Accounts, roles and bindings, in an order in which they can be created."""
    found = (each for each in objects if each["kind"] in RIGHTS)
    return sorted(found, key=lambda each: _ORDER.get(each["kind"], len(_ORDER)))


def try_out(admin: Rest, thing: Object) -> Answer:
    """What the API server says of creating an object, which it does not keep; unknown and repeated fields are errors."""
    query = {"dryRun": "All", "fieldValidation": "Strict"}
    namespace = thing["metadata"].get("namespace", "default")
    return admin.ask("POST", collection(thing["kind"], namespace), thing, query=query)


#: The API groups of resources that are not of the core.
_GROUPS = {
    "deployments": "apps",
    "endpointslices": "discovery.k8s.io",
    "events": "events.k8s.io",
    "leases": "coordination.k8s.io",
}


@contextmanager
def without(plane: ControlPlane, role: str, resource: str, verb: str) -> Iterator[None]:
    """A right to a resource (``pods/eviction``) is taken out of a Role or ClusterRole that is there, and given back."""
    kind = "ClusterRole" if plane.admin.find("ClusterRole", role) else "Role"
    whole = plane.admin.get(kind, role, NAMESPACE)
    plane.admin.replace(whole | {"rules": [_less(rule, resource, verb) for rule in whole["rules"]]})
    wait_until(f"{verb} {resource} is denied", lambda: not _may(plane.admin, resource, verb))
    try:
        yield
    finally:
        plane.admin.patch(kind, role, {"rules": whole["rules"]}, NAMESPACE)
        wait_until(f"{verb} {resource} is granted", lambda: _may(plane.admin, resource, verb))


def _less(rule: Object, resource: str, verb: str) -> Object:
    if resource not in rule["resources"]:
        return rule
    # A rule has to have a verb.
    return {**rule, "verbs": [each for each in rule["verbs"] if each != verb] or ["deletecollection"]}


def _may(admin: Rest, resource: str, verb: str) -> bool:
    """Whether the account may, as the API server sees it by now."""
    plural, _, part = resource.partition("/")
    group = _GROUPS.get(plural, "")
    name = {"name": _NAMES[plural]} if plural in _NAMES and verb != "create" else {}
    asked = {"group": group, "resource": plural, "subresource": part, "verb": verb, "namespace": NAMESPACE} | name
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": USER, "resourceAttributes": asked},
    }
    answer = admin.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    allowed: bool = answer["status"]["allowed"]
    return allowed


def kubeconfig_of_restow(plane: ControlPlane, name: str = ACCOUNT) -> Path:
    """A kubeconfig of the service account, which has to be there."""
    return plane.kubeconfig_for(plane.token_of(ACCOUNT, NAMESPACE), name)


def _objects(command: list[Any]) -> list[Object]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        raise ValueError(done.stderr)
    return [each for each in yaml.safe_load_all(done.stdout) if each is not None]
