"""Requests of every kind: containers, init containers, sidecars, overhead, the pod itself, known and unknown resources."""

from __future__ import annotations

from builders import Object, a_container
from builders.metadata import present
from oracle.chance import Chance
from oracle.random_scheduling import Subject

GPU, DISK, HUGE = "example.com/gpu", "ephemeral-storage", "hugepages-2Mi"
#: Amounts that nodes have, and that pods ask for. Some names mean nothing to the scheduler.
OFFERED: dict[str, tuple[str, ...]] = {
    "cpu": ("1", "2", "2500m", "3.5", "0", "4"),
    "memory": ("1Gi", "2Gi", "3e9", "4097Mi", "0", "5368709121"),
    DISK: ("2Gi", "5Gi", "0"),
    GPU: ("0", "1", "2", "4"),
    HUGE: ("0", "8Mi", "64Mi"),
    "hugepages-1Gi": ("1Gi", "2Gi"),
    "kubernetes.io/batch": ("2", "5"),
    "attachable-volumes-x": ("1", "3"),
    "requests.example.com/y": ("1", "2"),
    "unknown": ("1", "2"),
}
WANTED: dict[str, tuple[str, ...]] = {
    "cpu": ("0", "1m", "100m", "250m", "0.3", "1", "100.5m", "123456789n", "2"),
    "memory": ("0", "1", "64Mi", "100M", "256Mi", "1Gi", "0.5", "1.5Mi", "100m"),
    DISK: ("0", "1Gi", "3Gi", "512Mi"),
    GPU: ("0", "1", "2", "3"),
    HUGE: ("2Mi", "4Mi", "0"),
    "hugepages-1Gi": ("1Gi",),
    "kubernetes.io/batch": ("1", "2"),
    "attachable-volumes-x": ("1",),
    "requests.example.com/y": ("1",),
    "unknown": ("1", "5"),
}
POD_LEVEL = {
    "cpu": ("0", "1m", "250m", "1", "2"),
    "memory": ("0", "64Mi", "100M", "1Gi", "1536Mi"),
    HUGE: ("0", "2Mi", "4Mi"),
}
USUAL = ("cpu", "memory")
ODD = tuple(name for name in WANTED if name not in USUAL)


def offering_node(chance: Chance) -> Object:
    """A node that has some of the resources."""
    extended = {name: chance.choice(OFFERED[name]) for name in ODD if chance.maybe(0.4)}
    amounts = {name: chance.choice(OFFERED[name]) if chance.maybe(0.95) else None for name in USUAL}
    return {"extended": extended, "pods": chance.choice([None, 0, 1, 2, 4, 6, 20, 20, 20]), **amounts}


def asking_pod(chance: Chance, waits: bool) -> Object:
    """A pod with one to three containers, and often more that counts."""
    regular = [a_container(f"c{i}", requests=_amounts(chance)) for i in range(chance.weighted({1: 5, 2: 3, 3: 1}))]
    init = [
        a_container(f"i{i}", requests=_amounts(chance), restart_policy="Always" if chance.maybe(0.5) else None)
        for i in range(chance.weighted({0: 5, 1: 2, 2: 2, 3: 1}))
    ]
    spec = present(
        overhead=_amounts(chance) if chance.maybe(0.2) else None,
        resources={"requests": _pod_level(chance)} if chance.maybe(0.25) else None,
    )
    fields: Object = {"containers": regular, "init_containers": init or None, "spec": spec}
    return fields if waits or chance.maybe(0.6) else fields | _reports(chance, regular, init)


def _reports(chance: Chance, regular: list[Object], init: list[Object]) -> Object:
    """What the kubelet says that the containers have: something else than they want while they are resized in place."""
    pending = {"type": "PodResizePending", "status": "True", "reason": chance.choice(["Infeasible", "Deferred"])}
    pod = {"resources": {"requests": _pod_level(chance)}, "allocatedResources": _pod_level(chance)}
    kept = [name for name in pod if chance.maybe(0.3)]
    return {
        "statuses": [_report(chance, each["name"]) for each in regular if chance.maybe(0.8)],
        "init_statuses": [_report(chance, each["name"]) for each in init if chance.maybe(0.8)],
        "conditions": [pending] if chance.maybe(0.4) else [],
        "pod_resources": {name: pod[name] for name in kept} or None,
    }


def _report(chance: Chance, name: str) -> Object:
    resources = {"requests": _amounts(chance)} if chance.maybe(0.9) else {}
    return present(
        name=name,
        restartCount=0,
        resources=resources if chance.maybe(0.9) else None,
        allocatedResources=_amounts(chance) if chance.maybe(0.7) else None,
    )


def _amounts(chance: Chance) -> Object:
    """What one container requests: often CPU and memory, seldom anything else, sometimes nothing."""
    amounts = {name: chance.choice(WANTED[name]) for name in USUAL if chance.maybe(0.65)}
    return amounts | {name: chance.choice(WANTED[name]) for name in ODD if chance.maybe(0.07)}


def _pod_level(chance: Chance) -> Object:
    """What the pod as a whole requests, as the API server writes it: to other texts kube-scheduler adds overhead twice."""
    return {name: chance.choice(amounts) for name, amounts in POD_LEVEL.items() if chance.maybe(0.6)}


def uneven_node(chance: Chance) -> Object:
    """A node with much of one thing and little of another."""
    return {"cpu": f"{chance.randint(1, 6000)}m", "memory": str(chance.randint(1, 4 * 2**30)), "pods": 110}


def uneven_pod(chance: Chance, _waits: bool) -> Object:
    """A pod with much of one thing and little of another."""
    amounts = {"cpu": f"{chance.randint(0, 900)}m", "memory": str(chance.randint(0, 2**29))}
    return {"containers": [a_container("c", requests={key: amounts[key] for key in chance.some(USUAL)})]}


RESOURCES = Subject(offering_node, asking_pod, most_waiting=10)
BALANCE = Subject(uneven_node, uneven_pod, most_waiting=14)
