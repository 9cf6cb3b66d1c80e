"""One scheduler on a small cluster with devices, asked by names."""

from __future__ import annotations

from dataclasses import replace

from builders import Object, a_node, a_pod
from builders.devices import a_claim, a_device, a_device_class, a_slice, exactly, uses
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.devices.claims import Claims
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.decision import Scheduler, SchedulingDecision

GPU = "gpu.example.com"
GPUS = a_device_class("gpu", f'device.driver == "{GPU}"')
NODES = (a_node("n1"), a_node("n2"))


def gpus(count: int, **attributes: object) -> list[Object]:
    """Devices that are alike."""
    return [a_device(f"gpu-{at}", attributes, {"memory": "40Gi"}) for at in range(count)]


def on(node: str, *devices: Object, **more: object) -> Object:
    """All devices of a node."""
    return a_slice(f"{node}-gpus", list(devices), node=node, **more)  # type: ignore[arg-type]


def claiming(*requests: Object, name: str = "p", constraints: list[Object] | None = None) -> list[Object]:
    """A pod with a claim of its own, which has these requests."""
    claim = a_claim(f"{name}-devices", *map(as_request, requests), constraints=constraints, owner=name)
    spec = {"resourceClaims": [uses("devices", template="t")]}
    return [claim, a_pod(name, spec=spec, claims={"devices": f"{name}-devices"})]


def as_request(request: Object) -> Object:
    """A request as it is, or for just that."""
    return request if "firstAvailable" in request else exactly(request)


class Finding:
    """The scheduler of a cluster, and what claims have there."""

    def __init__(self, *objects: Object, minor: int | None = None) -> None:
        self.state = ClusterState(replace(a_cluster(*objects), server_minor=minor))
        self.context = Context.of(self.state)
        self.scheduler = Scheduler(self.context)

    def row(self, name: str) -> int:
        return self.state.cluster.pods.names.index(name)

    def decide(self, name: str = "p") -> SchedulingDecision:
        return self.scheduler.decide(self.row(name))

    def settle(self, name: str) -> None:
        self.scheduler.settle(self.decide(name))

    def feasible(self, name: str = "p") -> list[str]:
        return [self.state.cluster.nodes.names[node] for node in self.decide(name).verdicts.feasible.tolist()]

    def devices(self, name: str = "p") -> list[str]:
        """What the claims of a pod have: ``request device`` of each."""
        claims = self.context.shared(Claims)
        claims.catch_up()
        found = [each.allocation for each in claims.of(self.row(name)) if each.allocation is not None]
        return [f"{each.request} {each.device.pool}/{each.device.name}" for got in found for each in got.devices]
