"""One sync: from what the cluster is to what it should be, and a status that says so.

Nothing is remembered from one sync to the next, so it does not matter how many changes one sync answers, nor where the
one before was cut short. The facts on which a policy depends are read each time: what a cluster does not serve is no
conflict, what the operator may not read is an error. Every error reaches the status; one that may pass is raised after
that, to be tried again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

import msgspec

from restow.client import objects
from restow.client.errors import ApiError, NotFound, NotPermitted
from restow.client.listing import Selection, all_objects, readable_objects
from restow.client.resources import RESOURCES, ApiResource
from restow.client.transport import Api
from restow.errors import ClientError, InputError
from restow.kube.duration import SECOND
from restow.kube.timestamps import format_time
from restow.operator.applying import (
    MANAGER,
    Key,
    Writing,
    apply_all,
    lets_evict,
    made_objects,
    remove_all,
    revoke_evictions,
    stop_all,
)
from restow.operator.desired import Desired, desired
from restow.operator.facts import KUBEVIRT_LABEL, Facts, Installation, PrometheusRoute
from restow.operator.guards import guards, is_in_force
from restow.operator.objects import (
    API_SERVERS,
    KUBEDESCHEDULERS,
    POLICY_BINDINGS,
    ROUTES,
    SCHEDULERS,
    SERVICE_MONITORS,
    VALIDATING_POLICIES,
    Object,
    resource_for,
)
from restow.operator.operand import SOFT_TAINTER_ACCOUNT, VERBOSITY
from restow.operator.resource import API_VERSION, KIND, NAME, KubeDeschedulerSpec, ResourceMetadata, resource_of
from restow.operator.rules import KUBEVIRT_PROFILES, Problem, check_name, conditions_of
from restow.operator.soft_taints import remove_taints
from restow.operator.status import OperatorMetrics, failed, is_written, status_of, summary_in
from restow.serving.tls import registered_name

_MONITORED: Final = "openshift.io/cluster-monitoring"
_ROUTE: Final = ("openshift-monitoring", "prometheus-k8s")
#: What OpenShift's TLS profiles are as flags of ``restow run``; Intermediate is what restow does by itself.
#: Source: config.openshift.io/v1, TLSSecurityProfile.
_TLS_VERSIONS: Final = {"Old": "VersionTLS10", "Intermediate": "", "Modern": "VersionTLS13"}
#: kopf writes it, and removes it once ``leave`` has done its work.
FINALIZER: Final = "restow.dev/operator"


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


@dataclass(slots=True, frozen=True)
class Operator:
    """What a sync works with."""

    writing: Writing
    installation: Installation
    metrics: OperatorMetrics = field(default_factory=OperatorMetrics)


async def sync(operator: Operator) -> None:
    """Have everything as the resource says; ClientError or NotPermitted for what may be tried again."""
    ours = None
    for each in await _resources(operator):
        if any(check_name(_metadata(each), operator.installation.namespace)):
            misplaced = _misplaced(operator, each)
            await _write_status(operator, each, misplaced, _status(operator, each, misplaced, {}))
        else:
            ours = each
    if ours is None:
        operator.metrics.conditions(())
        # If the finalizer was removed by force, objects that belong to no namespace are left.
        await _without_resource(operator.writing)
    elif ours["metadata"].get("deletionTimestamp"):
        # ``leave`` removes everything.
        return
    elif FINALIZER in ours["metadata"].get("finalizers", ()):
        await _reconcile(operator, ours)
    elif not lets_evict(ours):
        # Without the finalizer nothing may be created: it would never be removed. Kopf is about to write it.
        await revoke_evictions(operator.writing)


async def leave(operator: Operator) -> None:
    """Take soft taints off nodes and remove everything that was made for the resource; ClientError, NotPermitted."""
    try:
        await remove_taints(operator.writing.api)
    finally:
        await remove_all(operator.writing)


async def _resources(operator: Operator) -> list[Object]:
    try:
        return await all_objects(operator.writing.api, KUBEDESCHEDULERS)
    except NotFound as error:
        raise ClientError(f"the cluster does not know {KIND}; install deploy/operator/crd.yaml: {error}") from error


def _metadata(thing: Object) -> ResourceMetadata:
    return ResourceMetadata(thing["metadata"]["name"], thing["metadata"]["namespace"])


def _misplaced(operator: Operator, thing: Object) -> Desired:
    problems = tuple(check_name(_metadata(thing), operator.installation.namespace))
    return Desired("leave", conditions=conditions_of(problems, ()), problems=problems)


async def _reconcile(operator: Operator, thing: Object) -> None:
    writing, wanted = operator.writing, Desired("leave")
    there: dict[Key, Object] = {}
    trouble: Exception | None = None
    try:
        if not lets_evict(thing):
            await revoke_evictions(writing)
        wanted = await _wanted(operator, thing)
        there = await _carry_out(writing, wanted)
    except NotPermitted:
        raise
    except Exception as error:  # noqa: BLE001 - whatever failed, the status shows it
        trouble, wanted = error, failed(wanted, _problem(error))
    status = _status(operator, thing, wanted, there)
    operator.metrics.conditions(status["conditions"])
    await _write_status(operator, thing, wanted, status)
    if trouble is not None:
        raise trouble


async def _wanted(operator: Operator, thing: Object) -> Desired:
    """Return what a resource means; ClientError for facts that cannot be read."""
    writing = operator.writing
    try:
        resource = resource_of(thing)
        writing.log.set_verbosity(VERBOSITY[resource.spec.operator_log_level])
        facts = await read_facts(writing.api, operator.installation.namespace, resource.spec)
        return desired(resource, facts, operator.installation)
    except InputError as error:
        return failed(Desired("leave"), Problem("UnreadableResource", str(error)))


def _problem(error: Exception) -> Problem:
    reason = error.reason if isinstance(error, ApiError) and error.reason else type(error).__name__
    return Problem(reason, str(error) or reason)


async def _carry_out(writing: Writing, wanted: Desired) -> dict[Key, Object]:
    """Carry out what is wanted; returns the objects that exist then."""
    match wanted.action:
        case "apply":
            if not wanted.soft_taints:
                await _untaint(writing)
            return await apply_all(writing, wanted.objects)
        case "stop":
            return await stop_all(writing)
        case "remove":
            await _remove(writing)
            return {}
    return await made_objects(writing.api, writing.namespace)


async def _without_resource(writing: Writing) -> None:
    try:
        await revoke_evictions(writing)
    finally:
        await _remove(writing)


async def _remove(writing: Writing) -> None:
    await _untaint(writing)
    await remove_all(writing)


async def _untaint(writing: Writing) -> None:
    """Take soft taints off nodes as long as there may be some: the soft tainter's account is the last of its objects to go."""
    account = resource_for({"kind": "ServiceAccount"})
    try:
        await objects.find(writing.api, account, writing.namespace, SOFT_TAINTER_ACCOUNT)
    except NotFound:
        return
    nodes = await remove_taints(writing.api)
    if nodes:
        writing.log.info("Took soft taints off", nodes=nodes)


def _status(operator: Operator, thing: Object, wanted: Desired, there: dict[Key, Object]) -> Object:
    now = format_time(int(operator.writing.api.server_time.now()) * SECOND)
    generation = thing["metadata"].get("generation", 0)
    return status_of(thing.get("status") or {}, generation, wanted, there, plan=summary_in(there), now=now)


async def _write_status(operator: Operator, thing: Object, wanted: Desired, status: Object) -> None:
    """Write the status where it says something else."""
    writing, metadata = operator.writing, thing["metadata"]
    if is_written(thing.get("status") or {}, status):
        return
    for each in wanted.problems:
        writing.log.warning(f"{metadata['namespace']}/{metadata['name']}: {each.message}")
    head = {"name": metadata["name"], "namespace": metadata["namespace"]}
    body = {"apiVersion": API_VERSION, "kind": KIND, "metadata": head, "status": status}
    await objects.apply(
        writing.api, KUBEDESCHEDULERS, head["namespace"], head["name"], body,
        manager=MANAGER, force=True, subresource="status", permit=writing.permit,
    )  # fmt: skip
