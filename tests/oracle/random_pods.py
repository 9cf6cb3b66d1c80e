"""Random pods: replicas of random controllers, each with its own age, place, status and oddities."""

from __future__ import annotations

from collections import Counter

from builders import EMPTY_DIR, HOST_PATH, a_condition, a_pod, ago, claim_volume
from builders.metadata import Object
from oracle.chance import Chance
from oracle.random_containers import some_statuses
from oracle.random_rules import POD_LABELS
from oracle.random_workloads import CRITICAL, Workload, a_random_workload

MOST_PODS = 40
CLAIMS = ("fast", "slow", "plain", "gone")
HOUR = 3600
CONDITIONS = ("Ready", "PodScheduled", "DisruptionTarget")
CONDITION_REASONS = (None, "PodCompleted", "Unschedulable")
REASONS = ("Evicted", "NodeLost", "Shutdown", "Odd")
EVICT = "descheduler.alpha.kubernetes.io/evict"
STAY = "descheduler.alpha.kubernetes.io/prefer-no-eviction"


def some_pods(chance: Chance, nodes: list[str]) -> list[Object]:
    """Up to forty pods of a few controllers, in no order; sometimes none."""
    places = [*nodes, *(["gone"] if "missing-nodes" in chance.traits else [])]
    popularity = {place: chance.choice([0.3, 1, 3]) for place in places}
    count = chance.weighted({0: 0.2, 2: 1, 4: 2, 6: 3, 8: 3})
    workloads = [a_random_workload(chance, index, popularity) for index in range(count)]
    replicas = [workload for workload in workloads for _ in range(workload.replicas)][:MOST_PODS]
    ages = chance.sample(range(60, 40 * HOUR), len(replicas))
    names = _names(chance, replicas)
    pods = [_replica(chance, *parts) for parts in zip(replicas, names, ages, strict=True)]
    if not chance.has("same-priorities", 0.8):
        _tell_apart(chance, pods)
    chance.shuffle(pods)
    return pods


def _names(chance: Chance, replicas: list[Workload]) -> list[str]:
    """Names that are unique in the cluster, or only in their namespace."""
    if not chance.has("same-names", 0.8):
        return [f"p{index}" for index in range(len(replicas))]
    used: Counter[str] = Counter()
    names = []
    for workload in replicas:
        names.append(f"p{used[workload.namespace]}")
        used[workload.namespace] += 1
    return names


def _tell_apart(chance: Chance, pods: list[Object]) -> None:
    """Give every ordinary pod a priority of its own, so that sorting by it has one result."""
    for pod, offset in zip(pods, chance.sample(range(-500, 500), len(pods)), strict=True):
        priority = pod["spec"].get("priority")
        if priority is not None and priority < CRITICAL - 1:
            pod["spec"]["priority"] = priority + 2000 * offset


def _replica(chance: Chance, workload: Workload, name: str, age: int) -> Object:
    created = _created(chance, age)
    spec = chance.choice(workload.revisions)
    return a_pod(
        name,
        namespace=workload.namespace,
        node=None if chance.has("pending", 0.1) else chance.weighted(workload.draw),
        owner=workload.owners or None,
        labels=workload.labels | ({"version": chance.choice(POD_LABELS["version"])} if chance.maybe(0.1) else {}),
        annotations=_annotations(chance),
        volumes=_volumes(chance),
        created=None if created is None else _written(chance, created),
        deleted=ago(-30) if chance.has("terminating", 0.2) else None,
        uid="" if chance.has("uncontrolled", 0.03) else None,
        spec=spec,
        **_status(chance, spec, created),
    )


def _created(chance: Chance, age: int) -> float | None:
    if chance.has("no-times", 0.15):
        return None
    if chance.has("future", 0.15):
        return -float(age)
    return float(chance.choice([600, 3600, 3600.5, 7200]) if chance.has("same-ages", 0.5) else age)


def _written(chance: Chance, seconds_ago: float) -> str:
    """The time as the API writes it, or in another zone."""
    text = ago(seconds_ago)
    return f"{ago(seconds_ago - 2 * HOUR)[:-1]}+02:00" if chance.has("odd-times", 0.3) else text


def _annotations(chance: Chance) -> Object | None:
    annotations = {}
    if chance.has("annotations", 0.1):
        annotations[EVICT] = chance.choice(["", "true", "false"])
    if chance.has("annotations", 0.2):
        annotations[STAY] = chance.choice(["", "true", "false"])
    if chance.has("mirror", 0.1):
        annotations["kubernetes.io/config.mirror"] = "mirror"
    if chance.has("mirror", 0.2):
        annotations["kubernetes.io/config.source"] = chance.choice(["api", "file", ""])
    return annotations or None


def _volumes(chance: Chance) -> list[Object] | None:
    volumes = []
    if chance.has("local-storage", 0.15):
        volumes.append(chance.choice([EMPTY_DIR, HOST_PATH]))
    if chance.has("claims", 0.3):
        volumes += [claim_volume(name) for name in chance.some(CLAIMS)]
    if chance.maybe(0.1):
        volumes.append({"name": "settings", "configMap": {"name": "settings"}})
    return volumes or None


def _status(chance: Chance, spec: Object, created: float | None) -> Object:
    phase = "Running"
    if chance.has("failed", 0.4):
        phase = "Failed"
    elif chance.has("phases", 0.3):
        phase = chance.choice(["Pending", "Succeeded", "Unknown", ""])
    started = None if created is None or chance.has("no-times", 0.2) else ago(created - 5)
    return {
        "phase": phase,
        "reason": chance.choice(REASONS) if chance.has("states", 0.2) else None,
        "qos": chance.choice(["Guaranteed", "Burstable", "BestEffort"]) if chance.has("qos", 0.3) else None,
        "started": started,
        "statuses": some_statuses(chance, len(spec["containers"])),
        "init_statuses": some_statuses(chance, len(spec.get("initContainers", ()))) or None,
        "ephemeral_statuses": some_statuses(chance, 1) if chance.has("states", 0.1) else None,
        "conditions": _conditions(chance) or None,
    }


def _conditions(chance: Chance) -> list[Object]:
    if not chance.has("conditions", 0.7):
        return []
    return [
        a_condition(
            kind,
            chance.choice(["True", "False", "Unknown"]),
            reason=chance.choice(CONDITION_REASONS),
            since=None if chance.maybe(0.2) else ago(chance.choice([-60, 30, 600, 601, 4000, 20 * HOUR])),
        )
        for kind in chance.some(CONDITIONS)
    ]
