"""Random contests of groups whose pods have to share a domain: a zone, a kind of disk, or one that some nodes lack.

Everything follows from the seed. Kept away is what is kept away from contests of groups. One group at least has to share a
domain: only that shows that the feature gate is on, and then of others the message begins otherwise, too.
"""

from __future__ import annotations

from builders import Object
from oracle.random_groups import GroupContest

#: Some nodes have no zone, none has a rack.
_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/zone", "disk", "kubernetes.io/hostname", "rack")


class DomainContest(GroupContest):
    """One case, of Kubernetes 1.37."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, has_alike=True)
        self._some_share = False
        #: Where pods of groups that have a node already are not in one domain, no group gets nodes.
        self._shares = self.choice([(0.0, 0.8), (0.0, 0.6), (0.1, 0.7)])

    def _group(self, name: str) -> Object:
        group = super()._group(name)
        if not self._some_share or self.random() < 0.8:
            group["spec"]["schedulingConstraints"] = {"topology": [{"key": self.choice(_LABELS)}]}
            self._some_share = True
        return group
