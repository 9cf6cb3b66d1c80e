"""Random contests in which some pods belong to groups of Workloads, as in Kubernetes 1.35: gangs and basic groups, replicas
of them, too few pods, missing Workloads and groups.

Everything follows from the seed. In half of the cases most pods with a node belong to groups, and most that wait to none.

Volumes are kept away: their binding goes on while the next pods are tried. So are pods that wait and terminate: kube-scheduler
takes them from its queue before it passes over them.
"""

from __future__ import annotations

from builders import Object, ago
from builders.cluster_objects import a_gang_workload, of_workload
from oracle.random_contests import AMBITIONS, Contest

_REFERENCES = (("w1", "g1", None), ("w1", "g2", None), ("w2", "g1", "a"), ("w2", "g1", "b"))


class GangContest(Contest):
    """One case. In most, waiting pods of a group have one priority."""

    RULES = tuple(rule for rule in Contest.RULES if rule != "claims")

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._is_alike = self.random() < 0.6
        self._priorities = {reference: self.choice(AMBITIONS) for reference in _REFERENCES}
        #: How many of the pods with a node, and without, belong to groups.
        self._shares = self.choice([(0.15, 0.75), (0.6, 0.2), (0.3, 0.9)])
        #: Few pods with a node leave room for gangs.
        self._kept = self.choice([1.0, 0.6, 0.3])

    def cluster(self) -> list[Object]:
        """Nodes, pods on them, pods that wait, budgets and Workloads, in no order."""
        objects = super().cluster()
        objects += [self._waiting() for _ in range(self.randint(1, 8))]
        objects = [each for each in objects if not _leaves_the_queue(each) and not self._is_left_out(each)]
        for pod in objects:
            if pod["kind"] == "Pod" and self.random() < self._shares["nodeName" not in pod["spec"]]:
                self._join(pod)
        objects += [self._workload(name) for name in ("w1", "w2") if self.random() < 0.9]
        for number, pod in enumerate(each for each in objects if "startTime" in each.get("status", {})):
            pod["status"]["startTime"] = ago(1000 + number)
        self.shuffle(objects)
        return objects

    def _join(self, pod: Object) -> None:
        reference = self.choice(_REFERENCES)
        pod["spec"] |= of_workload(*reference)
        pod["metadata"]["namespace"] = "default"
        if self._is_alike and "nodeName" not in pod["spec"]:
            pod["spec"]["priority"] = self._priorities[reference]

    def _is_left_out(self, each: Object) -> bool:
        return each["kind"] == "Pod" and "nodeName" in each["spec"] and self.random() > self._kept

    def _workload(self, name: str) -> Object:
        groups = [group for group in ("g1", "g2") if self.random() < 0.95]
        return a_gang_workload(name, **{group: self._least() for group in groups})

    def _least(self) -> int | None:
        return self.choice([1, 2, 2, 3, 3, 4, 5]) if self.random() < 0.85 else None


def _leaves_the_queue(each: Object) -> bool:
    return each["kind"] == "Pod" and "deletionTimestamp" in each["metadata"] and "nodeName" not in each["spec"]
