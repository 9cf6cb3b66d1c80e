"""Keeps soft taints as they should be: the daemon ``restow operator soft-tainter``.

It reads the resource every few seconds and evaluates the nodes when the resource has changed, or its interval has
passed. Nodes have taints only while virtual machines are really moved; otherwise, or if the resource is gone, the
taints are removed. While Prometheus, or the value of one node, is missing, all taints stay as they are.

Taints stay when it ends: a restart takes nothing off. Two at a time do no harm, because each patch tests what it changes.
Source: cluster-kube-descheduler-operator 5.4, its soft tainter.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal

from restow.client import objects
from restow.client.errors import NotFound
from restow.client.transport import Api
from restow.cluster.usage_samples import UsageQuery
from restow.configuration_files import read_small_file
from restow.daemon.background import background, told_to_stop, watched
from restow.daemon.connecting import ApiSettings, HttpsSettings, connected, https
from restow.daemon.logs import Log
from restow.descheduling.framework import StrategyError
from restow.descheduling.node_utilization.queried import figures_of, whole_percents
from restow.descheduling.node_utilization.thresholds import is_above, is_below
from restow.descheduling.node_utilization.usage import METRIC_RESOURCE
from restow.descheduling.plugins.low_node_utilization import LowNodeUtilizationArgs, limits
from restow.descheduling.registry import plugins
from restow.errors import ClientError, InputError
from restow.kube.labels import parse_selector
from restow.live.usage import PrometheusUsage
from restow.operator.objects import KUBEDESCHEDULERS
from restow.operator.operand import needs_soft_tainter
from restow.operator.resource import NAME, NAMESPACE, KubeDescheduler, resource_of
from restow.operator.rules import KUBEVIRT_PROFILES
from restow.operator.soft_taints import APPROPRIATE, OVERUTILIZED, TaintedNode, read_nodes, write_taints
from restow.policies.load import load_document, read_policy_document
from restow.policies.policy import Policy
from restow.serving.health import Health
from restow.usage.sources import PROMETHEUS, usage_schemas

#: Seconds from one look at the resource to the next, and from one judgement to the next where no resource says.
LOOK: Final = 10.0
_UNASKED: Final = 60.0
#: Seconds that one check may take: each request in it has a bound of its own.
_PATIENCE: Final = 900.0

#: The results of a policy's query, 0 to 1 by node; ClientError.
Usage = Callable[[Policy, str], Awaitable[Mapping[str, float]]]

_STRATEGY: Final = "LowNodeUtilization"

NodeState = Literal["underutilized", "appropriate", "overutilized"]

_NONE: Final[frozenset[str]] = frozenset()


@dataclass(slots=True)
class SoftTainting:
    """Judges the nodes, and writes what differs."""

    api: Api
    #: Where the resource is.
    namespace: str
    policy_file: str
    usage: Usage
    log: Log
    health: Health
    #: The spec that was carried out last, and when it is time again, in the event loop's time.
    _spec: Any = field(init=False, default=None)
    _due: float = field(init=False, default=float("-inf"))
    #: The last failure that was logged.
    _logged: str = field(init=False, default="")

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            self.health.watchdog.expect("soft tainter", "look at the resource", _PATIENCE)
            await self.look()
            await asyncio.sleep(LOOK)

    async def look(self) -> None:
        """Evaluate the nodes if it is time; a failure is logged, and the next check tries again."""
        try:
            resource = await self._resource()
            now, spec = asyncio.get_running_loop().time(), resource.spec if resource is not None else None
            if now < self._due and spec == self._spec:
                return
            await self._judge(resource)
        except (ClientError, InputError) as error:
            self._fail(error)
            return
        self.health.ready()
        self._spec, self._logged = spec, ""
        self._due = now + (max(spec.descheduling_interval_seconds, LOOK) if spec is not None else _UNASKED)

    async def _resource(self) -> KubeDescheduler | None:
        """The resource; None if there is none, or it is about to go."""
        try:
            found = await objects.get(self.api, KUBEDESCHEDULERS, self.namespace, NAME, dict[str, Any])
        except NotFound:
            return None
        return None if found["metadata"].get("deletionTimestamp") else resource_of(found)

    async def _judge(self, resource: KubeDescheduler | None) -> None:
        nodes = await read_nodes(self.api)
        wanted = await self._wanted(nodes) if resource is not None and _moves(resource) else {}
        if wanted:
            # Prometheus may have taken its time, and the operator may have taken taints off meanwhile, for good.
            now = await self._resource()
            if now is None or not _moves(now):
                wanted = {}
        written = await write_taints(self.api, nodes, wanted)
        for name in written.changed:
            self.log.info("Soft taints changed", node=name, taints=sorted(wanted.get(name, ())))
        if written.problems:
            raise ClientError("; ".join(written.problems))

    async def _wanted(self, nodes: Sequence[TaintedNode]) -> Mapping[str, Collection[str]]:
        policy = read_policy(self.policy_file)
        tainting = tainting_policy(policy)
        if tainting is None:
            return {}
        selector = parse_selector(policy.node_selector or "")
        chosen = [each for each in nodes if selector.matches(each.metadata.labels or {})]
        usage = await self.usage(policy, tainting.query)
        cordoned = {each.name for each in chosen if each.spec.unschedulable}
        return keys_of(node_states(_complete(chosen, usage, tainting), cordoned, tainting.args))

    def _fail(self, error: Exception) -> None:
        if str(error) != self._logged:
            self._logged = str(error)
            self.log.error("The soft taints stay as they are", error)
            self.health.not_ready(str(error))


@dataclass(slots=True, frozen=True)
class TaintingPolicy:
    """The thresholds, and the query that they are about."""

    args: LowNodeUtilizationArgs
    query: str


def _moves(resource: KubeDescheduler) -> bool:
    return needs_soft_tainter(resource.spec) and resource.spec.management_state != "Removed"


def _complete(
    nodes: Sequence[TaintedNode], usage: Mapping[str, float], tainting: TaintingPolicy
) -> Mapping[str, float]:
    """The usage of each of these nodes; ClientError with upstream's text for one without."""
    for node in nodes:
        if node.name not in usage:
            raise ClientError(f"unable to find metric entry for {node.name}, query: {tainting.query}")
    return {node.name: usage[node.name] for node in nodes}


