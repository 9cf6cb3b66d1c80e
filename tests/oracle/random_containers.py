"""Random containers with their resources, and the statuses that the kubelet would report of them."""

from __future__ import annotations

from builders import a_container, running, terminated, waiting
from builders.metadata import Object
from oracle.chance import Chance
from oracle.random_nodes import DISK, GPU, HUGE

CPU = ("0", "10m", "50m", "100m", "250m", "0.3", "500m")
MEMORY = ("0", "16Mi", "64Mi", "100M", "128Mi", "256Mi")
ODD_CPU = ("100.5m", "1e-1", "123456789n", "7u", "1.0005")
ODD_MEMORY = ("1e8", "0.5", "128974848", "1.5Mi", "100m", "12E3")
WAITING = ("CrashLoopBackOff", "ImagePullBackOff", "ContainerCreating", "ErrImagePull", "Odd")
TERMINATED = ("Error", "OOMKilled", "Completed", "ContainerCannotRun", "Odd")
EXIT_CODES = (0, 1, 2, 137, 255)
IMAGES = ("web:1", "web:2", "db:1")


def some_resources(chance: Chance) -> Object:
    """``resources`` of a container: requests and limits, none, some or all of them."""
    odd = chance.has("odd-quantities", 0.3)
    amounts = {"cpu": chance.choice(ODD_CPU if odd else CPU), "memory": chance.choice(ODD_MEMORY if odd else MEMORY)}
    if chance.has("extended", 0.3):
        amounts[GPU] = chance.choice(["0", "1", "2"])
    if chance.has("extended", 0.1):
        amounts[HUGE] = "4Mi"
    if chance.has("extended", 0.2):
        amounts[DISK] = chance.choice(["1Gi", "0"])
    requests = {name: amount for name, amount in amounts.items() if chance.maybe(0.85)}
    limits = {}
    if chance.has("qos", 0.6):
        limits = amounts if chance.maybe(0.5) else {"cpu": "1"}
        requests = {} if chance.maybe(0.2) else requests
    return {key: value for key, value in (("requests", requests), ("limits", limits)) if value}


def some_containers(chance: Chance) -> list[Object]:
    """Regular containers: usually one."""
    count = chance.weighted({1: 5, 2: 3, 3: 1}) if "containers" in chance.traits else 1
    return [_container(chance, f"c{index}") for index in range(count)]


def some_init_containers(chance: Chance) -> list[Object]:
    """Init containers, sidecars among them."""
    return [
        _container(chance, f"i{index}", restart_policy="Always" if chance.maybe(0.5) else None)
        for index in range(chance.randint(1, 3))
    ]


def _container(chance: Chance, name: str, *, restart_policy: str | None = None) -> Object:
    made = a_container(name, image=chance.choice(IMAGES), restart_policy=restart_policy)
    resources = some_resources(chance)
    return made | ({"resources": resources} if resources else {})


def some_statuses(chance: Chance, count: int) -> list[Object]:
    """A status for each container; sometimes one is not yet there."""
    reported = chance.randint(0, count) if chance.has("states", 0.05) else count
    return [_status(chance) for _ in range(reported)]


def _status(chance: Chance) -> Object:
    restarts = chance.choice([0, 1, 2, 3, 5, 8, 13, 40, 100]) if "restarts" in chance.traits else 0
    if not chance.has("states", 0.6):
        return running(restarts=restarts)
    shape = chance.weighted({"waiting": 4, "terminated": 4, "none": 1})
    if shape == "waiting":
        return waiting(chance.choice(WAITING), restarts=restarts)
    if shape == "terminated":
        reason = None if chance.maybe(0.1) else chance.choice(TERMINATED)
        return terminated(reason, exit_code=chance.choice(EXIT_CODES), restarts=restarts)
    return {"restartCount": restarts}
