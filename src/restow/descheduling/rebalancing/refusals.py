"""What the proof has refused so far, as rules for the next search."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from restow.cluster.interning import BoolArray
from restow.descheduling.framework import Verdict, View

#: After so many refusals a pod stays, and all pods of its workload do.
_PATIENCE: Final = 3


@dataclass(slots=True)
class Refusals:
    """Pods that stay, and nodes where pods cannot go."""

    view: View
    #: The machines' nodes where a pod cannot go.
    closed: dict[int, set[int]] = field(default_factory=dict)
    pods: set[int] = field(default_factory=set)
    refusals: Counter[tuple[int, int]] = field(default_factory=Counter)
    #: Whether the limit of the whole plan is reached.
    ended: bool = False

    def learn(self, pod: int, node: int, verdict: Verdict) -> None:
        """Take a refusal as a rule: the pod does not go there, or stays; after some, all pods of its workload stay."""
        self.ended |= verdict is Verdict.TOTAL_LIMIT
        if verdict is Verdict.NODE_LIMIT:
            self.pods.update(self.view.state.pods_on(int(self.view.state.node[pod])).tolist())
        elif verdict is Verdict.NO_PLACE:
            self.closed.setdefault(pod, set()).add(node)
            if len(self.closed[pod]) >= _PATIENCE:
                self.pods.add(pod)
        elif verdict is Verdict.REFUSED:
            self.pods.add(pod)
            self.refusals[int(self.view.pods.namespace[pod]), int(self.view.pods.owners[pod])] += 1

    def stay(self) -> BoolArray:
        """Which pods stay, bool[pod]."""
        stay = np.zeros(len(self.view.pods), dtype=bool)
        stay[list(self.pods)] = True
        for (namespace, owners), refusals in self.refusals.items():
            if refusals >= _PATIENCE:
                stay |= (self.view.pods.namespace == namespace) & (self.view.pods.owners == owners)
        return stay
