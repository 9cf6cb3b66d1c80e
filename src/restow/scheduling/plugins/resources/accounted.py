"""Which resources the scheduler keeps account of. Source: NodeResourcesFit, Kubernetes 1.36."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

#: In the order in which lacking resources are reported.
BASIC: Final = ("cpu", "memory", "ephemeral-storage")


@cache
def is_extended(name: str) -> bool:
    """Whether a resource is an extended one: with a domain that is not Kubernetes' own."""
    return "/" in name and not name.partition("/")[0].endswith("kubernetes.io") and not name.startswith("requests.")


@cache
def is_scalar(name: str) -> bool:
    """Whether the scheduler tracks a resource other than CPU, memory and ephemeral storage.

    Extended resources, huge pages, attachable volumes and native resources with a prefix; others are dropped.
    """
    return is_extended(name) or name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name


def accounted(requests: Mapping[str, int]) -> dict[str, int]:
    """What counts of some requests."""
    return {name: amount for name, amount in requests.items() if amount > 0 and (name in BASIC or is_scalar(name))}
