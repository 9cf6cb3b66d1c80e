"""Names as a cluster would have them (namespaces, applications, template hashes, uids), its calendar and its nodes.

Nodes are of one kind of machine in three zones, healthy by default.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from restow.kube.timestamps import SECOND, format_time, parse_time

if TYPE_CHECKING:
    from random import Random


#: An API object as plain data, ready for encoding.
Object = dict[str, Any]

NAMESPACES = (
    "accounts", "adverts", "analytics", "auth", "batch", "billing", "cart", "catalog", "checkout", "crm",
    "delivery", "experiments", "fraud", "gateway", "images", "inventory", "ledger", "loyalty", "mail", "media",
    "orders", "payments", "pricing", "profiles", "reports", "returns", "reviews", "search", "shop", "support",
)  # fmt: skip

APPLICATIONS = ("api", "cache", "consumer", "events", "frontend", "indexer", "proxy", "sync", "web", "worker")

#: The characters of generated names. Source: apimachinery, util/rand.
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5
SUFFIXES = len(ALPHABET) ** SUFFIX_LENGTH
#: Coprime to SUFFIXES, so that consecutive replicas get unlike suffixes and never the same.
STRIDE = 5_179_697

#: The moment at which a synthetic cluster was "dumped"; planning with ``--now`` of it sees the intended ages.
NOW = "2026-01-01T00:00:00Z"
_NOW = parse_time(NOW)

#: When nodes and controllers were made.
BUILT = "2025-06-01T00:00:00Z"

DAY = 86_400


def template_hash(rng: Random) -> str:
    """Draw a pod template hash: ten characters."""
    return "".join(rng.choices(ALPHABET, k=10))


def suffix(offset: int, replica: int) -> str:
    """Return the five characters that end a pod's name: distinct for every replica of one offset."""
    number = (offset + replica * STRIDE) % SUFFIXES
    characters = []
    for _ in range(SUFFIX_LENGTH):
        number, position = divmod(number, len(ALPHABET))
        characters.append(ALPHABET[position])
    return "".join(characters)


def uid(rng: Random) -> str:
    """Draw a uid in the form of a version 4 UUID."""
    digits = f"{rng.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def ago(seconds: int) -> str:
    """RFC 3339 time, a number of seconds before NOW."""
    return format_time(_NOW - seconds * SECOND)


def within_days(days: int, rng: Random) -> str:
    """Draw a time within a number of days before NOW."""
    return ago(int(rng.random() * days * DAY))


HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
ZONES = ("zone-a", "zone-b", "zone-c")

#: The default limit of the kubelet; a node that holds more in a scenario gets a higher one.
POD_SLOTS = 110


def node_name(index: int) -> str:
    """Name a node; names sort as numbers do."""
    return f"node-{index:05d}"


def zone_of(index: int) -> str:
    """Nodes take turns in the zones."""
    return ZONES[index % len(ZONES)]


@dataclass(slots=True, frozen=True)
class Machine:
    """What differs between nodes."""

    name: str
    zone: str
    cpu_milli: int
    memory_mebi: int
    pods: int = POD_SLOTS
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Object, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    instance_type: str = "standard-8"
    extended: dict[str, str] = field(default_factory=dict)


def node_object(machine: Machine, rng: Random) -> Object:
    """Make a v1 Node whose allocatable is its capacity."""
    resources = {
        "cpu": f"{machine.cpu_milli}m",
        "memory": f"{machine.memory_mebi}Mi",
        "pods": str(machine.pods),
        "ephemeral-storage": "100Gi",
    } | machine.extended
    spec: Object = {"providerID": f"example:///{machine.zone}/{machine.name}"}
    if machine.taints:
        spec["taints"] = list(machine.taints)
    if machine.unschedulable:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": machine.name,
            "uid": uid(rng),
            "creationTimestamp": BUILT,
            "labels": _labels(machine),
        },
        "spec": spec,
        "status": {"capacity": resources, "allocatable": resources, "conditions": _conditions(machine)},
    }


def _labels(machine: Machine) -> dict[str, str]:
    return {
        HOSTNAME: machine.name,
        ZONE: machine.zone,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": machine.instance_type,
    } | machine.labels


def _conditions(machine: Machine) -> list[Object]:
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": BUILT}
    lost = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": BUILT}
    pressure = {"type": "MemoryPressure", "status": "False", "lastTransitionTime": BUILT}
    return [pressure, ready if machine.ready else lost]
