"""Which nodes NodeResourceTopologyMatch refuses: a simpler topology manager, asked before a pod is bound.

It looks only at nodes whose kubelet has the policy ``single-numa-node``. Of each NUMA node it knows what the
NodeResourceTopology says is *available*; a pod, or each of its containers in turn, has to find one with enough. CPUs and
memory count for Guaranteed pods alone, other resources for all. Source: NodeResourceTopologyMatch of
kubernetes-sigs/scheduler-plugins v0.33.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct, structs

from restow.cluster.pod_parts import Requests, decode_requests
from restow.cluster.pod_values import ContainerResources
from restow.kube.objects import NodeResourceTopology, TopologyZone
from restow.kube.quantity import parse_quantity
from restow.kube.requests import QOS_CLASSES, parse_resources
from restow.scheduling.numa.amounts import Amounts, added, without
from restow.scheduling.numa.needs import CPU, GUARANTEED, is_memory
from restow.scheduling.numa.topology import (
    NUMA_NODE,
    ManagerSettings,
    TopologyPolicy,
    TopologyScope,
    settings_of,
)

_NAME: Final = re.compile(r"node-\+?(\d{1,4})", re.ASCII)
#: The kubelet's sets of NUMA nodes have so many bits.
_MOST: Final = 64
_BEST_EFFORT: Final = QOS_CLASSES.index("BestEffort")
#: What need not belong to a NUMA node, besides devices.
_OF_THE_HOST: Final = ("ephemeral-storage", "storage")
_NATIVE: Final = "kubernetes.io/"


class Zone(Struct, frozen=True):
    """One NUMA node, amounts in billionths."""

    number: int
    available: Amounts
    #: How far other NUMA nodes are, by number.
    costs: Mapping[int, int]


class MatchedTopology(Struct, frozen=True):
    """What the plugin knows of a node."""

    settings: ManagerSettings
    zones: tuple[Zone, ...]


class MatchedPod(Struct, frozen=True):
    """What the plugin knows of a pod, amounts in billionths."""

    is_guaranteed: bool
    #: Whether it is looked at at all: it asks for CPU, memory or a device.
    concerns: bool
    #: Of each init container, and whether it is a sidecar.
    init: tuple[tuple[Amounts, bool], ...]
    regular: tuple[Amounts, ...]
    #: Of the pod as a whole; sidecars count like other init containers.
    effective: Amounts


def topology_seen(found: NodeResourceTopology) -> MatchedTopology:
    """What the plugin takes from an object; NUMA nodes without a number count as absent."""
    zones = (_zone(each) for each in found.zones or () if each.type == NUMA_NODE)
    return MatchedTopology(settings_of(found), tuple(each for each in zones if each is not None))


def _zone(zone: TopologyZone) -> Zone | None:
    number = _number(zone.name)
    if number is None:
        return None
    available = {each.name: _nano(each.available) for each in zone.resources or ()}
    costs = {at: each.value for each in zone.costs or () if (at := _number(each.name)) is not None}
    return Zone(number, available, costs)


def _number(name: str) -> int | None:
    found = _NAME.fullmatch(name)
    number = int(found[1]) if found else _MOST
    return number if number < _MOST else None


def _nano(wire: str | float) -> int:
    """An amount; none at all where it cannot be read."""
    try:
        return parse_quantity(wire).nano
    except ValueError:
        return 0


def pod_seen(resources: ContainerResources) -> MatchedPod:
    """What the plugin takes from the containers of a pod."""
    parts = decode_requests(resources.key)
    init = tuple((_amounts(each), sidecar) for each, sidecar in parts.init)
    regular = tuple(map(_amounts, parts.regular))
    devices = any(_is_device(name) for each in (*regular, *(some for some, _ in init)) for name in each)
    effective: Amounts = {}
    for each in regular:
        effective = added(effective, each)
    highest = {name: max(each.get(name, 0) for each, _ in init) for each, _ in init for name in each}
    effective = {name: max(effective.get(name, 0), highest.get(name, 0)) for name in effective.keys() | highest.keys()}
    effective = added(effective, _amounts(parts.overhead))
    return MatchedPod(resources.qos == GUARANTEED, resources.qos != _BEST_EFFORT or devices, init, regular, effective)


def _amounts(requests: Requests) -> Amounts:
    return {name: each.nano for name, each in parse_resources(requests).items()}


def less(topology: MatchedTopology, pods: Iterable[MatchedPod]) -> MatchedTopology:
    """A topology of which pods have taken what they ask for on every NUMA node: which one it will be is unknown."""
    zones = topology.zones
    for pod in pods:
        zones = tuple(structs.replace(each, available=_taken(each.available, pod.effective)) for each in zones)
    return MatchedTopology(topology.settings, zones)


def _taken(available: Amounts, asks: Amounts) -> Amounts:
    return {name: max(has - asks.get(name, 0), 0) for name, has in available.items()}


def refusal(topology: MatchedTopology, listed: Collection[str], pod: MatchedPod) -> str:
    """The plugin's reason against a node that lists these resources; empty if it has none."""
    found = unplaced(topology, listed, pod)
    return "" if found is None else found.reason


