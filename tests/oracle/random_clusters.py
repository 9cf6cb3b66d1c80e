"""Random small clusters: everything that a decision of the Descheduler looks at, as a list of API objects."""

from __future__ import annotations

from builders import a_namespace, a_pdb, a_priority_class, a_pvc, node_metrics, pod_metrics
from builders.metadata import Object
from oracle.chance import Chance
from oracle.random_nodes import some_nodes
from oracle.random_pods import some_pods
from oracle.random_rules import NAMESPACES, label_selector

STORAGE_CLASSES = {"fast": "gold", "slow": "silver", "plain": ""}
#: The priority classes of every cluster.
PRIORITY_CLASSES = {"low": 10, "high": 1000, "too-high": 2_000_000_001}
TEAMS = ("red", "blue")


def a_random_cluster(chance: Chance) -> list[Object]:
    """The objects of one cluster, in no order that means anything."""
    nodes = some_nodes(chance)
    pods = some_pods(chance, [node["metadata"]["name"] for node in nodes])
    return [
        *nodes,
        *pods,
        *_namespaces(chance),
        *(a_priority_class(name, value) for name, value in PRIORITY_CLASSES.items()),
        *_budgets(chance),
        *(
            a_pvc(name, namespace=namespace, storage_class=storage)
            for namespace in NAMESPACES
            for name, storage in STORAGE_CLASSES.items()
        ),
        *_metrics(chance, nodes, pods),
    ]


def _namespaces(chance: Chance) -> list[Object]:
    names = [name for name in NAMESPACES if chance.maybe(0.9)]
    return [a_namespace(name, labels={"team": chance.choice(TEAMS)} if chance.maybe(0.8) else None) for name in names]


def _budgets(chance: Chance) -> list[Object]:
    if "budgets" not in chance.traits:
        return []
    return [
        a_pdb(f"budget-{index}", namespace=chance.choice(NAMESPACES), selector=label_selector(chance))
        for index in range(chance.randint(1, 4))
    ]


def _metrics(chance: Chance, nodes: list[Object], pods: list[Object]) -> list[Object]:
    if "metrics" not in chance.traits:
        return []
    found = []
    for node in nodes:
        if not chance.has("missing-metrics", 0.03):
            name = node["metadata"]["name"]
            measured = node_metrics(name, cpu=_cpu(chance, 4000), memory=f"{chance.randint(0, 4096)}Mi")
            if chance.has("missing-metrics", 0.05):
                del measured["usage"][chance.choice(["cpu", "memory"])]
            found.append(measured)
    for pod in pods:
        if not chance.has("missing-metrics", 0.25):
            usages = [_usage(chance) for _ in pod["spec"]["containers"]]
            metadata = pod["metadata"]
            found.append(pod_metrics(metadata["name"], namespace=metadata.get("namespace", ""), containers=usages))
    return found


def _usage(chance: Chance) -> Object:
    usage = {"cpu": _cpu(chance, 600), "memory": f"{chance.randint(0, 400_000)}Ki"}
    if chance.has("missing-metrics", 0.1):
        del usage[chance.choice(["cpu", "memory"])]
    return usage


def _cpu(chance: Chance, most: int) -> str:
    """Millicores, or nanocores as the metrics server writes them."""
    if chance.maybe(0.5):
        return f"{chance.randint(0, most)}m"
    return f"{chance.randint(0, most * 1_000_000)}n"
