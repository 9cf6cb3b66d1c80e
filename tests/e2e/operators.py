"""``restow operator`` as a local process beside a control plane, and what it makes of a resource.

with an_operator(plane, tmp_path):
    plane.admin.create(an_object("AffinityAndTaints"))
    status = settled(plane.admin)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import yaml

from builders import Object
from builders.kubedeschedulers import an_object
from deploy.manifests import documents
from e2e.child import Child
from e2e.control_plane import ControlPlane
from e2e.fault_proxy import FaultProxy
from e2e.kinds import path_of
from e2e.ports import free_ports
from e2e.rest import Answer, RefusedError, Rest, name_of
from e2e.running import Descheduler, Samples, scraped
from e2e.shipped import DEPLOY, try_out
from e2e.waiting import wait_until
from restow.operator.daemon import LEASE
from restow.operator.facts import Facts, Installation
from restow.operator.objects import SELECTOR, WRITTEN
from restow.operator.resource import NAMESPACE, ProfileName
from restow.operator.rights import OPERAND
from restow.operator.rules import CONFLICTS

#: What operators of tests are started with.
PROMETHEUS = "https://prometheus.example.com"
IMAGE = "registry.example.com/restow:e2e"
INSTALLED = Installation(IMAGE, NAMESPACE, PROMETHEUS)
#: Profiles that may stand beside one another.
LEGAL_PAIRS = [pair for pair in combinations(get_args(ProfileName), 2) if not {pair, pair[::-1]} & set(CONFLICTS)]
_PROGRAM = "from restow.cli.main import main; main()"
#: The same, but that it gives up a removal soon.
IMPATIENT = f"import restow.operator.daemon as watches; watches.TRIES = 2; watches.PAUSE = 0.2; {_PROGRAM}"
PATIENCE = 120.0
#: Of the operator.
ACCOUNT = "openshift-descheduler"
_KIND = "KubeDescheduler"
#: What clusters serve of the kinds that an operator makes.
MADE = tuple(each.kind for each in WRITTEN if each.group != "monitoring.coreos.com")


@contextmanager
def definition_of(plane: ControlPlane) -> Iterator[None]:
    """Has the control plane serve the resource while the block runs."""
    (definition,) = yaml.safe_load_all((DEPLOY / "operator" / "crd.yaml").read_text())
    kind, name = definition["kind"], definition["metadata"]["name"]
    plane.admin.create(definition)
    wait_until("the resource is served", lambda: _can_be_created(plane.admin), PATIENCE)
    yield
    plane.admin.delete(kind, name)
    wait_until("the resource is gone", lambda: plane.admin.find(kind, name) is None, PATIENCE)


def _can_be_created(admin: Rest) -> bool:
    return try_out(admin, an_object("AffinityAndTaints")).status == 201


class Operator(Child):
    """An operator that has its say in ``operator.log`` below a directory."""

    def __init__(self, directory: Path, kubeconfig: Path, program: str = _PROGRAM) -> None:
        sources = {"PYTHONPATH": os.pathsep.join(sys.path), "RELATED_IMAGE_OPERAND_IMAGE": IMAGE}
        #: Of its HTTPS server.
        self.port = free_ports(1)[0]
        command = [
            *(sys.executable, "-c", program, "operator"),
            f"--kubeconfig={kubeconfig}",
            f"--prometheus-url={PROMETHEUS}",
            f"--secure-port={self.port}",
            "-v=2",
            "--leader-elect-retry-period=500ms",
        ]
        super().__init__(command, directory / "operator.log", environment={**os.environ, **sources})

    def samples(self) -> Samples:
        """Its metrics as they are now."""
        return scraped(self.port)


@contextmanager
def installed(plane: ControlPlane) -> Iterator[None]:
    """The account of an operator, its rights and its guards, as the manifests have them, where they are not there yet."""
    found = [each for name in ("rights", "guarding") for each in documents(DEPLOY / "operator" / f"{name}.yaml")]
    missing = [each for each in found if not plane.admin.find(each["kind"], name_of(each), NAMESPACE)]
    for each in missing:
        plane.admin.create(each)
    if missing:
        caller = plane.rest(operators_token(plane))
        wait_until("the guards are in force", lambda: all(_is_refused(caller, each) for each in _PROBES), PATIENCE)
    yield
    for each in reversed(missing):
        plane.admin.delete(each["kind"], name_of(each), NAMESPACE)


#: Of each guard, an object that it refuses.
_PROBES: tuple[Object, ...] = (
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1", "labels": {"probe": "x"}}},
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": OPERAND, "labels": {"probe": "x"}},
    },
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "metrics", "namespace": NAMESPACE},
        "spec": {"type": "NodePort", "ports": [{"port": 1}]},
    },
)


def _is_refused(caller: Rest, thing: Object) -> bool:
    return "ValidatingAdmissionPolicy" in str(applied(caller, thing, try_out=True).body)


def applied(caller: Rest, thing: Object, *, try_out: bool = False) -> Answer:
    """What the API server answers to a server-side apply."""
    query = {"fieldManager": "restow-operator", "force": "true"} | ({"dryRun": "All"} if try_out else {})
    path = path_of(thing["kind"], name_of(thing), thing["metadata"].get("namespace", "default"))
    return caller.ask("PATCH", path, thing, query=query, content="application/apply-patch+yaml")


def operators_token(plane: ControlPlane) -> str:
    """A token of the operator's account, which has to be there."""
    return plane.token_of(ACCOUNT, NAMESPACE)


