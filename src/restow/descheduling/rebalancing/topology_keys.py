"""The topology keys of a pod's required rules whose domains hold more than one node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from restow.cluster.pod_values import PlacementRules
from restow.descheduling.node_fit import required_anti_affinity
from restow.kube.objects import PodAffinityTerm, TopologySpreadConstraint

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
_HARD: Final = "DoNotSchedule"


def affinity_terms(rules: PlacementRules) -> tuple[PodAffinityTerm, ...]:
    """The terms of ``requiredDuringSchedulingIgnoredDuringExecution`` of a pod's own affinity."""
    return (rules.pod_affinity.required or ()) if rules.pod_affinity else ()


def tying_keys(rules: PlacementRules) -> frozenset[str]:
    """The keys of required affinity and anti-affinity: a pod stays in its domain of each."""
    terms = (*affinity_terms(rules), *required_anti_affinity(rules))
    return frozenset(each.topology_key for each in terms) - {HOSTNAME, ""}


def spreading_keys(constraints: tuple[TopologySpreadConstraint, ...]) -> frozenset[str]:
    """The keys of hard constraints, those with ``DoNotSchedule``."""
    return frozenset(each.topology_key for each in hard(constraints)) - {HOSTNAME, ""}


def hard(constraints: tuple[TopologySpreadConstraint, ...]) -> Iterator[TopologySpreadConstraint]:
    """The hard constraints among some, those with ``DoNotSchedule``."""
    return (each for each in constraints if each.when_unsatisfiable == _HARD)
