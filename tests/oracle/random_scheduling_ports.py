"""Host ports: every combination of number, protocol and address, of containers and sidecars."""

from __future__ import annotations

from builders import Object
from builders.metadata import present
from oracle.chance import Chance
from oracle.random_scheduling import Subject

NUMBERS = (80, 80, 443, 8080, 0)
PROTOCOLS = (None, "TCP", "UDP", "SCTP")
ADDRESSES = (None, None, "", "0.0.0.0", "10.0.0.1", "10.0.0.2", "127.0.0.1", "::", "::1")


def listening_pod(chance: Chance, waits: bool) -> Object:
    """A pod with host ports. Pods without a priority never preempt one another: the scheduler may lose count of ports."""
    containers = [_container(chance, f"c{index}", 0.8 if waits else 0.5) for index in range(chance.randint(1, 2))]
    init = [
        _container(chance, f"i{index}", 0.5) | ({"restartPolicy": "Always"} if chance.maybe(0.5) else {})
        for index in range(chance.choice([0, 0, 0, 1, 2]))
    ]
    spec = {"hostNetwork": True} if chance.maybe(0.1) else {}
    return {"containers": containers, "init_containers": init or None, "spec": spec, "priority": 0}


def _container(chance: Chance, name: str, share: float) -> Object:
    ports = [_port(chance) for _ in range(chance.randint(1, 2))] if chance.maybe(share) else None
    return present(name=name, ports=ports)


def _port(chance: Chance) -> Object:
    number = chance.choice(NUMBERS)
    return present(
        containerPort=number or 80,
        hostPort=number or chance.choice([None, 0]),
        protocol=chance.choice(PROTOCOLS),
        hostIP=chance.choice(ADDRESSES),
    )


PORTS = Subject(pod=listening_pod, most_waiting=14)