def operators_kubeconfig(plane: ControlPlane, proxy: FaultProxy | None = None) -> Path:
    """A kubeconfig of the operator's account, which may go through a proxy."""
    token = operators_token(plane)
    return proxy.kubeconfig_for({"token": token}) if proxy else plane.kubeconfig_for(token, "operator")


@contextmanager
def an_operator(
    plane: ControlPlane, directory: Path, proxy: FaultProxy | None = None, program: str = _PROGRAM
) -> Iterator[Operator]:
    """An operator that runs while the block does, with the rights of the manifests and no others."""
    with installed(plane):
        operator = Operator(directory, operators_kubeconfig(plane, proxy), program)
        operator.start()
        try:
            yield operator
            operator.check()
        finally:
            operator.terminate()
            lease_is_over(plane.admin)


def lease_is_over(admin: Rest) -> None:
    """Has nobody wait for the lease of an operator that was killed."""
    if admin.find("Lease", LEASE, NAMESPACE):
        admin.delete("Lease", LEASE, NAMESPACE)


def made(admin: Rest) -> dict[tuple[str, str], Object]:
    """Everything that an operator has made, by kind and name."""
    return {(kind, each["metadata"]["name"]): each for kind in MADE for each in admin.items(kind, labels=SELECTOR)}


def resource(admin: Rest) -> Object:
    """The resource as it is stored."""
    return admin.get(_KIND, "cluster", NAMESPACE)


def edit(admin: Rest, **spec: Any) -> Object:
    """The resource with some fields of its spec changed; None removes one."""
    return admin.patch(_KIND, "cluster", {"spec": spec}, NAMESPACE)


def condition(thing: Object, kind: str) -> tuple[str, str]:
    """Status and reason of a condition; empty where there is none."""
    for each in (thing.get("status") or {}).get("conditions") or ():
        if each["type"] == kind:
            return each["status"], each["reason"]
    return "", ""


def observed(admin: Rest, operator: Operator) -> Object:
    """The resource, once its status tells of its newest generation."""

    def seen() -> Object | None:
        operator.check()
        thing = resource(admin)
        is_told = (thing.get("status") or {}).get("observedGeneration") == thing["metadata"]["generation"]
        return thing if is_told else None

    found = wait_until("the status tells of the newest generation", seen, PATIENCE)
    assert found is not None
    return found


def facts(admin: Rest) -> Facts:
    """What there is to know of this control plane."""
    return Facts(
        namespaces=tuple(sorted(name_of(each) for each in admin.items("Namespace"))),
        has_kubevirt_nodes=True,
        priority_classes={name_of(each): each["value"] for each in admin.items("PriorityClass")},
    )


def has_policy(admin: Rest, wanted: str) -> bool:
    config = admin.find("ConfigMap", "cluster", NAMESPACE)
    return config is not None and config["data"] == {"policy.yaml": wanted}


def wait_for_objects(admin: Rest, wanted: Iterable[Object]) -> None:
    """Until there are these objects and no others; lists may be some milliseconds behind."""
    keys = {(each["kind"], name_of(each)) for each in wanted}
    wait_until("there is what is wanted", lambda: set(made(admin)) == keys, PATIENCE)


def is_gone(admin: Rest) -> bool:
    """Whether the resource is deleted for good."""
    return admin.find(_KIND, "cluster", NAMESPACE) is None


def remove(admin: Rest) -> None:
    """Deletes the resource, and waits until it is gone."""
    try:
        admin.delete(_KIND, "cluster", NAMESPACE)
    except RefusedError as error:
        if error.status != 404:
            raise
    wait_until("the resource is gone", lambda: is_gone(admin), PATIENCE)


def the_pod(plane: ControlPlane, directory: Path, name: str) -> Descheduler:
    """The container of the Deployment as it is now, as a process."""
    policy = directory / f"{name}.yaml"
    policy.write_text(plane.admin.get("ConfigMap", "cluster", NAMESPACE)["data"]["policy.yaml"])
    (container,) = plane.admin.get("Deployment", "descheduler", NAMESPACE)["spec"]["template"]["spec"]["containers"]
    # Nobody mounts volumes: the policy is elsewhere, and there is no certificate of OpenShift's service CA.
    mounted, *flags = (each for each in container["args"] if "=/certs-dir/" not in each)
    assert mounted.startswith("--policy-config-file=")
    kubeconfig = plane.kubeconfig_for(plane.token_of(OPERAND, NAMESPACE), OPERAND)
    return Descheduler(directory, policy=policy, kubeconfig=kubeconfig, flags=flags, name=name)


def last_plan(admin: Rest) -> Object:
    found: Object = (resource(admin).get("status") or {}).get("lastPlan") or {}
    return found
