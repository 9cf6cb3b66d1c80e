"""Random arguments of the ten strategies: every argument, and values that its clusters can meet."""

from __future__ import annotations

from collections.abc import Callable

from builders.metadata import Object
from oracle.chance import Chance
from oracle.random_containers import EXIT_CODES, TERMINATED, WAITING
from oracle.random_nodes import GPU
from oracle.random_pods import CONDITION_REASONS, CONDITIONS, REASONS
from oracle.random_rules import NAMESPACES, TAINT_KEYS, label_selector

OWNER_KINDS = ("ReplicaSet", "StatefulSet", "Job", "DaemonSet", "Node")
#: What PodLifeTime accepts of the states that clusters have.
STATES = (
    "Running",
    "Pending",
    "Failed",
    "Succeeded",
    "Unknown",
    "CrashLoopBackOff",
    "ImagePullBackOff",
    "ContainerCreating",
    "Error",
    "OOMKilled",
    "Completed",
    "Evicted",
    "NodeLost",
)


def given(**args: object) -> Object:
    """The arguments that are given; False and 0 are."""
    return {name: value for name, value in args.items() if value is not None}


def arguments(chance: Chance, strategy: str) -> Object:
    """Arguments that the strategy accepts."""
    return ARGUMENTS[strategy](chance)


def switch(chance: Chance, share: float = 0.5) -> bool | None:
    """A switch that may be left out."""
    return chance.weighted({True: share, False: (1 - share) / 2, None: (1 - share) / 2})


def _namespaces(chance: Chance) -> Object | None:
    if not chance.maybe(0.15):
        return None
    return {chance.choice(["include", "exclude"]): chance.some(NAMESPACES)}


def _selection(chance: Chance) -> Object:
    return given(namespaces=_namespaces(chance), labelSelector=label_selector(chance) if chance.maybe(0.15) else None)


def _evictable(chance: Chance) -> Object | None:
    return {"exclude": chance.some(NAMESPACES)} if chance.maybe(0.2) else None


def _owner_kinds(chance: Chance) -> list[str] | None:
    return chance.some(OWNER_KINDS) if chance.maybe(0.25) else None


def _seconds(chance: Chance) -> int:
    return chance.choice([0, 1, 60, 600, 3600, 3600, 7200, 20_000, 100_000])


def _pod_life_time(chance: Chance) -> Object:
    args = _selection(chance) | given(
        maxPodLifeTimeSeconds=_seconds(chance) if chance.maybe(0.6) else None,
        states=chance.some(STATES, most=4) if chance.maybe(0.4) else None,
        conditions=_conditions(chance) if chance.maybe(0.3) else None,
        exitCodes=chance.some(EXIT_CODES) if chance.maybe(0.25) else None,
        ownerKinds={chance.choice(["include", "exclude"]): chance.some(OWNER_KINDS)} if chance.maybe(0.2) else None,
        includingInitContainers=switch(chance),
        includingEphemeralContainers=switch(chance),
    )
    if not args.keys() & {"maxPodLifeTimeSeconds", "states", "conditions", "exitCodes"}:
        args["maxPodLifeTimeSeconds"] = _seconds(chance)
    return args


def _conditions(chance: Chance) -> list[Object]:
    filters = []
    for _ in range(chance.randint(1, 2)):
        condition = given(
            type=chance.choice(CONDITIONS) if chance.maybe(0.6) else None,
            status=chance.choice(["True", "False"]) if chance.maybe(0.6) else None,
            reason=chance.choice(CONDITION_REASONS) if chance.maybe(0.3) else None,
            minTimeSinceLastTransitionSeconds=chance.choice([0, 30, 600, 601, 4001]) if chance.maybe(0.4) else None,
        )
        filters.append(condition or {"type": "Ready"})
    return filters


def _failed_pods(chance: Chance) -> Object:
    return _selection(chance) | given(
        excludeOwnerKinds=_owner_kinds(chance),
        minPodLifetimeSeconds=_seconds(chance) if chance.maybe(0.6) else None,
        reasons=chance.some([*REASONS, *WAITING, *TERMINATED, ""], most=6) if chance.maybe(0.3) else None,
        exitCodes=chance.some(EXIT_CODES) if chance.maybe(0.25) else None,
        includingInitContainers=switch(chance),
    )


def _too_many_restarts(chance: Chance) -> Object:
    return _selection(chance) | given(
        podRestartThreshold=chance.choice([1, 2, 3, 8, 20, 100]),
        includingInitContainers=switch(chance),
        states=chance.some(["Running", "CrashLoopBackOff"]) if chance.maybe(0.3) else None,
    )


