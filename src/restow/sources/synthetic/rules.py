"""Parts of a pod's spec that say where it may run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.sources.synthetic.nodes import HOSTNAME, ZONE, ZONES

if TYPE_CHECKING:
    from restow.sources.synthetic.names import Object

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def spread_over(topology: str, app: str, *, when: str = "DoNotSchedule") -> Object:
    """One spread constraint over an application's own pods, with a skew of at most one."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": topology,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": app}},
    }
    return {"topologySpreadConstraints": [constraint]}


def one_per_node(app: str) -> Object:
    """Return required anti-affinity of an application against itself, per node."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOSTNAME}
    return {"affinity": {"podAntiAffinity": {REQUIRED: [term]}}}


def only_in(zone: str) -> Object:
    """Return required node affinity to a zone."""
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [_in_zone(zone)]}}}}


def rather_in(zone: str) -> Object:
    """Return preferred node affinity to a zone."""
    return {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 50, "preference": _in_zone(zone)}]}}}


def _in_zone(zone: str) -> Object:
    return {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}


def spread_over_nodes(_owner: int, app: str) -> Object:
    """For a scenario: one hostname constraint per owner."""
    return spread_over(HOSTNAME, app)


def spread_over_zones(_owner: int, app: str) -> Object:
    """For a scenario: one zone constraint per owner."""
    return spread_over(ZONE, app)


def apart(_owner: int, app: str) -> Object:
    """For a scenario: every pod has an anti-affinity term."""
    return one_per_node(app)


def home_zone(owner: int, _app: str) -> Object:
    """For a scenario: owners take turns in the zone they require."""
    return only_in(ZONES[owner % len(ZONES)])


def nowhere(_owner: int, _app: str) -> Object:
    """For a scenario: a zone that no node is in."""
    return only_in("zone-x")
