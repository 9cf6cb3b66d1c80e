"""What an operator has to know of the cluster, and of itself, to make a policy. None is what nobody knows.

A cluster without OpenShift's own APIs has no setting there that could be in conflict with the resource.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from restow.cluster.snapshot import Cluster
from restow.operator.resource import NAMESPACE

#: Nodes on which virtual machines can run.
KUBEVIRT_LABEL = "kubevirt.io/schedulable"


@dataclass(slots=True, frozen=True)
class PrometheusRoute:
    """The Route openshift-monitoring/prometheus-k8s: the host of each ingress that its status names."""

    hosts: tuple[str, ...] = ()


@dataclass(slots=True, frozen=True)
class Facts:
    """One cluster, as far as a policy depends on it."""

    #: The names of all namespaces.
    namespaces: tuple[str, ...] = ()
    #: Whether it serves OpenShift's APIs (config.openshift.io, route.openshift.io, the service CA).
    is_openshift: bool = False
    #: ``spec.profile`` of OpenShift's Scheduler ``cluster``; empty is none.
    scheduler_profile: str = ""
    #: None where there is no such Route.
    prometheus_route: PrometheusRoute | None = None
    #: Whether the operator's namespace has the label by which OpenShift's monitoring reads it.
    is_monitored: bool | None = None
    has_kubevirt_nodes: bool | None = None
    #: Values by name.
    priority_classes: Mapping[str, int] | None = None
    #: Whether there are ServiceMonitors (monitoring.coreos.com).
    has_service_monitors: bool = False
    #: As ``restow run`` takes them: VersionTLS12, and IANA names; empty leaves them to it.
    tls_min_version: str = ""
    tls_cipher_suites: tuple[str, ...] = ()


@dataclass(slots=True, frozen=True)
class Installation:
    """What the operator was started with."""

    image: str
    namespace: str = NAMESPACE
    #: Where to ask for usage in a cluster without OpenShift's Route; empty where nobody said.
    prometheus_url: str = ""
    #: Of the soft tainter; empty is the same image.
    soft_tainter_image: str = ""
    #: Whether the node of the operator's pod tells how long processes wait (PSI); None where that is not asked or known.
    has_pressure_metrics: bool | None = None
    #: Who the operator is.
    service_account: str = "openshift-descheduler"


def facts_of(cluster: Cluster) -> Facts:
    """Return what a cluster that was read says; its namespaces are at least those of its pods."""
    listed = {name for _, name in cluster.kind("Namespace")}
    labels = (each.get(KUBEVIRT_LABEL) for each in cluster.nodes.labels)
    classes = cluster.priority_classes() if cluster.has_list("PriorityClass") else None
    return Facts(
        namespaces=tuple(sorted(listed | set(cluster.pods.tables.namespaces))),
        has_kubevirt_nodes="true" in labels,
        priority_classes=classes,
    )
