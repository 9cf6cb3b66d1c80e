"""Random policies of descheduler/v1alpha1: the arguments of the strategies in the places where that format had them."""

from __future__ import annotations

from builders.metadata import Object
from oracle.chance import Chance
from oracle.random_arguments import arguments, given
from oracle.random_policies import LIMITS, NODE_SELECTORS, STRATEGIES

#: Where the arguments of a strategy stand below its params; the others are params of their own.
FOLDERS = {
    "HighNodeUtilization": "nodeResourceUtilizationThresholds",
    "LowNodeUtilization": "nodeResourceUtilizationThresholds",
    "PodLifeTime": "podLifeTime",
    "RemoveDuplicates": "removeDuplicates",
    "RemoveFailedPods": "failedPods",
    "RemovePodsHavingTooManyRestarts": "podsHavingTooManyRestarts",
}
OWN = ("namespaces", "labelSelector")
SWITCHES = (
    "evictLocalStoragePods",
    "evictDaemonSetPods",
    "evictSystemCriticalPods",
    "ignorePvcPods",
    "evictFailedBarePods",
)


def an_old_policy(chance: Chance) -> Object:
    """A policy of one to five strategies; some are disabled, a few misconfigured."""
    settings = {name: chance.choice([True, False]) for name in SWITCHES if chance.maybe(0.3)}
    settings |= {limit: chance.randint(0, 8) for limit in LIMITS[:2] if chance.maybe(0.15)}
    if chance.maybe(0.1):
        settings["nodeSelector"] = chance.choice(NODE_SELECTORS)
    strategies = {
        name: {"enabled": chance.maybe(0.85), "params": _params(chance, name)}
        for name in chance.some(STRATEGIES, most=5)
    }
    if chance.maybe(0.03):
        strategies["Bogus"] = {"enabled": False}
    header = {"apiVersion": "descheduler/v1alpha1", "kind": "DeschedulerPolicy"}
    return header | settings | {"strategies": strategies}


def _params(chance: Chance, strategy: str) -> Object:
    args = arguments(chance, strategy)
    if "evictableNamespaces" in args:
        args["namespaces"] = args.pop("evictableNamespaces")
    if "constraints" in args:
        args["includeSoftConstraints"] = "ScheduleAnyway" in args.pop("constraints")
    folder = FOLDERS.get(strategy)
    params = {name: value for name, value in args.items() if folder is None or name in OWN}
    if folder:
        params[folder] = {name: value for name, value in args.items() if name not in params}
    if strategy == "PodLifeTime":
        _as_older_releases_had_it(chance, params)
    return params | given(
        nodeFit=chance.choice([True, False]) if chance.maybe(0.4) else None,
        thresholdPriority=chance.choice([0, 500, 100_000]) if chance.maybe(0.1) else None,
        thresholdPriorityClassName=chance.choice(["low", "high", "missing"]) if chance.maybe(0.1) else None,
    )


def _as_older_releases_had_it(chance: Chance, params: Object) -> None:
    args = params["podLifeTime"]
    if "states" in args and chance.maybe(0.5):
        args["podStatusPhases"] = args.pop("states")
    if "maxPodLifeTimeSeconds" not in args and chance.maybe(0.8):
        args["maxPodLifeTimeSeconds"] = 3600
    if "maxPodLifeTimeSeconds" in args and chance.maybe(0.3):
        params["maxPodLifeTimeSeconds"] = args.pop("maxPodLifeTimeSeconds")
