"""The facts of a live cluster on which a policy depends, read anew for each sync.

What a cluster does not serve is no conflict; what an operator may not read is an error, which the status tells.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from restow.client import objects
from restow.client.errors import NotFound
from restow.client.listing import Selection, pages
from restow.client.resources import RESOURCES, Resource
from restow.client.transport import Api
from restow.operator.facts import KUBEVIRT_LABEL, Facts, PrometheusRoute
from restow.operator.kinds import API_SERVERS, ROUTES, SCHEDULERS, SERVICE_MONITORS
from restow.operator.objects import Object
from restow.operator.resource import NAME, KubeDeschedulerSpec
from restow.operator.rules import KUBEVIRT_PROFILES
from restow.operator.tls_profiles import tls_of

_MONITORED: Final = "openshift.io/cluster-monitoring"
_ROUTE: Final = ("openshift-monitoring", "prometheus-k8s")
_PLAIN: Final = dict[str, Any]


async def read_facts(api: Api, namespace: str, spec: KubeDeschedulerSpec) -> Facts:
    """Read what a policy for a spec depends on; ``namespace`` is the operator's. ClientError for what cannot be read."""
    groups = await _groups(api)
    is_openshift = {SCHEDULERS.group, ROUTES.group} <= groups
    found = {each.metadata.name: each.metadata.labels or {} for each in await _all(api, RESOURCES["Namespace"])}
    classes = {each.metadata.name: each.value for each in await _all(api, RESOURCES["PriorityClass"])}
    min_version, suites = tls_of(await _spec(api, API_SERVERS)) if is_openshift else ("", ())
    return Facts(
        namespaces=tuple(sorted(found)),
        is_openshift=is_openshift,
        scheduler_profile=(await _spec(api, SCHEDULERS)).get("profile", "") if is_openshift else "",
        prometheus_route=await _route(api) if ROUTES.group in groups else None,
        is_monitored=found.get(namespace, {}).get(_MONITORED) == "true" if is_openshift else None,
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


async def _all(api: Api, resource: Resource) -> list[Any]:
    return [each async for page in pages(api, resource) for each in page.objects]


async def _spec(api: Api, resource: Resource) -> Object:
    """Return the spec of OpenShift's one object of a kind; nothing where there is none."""
    try:
        found = await objects.get(api, resource, "", NAME, _PLAIN)
    except NotFound:
        return {}
    return found.get("spec") or {}


async def _route(api: Api) -> PrometheusRoute | None:
    try:
        route = await objects.get(api, ROUTES, *_ROUTE, _PLAIN)
    except NotFound:
        return None
    ingresses = (route.get("status") or {}).get("ingress") or ()
    return PrometheusRoute(tuple(each.get("host", "") for each in ingresses))


async def _has_kubevirt_nodes(api: Api) -> bool:
    nodes = RESOURCES["Node"]
    params = {**Selection(labels=f"{KUBEVIRT_LABEL}=true").params(), "limit": "1"}
    return bool((await api.read(nodes.path(), params, _object)).get("items"))


def _object(body: bytes) -> Object:
    return msgspec.json.decode(body, type=_PLAIN)
