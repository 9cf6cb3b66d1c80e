"""What the operator has to know about the cluster, and about itself, to make a policy. None means unknown.

A cluster without OpenShift's own APIs has no setting there that could be in conflict with the resource.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from restow.cluster.snapshot import ClusterSnapshot
from restow.kube.excerpts import did_you_mean, excerpt
from restow.operator.resource import NAMESPACE
from restow.operator.rules import Problem
from restow.policies.usage import url_problem
from restow.usage.sources import PROMETHEUS

#: Nodes on which virtual machines can run.
KUBEVIRT_LABEL = "kubevirt.io/schedulable"

_WAITING_FOR_CPU: Final = "rate(node_pressure_cpu_waiting_seconds_total[1m])"
_OF_INSTANCES: Final = f"avg by (instance) ( {_WAITING_FOR_CPU})"
#: Of 0 to 1 for each node, by the names that ``devActualUtilizationProfile`` has for them.
QUERIES: Final = {
    "PrometheusCPUUsage": "instance:node_cpu:rate:sum",
    "PrometheusCPUPSIPressure": _WAITING_FOR_CPU,
    "PrometheusMemoryPSIPressure": "rate(node_pressure_memory_waiting_seconds_total[1m])",
    "PrometheusIOPSIPressure": "rate(node_pressure_io_waiting_seconds_total[1m])",
    "PrometheusCPUPSIPressureByUtilization": (
        f"{_OF_INSTANCES} and (1 - avg by (instance) "
        '(rate(node_cpu_seconds_total{mode="idle"}[1m]))) > 0.7 or ' + f"{_OF_INSTANCES} * 0"
    ),
    "PrometheusCPUCombined": "descheduler:combined_utilization_and_pressure:avg1m",
    "PrometheusCPUMemoryCombinedProfile": ("descheduler:node:linear_amplified_ideal_point_positive_distance:k3:avg1m"),
}
#: What virtual machines are balanced by where nothing else is asked for.
KUBEVIRT_QUERY: Final = QUERIES["PrometheusCPUMemoryCombinedProfile"]
_OWN_QUERY: Final = "query:"
_ROUTE: Final = "openshift-monitoring/prometheus-k8s route"
_LABEL: Final = "openshift.io/cluster-monitoring=true"


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
    #: Names of the policies in deploy/operator/guarding.yaml that are missing or differ from it.
    missing_guards: tuple[str, ...] = ()


@dataclass(slots=True, frozen=True)
class Installation:
    """What the operator was started with."""

    image: str
    namespace: str = NAMESPACE
    #: Where to ask for usage in a cluster without OpenShift's Route; empty if not configured.
    prometheus_url: str = ""
    #: Of the soft tainter; empty is the same image.
    soft_tainter_image: str = ""
    #: Whether the node of the operator's pod measures how long processes wait (PSI); None if that is unknown or not
    #: needed.
    has_pressure_metrics: bool | None = None


def facts_of(cluster: ClusterSnapshot) -> Facts:
    """Return what a cluster that was read says; its namespaces are at least those of its pods."""
    listed = {name for _, name in cluster.kind("Namespace")}
    labels = (each.get(KUBEVIRT_LABEL) for each in cluster.nodes.labels)
    classes = cluster.priority_classes() if cluster.has_list("PriorityClass") else None
    return Facts(
        namespaces=tuple(sorted(listed | set(cluster.pods.tables.namespaces))),
        has_kubevirt_nodes="true" in labels,
        priority_classes=classes,
    )


def query_of(name: str) -> str | Problem:
    """Return the query of a ``devActualUtilizationProfile``; empty for none."""
    if name.startswith(_OWN_QUERY):
        query = name.removeprefix(_OWN_QUERY)
        return query if query.strip() else _unknown(name, "write a query after query:")
    if name and name not in QUERIES:
        return _unknown(name, did_you_mean(name, QUERIES) or f"there are {', '.join(QUERIES)} and query:PROMQL")
    return QUERIES.get(name, "")


def _unknown(name: str, hint: str) -> Problem:
    return Problem("UnknownPrometheusProfile", f"unknown prometheus profile: {excerpt(name)}; {hint}")


def metrics_provider(query: str) -> dict[str, Any]:
    """Return the argument of a strategy that uses a query."""
    return {"source": PROMETHEUS, "prometheus": {"query": query}}


def server_url(facts: Facts, installation: Installation) -> str | Problem:
    """Return where Prometheus is: as configured, else as OpenShift's Route says."""
    if installation.prometheus_url:
        problem = url_problem(installation.prometheus_url)
        url = excerpt(installation.prometheus_url)
        return Problem("PrometheusURL", f'"{url}": {problem}') if problem else installation.prometheus_url
    if facts.prometheus_route is None:
        why = "not found" if facts.is_openshift else "this cluster has no routes; give the operator --prometheus-url"
        return Problem("PrometheusRouteNotFound", f"unable to get {_ROUTE}: {why}", stops=True)
    if not facts.prometheus_route.hosts:
        return Problem("PrometheusRouteWithoutIngress", f"No ingress found in {_ROUTE}", stops=True)
    if not facts.prometheus_route.hosts[0]:
        return Problem("PrometheusRouteWithoutHost", f"Host for status.ingress[0] in {_ROUTE} is empty", stops=True)
    if facts.is_monitored is False:
        return Problem("NamespaceNotMonitored", f"namespace {installation.namespace} is not labeled with {_LABEL}")
    return f"https://{facts.prometheus_route.hosts[0]}"
