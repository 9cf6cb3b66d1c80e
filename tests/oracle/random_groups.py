"""Random contests in which some pods belong to PodGroups: gangs and basic groups, too few pods, missing PodGroups.

Everything follows from the seed. Volumes are kept away: their binding goes on while the next pods are tried. So are pods
that wait and terminate: kube-scheduler takes them from its queue before it passes over them, and with them their group. Host ports, because two pods hold one
where a pod is assumed beside its victims; and terms of pods of groups about other pods, of which kube-scheduler knows
nothing while such a pod is assumed on a node without any. And in 1.37 their spread constraints: of the domains with the
fewest pods kube-scheduler keeps two in mind while it spares the victims of a group one by one.
"""

from __future__ import annotations

from builders import Object, ago
from builders.cluster_objects import a_pod_group, in_group
from oracle.random_contests import AMBITIONS, Contest

_BUDGET = "PodDisruptionBudget"
_GROUPS = ("g1", "g2", "g3")


class GroupContest(Contest):
    """One case. ``has_alike`` groups are such that Kubernetes 1.37 takes them: all of a group have its priority."""

    RULES = tuple(rule for rule in Contest.RULES if rule not in ("claims", "nominated", "never", "ports"))

    def __init__(self, seed: int, *, has_alike: bool) -> None:
        super().__init__(seed)
        self._has_alike = has_alike
        self._priorities = {name: self.choice(AMBITIONS) for name in _GROUPS}

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
            if pod["kind"] == "Pod" and self.random() < (0.15 if pod["spec"].get("nodeName") else 0.75):
                self._join(pod)
        groups = [self._group(name) for name in _GROUPS if self.random() < 0.9]
        if any("disruptionMode" in each["spec"] for each in groups):
            # restow lets a single pod preempt such pods one by one.
            _make_peaceful(objects)
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
        if self._has_alike and ("nodeName" in pod["spec"] or self.random() < 0.97):
            pod["spec"]["priority"] = self._priorities[group]

    def _group(self, name: str) -> Object:
        least = self.choice([1, 2, 2, 3, 4]) if self.random() < 0.75 else None
        together = {"disruptionMode": {"all": {}}} if self._has_alike and self.random() < 0.4 else {}
        group = a_pod_group(name, least=least, priority=self._priorities[name], **together)
        group["metadata"]["creationTimestamp"] = ago(1)
        return group


def _make_peaceful(objects: list[Object]) -> None:
    """No pod that waits alone preempts others."""
    for each in objects:
        if each["kind"] == "Pod" and not {"schedulingGroup", "nodeName"}.intersection(each["spec"]):
            each["spec"]["preemptionPolicy"] = "Never"


def _leaves_the_queue(each: Object) -> bool:
    return each["kind"] == "Pod" and "deletionTimestamp" in each["metadata"] and "nodeName" not in each["spec"]
