"""The clusters of the placement benchmark: what scheduler_perf, kube-scheduler's own benchmark, places pods into.

Nodes have 4 CPUs, 32 GiB and one of three zones, and run two pods each. A dump ends with the pods to be placed, in the
order in which they are placed; a mix takes its shapes in turn. Source: test/integration/scheduler_perf, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from builders import (
    HOSTNAME,
    ZONE,
    Object,
    a_node,
    a_pod,
    a_service,
    node_affinity,
    node_term,
    pod_affinity,
    pod_anti_affinity,
    pod_term,
    selector,
    spread,
)

ZONES = 3
_RESIDENTS = 2
_GREEN, _BLUE = {"color": "green"}, {"color": "blue"}

#: What a pod to be placed looks like, by its number.
Shape = Callable[[int], Object]


@dataclass(slots=True, frozen=True)
class Scenario:
    """One row of the table."""

    name: str
    #: Arguments of ``a_pod`` for each pod to be placed, by its number.
    waiting: Shape
    #: The same for the pods that are there.
    resident: Shape = lambda _: {}
    services: int = 0
    #: Whether pods get a node only where others leave it.
    preempts: bool = False


def _basic(_: int) -> Object:
    return {}


def _spread_by_zone(_: int) -> Object:
    return {"labels": _BLUE, "spread": [spread(5, ZONE, selector(labels=_BLUE))]}


def _apart(_: int) -> Object:
    repelled = pod_term(selector(labels=_GREEN), topology=HOSTNAME)
    return {"labels": _GREEN, "affinity": pod_anti_affinity([repelled])}


def _together(_: int) -> Object:
    return {"labels": _BLUE, "affinity": pod_affinity([pod_term(selector(labels=_BLUE), topology=ZONE)])}


def _rather_together(_: int) -> Object:
    wanted = pod_term(selector(labels=_BLUE), topology=HOSTNAME)
    return {"labels": _BLUE, "affinity": pod_affinity(preferred=[(1, wanted)])}


def _behind_services(number: int) -> Object:
    return {"labels": {"app": f"app-{number % 10}"}}


def _in_zones(_: int) -> Object:
    return {"affinity": node_affinity([node_term((ZONE, "In", "zone-0", "zone-1"))])}


def _mixed(number: int) -> Object:
    shapes: tuple[Shape, ...] = (_basic, _spread_by_zone, _apart, _together, _rather_together, _in_zones)
    return shapes[number % len(shapes)](number)


def _important(_: int) -> Object:
    return {"cpu": "3000m", "priority": 100}


def _large(_: int) -> Object:
    return {"cpu": "1800m"}


SCENARIOS = (
    Scenario("basic", _basic),
    Scenario("hard zone spread", _spread_by_zone),
    Scenario("anti-affinity between nodes", _apart),
    Scenario("affinity within zones", _together, resident=lambda number: {"labels": _BLUE} if number < ZONES else {}),
    Scenario(
        "preferred affinity", _rather_together, resident=lambda number: _rather_together(0) if number % 4 == 0 else {}
    ),
    Scenario("default spreading", _behind_services, services=10),
    Scenario("node affinity", _in_zones),
    Scenario("a mix", _mixed),
    Scenario("preemption", _important, resident=_large, preempts=True),
)


def objects(scenario: Scenario, nodes: int, waiting: int) -> Iterator[Object]:
    """The objects of a dump with so many nodes and pods to be placed."""
    for number in range(nodes):
        labels = {HOSTNAME: f"node-{number}", ZONE: f"zone-{number % ZONES}"}
        yield a_node(f"node-{number}", cpu="4", memory="32Gi", labels=labels)
    for number in range(scenario.services):
        yield a_service(f"app-{number}", selector={"app": f"app-{number}"})
    for number in range(nodes * _RESIDENTS):
        yield _pod(f"resident-{number}", scenario.resident(number), node=f"node-{number % nodes}", phase="Running")
    for number in range(waiting):
        yield _pod(f"waiting-{number:05}", scenario.waiting(number))


def _pod(name: str, shape: Object, **more: Any) -> Object:
    return a_pod(name, **{"cpu": "100m", "memory": "500Mi", **shape, **more})
