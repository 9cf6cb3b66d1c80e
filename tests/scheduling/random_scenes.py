"""Random clusters of a few workloads in which everything that a scheduler plugin looks at occurs, and random changes.

Everything follows from the seed. The pods of a workload are alike, as they are in real clusters, so that whatever is
kept for one of them is asked for by the others; some differ in one thing only, and must not be taken for the others.
Each scene knows some of the rules only: what is everywhere hides the rest.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec

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
    a_replica_set,
    a_service,
    a_storage_class,
    ago,
    claim_volume,
    node_affinity,
    node_term,
    pod_affinity,
    pod_anti_affinity,
    pod_term,
    running,
    selector,
    spread,
    uid_of,
)
from restow.cluster.pod_values import PlacementRules
from restow.cluster.pods import PENDING
from restow.cluster.state import ClusterState
from restow.kube.objects import PodAffinity, PodAffinityTerm

APPS, TIERS, RACKS = ("a", "b", "c"), ("x", "y"), ("r1", "r2")
GPU, DRIVER = "example.com/gpu", "csi.example.com"
#: Claims that are bound, those that one pod at a time may use, and those that still wait for their first pod.
SHARED, EXCLUSIVE, WAITING = ("s1", "s2", "s3", "s4"), ("e1", "e2"), ("w1", "w2", "w3")
LATER = "WaitForFirstConsumer"
PREEMPTED = a_condition("DisruptionTarget", "True", reason="PreemptionByScheduler")
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


class Scene(random.Random):
    """One cluster."""

    RULES = (
        "affinity",
        "anti-affinity",
        "budgets",
        "claims",
        "cordoned",
        "disks",
        "extended",
        "images",
        "node-affinity",
        "nominated",
        "ports",
        "preferred",
        "resizes",
        "services",
        "spread",
        "soft-spread",
        "taints",
        "terminating",
        "waiting-claims",
    )

    def __init__(self, seed: int, variety: float = 0.35) -> None:
        super().__init__(f"scene-{seed}")
        #: The share of pods that differ from their siblings in one thing.
        self.variety = variety
        self.rules = {rule for rule in self.RULES if self.random() < 0.5}
        self.nodes = [f"n{number}" for number in range(1, self.choice([4, 5, 6, 7, 8, 4, 5, 6, 7, 30]))]

    def has(self, rule: str, share: float) -> bool:
        """Whether something happens that only scenes with this rule know."""
        return self.random() < share and rule in self.rules

    def objects(self) -> list[Object]:
        """The cluster, in no order."""
        made = [self._node(name) for name in self.nodes]
        for number in range(self.randint(2, 5) if len(self.nodes) < 10 else 9):
            made += self.workload(number)
        made += [a_namespace("default", labels={"team": "x"}), a_namespace("other", labels={"team": "y"})]
        made += [a_replica_set("rs", selector=selector(("app", "In", *self.sample(APPS, 2))))]
        if "services" in self.rules:
            made += [a_service(f"s-{app}", selector={"app": app}) for app in APPS]
        if "budgets" in self.rules:
            made += [a_pdb("b", selector=selector(("app", "Exists")), disruptions_allowed=self.randint(0, 2))]
        made += self._storage()
        self.shuffle(made)
        return made

    def _node(self, name: str) -> Object:
        labels = {HOSTNAME: name, "disk": self.choice(["ssd", "hdd"])}
        if self.random() < 0.9:
            labels |= {ZONE: self.choice(["z1", "z2", "z3"])}
        if self.random() < 0.7:
            labels |= {"rack": self.choice(RACKS)}
        taints = ["gpu=yes:NoSchedule"] if self.has("taints", 0.3) else []
        taints += [f"{key}:PreferNoSchedule" for key in "abc" if self.has("taints", 0.3)]
        return a_node(
            name,
            cpu=self.choice(["2", "3", "4"]),
            memory=self.choice(["4Gi", "8Gi"]),
            pods=self.choice([3, 5, 20]),
            extended={GPU: self.choice([1, 2])} if self.has("extended", 0.7) else None,
            labels=labels,
            taints=taints or None,
            unschedulable=self.has("cordoned", 0.2),
            images={f"{app}:latest": self.randint(50, 900) << 20 for app in APPS if self.has("images", 0.5)} or None,
        )

    def workload(self, number: int) -> Iterator[Object]:
        """Pods that are alike, or differ in one thing, but for where they are and what becomes of them."""
        waits = number > 0 and self.has("waiting-claims", 0.4)
        template = self._template(waits=waits)
        for replica in range(self.randint(3, 7)):
            name = f"{'w' if waits else 'p'}{number}-{replica}"
            pod = _with_container(**self._variant(template, waits=waits))
            if self.has("claims", 0.15):
                pod["volumes"] = [*(pod["volumes"] or []), {"name": "own", "ephemeral": {"volumeClaimTemplate": {}}}]
                yield from self._own_claim(name, pod["namespace"])
            if waits or self.random() < 0.4:
                nominated = self.choice(self.nodes) if self.has("nominated", 0.4) else None
                yield a_pod(name, created=ago(self.randint(1, 99)), nominated_node=nominated, **pod)
            else:
                leaving = self.has("terminating", 0.2)
                yield a_pod(
                    name,
                    node=self.choice(self.nodes),
                    started=ago(self.randint(1, 99)),
                    phase="Succeeded" if self.random() < 0.05 else "Running",
                    deleted=ago(1) if leaving else None,
                    conditions=[PREEMPTED] if leaving and self.random() < 0.5 else None,
                    statuses=[_given("1500m", "1Gi")] if self.has("resizes", 0.3) else None,
                    **pod,
                )

    def _own_claim(self, pod: str, namespace: str) -> Iterator[Object]:
        """The claim of an ephemeral volume, which is made for one pod; its volume may be gone."""
        claim = _bound(a_pvc(f"{pod}-own", namespace=namespace, volume=f"of-{pod}"))
        uid = uid_of("Pod", namespace, pod)
        claim["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": pod, "uid": uid, "controller": True}]
        yield claim
        if self.random() < 0.8:
            yield a_pv(f"of-{pod}", zone=self.choice([None, "z1"]))

    def _variant(self, template: Object, *, waits: bool) -> Object:
        """The same, or for some pods with one part drawn anew."""
        other = self.choice([*sorted(template), "labels", "labels", "labels", "namespace"])
        return template | ({other: self._template(waits=waits)[other]} if self.random() < self.variety else {})

    def _template(self, *, waits: bool) -> Object:
        requests = {"cpu": self.choice(["0", "250m", "500m", "1"]), "memory": self.choice(["0", "512Mi", "2Gi"])}
        requests = {name: amount for name, amount in requests.items() if self.random() < 0.8}
        if self.has("extended", 0.4):
            requests[GPU] = "1"
        return {
            "namespace": "default" if waits else self.choice(["default", "default", "other"]),
            "requests": requests,
            "image": self.choice(APPS),
            "port": self.choice([80, 443]) if self.has("ports", 0.5) else None,
            "labels": {"app": self.choice(APPS)} | ({"tier": self.choice(TIERS)} if self.random() < 0.6 else {}),
            "priority": self.choice([0, 0, 5, 10, 100]),
            "owner": self.choice([None, ("ReplicaSet", "rs"), ("ReplicaSet", "rs")]),
            "affinity": self._affinity() or None,
            "node_selector": {"disk": "ssd"} if self.has("node-affinity", 0.2) else None,
            "spread": self._constraints() or None,
            "tolerations": [self.choice(["gpu", "a:PreferNoSchedule", ""])] if self.has("taints", 0.5) else None,
            "volumes": self._volumes(waits=waits) or None,
            "spec": {"preemptionPolicy": "Never"} if self.random() < 0.05 else None,
        }

    def _affinity(self) -> Object:
        affinity: Object = {}
        if self.has("node-affinity", 0.3):
            required = [node_term(self._requirement("rack", RACKS))] if self.random() < 0.5 else None
            preferred = [(self.randint(1, 9), node_term(self._requirement("disk", ("ssd", "hdd"))))]
            affinity |= node_affinity(required, preferred)
        elif self.has("node-affinity", 0.2):
            named = [("metadata.name", "In", name) for name in self.sample(self.nodes, 2)]
            affinity |= node_affinity([node_term(fields=[each]) for each in named])
        preferred = [(self.randint(1, 99), self._term()) for _ in range(2) if self.has("preferred", 0.5)]
        if self.has("affinity", 0.3) or preferred:
            affinity |= pod_affinity([self._term()] if self.has("affinity", 0.4) else None, preferred[:1] or None)
        if self.has("anti-affinity", 0.5) or preferred[1:]:
            affinity |= pod_anti_affinity([self._term()] if self.has("anti-affinity", 0.9) else None, preferred[1:])
        return affinity

    def _requirement(self, key: str, values: tuple[str, ...]) -> tuple[str, ...]:
        operator = self.choice(OPERATORS)
        return (key, operator, self.choice(values)) if operator in {"In", "NotIn"} else (key, operator)

    def _term(self) -> Object:
        return pod_term(
            selector(self._requirement("app", APPS)),
            topology=self.choice([HOSTNAME, ZONE, "rack"]),
            namespaces=self.choice([None, None, ["default", "other"]]),
            namespace_selector=self.choice([None, None, {}, selector(labels={"team": "x"})]),
        )

    def _constraints(self) -> list[Object]:
        made = []
        for rule, when in (("spread", "DoNotSchedule"), ("soft-spread", "ScheduleAnyway")):
            made += [
                spread(
                    self.randint(1, 3),
                    self.choice([HOSTNAME, ZONE, "rack"]),
                    selector(self._requirement("app", APPS)),
                    when=when,
                    min_domains=self.choice([None, None, 3]) if when == "DoNotSchedule" else None,
                    node_affinity_policy=self.choice([None, "Ignore"]),
                    node_taints_policy=self.choice([None, "Honor"]),
                    match_label_keys=self.choice([None, None, ["tier"]]),
                )
                for _ in range(2)
                if self.has(rule, 0.4)
            ]
        return made

    def _volumes(self, *, waits: bool) -> list[Object]:
        if waits:
            return [claim_volume(self.choice(WAITING))]
        volumes = [claim_volume(name) for name in self.sample(SHARED, 2) if self.has("claims", 0.3)]
        if self.has("claims", 0.2):
            volumes.append(claim_volume(self.choice(EXCLUSIVE)))
        if self.has("disks", 0.4):
            disk = {"pdName": self.choice("vw"), "readOnly": self.random() < 0.3}
            volumes.append({"name": "disk", "gcePersistentDisk": disk})
        return volumes

    def _storage(self) -> Iterator[Object]:
        """Claims of each sort in both namespaces, what they are bound to or may be, and limits of the nodes."""
        for namespace in ("default", "other"):
            for name in (*SHARED, *EXCLUSIVE):
                zone = self.choice([None, None, "z1", "z2"])
                modes = ("ReadWriteOncePod",) if name in EXCLUSIVE else ("ReadWriteMany",)
                volume = a_pv(f"{namespace}-{name}", zone=zone)
                if zone is None and self.random() < 0.3:
                    volume["metadata"]["labels"] = {ZONE: "z1"}
                yield from (
                    volume,
                    _bound(a_pvc(name, namespace=namespace, volume=f"{namespace}-{name}", access_modes=modes)),
                )
        yield a_storage_class("local", provisioner="kubernetes.io/no-provisioner", binding=LATER)
        yield a_storage_class("made", provisioner=DRIVER, binding=LATER)
        for number in range(3):
            zone, size = self.choice([None, "z1", "z2"]), f"{self.randint(1, 4)}Gi"
            yield a_pv(f"free{number}", storage_class="local", zone=zone, size=size) | {
                "status": {"phase": "Available"}
            }
        for name in WAITING:
            yield a_pvc(name, storage_class=self.choice(["local", "local", "made"]), size=f"{self.randint(1, 3)}Gi")
        for name in self.nodes:
            if self.random() < 0.5:
                driver = {"name": DRIVER, "nodeID": name, "allocatable": {"count": self.randint(1, 3)}}
                yield {"kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": [driver]}}


def _given(cpu: str, memory: str) -> Object:
    """The status of a container that has so much, whatever it wants."""
    resources = {"cpu": cpu, "memory": memory}
    return running() | {"name": "c", "allocatedResources": resources, "resources": {"requests": resources}}


def _bound(claim: Object) -> Object:
    """The claim with the mark of the controller that has bound it."""
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    return claim


def _with_container(*, requests: Object, image: str, port: int | None, **others: Any) -> Object:
    """The arguments of a pod whose only container is told in parts."""
    container = a_container("c", image=image, requests=requests, host_ports=[port] if port else None)
    return others | {"containers": [container]}


class Changes:
    """Random changes of a state; told the same choices, it changes another state in the same way."""

    #: What the pods of a scene are made of.
    PARTS = ("labels", "owners", "resources", "tolerations", "rules", "spread", "ports", "priority", "namespace")

    def __init__(self, state: ClusterState, choice: random.Random, movable: list[int]) -> None:
        self._state = state
        self._choice = choice
        self._movable = movable
        self._marks: list[int] = []
        self._created = 0

    def once(self) -> None:
        """Change one thing about pods, or remember the state, or take back what came after such a mark."""
        choice, state = self._choice, self._state
        pods = state.cluster.pods
        first = self._movable[-1] + 1
        came = [pod for pod in range(first, len(pods)) if state.exists[pod] and pods.names[pod].startswith("new")]
        there = [*(each for each in self._movable if each not in pods._free), *came]
        if not there:
            return
        pod = choice.choice(there)
        what = choice.choice(
            ["place"] * 4
            + ["remove"] * 2
            + ["terminate", "mark", "undo", "undo", "create", "create", "delete", "update"]
        )
        if what == "mark":
            self._marks.append(state.checkpoint())
        elif what == "undo" and self._marks:
            kept = choice.randrange(len(self._marks))
            state.undo(self._marks[kept])
            del self._marks[kept:]
        elif what == "create":
            self._created += 1
            node = choice.choice([PENDING, *range(len(state.cluster.nodes))])
            state.create(
                self._mixed(pod) | {"names": f"new{self._created}", "uids": f"new-{self._created}", "node": node}
            )
        elif what == "delete" and state.exists[pod]:
            state.delete(pod)
        elif what == "update" and state.exists[pod]:
            state.update(pod, self._mixed(pod) | {"node": state.node[pod], "namespace": pods.namespace[pod]})
        elif what == "terminate" and state.exists[pod]:
            state.terminate(pod)
        elif what == "remove" and state.exists[pod]:
            state.remove(pod)
        else:
            state.place(pod, choice.choice([PENDING, *range(len(state.cluster.nodes))]))

    def _mixed(self, pod: int) -> dict[str, Any]:
        """The row of a pod with something of another one, or that no pod has had before."""
        choice, pods = self._choice, self._state.cluster.pods
        row, other = pods.row(pod), pods.row(choice.choice(self._movable))
        row |= {name: other[name] for name in choice.sample(self.PARTS, choice.choice([0, 1, 1, 2]))}
        if choice.random() < 0.2:
            labels = dict(pods.tables.labels[row["labels"]], app=choice.choice(APPS), step=str(self._created))
            row["labels"] = pods.intern("labels", labels)
        if choice.random() < 0.2:
            row["rules"] = pods.intern("rules", self._repelling(pods.tables.rules[row["rules"]]))
        return row

    def _repelling(self, rules: PlacementRules) -> PlacementRules:
        """The same rules, but that pods of some app are kept away."""
        term = msgspec.convert(pod_term(selector(labels={"app": self._choice.choice(APPS)})), PodAffinityTerm)
        return replace(rules, pod_anti_affinity=PodAffinity(required=(term,)))
