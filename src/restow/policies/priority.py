"""Resolves the priority threshold of a policy to a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.errors import InputError
from restow.kube.excerpts import excerpt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from restow.policies.arguments import PriorityThreshold

#: Pods of this priority and above are the system's. Source: Kubernetes 1.36, scheduling API.
SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
#: Classes that every API server creates.
BUILT_IN_CLASSES = {"system-cluster-critical": SYSTEM_CRITICAL_PRIORITY, "system-node-critical": 2_000_001_000}


def resolve_priority_threshold(threshold: PriorityThreshold | None, priority_classes: Mapping[str, int] | None) -> int:
    """Return the priority from which on pods are not evictable.

    ``priority_classes`` are the cluster's, by name; None if they are unknown. Raises InputError, with upstream's
    texts, if the named class is missing or the result is above the system's priorities.
    """
    value = SYSTEM_CRITICAL_PRIORITY
    if threshold is not None and threshold.value is not None:
        value = threshold.value
    elif threshold is not None and threshold.name:
        value = _class_value(threshold.name, priority_classes)
    if value > SYSTEM_CRITICAL_PRIORITY:
        raise InputError(
            f"priority threshold can't be greater than {SYSTEM_CRITICAL_PRIORITY}, and this one is {value}"
        )
    return value


def _class_value(name: str, priority_classes: Mapping[str, int] | None) -> int:
    classes = BUILT_IN_CLASSES | dict(priority_classes or {})
    if name not in classes:
        raise InputError(
            "unable to get priority value from the priority class: "
            f'priorityclasses.scheduling.k8s.io "{excerpt(name)}" not found; if the cluster has it, '
            "add it to the input: kubectl get priorityclasses -o json"
        )
    return classes[name]
