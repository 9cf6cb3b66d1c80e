"""The profiles by name: what kind of cluster to make, and the policy that has something to do in it.

The counts in descriptions are evictions of the Descheduler v0.36 without limits, on 5,000 nodes with 150,000 pods.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

import msgspec
import yaml

from restow.errors import InputError
from restow.sources.synthetic.mixed import full_cluster, mixed_cluster
from restow.sources.synthetic.scenarios import (
    SyntheticScenario,
    hot_half,
    in_pairs,
    twice_the_average,
    uniform_cluster,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import BinaryIO

    from restow.sources.synthetic.names import Object


@dataclass(slots=True, frozen=True)
class Strategies:
    """Strategies with their arguments, in running order, and the evictor they share."""

    arguments: dict[str, Object]
    evictor: Object = field(default_factory=dict)


#: Everything at once, protections at their defaults, limits that a careful operator would set.
EVERYTHING = Strategies(
    {
        "RemoveFailedPods": {"minPodLifetimeSeconds": 3600},
        "RemovePodsHavingTooManyRestarts": {"podRestartThreshold": 100, "includingInitContainers": True},
        "RemovePodsViolatingNodeTaints": {},
        "RemovePodsViolatingNodeAffinity": {"nodeAffinityType": ["requiredDuringSchedulingIgnoredDuringExecution"]},
        "RemovePodsViolatingInterPodAntiAffinity": {},
        "RemoveDuplicates": {},
        "RemovePodsViolatingTopologySpreadConstraint": {"constraints": ["DoNotSchedule", "ScheduleAnyway"]},
        "LowNodeUtilization": {
            "thresholds": {"cpu": 30, "memory": 30, "pods": 30},
            "targetThresholds": {"cpu": 60, "memory": 60, "pods": 60},
        },
    },
    {"nodeFit": True},
)
LOW = Strategies({"LowNodeUtilization": {"thresholds": {"cpu": 25}, "targetThresholds": {"cpu": 50}}})
DUPLICATES = Strategies({"RemoveDuplicates": {}})

#: Ten times what Kubernetes supports.
MOST_NODES: Final = 50_000
MOST_PODS: Final = 1_500_000

#: Bytes that are collected before they are written.
_CHUNK = 1 << 20

#: Where upstream runs each strategy.
_BALANCE = frozenset(
    {
        "RemoveDuplicates",
        "LowNodeUtilization",
        "Rebalance",
        "HighNodeUtilization",
        "RemovePodsViolatingTopologySpreadConstraint",
    }
)


@dataclass(slots=True, frozen=True)
class ClusterProfile:
    """A kind of cluster."""

    description: str
    #: ``(nodes, pods, rng)`` to the objects, nodes first and pods last.
    generate: Callable[[int, int, Random], Iterator[Object]]
    #: What to run on it.
    strategies: Strategies


def uniform_profile(description: str, scenario: SyntheticScenario, strategies: Strategies) -> ClusterProfile:
    """A profile of uniform clusters with one problem."""
    return ClusterProfile(description, partial(uniform_cluster, scenario), strategies)


#: All profiles by name, the default first.
PROFILES: Final[Mapping[str, ClusterProfile]] = MappingProxyType(
    {
        "mixed": ClusterProfile("a bit of everything: the default", mixed_cluster, EVERYTHING),
        "full": ClusterProfile("as mixed, pods as large as real dumps have them (3 KB)", full_cluster, EVERYTHING),
        "low-utilization": uniform_profile(
            "LowNodeUtilization: half the nodes at 77 % CPU, the others at 23 % (40,000 evictions)",
            SyntheticScenario(place=hot_half, room=twice_the_average),
            LOW,
        ),
        "duplicates": uniform_profile(
            "RemoveDuplicates: every owner runs in pairs (75,000 evictions)",
            SyntheticScenario(place=in_pairs),
            DUPLICATES,
        ),
    }
)


def generate(
    profile: str, nodes: int, pods: int, seed: int, known: Mapping[str, ClusterProfile] = PROFILES
) -> Iterator[Object]:
    """Yield the objects of a synthetic cluster; the same arguments give the same objects in every run.

    Raises InputError for a profile that is not ``known``, and for a cluster without nodes or far beyond what Kubernetes
    supports.
    """
    if nodes < 1:
        raise InputError(f"--nodes {nodes}: a cluster needs at least one node")
    if pods < 0:
        raise InputError(f"--pods {pods}: the number of pods cannot be negative")
    if nodes > MOST_NODES or pods > MOST_PODS:
        raise InputError(f"--nodes can be {MOST_NODES:,} at most, and --pods {MOST_PODS:,}")
    return _find(profile, known).generate(nodes, pods, Random(seed))  # noqa: S311 - reproducible on purpose


def policy_for(profile: str, known: Mapping[str, ClusterProfile] = PROFILES) -> str:
    """Return the v1alpha2 policy of a profile as YAML."""
    return policy_text(_find(profile, known).strategies)


def _find(name: str, known: Mapping[str, ClusterProfile]) -> ClusterProfile:
    if name in known:
        return known[name]
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(known)}"
    raise InputError(f"--profile {name}: there is no such profile; {hint}")


def policy_text(strategies: Strategies) -> str:
    """One profile as v1alpha2 YAML."""
    enabled = {
        point: {"enabled": names}
        for point in ("deschedule", "balance")
        if (names := [name for name in strategies.arguments if _point(name) == point])
    }
    profile = {
        "name": "default",
        "pluginConfig": [
            {"name": name, "args": args}
            for name, args in ({"DefaultEvictor": strategies.evictor} | strategies.arguments).items()
        ],
        "plugins": enabled,
    }
    policy = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "profiles": [profile]}
    return str(yaml.safe_dump(policy, sort_keys=False))


def _point(name: str) -> Literal["deschedule", "balance"]:
    return "balance" if name in _BALANCE else "deschedule"


def write_list(objects: Iterable[Object], stream: BinaryIO) -> None:
    """Write a v1 List, one object a line, without ever holding more than a chunk of it."""
    encoder = msgspec.json.Encoder()
    pending = bytearray(b'{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":""},"items":[')
    separator = b"\n"
    for item in objects:
        pending += separator
        pending += encoder.encode(item)
        separator = b",\n"
        if len(pending) >= _CHUNK:
            stream.write(pending)
            pending.clear()
    stream.write(pending + b"\n]}\n")