class Unplaced(NamedTuple):
    """The first part of a pod that finds no NUMA node, and what these have when its turn comes."""

    reason: str
    asks: Amounts
    zones: Sequence[Zone]


def unplaced(topology: MatchedTopology, listed: Collection[str], pod: MatchedPod) -> Unplaced | None:
    """The part that makes the plugin refuse a node that lists these resources; None if it does not."""
    zones = topology.zones
    if not pod.concerns or topology.settings.policy is not TopologyPolicy.SINGLE:
        return None
    if topology.settings.scope is TopologyScope.POD:
        placed = _place(zones, listed, pod, pod.effective) is not None
        return None if placed else Unplaced("cannot align pod", pod.effective, zones)
    for requests, is_sidecar in pod.init:
        if _place(zones, listed, pod, requests) is None:
            return Unplaced(f"cannot align {'sidecar' if is_sidecar else 'init'} container", requests, zones)
    return _unplaced_in_turn(zones, listed, pod)


def _unplaced_in_turn(zones: Sequence[Zone], listed: Collection[str], pod: MatchedPod) -> Unplaced | None:
    """The first regular container that finds no NUMA node, when those before it have theirs."""
    left = list(zones)
    for requests in pod.regular:
        number = _place(left, listed, pod, requests)
        if number is None:
            return Unplaced("cannot align container", requests, left)
        asks = {name: asked for name, asked in requests.items() if is_counted(pod, name)}
        left = [
            structs.replace(each, available=without(each.available, asks)) if each.number == number else each
            for each in left
        ]
    return None


def _place(zones: Sequence[Zone], listed: Collection[str], pod: MatchedPod, requests: Amounts) -> int | None:
    """The number of the first NUMA node that has enough of everything; 0 where nothing asks for one, None if none has."""
    possible: set[int] | None = None
    for name, asked in requests.items():
        if asked == 0:
            continue
        if name not in listed:
            return None
        having = [each for each in zones if name in each.available]
        if not having and _is_of_the_host(name):
            continue
        enough = {each.number for each in having if suits(pod, name, asked, each.available[name])}
        possible = enough if possible is None else possible & enough
    return 0 if possible is None else min(possible, default=None)


def suits(pod: MatchedPod, name: str, amount: int, available: int) -> bool:
    """Whether so much of a resource is enough for a pod."""
    return available >= amount or not is_counted(pod, name)


def is_counted(pod: MatchedPod, name: str) -> bool:
    """Whether a pod takes a resource of one NUMA node: CPUs and memory go to Guaranteed pods alone."""
    return pod.is_guaranteed or not (name == CPU or is_memory(name))


def _is_of_the_host(name: str) -> bool:
    return name in _OF_THE_HOST or _is_device(name)


def _is_device(name: str) -> bool:
    """Whether a resource is none of Kubernetes' own. Source: IsNativeResource, Kubernetes 1.33."""
    return "/" in name and _NATIVE not in name
