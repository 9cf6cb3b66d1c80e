"""Images: names with and without tag, registry and digest, of any size, on some of the nodes."""

from __future__ import annotations

from builders import Object, a_container
from oracle.chance import Chance
from oracle.random_scheduling import Subject

MIB = 2**20
NAMES = (
    "web",
    "web:latest",
    "web:1",
    "registry.example.com/web:1",
    "registry.example.com:5000/web",
    "registry.example.com:5000/web:latest",
    "docker.io/library/db:2",
    "db:2",
    "db@sha256:0123456789abcdef",
    "",
)
SIZES = (0, 1, 22 * MIB, 23 * MIB, 24 * MIB, 70_000_000, 333_333_333, 1000 * MIB, 1500 * MIB, 9_000_000_000)


def stocked_node(chance: Chance) -> Object:
    """A node with some images, under one to three names each; a name may come twice and with another size."""
    images = [
        {"names": chance.some(NAMES[:-1], most=3), "sizeBytes": chance.choice(SIZES)}
        for _ in range(chance.randint(0, 4))
    ]
    if chance.maybe(0.05):
        images.append({"names": None, "sizeBytes": 5 * MIB})
    return {"status": {"images": images}}


def running_pod(chance: Chance, waits: bool) -> Object:
    """A pod with images in regular and init containers."""
    if not waits:
        return {}
    regular = [a_container(f"c{i}", image=chance.choice(NAMES)) for i in range(chance.randint(1, 3))]
    init = [
        a_container(f"i{i}", image=chance.choice(NAMES), restart_policy="Always" if chance.maybe(0.3) else None)
        for i in range(chance.choice([0, 0, 1, 2]))
    ]
    volumes = [{"name": "v", "image": {"reference": chance.choice(NAMES)}}] if chance.maybe(0.1) else None
    return {"containers": regular, "init_containers": init or None, "volumes": volumes}


IMAGES = Subject(stocked_node, running_pod, most_waiting=14)