def _node_affinity(chance: Chance) -> Object:
    types = [f"{kind}DuringSchedulingIgnoredDuringExecution" for kind in ("required", "preferred")]
    chosen = chance.some(types) if chance.maybe(0.95) else ["sometimes", *types]
    return _selection(chance) | {"nodeAffinityType": chosen}


def _node_taints(chance: Chance) -> Object:
    names = [*TAINT_KEYS, "gpu=yes", "sla=100", "dedicated=db", "dedicated=", "node.kubernetes.io/unschedulable"]
    listed = chance.weighted({None: 6, "excludedTaints": 3, "includedTaints": 3})
    return (
        _selection(chance)
        | given(includePreferNoSchedule=switch(chance))
        | ({listed: chance.some(names, least=chance.randint(0, 1), most=3)} if listed else {})
    )


def _topology_spread(chance: Chance) -> Object:
    kinds = ["DoNotSchedule", "ScheduleAnyway"]
    return _selection(chance) | given(
        constraints=chance.some(kinds, least=0) if chance.maybe(0.6) else None,
        topologyBalanceNodeFit=switch(chance),
    )


def _remove_duplicates(chance: Chance) -> Object:
    return given(namespaces=_namespaces(chance), excludeOwnerKinds=_owner_kinds(chance))


def _resources(chance: Chance) -> list[str]:
    known = ["cpu", "memory", "pods"]
    if "extended" in chance.traits:
        known.append(GPU)
    return chance.some(known, most=chance.weighted({1: 5, 2: 3, 3: 1}))


def _percentage(chance: Chance, lowest: float, highest: float) -> float:
    value = chance.uniform(lowest, highest)
    fifth = min(max(5 * round(value / 5), lowest), highest)
    return chance.choice([round(value), fifth, fifth, round(value, 1), round(value, 4)])


def _low_node_utilization(chance: Chance) -> Object:
    resources = _resources(chance)
    deviation = chance.maybe(0.25)
    low = {name: _percentage(chance, 0, 10 if deviation else 30) for name in resources}
    high = {name: _percentage(chance, 0 if deviation else low[name], 10 if deviation else 40) for name in resources}
    high = {name: value if deviation else max(value, low[name]) for name, value in high.items()}
    metrics = _metrics_utilization(chance)
    if metrics and "prometheus" in metrics:
        low, high = {"MetricResource": 20.0}, {"MetricResource": 50.0}
    return given(
        thresholds=low,
        targetThresholds=high,
        useDeviationThresholds=True if deviation else chance.choice([None, False]),
        numberOfNodes=chance.choice([-1, 0, 1, 2]) if chance.maybe(0.2) else None,
        metricsUtilization=metrics,
        evictableNamespaces=_evictable(chance),
        evictionLimits={"node": chance.randint(0, 3)} if chance.maybe(0.2) else None,
    )


def _metrics_utilization(chance: Chance) -> Object | None:
    if not (chance.has("metrics", 0.4)):
        return None
    if chance.maybe(0.1):
        prometheus = {"source": "Prometheus", "prometheus": {"query": "load"}}
        return chance.choice([{}, {"source": "Odd"}, prometheus, prometheus | {"metricsServer": True}])
    return chance.choice([{"metricsServer": True}, {"source": "KubernetesMetrics"}])


def _high_node_utilization(chance: Chance) -> Object:
    return given(
        thresholds={name: _percentage(chance, 5, 35) for name in _resources(chance)},
        numberOfNodes=chance.choice([-1, 0, 1, 2]) if chance.maybe(0.2) else None,
        evictionModes=chance.choice([[], ["OnlyThresholdingResources"]]) if chance.maybe(0.4) else None,
        evictableNamespaces=_evictable(chance),
    )


ARGUMENTS: dict[str, Callable[[Chance], Object]] = {
    "HighNodeUtilization": _high_node_utilization,
    "LowNodeUtilization": _low_node_utilization,
    "PodLifeTime": _pod_life_time,
    "RemoveDuplicates": _remove_duplicates,
    "RemoveFailedPods": _failed_pods,
    "RemovePodsHavingTooManyRestarts": _too_many_restarts,
    "RemovePodsViolatingInterPodAntiAffinity": _selection,
    "RemovePodsViolatingNodeAffinity": _node_affinity,
    "RemovePodsViolatingNodeTaints": _node_taints,
    "RemovePodsViolatingTopologySpreadConstraint": _topology_spread,
}
