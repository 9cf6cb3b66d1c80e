"""Tolerations as kube-scheduler reads them.

The operators Lt and Gt are behind a feature gate that is off in Kubernetes 1.36: to the scheduler they match nothing,
while the Descheduler honours them. Source: TaintToleration, Kubernetes 1.36, TaintTolerationComparisonOperators.
"""

from __future__ import annotations

from collections.abc import Iterable

from restow.kube.objects import Taint, Toleration
from restow.kube.taints import tolerates

_GATED = frozenset({"Lt", "Gt"})


def scheduler_tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether some toleration that counts matches the taint."""
    return any(each.operator not in _GATED and tolerates(each, taint) for each in tolerations)
