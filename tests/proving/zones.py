"""Random clusters of workloads that are spread over zones by hard constraints of every kind, and what is left of those after a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from builders import HOSTNAME, ZONE, Object, a_node, selector, spread
from proving.joint import pods_on

#: A pool, for constraints that count nodes of one alone.
POOL = "pool"


def a_cluster_of_zones(seed: int) -> list[Object]:
    """Four to nine nodes in two or three zones, some of them in a pool of its own, with up to forty pods.

    Workloads have a constraint for zones of skew one or two, or none. Some of these have a ``minDomains``, a node selector,
    or pods of an older template without any constraint. Most workloads begin on few nodes.
    """
    rng = np.random.default_rng(seed)
    count, zones = int(rng.integers(4, 10)), int(rng.integers(2, 4))
    names = [f"n{each}" for each in range(count)]
    labels = [
        {HOSTNAME: name, ZONE: "abc"[each % zones], POOL: "one" if each % 5 < 3 else "two"}
        for each, name in enumerate(names)
    ]
    nodes = [a_node(name, cpu="8", memory="16Gi", labels=each) for name, each in zip(names, labels, strict=True)]
    room = dict.fromkeys(names, 7500)
    pods = [pod for workload in range(int(rng.integers(2, 7))) for pod in _a_workload(rng, workload, labels, room)]
    return [*nodes, *pods]


def _a_workload(
    rng: np.random.Generator, number: int, nodes: list[dict[str, str]], room: dict[str, int]
) -> Iterable[Object]:
    labels, cpu = {"app": f"w{number}"}, int(rng.choice([100, 300, 900, 1800]))
    rules = _rules(rng, labels)
    pool = str(rng.choice(["one", "two"])) if rng.random() < 0.2 else ""
    may = [each[HOSTNAME] for each in nodes if not pool or each[POOL] == pool]
    crowded = str(rng.choice(may))
    for index in range(int(rng.integers(1, 9))):
        node = str(rng.choice(may)) if rng.random() < 0.7 else crowded
        if room[node] < cpu:
            continue
        room[node] -= cpu
        same = {"node_selector": {POOL: pool}} if pool else {}
        if rules and rng.random() < 0.9:
            same |= {"spread": rules}
        memory = f"{rng.integers(1, 20) * 100}Mi"
        owner = f"w{number}"
        yield from pods_on(node, f"w{number}-{index}", owner=owner, labels=labels, cpu=f"{cpu}m", memory=memory, **same)


def _rules(rng: np.random.Generator, labels: dict[str, str]) -> list[Object]:
    if rng.random() < 0.25:
        return []
    least = int(rng.integers(2, 5)) if rng.random() < 0.2 else None
    return [spread(int(rng.integers(1, 3)), ZONE, selector(labels=labels), min_domains=least)]


def skews(objects: list[Object]) -> dict[str, int]:
    """For each workload with a constraint for zones, by how much its fullest zone has more pods than its emptiest.

    With fewer zones than ``minDomains`` the emptiest counts as empty.
    """
    nodes = {each["metadata"]["name"]: each["metadata"]["labels"] for each in objects if each["kind"] == "Node"}
    pods = [each for each in objects if each["kind"] == "Pod"]
    found = {}
    for pod in pods:
        app = pod["metadata"]["labels"]["app"]
        if "topologySpreadConstraints" in pod["spec"]:
            selected = pod["spec"].get("nodeSelector", {}).items()
            zones = {labels[ZONE] for labels in nodes.values() if selected <= labels.items()}
            on = [each["spec"]["nodeName"] for each in pods if each["metadata"]["labels"]["app"] == app]
            count = Counter(nodes[node][ZONE] for node in on if selected <= nodes[node].items())
            sizes = [count[zone] for zone in zones]
            least = pod["spec"]["topologySpreadConstraints"][0].get("minDomains", 1)
            found[app] = max(sizes) - (min(sizes) if len(sizes) >= least else 0)
    return found
