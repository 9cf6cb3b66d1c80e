"""Who the descheduler is, and what it may do: as in ``deploy/kubernetes``, and in Predictive mode only look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from restow.client.resources import EVENTS, RESOURCES
from restow.live.reading import READ
from restow.operator.objects import Object, Ownership, in_cluster, in_namespace
from restow.operator.resource import Mode

#: The service account of the descheduler, and the names of its roles.
OPERAND: Final = "openshift-descheduler-operand"
#: Lets the descheduler ask OpenShift's Prometheus.
MONITORING_VIEW: Final = "cluster-monitoring-view-cr"
#: Where the descheduler writes its last plan.
PLAN_CONFIG_MAP: Final = "descheduler-plan"
#: The ClusterRole of OpenShift with which its Prometheus can be asked.
VIEW: Final = "cluster-monitoring-view"
_RBAC: Final = "rbac.authorization.k8s.io"


@dataclass(slots=True, frozen=True)
class Account:
    """A ServiceAccount."""

    account: str
    namespace: str


#: OpenShift's Prometheus.
PROMETHEUS: Final = Account("prometheus-k8s", "openshift-monitoring")


def rights_of(place: Ownership, mode: Mode) -> list[Object]:
    """Return the service account with its role."""
    account = in_namespace(place, "v1", "ServiceAccount", OPERAND)
    return [account, role_for(mode), _binding(place), *_publishing(place)]


def role_for(mode: Mode) -> Object:
    """Return the ClusterRole of the descheduler; in Predictive mode it has no right to evict."""
    rules = [*_reading(), *(_evicting() if mode == "Automatic" else ())]
    return in_cluster(f"{_RBAC}/v1", "ClusterRole", OPERAND, rules=rules)


def monitoring_view(place: Ownership, name: str, account: str) -> Object:
    """Return the right of a service account to ask OpenShift's Prometheus, which has a role for that."""
    role_ref = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": VIEW}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": place.namespace}
    return in_cluster(f"{_RBAC}/v1", "ClusterRoleBinding", name, roleRef=role_ref, subjects=[subject])


def rights_of_prometheus(place: Ownership) -> list[Object]:
    """Return what OpenShift's Prometheus needs to find the metrics of the descheduler."""
    rules = [{"apiGroups": [""], "resources": ["services", "endpoints", "pods"], "verbs": ["get", "list", "watch"]}]
    name = PROMETHEUS.account
    subject = {"kind": "ServiceAccount", "name": name, "namespace": PROMETHEUS.namespace}
    role_ref = {"apiGroup": _RBAC, "kind": "Role", "name": name}
    return [
        in_namespace(place, f"{_RBAC}/v1", "Role", name, rules=rules),
        in_namespace(place, f"{_RBAC}/v1", "RoleBinding", name, roleRef=role_ref, subjects=[subject]),
    ]


def _publishing(place: Ownership) -> list[Object]:
    """Return the right to write the last plan, and where to: nothing else can be written with it."""
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [PLAN_CONFIG_MAP], "verbs": ["patch"]}
    role_ref = {"apiGroup": _RBAC, "kind": "Role", "name": OPERAND}
    return [
        in_namespace(place, f"{_RBAC}/v1", "Role", OPERAND, rules=[rule]),
        in_namespace(place, f"{_RBAC}/v1", "RoleBinding", OPERAND, roleRef=role_ref, subjects=[_subject(place)]),
        in_namespace(place, "v1", "ConfigMap", PLAN_CONFIG_MAP),
    ]


def _subject(place: Ownership) -> Object:
    return {"kind": "ServiceAccount", "name": OPERAND, "namespace": place.namespace}


def _binding(place: Ownership) -> Object:
    role_ref = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": OPERAND}
    return in_cluster(f"{_RBAC}/v1", "ClusterRoleBinding", OPERAND, roleRef=role_ref, subjects=[_subject(place)])


def _reading() -> list[Object]:
    """Return the rules for the kinds that decisions depend on."""
    groups: dict[str, list[str]] = {}
    for kind in READ:
        groups.setdefault(RESOURCES[kind].group, []).append(RESOURCES[kind].plural)
    return [
        {"apiGroups": [group], "resources": sorted(plurals), "verbs": ["list", "watch"]}
        for group, plurals in sorted(groups.items())
    ]


def _evicting() -> list[Object]:
    return [
        {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
        {"apiGroups": [EVENTS.group], "resources": [EVENTS.plural], "verbs": ["create", "update"]},
    ]
