"""Random contests for room: small clusters that are nearly full, and pods of any priority that want in.

Everything follows from the seed. Kept away is what kube-scheduler leaves to chance (placed pods have start times, waiting
ones creation times), and where it loses count: one host port held twice on a node, claims of one name in two namespaces.
"""

from __future__ import annotations

import random
from typing import Any

from builders import (
    HOSTNAME,
    ZONE,
    Object,
    a_condition,
    a_container,
    a_namespace,
    a_node,
    a_pdb,
    a_pod,
    a_pv,
    a_pvc,
    ago,
    claim_volume,
    node_affinity,
    node_term,
    pod_affinity,
    pod_anti_affinity,
    pod_term,
    selector,
    spread,
)

#: Of pods that have a node, and of those that want one.
PRIORITIES, AMBITIONS = (-10, 0, 0, 5, 5, 10, 100), (0, 5, 10, 10, 100, 1000)
#: Claims that one pod at a time may use.
CLAIMS = ("c1", "c2", "c3")
APPS = ("a", "b", "c")
PREEMPTED = a_condition("DisruptionTarget", "True", reason="PreemptionByScheduler")


class Contest(random.Random):
    """One case. A *rule* is a kind of oddity that may occur in it; each case knows some."""

    RULES = (
        "affinity",
        "anti-affinity",
        "budgets",
        "claims",
        "cordoned",
        "extended",
        "gates",
        "named-nodes",
        "never",
        "nominated",
        "ports",
        "spread",
        "taints",
        "terminating",
    )

    def __init__(self, seed: int) -> None:
        super().__init__(f"contest-{seed}")
        self.rules = {rule for rule in self.RULES if self.random() < 0.3}
        self.nodes = [f"n{number}" for number in range(1, self.randint(2, 6))]
        self.names: list[str] = []
        self.unused = list(CLAIMS)
        self.taken: set[tuple[str, int]] = set()

    def has(self, rule: str, share: float) -> bool:
        """Whether something happens that only cases with this rule know."""
        return self.random() < share and rule in self.rules

    def cluster(self) -> list[Object]:
        """Nodes, pods on them, pods that wait, and budgets, in no order."""
        objects = [self._node(name) for name in self.nodes]
        objects += [self._placed(name) for name in self.nodes for _ in range(self.randint(2, 6))]
        objects += [self._waiting() for _ in range(self.randint(1, 5))]
        objects += [self._budget(number) for number in range(self.randint(1, 3)) if "budgets" in self.rules]
        if "claims" in self.rules:
            objects += [each for name in CLAIMS for each in _bound_claim(name)]
        objects += [a_namespace("default", labels={"team": "x"}), a_namespace("other", labels={"team": "y"})]
        self.shuffle(objects)
        return objects

    def _node(self, name: str) -> Object:
        labels = {HOSTNAME: name} | ({ZONE: self.choice(["z1", "z2"])} if self.random() < 0.9 else {})
        return a_node(
            name,
            cpu=self.choice(["1", "2", "3"]),
            memory=self.choice(["4Gi", "8Gi"]),
            pods=self.choice([3, 5, 8]),
            extended={"example.com/gpu": self.choice([1, 2])} if self.has("extended", 0.7) else None,
            labels=labels | {"disk": self.choice(["ssd", "hdd"])},
            taints=[self.choice(["gpu=yes:NoSchedule", "gpu:NoExecute"])] if self.has("taints", 0.4) else None,
            unschedulable=self.has("cordoned", 0.3),
        )

    def _placed(self, node: str) -> Object:
        terminating = self.has("terminating", 0.4)
        return self._pod(
            node=node,
            started=ago(self.randint(1, 9) * 100),
            phase="Running",
            deleted=ago(1) if terminating else None,
            conditions=[PREEMPTED] if terminating and self.random() < 0.5 else None,
            volumes=[claim_volume(self.unused.pop())] if self.has("claims", 0.3) and self.unused else None,
            **self._rules(0.3),
        )

    def _waiting(self) -> Object:
        spec: Object = {}
        if self.has("never", 0.4):
            spec["preemptionPolicy"] = "Never"
        terminating = self.has("terminating", 0.1)
        if self.has("gates", 0.3) and not terminating:
            spec["schedulingGates"] = [{"name": "g"}]
        return self._pod(
            created=ago(self.randint(1, 9) * 100),
            nominated_node=self.choice([*self.nodes, "gone"])
            if not terminating and self.has("nominated", 0.6)
            else None,
            deleted=ago(1) if terminating else None,
            spec=spec,
            volumes=[claim_volume(self.choice(CLAIMS))] if self.has("claims", 0.6) else None,
            **self._rules(0.6),
        )

    def _pod(self, **more: Any) -> Object:
        app = self.choice([*APPS, None])
        requests = {"cpu": self.choice(["0", "250m", "500m", "1"]), "memory": self.choice(["0", "512Mi", "2Gi"])}
        if self.has("extended", 0.3):
            requests["example.com/gpu"] = "1"
        ports = self._ports(more.get("node"))
        self.names.append(f"p{self.randint(0, 99):02}-{len(self.names)}")
        return a_pod(
            self.names[-1],
            namespace="default" if more.get("volumes") else self.choice(["default", "default", "default", "other"]),
            containers=[a_container("c", requests=requests, host_ports=ports)],
            priority=self.choice(PRIORITIES if "node" in more else AMBITIONS),
            labels={"app": app} if app else None,
            **more,
        )

    def _ports(self, node: str | None) -> list[int] | None:
        """Host ports; two pods on one node never hold the same, which kube-scheduler would lose count of."""
        port = self.choice([80, 443])
        if not self.has("ports", 0.5) or (node, port) in self.taken:
            return None
        if node:
            self.taken.add((node, port))
        return [port]

    def _rules(self, share: float) -> Object:
        """Where a pod may go, and beside whom."""
        affinity: Object = {}
        if self.has("anti-affinity", share):
            affinity |= pod_anti_affinity([self._term()])
        if self.has("affinity", share / 2):
            affinity |= pod_affinity([self._term()])
        if self.has("named-nodes", share):
            names = self.choices([*self.nodes, "gone"], k=2)
            affinity |= node_affinity([node_term(fields=[("metadata.name", "In", name)]) for name in names])
        constraints = [self._constraint() for _ in range(self.randint(1, 2))] if self.has("spread", share) else None
        return {
            "affinity": affinity or None,
            "spread": constraints,
            "tolerations": ["gpu"] if self.has("taints", 0.4) else None,
        }

    def _term(self) -> Object:
        return pod_term(
            selector(labels={"app": self.choice(APPS)}),
            topology=self.choice([HOSTNAME, ZONE]),
            namespace_selector={} if self.random() < 0.2 else None,
        )

    def _constraint(self) -> Object:
        return spread(
            self.randint(1, 2),
            self.choice([HOSTNAME, ZONE]),
            selector(labels={"app": self.choice(APPS)}),
            when=self.choice(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
            **self._details(),
        )

    def _details(self) -> Object:
        """The finer points of a spread constraint; fewest domains only go with hard ones."""
        policies = ["Honor", "Ignore", None]
        return {
            "node_affinity_policy": self.choice(policies),
            "node_taints_policy": self.choice(policies),
        }

    def _budget(self, number: int) -> Object:
        meant = self.choice(
            [selector(), selector(labels={"app": self.choice(APPS)}), selector(("app", "Exists")), None]
        )
        budget = a_pdb(f"b{number}", selector=meant, disruptions_allowed=self.randint(0, 2))
        if self.random() < 0.3:
            budget["status"]["disruptedPods"] = dict.fromkeys(self.sample(self.names, min(3, len(self.names))), ago(1))
        return budget


def _bound_claim(name: str) -> list[Object]:
    """A claim that one pod at a time may use, and its volume."""
    claim = a_pvc(name, volume=f"{name}-pv", access_modes=("ReadWriteOncePod",))
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    return [claim, a_pv(f"{name}-pv")]
