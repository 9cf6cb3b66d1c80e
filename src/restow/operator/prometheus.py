"""Usage from Prometheus: the queries that have names, and where the server is."""

from __future__ import annotations

from typing import Any, Final

from restow.kube.excerpts import did_you_mean, excerpt
from restow.operator.facts import Facts, Installation
from restow.operator.problems import Problem
from restow.policies.metrics import url_problem
from restow.policies.policy import PROMETHEUS

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
    """Return the argument of a strategy that goes by what a query says."""
    return {"source": PROMETHEUS, "prometheus": {"query": query}}


def server_url(facts: Facts, installation: Installation) -> str | Problem:
    """Return where Prometheus is: as the operator was told, else as OpenShift's Route says."""
    if installation.prometheus_url:
        problem = url_problem(installation.prometheus_url)
        told = excerpt(installation.prometheus_url)
        return Problem("PrometheusURL", f'"{told}": {problem}') if problem else installation.prometheus_url
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
