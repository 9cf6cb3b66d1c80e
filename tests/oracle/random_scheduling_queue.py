"""Who is served first and who must go: priorities, gates, full nodes and disruption budgets."""

from __future__ import annotations

from collections.abc import Sequence

from builders import Object, a_pdb, ago, selector
from oracle.chance import Chance
from oracle.random_rules import NAMESPACES, POD_LABELS
from oracle.random_scheduling import AMBITIONS, PRIORITIES, Subject


def small_node(chance: Chance) -> Object:
    """A node that a few pods fill."""
    return {"cpu": chance.choice(["500m", "1", "2"]), "pods": chance.choice([1, 2, 3, 4, 8]), "memory": "4Gi"}


def ranked_pod(chance: Chance, waits: bool) -> Object:
    """A pod of any importance."""
    spec: Object = {}
    if waits and chance.maybe(0.1):
        spec["preemptionPolicy"] = chance.choice(["Never", "PreemptLowerPriority"])
    return {
        "cpu": chance.choice(["0", "100m", "250m", "500m"]),
        "priority": chance.choice(AMBITIONS if waits else PRIORITIES),
        "spec": spec,
    }


def budgets(chance: Chance, pods: Sequence[Object]) -> list[Object]:
    """Budgets that overlap, allow little, and know of pods that are leaving already."""
    found = []
    for i in range(chance.randint(0, 3)):
        app = chance.choice(POD_LABELS["app"])
        meant = chance.choice(
            [
                None,
                selector(),
                selector(labels={"app": app}),
                selector(("app", "In", app)),
                selector(("tier", "Exists")),
            ]
        )
        namespace = chance.choice(NAMESPACES[:2])
        budget = a_pdb(
            f"b{i}", namespace=namespace, selector=meant, disruptions_allowed=chance.choice([-1, 0, 1, 1, 2])
        )
        if chance.maybe(0.3):
            names = [pod["metadata"]["name"] for pod in chance.some(pods, most=3)]
            budget["status"]["disruptedPods"] = dict.fromkeys(names, ago(1))
        found.append(budget)
    return found


QUEUE = Subject(small_node, ranked_pod, budgets, most_waiting=10)
