"""The facts of a live cluster on which a policy depends, read again for each sync.

What a cluster does not serve is no conflict; what the operator may not read is an error, which the status shows.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from restow.client import objects
from restow.client.errors import NotFound
from restow.client.listing import Selection, readable_objects
from restow.client.resources import RESOURCES, ApiResource
from restow.client.transport import Api
from restow.operator.facts import KUBEVIRT_LABEL, Facts, PrometheusRoute
from restow.operator.guards import guards, is_in_force
from restow.operator.objects import (
    API_SERVERS,
    POLICY_BINDINGS,
    ROUTES,
    SCHEDULERS,
    SERVICE_MONITORS,
    VALIDATING_POLICIES,
    Object,
)
from restow.operator.resource import NAME, KubeDeschedulerSpec
from restow.operator.rules import KUBEVIRT_PROFILES
from restow.serving.tls import registered_name

_MONITORED: Final = "openshift.io/cluster-monitoring"
_ROUTE: Final = ("openshift-monitoring", "prometheus-k8s")
#: What OpenShift's TLS profiles are as flags of ``restow run``; Intermediate is what restow does by itself.
#: Source: config.openshift.io/v1, TLSSecurityProfile.
_TLS_VERSIONS: Final = {"Old": "VersionTLS10", "Intermediate": "", "Modern": "VersionTLS13"}


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
        missing_guards=await _missing_guards(api, namespace),
    )


async def _groups(api: Api) -> set[str]:
    listed = await api.read("/apis", {}, _object)
    return {each["name"] for each in listed.get("groups", ())}


async def _serves(api: Api, resource: ApiResource) -> bool:
    try:
        served = await api.read(f"/apis/{resource.group}/{resource.version}", {}, _object)
    except NotFound:
        return False
    return any(each["name"] == resource.plural for each in served.get("resources", ()))


async def _spec(api: Api, resource: ApiResource) -> Object:
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


async def _missing_guards(api: Api, namespace: str) -> tuple[str, ...]:
    """Return the guards that are missing, or differ from those that are shipped."""
    wanted = guards(namespace)
    found = await asyncio.gather(*(_is_there(api, each) for each in wanted))
    missing = [each["metadata"]["name"] for each, is_there in zip(wanted, found, strict=True) if not is_there]
    return tuple(dict.fromkeys(missing))


async def _is_there(api: Api, guard: Object) -> bool:
    resource = POLICY_BINDINGS if guard["kind"] == POLICY_BINDINGS.kind else VALIDATING_POLICIES
    try:
        live = await objects.get(api, resource, "", guard["metadata"]["name"], Object)
    except NotFound:
        return False
    return is_in_force(live, guard)


async def _has_kubevirt_nodes(api: Api) -> bool:
    nodes = RESOURCES["Node"]
    params = {**Selection(labels=f"{KUBEVIRT_LABEL}=true").params(), "limit": "1"}
    return bool((await api.read(nodes.path(), params, _object)).get("items"))


def _object(body: bytes) -> Object:
    return msgspec.json.decode(body, type=Object)
