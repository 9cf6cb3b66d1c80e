"""Random clusters that are full of pods of few sizes and priorities: nothing but resources is at stake.

Many nodes and pods are alike, so candidates for preemption tie in some criteria, or in all of them.
"""

from __future__ import annotations

from random import Random

from builders import HOSTNAME, Object, a_node, a_pdb, a_pod, ago, selector
from builders.cluster_objects import a_pod_group, in_group

SIZES = ("250m", "500m", "1", "2")
PRIORITIES, AMBITIONS = (-10, 0, 0, 5, 10), (5, 10, 10, 100)
APPS, GROUPS = ("a", "b", "c"), ("g1", "g2", "g3", "g4")


def a_crowd(choice: Random) -> list[Object]:
    """3 to 30 nodes, the pods that fill them, pods that wait, and budgets, in no order."""
    names = [f"n{number:02}" for number in range(choice.choice([3, 5, 8, 30]))]
    sizes, ages = choice.sample(SIZES, 2), choice.sample(range(1, 90), 2)
    made = [_node(choice, name) for name in names]
    made += [
        _resident(choice, f"r{number:03}", choice.choice(names), choice.choice(sizes), choice.choice(ages))
        for number in range(choice.randint(2, 4) * len(names))
    ]
    made += [
        _waiting(choice, f"w{number}", choice.choice(names), choice.choice(SIZES))
        for number in range(choice.randint(3, 6))
    ]
    made += [
        a_pdb(app, selector=selector(labels={"app": app}), disruptions_allowed=choice.randint(0, 1))
        for app in APPS
        if choice.random() < 0.4
    ]
    choice.shuffle(made)
    return made


def in_groups(choice: Random, cluster: list[Object]) -> list[Object]:
    """The same where some pods with a node belong to PodGroups, most of which are disrupted as a whole."""
    for pod in cluster:
        if "nodeName" in pod.get("spec", {}) and choice.random() < 0.4:
            pod["spec"] |= in_group(choice.choice(GROUPS))
    return [*cluster, *(random_group(choice, name) for name in GROUPS[1:])]


def random_group(choice: Random, name: str) -> Object:
    """A PodGroup with one of the priorities of pods."""
    return a_pod_group(
        name, priority=choice.choice(PRIORITIES), disruptionMode={choice.choice(["all", "all", "single"]): {}}
    )


def _node(choice: Random, name: str) -> Object:
    labels = {HOSTNAME: name, "disk": choice.choice(["ssd", "hdd"])}
    taints = ["gpu=yes:NoSchedule"] if choice.random() < 0.1 else None
    return a_node(name, cpu=choice.choice(["1", "2", "2"]), pods=choice.choice([3, 8]), labels=labels, taints=taints)


def _resident(choice: Random, name: str, node: str, cpu: str, age: int) -> Object:
    return a_pod(
        name,
        node=node,
        cpu=cpu,
        priority=choice.choice(PRIORITIES),
        labels={"app": choice.choice(APPS)} if choice.random() < 0.8 else None,
        started=ago(age) if choice.random() < 0.9 else None,
        phase="Succeeded" if choice.random() < 0.05 else "Running",
        deleted=ago(1) if choice.random() < 0.1 else None,
    )


def _waiting(choice: Random, name: str, node: str, cpu: str) -> Object:
    return a_pod(
        name,
        cpu=cpu,
        priority=choice.choice(AMBITIONS),
        created=ago(choice.randint(1, 99)),
        node_selector={"disk": "ssd"} if choice.random() < 0.2 else None,
        nominated_node=node if choice.random() < 0.2 else None,
    )