def read_policy(path: str) -> Policy:
    """Return the policy of a file; InputError where it cannot be used."""
    try:
        text = read_small_file(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error} (--policy-config-file)") from error
    return load_document(read_policy_document(text, path), plugins(), usage_schemas()).policy


def tainting_policy(policy: Policy) -> TaintingPolicy | None:
    """Return what the policy says; None if it moves no virtual machines, InputError if its usage comes from elsewhere."""
    for profile in policy.profiles:
        if profile.name in KUBEVIRT_PROFILES and _STRATEGY in profile.balance:
            args: LowNodeUtilizationArgs = profile.args[_STRATEGY]
            prometheus = args.metrics_utilization.prometheus if args.metrics_utilization is not None else None
            if prometheus is None:
                raise InputError(
                    f"profile {profile.name}: soft taints go by Prometheus; set metricsUtilization of {_STRATEGY}, with a "
                    "query"
                )
            return TaintingPolicy(args, prometheus.query)
    return None


# Source: cluster-kube-descheduler-operator 5.4, its soft tainter.
def node_states(
    usage: Mapping[str, float], cordoned: Collection[str], args: LowNodeUtilizationArgs
) -> dict[str, NodeState]:
    """Return the state of each node by its usage, 0 to 1; a cordoned node takes no pods, so it is never underutilized."""
    loads = {node: {METRIC_RESOURCE: float(whole_percents(share))} for node, share in usage.items()}
    low, high = limits(args, loads.values())

    def state(node: str) -> NodeState:
        if node not in cordoned and is_below(loads[node], low):
            return "underutilized"
        return "overutilized" if is_above(loads[node], high) else "appropriate"

    return {node: state(node) for node in loads}


def keys_of(states: Mapping[str, NodeState]) -> dict[str, frozenset[str]]:
    """Return the keys of the soft taints that each node should have.

    If no node is underutilized, the appropriately utilized ones are the best there are, and have none.
    """
    is_room = "underutilized" in states.values()
    keys: dict[NodeState, frozenset[str]] = {
        "underutilized": _NONE,
        "appropriate": frozenset({APPROPRIATE}) if is_room else _NONE,
        "overutilized": frozenset({APPROPRIATE, OVERUTILIZED}),
    }
    return {node: keys[state] for node, state in states.items()}


@dataclass(slots=True, frozen=True, kw_only=True)
class TainterSettings:
    """What a soft tainter is started with."""

    policy_file: str
    #: Where the resource is.
    namespace: str = NAMESPACE
    api: ApiSettings = field(default_factory=ApiSettings)
    https: HttpsSettings | None = None


async def taint(settings: TainterSettings, log: Log) -> None:
    """Run until stopped; InputError or OSError if it cannot work."""
    stopping, health = told_to_stop(log), Health(program="soft-tainter")
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(watched(health.watchdog, log))
        await stack.enter_async_context(https(settings.https, health, None, {}, log))
        api = await stack.enter_async_context(connected(settings.api, log))
        prometheus = PrometheusUsage(api, os.environ)
        usage = partial(node_usage, prometheus)
        tainting = SoftTainting(api, settings.namespace, settings.policy_file, usage, log, health)
        async with background(tainting.run(), "soft taints"):
            await stopping.wait()


async def node_usage(prometheus: PrometheusUsage, policy: Policy, query: str) -> Mapping[str, float]:
    """Return the result of a policy's query, 0 to 1 by node; ClientError if it fails or is no such share."""
    result = (await prometheus.results(policy)).get(UsageQuery(PROMETHEUS, query))
    if result is None:
        raise ClientError("the policy names no Prometheus (metricsProviders)")
    if result.problem:
        raise ClientError(result.problem)
    try:
        figures = figures_of(result, policy.restow.usage)
    except StrategyError as error:
        raise ClientError(str(error)) from error
    return {node: figure.value for node, figure in figures.items()}
