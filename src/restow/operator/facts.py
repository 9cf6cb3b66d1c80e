"""What an operator has to know of the cluster, and of itself, to make a policy. None is what nobody knows.

A cluster without OpenShift's own APIs has no setting there that could be in conflict with the resource.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from restow.client import objects
from restow.client.errors import NotFound
from restow.client.listing import Selection, readable_objects
from restow.client.resources import RESOURCES, Resource
from restow.client.transport import Api
from restow.cluster.snapshot import Cluster
from restow.kube.excerpts import did_you_mean, excerpt
from restow.operator.objects import API_SERVERS, ROUTES, SCHEDULERS, SERVICE_MONITORS, Object
from restow.operator.problems import Problem
from restow.operator.resource import NAME, NAMESPACE, KubeDeschedulerSpec
from restow.operator.rules import KUBEVIRT_PROFILES
from restow.policies.metrics import url_problem
from restow.policies.policy import PROMETHEUS
from restow.serving.tls import registered_name

#: Nodes on which virtual machines can run.
KUBEVIRT_LABEL = "kubevirt.io/schedulable"

_MONITORED: Final = "openshift.io/cluster-monitoring"
_ROUTE: Final = ("openshift-monitoring", "prometheus-k8s")
#: What OpenShift's TLS profiles are as flags of ``restow run``; Intermediate is what restow does by itself.
#: Source: config.openshift.io/v1, TLSSecurityProfile.
_TLS_VERSIONS: Final = {"Old": "VersionTLS10", "Intermediate": "", "Modern": "VersionTLS13"}

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
_ROUTE_TEXT: Final = "openshift-monitoring/prometheus-k8s route"
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


# What a cluster does not serve is no conflict; what an operator may not read is an error, which the status tells.
async def read_facts(api: Api, namespace: str, spec: KubeDeschedulerSpec) -> Facts:
    """Read what a policy for a spec depends on; ``namespace`` is the operator's. ClientError for what cannot be read."""
    groups = await _groups(api)
    is_openshift = {SCHEDULERS.group, ROUTES.group} <= groups
    namespaces = await readable_objects(api, RESOURCES["Namespace"])
    labels = {each.metadata.name: each.metadata.labels or {} for each in namespaces}
    classes = {each.metadata.name: each.value for each in await readable_objects(api, RESOURCES["PriorityClass"])}
    min_version, suites = _tls(await _spec(api, API_SERVERS)) if is_openshift else ("", ())
    return Facts(
        namespaces=tuple(sorted(labels)),
        is_openshift=is_openshift,
        scheduler_profile=(await _spec(api, SCHEDULERS)).get("profile", "") if is_openshift else "",
        prometheus_route=await _route(api) if ROUTES.group in groups else None,
        is_monitored=labels.get(namespace, {}).get(_MONITORED) == "true" if is_openshift else None,
        has_kubevirt_nodes=await _has_kubevirt_nodes(api) if KUBEVIRT_PROFILES.intersection(spec.profiles) else None,
        priority_classes=classes,
        has_service_monitors=SERVICE_MONITORS.group in groups and await _serves(api, SERVICE_MONITORS),
        tls_min_version=min_version,
        tls_cipher_suites=suites,
    )


async def _groups(api: Api) -> set[str]:
    listed = await api.read("/apis", {}, _object)
    return {each["name"] for each in listed.get("groups", ())}


async def _serves(api: Api, resource: Resource) -> bool:
    try:
        served = await api.read(f"/apis/{resource.group}/{resource.version}", {}, _object)
    except NotFound:
        return False
    return any(each["name"] == resource.plural for each in served.get("resources", ()))


async def _spec(api: Api, resource: Resource) -> Object:
    """Return the spec of OpenShift's one object of a kind; nothing where there is none."""
    try:
        found = await objects.get(api, resource, "", NAME, Object)
    except NotFound:
        return {}
    return found.get("spec") or {}


def _tls(spec: Object) -> tuple[str, tuple[str, ...]]:
    """Return the oldest version and the suites of TLS 1.2 that OpenShift's APIServer names; empty leaves them to restow."""
    profile = spec.get("tlsSecurityProfile") or {}
    if profile.get("type") != "Custom":
        return _TLS_VERSIONS.get(profile.get("type", ""), ""), ()
    custom = profile.get("custom") or {}
    names = (registered_name(each) for each in custom.get("ciphers") or ())
    return custom.get("minTLSVersion", ""), tuple(name for name in names if name is not None)


async def _route(api: Api) -> PrometheusRoute | None:
    try:
        route = await objects.get(api, ROUTES, *_ROUTE, Object)
    except NotFound:
        return None
    ingresses = (route.get("status") or {}).get("ingress") or ()
    return PrometheusRoute(tuple(each.get("host", "") for each in ingresses))


async def _has_kubevirt_nodes(api: Api) -> bool:
    nodes = RESOURCES["Node"]
    params = {**Selection(labels=f"{KUBEVIRT_LABEL}=true").params(), "limit": "1"}
    return bool((await api.read(nodes.path(), params, _object)).get("items"))


def _object(body: bytes) -> Object:
    return msgspec.json.decode(body, type=Object)


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
        return Problem("PrometheusRouteNotFound", f"unable to get {_ROUTE_TEXT}: {why}", stops=True)
    if not facts.prometheus_route.hosts:
        return Problem("PrometheusRouteWithoutIngress", f"No ingress found in {_ROUTE_TEXT}", stops=True)
    if not facts.prometheus_route.hosts[0]:
        return Problem(
            "PrometheusRouteWithoutHost", f"Host for status.ingress[0] in {_ROUTE_TEXT} is empty", stops=True
        )
    if facts.is_monitored is False:
        return Problem("NamespaceNotMonitored", f"namespace {installation.namespace} is not labeled with {_LABEL}")
    return f"https://{facts.prometheus_route.hosts[0]}"
