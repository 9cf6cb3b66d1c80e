"""Objects as plain data: what those have in common that an operator makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from restow.client import resources
from restow.client.resources import CONFIG_MAPS, RESOURCES, ApiResource
from restow.operator.resource import API_VERSION, KIND, KubeDescheduler

Object = dict[str, Any]

#: On every object, so that what an operator made can be found; owners in a namespace cannot own what is in none.
LABELS: Final = {"app.kubernetes.io/name": "descheduler", "app.kubernetes.io/managed-by": "restow-operator"}

_RBAC: Final = "rbac.authorization.k8s.io"
_MONITORING: Final = "monitoring.coreos.com"


@dataclass(slots=True, frozen=True)
class Ownership:
    """Where objects go and whose they are: ``owner`` goes with the resource when it is deleted."""

    namespace: str
    owner: KubeDescheduler


def in_namespace(
    place: Ownership, api_version: str, kind: str, name: str, *, labels: Object | None = None,
    annotations: Object | None = None, **rest: Any,
) -> Object:  # fmt: skip
    """Return an object in the resource's namespace, owned by the resource if the API server has given that a uid."""
    metadata: Object = {"name": name, "namespace": place.namespace, "labels": {**LABELS, **(labels or {})}}
    if annotations:
        metadata["annotations"] = annotations
    if place.owner.metadata.uid:
        metadata["ownerReferences"] = [_owner(place.owner)]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def in_cluster(api_version: str, kind: str, name: str, **rest: Any) -> Object:
    """Return an object that belongs to no namespace."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "labels": dict(LABELS)}, **rest}


def _owner(owner: KubeDescheduler) -> Object:
    metadata = owner.metadata
    return {"apiVersion": API_VERSION, "kind": KIND, "name": metadata.name, "uid": metadata.uid}


def plain_kind(kind: str, group: str, version: str, plural: str, *, namespaced: bool = True) -> ApiResource:
    """Return a kind that only an operator knows."""
    return ApiResource(kind=kind, group=group, version=version, plural=plural, namespaced=namespaced, type=Object)


def plain(resource: ApiResource) -> ApiResource:
    """Return the resource with its objects decoded as plain data."""
    return msgspec.structs.replace(resource, type=Object)


KUBEDESCHEDULERS: Final = plain_kind(KIND, "operator.openshift.io", "v1", "kubedeschedulers")
#: Of OpenShift.
SCHEDULERS: Final = plain_kind("Scheduler", "config.openshift.io", "v1", "schedulers", namespaced=False)
API_SERVERS: Final = plain_kind("APIServer", "config.openshift.io", "v1", "apiservers", namespaced=False)
ROUTES: Final = plain_kind("Route", "route.openshift.io", "v1", "routes")
DEPLOYMENTS: Final = plain(RESOURCES["Deployment"])
JOBS: Final = plain(RESOURCES["Job"])
SERVICE_MONITORS: Final = plain_kind("ServiceMonitor", _MONITORING, "v1", "servicemonitors")

#: Of what holds the operator to its work; it reads them and writes none.
VALIDATING_POLICIES: Final = plain(resources.VALIDATING_POLICIES)
POLICY_BINDINGS: Final = plain(resources.VALIDATING_POLICY_BINDINGS)

#: Every kind of which an operator makes objects, in an order in which they can be created.
WRITTEN: Final = (
    plain_kind("ServiceAccount", "", "v1", "serviceaccounts"),
    plain_kind("ClusterRole", _RBAC, "v1", "clusterroles", namespaced=False),
    plain_kind("ClusterRoleBinding", _RBAC, "v1", "clusterrolebindings", namespaced=False),
    plain_kind("Role", _RBAC, "v1", "roles"),
    plain_kind("RoleBinding", _RBAC, "v1", "rolebindings"),
    plain(CONFIG_MAPS),
    plain(RESOURCES["Service"]),
    SERVICE_MONITORS,
    plain_kind("PrometheusRule", _MONITORING, "v1", "prometheusrules"),
    DEPLOYMENTS,
    JOBS,
)
_BY_KIND: Final = {each.kind: each for each in WRITTEN}
#: Finds what an operator has made.
SELECTOR: Final = ",".join(f"{name}={value}" for name, value in LABELS.items())


def resource_for(thing: Object) -> ApiResource:
    """Return where an object that an operator makes lives in the API."""
    return _BY_KIND[thing["kind"]]
