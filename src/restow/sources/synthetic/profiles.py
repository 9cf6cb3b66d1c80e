"""The profiles by name: what kind of cluster to make, and the policy that has something to do in it."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from restow.errors import InputError
from restow.sources.synthetic.mixed import full_cluster, mixed_cluster
from restow.sources.synthetic.problems import PROBLEMS, Strategies, policy_text
from restow.sources.synthetic.scenarios import uniform_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import BinaryIO

    from restow.sources.synthetic.names import Object

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


#: Ten times what Kubernetes supports.
MOST_NODES: Final = 50_000
MOST_PODS: Final = 1_500_000

#: Bytes that are collected before they are written.
_CHUNK = 1 << 20


@dataclass(slots=True, frozen=True)
class ClusterProfile:
    """A kind of cluster."""

    description: str
    #: ``(nodes, pods, rng)`` to the objects, nodes first and pods last.
    generate: Callable[[int, int, Random], Iterator[Object]]
    #: What to run on it.
    strategies: Strategies


@cache
def profiles() -> Mapping[str, ClusterProfile]:
    """All profiles by name, the default first."""
    problems = {
        name: ClusterProfile(problem.description, partial(uniform_cluster, problem.scenario), problem.strategies)
        for name, problem in PROBLEMS.items()
    }
    mixed = ClusterProfile("a bit of everything: the default", mixed_cluster, EVERYTHING)
    full = ClusterProfile("as mixed, pods as large as real dumps have them (3 KB)", full_cluster, EVERYTHING)
    return MappingProxyType({"mixed": mixed, "full": full, **problems})


def generate(profile: str, nodes: int, pods: int, seed: int) -> Iterator[Object]:
    """Yield the objects of a synthetic cluster; the same arguments give the same objects in every run.

    Raises InputError for an unknown profile, and for a cluster without nodes or far beyond what Kubernetes supports.
    """
    if nodes < 1:
        raise InputError(f"--nodes {nodes}: a cluster needs at least one node")
    if pods < 0:
        raise InputError(f"--pods {pods}: the number of pods cannot be negative")
    if nodes > MOST_NODES or pods > MOST_PODS:
        raise InputError(f"--nodes can be {MOST_NODES:,} at most, and --pods {MOST_PODS:,}")
    return _find(profile).generate(nodes, pods, Random(seed))  # noqa: S311 - reproducible on purpose


def policy_for(profile: str) -> str:
    """Return the v1alpha2 policy of a profile as YAML."""
    return policy_text(_find(profile).strategies)


def _find(name: str) -> ClusterProfile:
    known = profiles()
    if name in known:
        return known[name]
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(known)}"
    raise InputError(f"--profile {name}: there is no such profile; {hint}")


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
