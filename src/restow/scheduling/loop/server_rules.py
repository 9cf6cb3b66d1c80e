"""A kube-scheduler of another minor version than the modelled one: what it decides otherwise.

The scheduler is taken to be of the API server's version. From 1.33 to 1.36 filters, and scores but one, are the same: the
score of NodeResourcesBalancedAllocation is another since 1.36 (before and after the pod, no longer after alone). Which
nodes a pod fits on is therefore known, and which of them wins is not. What later versions change is not known yet.
Source: NodeResourcesBalancedAllocation, Kubernetes 1.35 and 1.36.
"""

from __future__ import annotations

from typing import Final

#: The minor version whose rules restow follows.
MODELLED: Final = 36


def other_scores(minor: int | None) -> str:
    """Why scores of a server's scheduler may differ from those that restow computes, a clause for people.

    Empty for the modelled version, and where the version is not known (None).
    """
    if minor is None or minor == MODELLED:
        return ""
    which = (
        "whose NodeResourcesBalancedAllocation scores otherwise than"
        if minor < MODELLED
        else "whose scores are not known to be"
    )
    return f"the API server is Kubernetes 1.{minor}, {which} those of 1.{MODELLED}, by which restow goes"
