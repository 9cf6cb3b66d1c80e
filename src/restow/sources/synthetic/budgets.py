"""Disruption budgets and priority classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.sources.synthetic.names import uid
from restow.sources.synthetic.times import BUILT

if TYPE_CHECKING:
    from random import Random

    from restow.sources.synthetic.names import Object
    from restow.sources.synthetic.workloads import Workload


def disruption_budget(owner: Workload, allowed: int, rng: Random) -> Object:
    """Make a budget for a healthy workload that still allows so many disruptions."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": owner.name, "namespace": owner.namespace, "uid": uid(rng), "creationTimestamp": BUILT},
        "spec": {"minAvailable": owner.replicas - allowed, "selector": {"matchLabels": {"app": owner.name}}},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": owner.replicas,
            "desiredHealthy": owner.replicas - allowed,
            "expectedPods": owner.replicas,
        },
    }


def priority_class(name: str, value: int, rng: Random) -> Object:
    """Make a PriorityClass; the one with value 0 is the default of the cluster."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "uid": uid(rng), "creationTimestamp": BUILT},
        "value": value,
        "globalDefault": value == 0,
    }
