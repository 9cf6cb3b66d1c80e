"""The kinds that an operator reads and writes, as plain objects."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from restow.client.resources import CONFIG_MAPS, RESOURCES, VALIDATING_POLICY_BINDINGS, Resource
from restow.operator.objects import LABELS, Object
from restow.operator.resource import KIND

_PLAIN: Final = dict[str, Any]
_RBAC: Final = "rbac.authorization.k8s.io"
_MONITORING: Final = "monitoring.coreos.com"


def _kind(kind: str, group: str, version: str, plural: str, *, namespaced: bool = True) -> Resource:
    return Resource(kind=kind, group=group, version=version, plural=plural, namespaced=namespaced, type=_PLAIN)


def _plain(resource: Resource) -> Resource:
    return msgspec.structs.replace(resource, type=_PLAIN)


KUBEDESCHEDULERS: Final = _kind(KIND, "operator.openshift.io", "v1", "kubedeschedulers")
#: Of OpenShift.
SCHEDULERS: Final = _kind("Scheduler", "config.openshift.io", "v1", "schedulers", namespaced=False)
API_SERVERS: Final = _kind("APIServer", "config.openshift.io", "v1", "apiservers", namespaced=False)
ROUTES: Final = _kind("Route", "route.openshift.io", "v1", "routes")
DEPLOYMENTS: Final = _plain(RESOURCES["Deployment"])
JOBS: Final = _plain(RESOURCES["Job"])
SERVICE_MONITORS: Final = _kind("ServiceMonitor", _MONITORING, "v1", "servicemonitors")

#: Every kind of which an operator makes objects, in an order in which they can be created.
WRITTEN: Final = (
    _kind("ServiceAccount", "", "v1", "serviceaccounts"),
    _kind("ClusterRole", _RBAC, "v1", "clusterroles", namespaced=False),
    _kind("ClusterRoleBinding", _RBAC, "v1", "clusterrolebindings", namespaced=False),
    _kind("Role", _RBAC, "v1", "roles"),
    _kind("RoleBinding", _RBAC, "v1", "rolebindings"),
    _plain(CONFIG_MAPS),
    _plain(RESOURCES["Service"]),
    _kind(
        "ValidatingAdmissionPolicy",
        "admissionregistration.k8s.io",
        "v1",
        "validatingadmissionpolicies",
        namespaced=False,
    ),
    _plain(VALIDATING_POLICY_BINDINGS),
    SERVICE_MONITORS,
    _kind("PrometheusRule", _MONITORING, "v1", "prometheusrules"),
    DEPLOYMENTS,
    JOBS,
)
_BY_KIND: Final = {each.kind: each for each in WRITTEN}
#: Finds what an operator has made.
SELECTOR: Final = ",".join(f"{name}={value}" for name, value in LABELS.items())


def resource_for(thing: Object) -> Resource:
    """Return where an object that an operator makes lives in the API."""
    return _BY_KIND[thing["kind"]]
