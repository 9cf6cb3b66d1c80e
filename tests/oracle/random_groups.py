"""Random contests in which some pods belong to PodGroups: gangs and basic groups, too few pods, missing PodGroups.

Everything follows from the seed. In half of the cases most pods with a node belong to groups, and most that wait to none.

Volumes are kept away: their binding goes on while the next pods are tried. So are pods that wait and terminate:
kube-scheduler takes them from its queue before it passes over them, and with them their group. Host ports, because two
pods hold one where a pod is assumed beside its victims; and terms of pods of groups about other pods, of which
kube-scheduler knows nothing while such a pod is assumed on a node without any. And in 1.37 their spread constraints: of the
domains with the fewest pods kube-scheduler keeps two in mind while it spares the victims of a group one by one. Pods with a
node have one priority in a group, although not always that of their PodGroup: of pods that go together, the one whose
priority counts in the choice of a node comes out of a map.
"""

from __future__ import annotations

from builders import Object, ago
from builders.cluster_objects import a_pod_group, in_group
from oracle.random_contests import AMBITIONS, PRIORITIES, Contest

_BUDGET = "PodDisruptionBudget"
_GROUPS = ("g1", "g2", "g3")


class GroupContest(Contest):
    """One case. ``has_alike`` groups are such that Kubernetes 1.37 takes them: all of a group have its priority."""

    RULES = tuple(rule for rule in Contest.RULES if rule not in ("claims", "nominated", "never", "ports"))

    def __init__(self, seed: int, *, has_alike: bool) -> None:
        super().__init__(seed)
        self._has_alike = has_alike
        self._priorities = {name: self.choice(AMBITIONS) for name in _GROUPS}
        #: Those of pods that have a node already.
        self._former = {
            name: priority if self.random() < 0.9 else self.choice(PRIORITIES)
            for name, priority in self._priorities.items()
        }
        #: How many of the pods with a node, and without, belong to groups.
        self._shares = self.choice([(0.15, 0.75), (0.6, 0.2)])

    def cluster(self) -> list[Object]:
        """Nodes, pods on them, pods that wait, budgets and PodGroups, in no order."""
        objects = super().cluster()
        objects += [self._waiting() for _ in range(self.randint(1, 6))]
        objects = [each for each in objects if not _leaves_the_queue(each)]
        if self._has_alike:
            # Of two budgets of a pod, the one that counts in 1.37 is a matter of chance.
            budgets = {each["metadata"]["namespace"]: each for each in objects if each["kind"] == _BUDGET}
            objects = [each for each in objects if each["kind"] != _BUDGET] + list(budgets.values())
        for pod in objects:
            if pod["kind"] == "Pod" and self.random() < self._shares["nodeName" not in pod["spec"]]:
                self._join(pod)
        groups = [self._group(name) for name in _GROUPS if self.random() < 0.9]
        objects += groups
        for number, pod in enumerate(each for each in objects if "startTime" in each.get("status", {})):
            # Who is older decides whom a group preempts.
            pod["status"]["startTime"] = ago(1000 + number)
        self.shuffle(objects)
        return objects

    def _join(self, pod: Object) -> None:
        group = self.choice(_GROUPS)
        pod["spec"] |= in_group(group)
        pod["spec"].pop("affinity", None)
        pod["metadata"]["namespace"] = "default"
        if self._has_alike:
            pod["spec"].pop("topologySpreadConstraints", None)
        has_node = "nodeName" in pod["spec"]
        if self._has_alike and (has_node or self.random() < 0.97):
            pod["spec"]["priority"] = (self._former if has_node else self._priorities)[group]

    def _group(self, name: str) -> Object:
        least = self.choice([1, 2, 2, 3, 4]) if self.random() < 0.75 else None
        mode = self.choice(["all", "all", "single", None, None]) if self._has_alike else None
        together = {"disruptionMode": {mode: {}}} if mode else {}
        group = a_pod_group(name, least=least, priority=self._priorities[name], **together)
        group["metadata"]["creationTimestamp"] = ago(1)
        return group


def _leaves_the_queue(each: Object) -> bool:
    return each["kind"] == "Pod" and "deletionTimestamp" in each["metadata"] and "nodeName" not in each["spec"]
