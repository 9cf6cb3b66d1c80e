"""Rollouts of Argo, as far as surges go: when their number of replicas may be raised.

A Rollout has ``spec.replicas`` and makes its pods by ReplicaSets, as a Deployment does. So it is surged in the same way, but
only while it has one version: between two, its controller shares the pods out among several ReplicaSets.

Other custom resources that own ReplicaSets are not surged. Nothing says in general when such an object has steps under way,
nor whether its controller raises the ReplicaSet of the pod, and the rights name each kind.

Source: RolloutStatus, ``IsFullyPromoted`` and the phases of a Rollout, Argo Rollouts 1.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def reason_against_rollout(found: Mapping[str, Any]) -> str | None:
    """Why a Rollout gets no pod more, beside what holds for a Deployment; None if nothing speaks against it."""
    status = found.get("status") or {}
    if status.get("abort"):
        return "has aborted its steps"
    return None if _is_promoted(status) and not status.get("pauseConditions") else "has steps under way"


def _is_promoted(status: Mapping[str, Any]) -> bool:
    """Whether the version of the template has become the stable one, and is the only one."""
    stable = status.get("stableRS")
    return bool(stable) and stable == status.get("currentPodHash")
