"""Which taints a pod tolerates.

A toleration is a pattern over the key, value and effect of one taint; a pod may run where every taint that counts is
matched by some toleration. Source: ``Toleration.ToleratesTaint``, Kubernetes 1.36, with the numeric operators ``Gt``
and ``Lt`` on, as the Descheduler has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.kube.numbers import parse_canonical_integer

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from restow.kube.objects import Taint, Toleration

#: The taint that restow itself puts on nodes for the length of a plan (``executing.fencing``).
FENCE = "restow.dev/fence"
#: The taint that goes with ``spec.unschedulable``.
CORDON = "node.kubernetes.io/unschedulable"

#: Effects that keep a pod off a node; PreferNoSchedule only makes the node less liked.
HARD_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether one toleration matches one taint.

    An empty effect or key matches any. ``Equal`` (or no operator) compares values even when the key is empty. ``Gt``
    and ``Lt`` ask that the taint's value is greater or less than the toleration's; both must be canonical int64.
    """
    if toleration.effect not in {"", taint.effect} or toleration.key not in {"", taint.key}:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Gt":
            return _is_less(toleration.value, taint.value)
        case "Lt":
            return _is_less(taint.value, toleration.value)
        case _:
            return False


def _is_less(lower: str, upper: str) -> bool:
    low, high = parse_canonical_integer(lower), parse_canonical_integer(upper)
    return low is not None and high is not None and low < high


def untolerated(
    tolerations: Iterable[Toleration], taints: Iterable[Taint], effects: Container[str] | None = None
) -> Taint | None:
    """Return the first taint with one of these effects (None: any effect) that no toleration matches."""
    patterns = tuple(tolerations)
    for taint in taints:
        counts = effects is None or taint.effect in effects
        if counts and not any(tolerates(pattern, taint) for pattern in patterns):
            return taint
    return None


def all_tolerated(
    tolerations: Iterable[Toleration], taints: Iterable[Taint], effects: Container[str] | None = None
) -> bool:
    """Whether every taint with one of these effects (None: any effect) is matched by some toleration."""
    return untolerated(tolerations, taints, effects) is None
