"""Objects that nobody has and anybody may write: odd values in every field that restow reads.

    odd = OddObjects(random.Random(7), namespace="odd", nodes=("node-1",))
    thing = odd.draw()

Most of them the API server accepts. Which ones, it says itself: nothing here knows its rules by heart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from builders import Object

_LONG: Final = "9" * 5_000
_INT32: Final = 2**31 - 1
_INT64: Final = 2**63 - 1

#: Some that fit, a few times over, and those that hardly do or do not.
AMOUNTS: Final = (
    *("0", "1", "1n", "1u", "100m", "0.1", "1.5Gi", "1e3", "1e-9") * 3, "8Pi", "9Pi", "9007199254740993", "4Ei", "7Ei", "9Ei",
    str(_INT64), "9223372036854775808", "10E", "1e19", "1e30", "1e300", "1e400", "9" * 400, "0" * 400 + "5",
)  # fmt: skip
_CPUS: Final = (*AMOUNTS, "9223372036854775807m", "9223372036854775", "9223372036854776", "1e15")
#: Without fractions.
_WHOLE: Final = ("0", "1", "1e3", "8Pi", "9Pi", "9007199254740993", "4Ei", "9Ei", str(_INT64), "10E")
_INTEGERS: Final = ("5", "0", "-1", "007", "9" * 19, "9" * 20, "-" + "9" * 20, _LONG, "-" + _LONG)
_WORDS: Final = ("", "a", "web", "A.b_c-d", "x" * 63, "0", "true", "None")
_KEYS: Final = (
    "app", "a", "size", "x" * 63, "example.com/a", "e" * 60 + ".example.com/" + "k" * 63, "kubernetes.io/hostname",
    "topology.kubernetes.io/zone", "pod-template-hash",
)  # fmt: skip
_TEXTS: Final = (
    "",
    "true",
    "false",
    "disabled",
    _LONG,
    "\u202e\x1b[2J\u0000",
    "\U0001f600" * 50,
    "0001-01-01T00:00:00Z",
)
_ANNOTATIONS: Final = (
    "descheduler.alpha.kubernetes.io/evict",
    "descheduler.alpha.kubernetes.io/prefer-no-eviction",
    "descheduler.alpha.kubernetes.io/request-evict-only",
    "batch.kubernetes.io/job-index-failure-count",
    "kubernetes.io/config.source",
    "restow.dev/eviction",
    "pv.kubernetes.io/bind-completed",
    "volume.kubernetes.io/selected-node",
    "volume.beta.kubernetes.io/storage-class",
    "storage.alpha.kubernetes.io/migrated-plugins",
)


@dataclass(slots=True)
class OddObjects:
    """Draws objects with names of their own, in one namespace where they have any."""

    chance: Random
    namespace: str
    #: Names of nodes that pods may be on.
    nodes: Sequence[str] = ()
    _drawn: int = field(init=False, default=0)

    def draw(self) -> Object:
        """One object of some kind; every other one is a pod."""
        self._drawn += 1
        kind = self.chance.choice(tuple(_KINDS)) if self.chance.random() < 0.5 else "Pod"
        version, make = _KINDS[kind]
        return {"apiVersion": version, "kind": kind, "metadata": self._metadata(kind), **make(self)}

    def _metadata(self, kind: str) -> Object:
        meta: Object = {"name": f"odd-{kind.lower()}-{self._drawn}", **self._maybe(labels=self._labels)}
        if kind not in _CLUSTER_WIDE:
            meta["namespace"] = self.namespace
        return meta | self._maybe(annotations=self._annotations, ownerReferences=self._owners)

    def _maybe(self, **makers: Callable[[], Any]) -> Object:
        """Each field with an even chance."""
        return {name: make() for name, make in makers.items() if self.chance.random() < 0.5}

    def _some(self, make: Callable[[], Any], most: int = 4) -> list[Any]:
        """A few; rarely very many."""
        return [make() for _ in range(200 if self.chance.random() < 0.02 else self.chance.randint(0, most))]

    def _labels(self) -> dict[str, str]:
        return {self.chance.choice(_KEYS): self.chance.choice(_WORDS) for _ in range(self.chance.randint(0, 3))}

    def _annotations(self) -> dict[str, str]:
        return {key: self.chance.choice(_TEXTS) for key in self.chance.sample(_ANNOTATIONS, self.chance.randint(1, 4))}

    def _owners(self) -> list[Object]:
        kinds = ("ReplicaSet", "Job", "StatefulSet", "DaemonSet", "Node", "Odd")
        owners = [
            {"apiVersion": "apps/v1", "kind": self.chance.choice(kinds), "name": "x" * at, "uid": f"uid-{at}"}
            for at in range(1, self.chance.randint(1, 4) + 1)
        ]
        owners[0] |= self._maybe(controller=lambda: self.chance.random() < 0.5)
        return owners

    def _amounts(self, *more: str) -> dict[str, str]:
        names = ("cpu", "memory", "ephemeral-storage", "example.com/a", "hugepages-2Mi", *more)
        # Huge pages are refused without one of these.
        chosen = ["cpu", *self.chance.sample(names[1:], self.chance.randint(0, 2))] * (self.chance.random() < 0.8)
        return {name: self._amount(name) for name in chosen}

    def _amount(self, resource: str) -> str:
        if resource == "cpu":
            return self.chance.choice(_CPUS)
        if resource.startswith("hugepages"):
            return self.chance.choice(("0", "2Mi", "4Ei"))
        whole = "/" in resource or resource == "pods"
        return self.chance.choice(_WHOLE if whole else AMOUNTS)

    def _resources(self) -> Object:
        requests = self._amounts()
        limited = {name: amount for name, amount in requests.items() if "/" in name or name.startswith("hugepages")}
        return {"requests": requests, **({"limits": limited} if limited else self._maybe(limits=lambda: requests))}

    def _requirement(self) -> Object:
        """Of a label selector."""
        operator = self.chance.choice(("In", "NotIn", "Exists", "DoesNotExist"))
        values = [self.chance.choice(_WORDS) for _ in range(self.chance.choice((1, 1, 2, 500)))]
        given = {"values": values} if operator.endswith("In") else {}
        return {"key": self.chance.choice(_KEYS), "operator": operator, **given}

    def _selector(self) -> Object:
        return self._maybe(matchLabels=self._labels, matchExpressions=lambda: self._some(self._requirement, 2))

    def _node_requirement(self) -> Object:
        if self.chance.random() < 0.5:
            return self._requirement()
        operator = self.chance.choice(("Gt", "Lt"))
        return {"key": self.chance.choice(_KEYS), "operator": operator, "values": [self.chance.choice(_INTEGERS)]}

    def _node_term(self) -> Object:
        field_term = {"key": "metadata.name", "operator": self.chance.choice(("In", "NotIn")), "values": ["node-1"]}
        return self._maybe(
            matchExpressions=lambda: self._some(self._node_requirement, 2), matchFields=lambda: [field_term]
        )

    def _node_affinity(self) -> Object:
        return self._maybe(
            requiredDuringSchedulingIgnoredDuringExecution=lambda: {
                "nodeSelectorTerms": [self._node_term() for _ in range(self.chance.randint(1, 3))]
            },
            preferredDuringSchedulingIgnoredDuringExecution=lambda: self._some(
                lambda: {"weight": self.chance.randint(1, 100), "preference": self._node_term()}
            ),
        )

    def _pod_term(self) -> Object:
        return {
            "topologyKey": self.chance.choice(_KEYS),
            **self._maybe(
                labelSelector=self._selector,
                namespaceSelector=self._selector,
                namespaces=lambda: self._some(lambda: "odd"),
            ),
        }

    def _pod_affinity(self) -> Object:
        return self._maybe(
            requiredDuringSchedulingIgnoredDuringExecution=lambda: self._some(self._pod_term, 2),
            preferredDuringSchedulingIgnoredDuringExecution=lambda: self._some(
                lambda: {"weight": self.chance.randint(1, 100), "podAffinityTerm": self._pod_term()}, 2
            ),
        )

    def _affinity(self) -> Object:
        return self._maybe(
            nodeAffinity=self._node_affinity, podAffinity=self._pod_affinity, podAntiAffinity=self._pod_affinity
        )

    def _toleration(self) -> Object:
        operator = self.chance.choice(("Exists", "Equal", ""))
        given = {} if operator == "Exists" else {"value": self.chance.choice(_WORDS)}
        return {
            "key": self.chance.choice(_KEYS),
            "operator": operator,
            "effect": "NoExecute",
            **given,
            **self._maybe(tolerationSeconds=lambda: self.chance.choice((-_INT64 - 1, -1, 0, _INT64))),
        }

    def _constraint(self) -> Object:
        unsatisfiable = self.chance.choice(("DoNotSchedule", "ScheduleAnyway"))
        domains = {"minDomains": self.chance.choice((1, _INT32))} if unsatisfiable == "DoNotSchedule" else {}
        return {
            "maxSkew": self.chance.choice((1, 2, _INT32)),
            "topologyKey": self.chance.choice(_KEYS),
            "whenUnsatisfiable": unsatisfiable,
            **domains,
            **self._maybe(
                labelSelector=self._selector,
                nodeAffinityPolicy=lambda: self.chance.choice(("Honor", "Ignore")),
                nodeTaintsPolicy=lambda: self.chance.choice(("Honor", "Ignore")),
            ),
        }

    def _container(self, name: str) -> Object:
        # No two containers have one.
        port = {"containerPort": 80, "hostPort": 65_535 - 64 * name.startswith("i") - int(name[1:])}
        return {
            "name": name,
            "image": self.chance.choice(("a", "a:b", "r.example.com:5000/" + "a/" * 40 + "b", "a@sha256:" + "0" * 64)),
            **self._maybe(resources=self._resources, ports=lambda: [port]),
        }

    def _init_container(self, name: str) -> Object:
        return self._container(name) | self._maybe(restartPolicy=lambda: "Always")

    def _volume(self, name: str) -> Object:
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": self.chance.choice(AMOUNTS)}}}
        sources: tuple[Object, ...] = (
            {"emptyDir": {"sizeLimit": self.chance.choice(AMOUNTS)}},
            {"hostPath": {"path": "/"}},
            {
                "persistentVolumeClaim": {
                    "claimName": f"odd-persistentvolumeclaim-{self.chance.randint(1, self._drawn)}"
                }
            },
            {"ephemeral": {"volumeClaimTemplate": {"spec": claim}}},
            {"gcePersistentDisk": {"pdName": "d"}},
            {"awsElasticBlockStore": {"volumeID": "d"}},
            {"iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:a", "lun": 0}},
            {"rbd": {"monitors": ["m"], "image": "i"}},
        )
        return {"name": name, **self.chance.choice(sources)}

    def _pod(self) -> Object:
        count = self.chance.choice((1, 1, 1, 2, 60))
        node = {"nodeName": self.chance.choice((*self.nodes, "not-there"))} if self.chance.random() < 0.3 else {}
        gates = {} if node else self._maybe(schedulingGates=lambda: [{"name": f"g{at}"} for at in range(20)])
        spec: Object = {
            "containers": [self._container(f"c{at}") for at in range(count)],
            "terminationGracePeriodSeconds": self.chance.choice((0, 30, _INT64)),
            **node,
            **gates,
        }
        return {
            "spec": spec
            | self._maybe(
                initContainers=lambda: [self._init_container(f"i{at}") for at in range(self.chance.randint(0, 3))],
                affinity=self._affinity,
                tolerations=lambda: self._some(self._toleration),
                topologySpreadConstraints=lambda: self._some(self._constraint, 2)[:3],
                nodeSelector=self._labels,
                volumes=lambda: [self._volume(f"v{at}") for at in range(self.chance.randint(0, 3))],
                resources=lambda: {
                    "requests": {"memory": self.chance.choice(AMOUNTS), "cpu": self.chance.choice(_CPUS)}
                },
                schedulerName=lambda: self.chance.choice(("default-scheduler", "x" * 200, "mine")),
                preemptionPolicy=lambda: "PreemptLowerPriority",
                activeDeadlineSeconds=lambda: _INT32,
            )
        }

    def _node(self) -> Object:
        taint = {"key": self.chance.choice(_KEYS), "value": self.chance.choice(_WORDS), "effect": "NoSchedule"}
        image = {"names": ["a:latest"], "sizeBytes": self.chance.choice((-1, 0, _INT64))}
        condition = {"type": "Ready", "status": self.chance.choice(("True", "False", "Unknown", "odd"))}
        condition |= {name: self.chance.choice(("0001-01-01T00:00:01Z", "9999-12-31T23:59:59Z")) for name in _TIMES}
        return {
            "spec": {"unschedulable": True, **self._maybe(taints=lambda: [taint])},
            "status": self._maybe(
                capacity=lambda: self._amounts("pods"),
                allocatable=lambda: self._amounts("pods"),
                images=lambda: [image],
                conditions=lambda: [condition],
            ),
        }

    def _budget(self) -> Object:
        least = self.chance.choice(("minAvailable", "maxUnavailable"))
        amount = self.chance.choice((0, 1, _INT32, "0%", "100%", "007%"))
        unhealthy = {"unhealthyPodEvictionPolicy": self.chance.choice(("AlwaysAllow", "IfHealthyBudget"))}
        return {"spec": {least: amount, **unhealthy, **self._maybe(selector=self._selector)}}

    def _job(self) -> Object:
        action = self.chance.choice(("FailJob", "Ignore", "Count"))
        codes = {"operator": self.chance.choice(("In", "NotIn")), "values": [1, 137, _INT32]}
        rule = self.chance.choice(
            ({"onExitCodes": codes}, {"onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]})
        )
        return {
            "spec": {
                "parallelism": 0,
                "completions": self.chance.choice((1, _INT32)),
                "backoffLimit": self.chance.choice((0, _INT32)),
                "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}},
                **self._maybe(podFailurePolicy=lambda: {"rules": [{"action": action, **rule}]}),
            }
        }

    def _workload(self) -> Object:
        labels = {"odd": f"w{self._drawn}"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
        return {"spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}}

    def _controller(self) -> Object:
        """Of the kind whose selector is a plain map."""
        workload = self._workload()
        workload["spec"]["selector"] = workload["spec"]["selector"]["matchLabels"]
        return workload

    def _claim(self) -> Object:
        return {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": self.chance.choice(AMOUNTS)}},
                **self._maybe(
                    selector=self._selector,
                    storageClassName=lambda: self.chance.choice(("", "fast")),
                    volumeName=lambda: f"odd-persistentvolume-{self.chance.randint(1, self._drawn)}",
                ),
            }
        }

    def _volume_of_cluster(self) -> Object:
        return {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": self.chance.choice(AMOUNTS)},
                "csi": {"driver": "csi.example.com", "volumeHandle": str(self._drawn)},
                **self._maybe(
                    nodeAffinity=lambda: {"required": {"nodeSelectorTerms": [self._node_term()]}},
                    storageClassName=lambda: "fast",
                ),
            }
        }

    def _storage_class(self) -> Object:
        expression = {"key": self.chance.choice(_KEYS), "values": [f"v{at}" for at in range(300)]}
        return {
            "provisioner": "csi.example.com",
            "volumeBindingMode": self.chance.choice(("Immediate", "WaitForFirstConsumer")),
            **self._maybe(allowedTopologies=lambda: [{"matchLabelExpressions": [expression]}]),
        }

    def _capacity(self) -> Object:
        return {
            "storageClassName": "fast",
            **self._maybe(
                nodeTopology=self._selector,
                capacity=lambda: self.chance.choice(AMOUNTS),
                maximumVolumeSize=lambda: self.chance.choice(AMOUNTS),
            ),
        }

    def _csi_node(self) -> Object:
        count = {"allocatable": {"count": self.chance.choice((0, 1, _INT32))}}
        driver = {"name": "csi.example.com", "nodeID": "n", "topologyKeys": [self.chance.choice(_KEYS)], **count}
        return {"spec": {"drivers": [driver]}}


_TIMES: Final = ("lastHeartbeatTime", "lastTransitionTime")
_CLUSTER_WIDE: Final = frozenset({"Namespace", "Node", "PersistentVolume", "StorageClass", "PriorityClass", "CSINode"})
#: How an object of each kind is made, beside its metadata.
_KINDS: Final[Mapping[str, tuple[str, Callable[[OddObjects], Object]]]] = {
    "Pod": ("v1", OddObjects._pod),
    "Node": ("v1", OddObjects._node),
    "Namespace": ("v1", lambda _: {}),
    "PodDisruptionBudget": ("policy/v1", OddObjects._budget),
    "Job": ("batch/v1", OddObjects._job),
    "ReplicaSet": ("apps/v1", OddObjects._workload),
    "StatefulSet": ("apps/v1", OddObjects._workload),
    "Service": ("v1", lambda odd: {"spec": {"selector": odd._labels(), "ports": [{"port": 80}]}}),
    "ReplicationController": ("v1", OddObjects._controller),
    "PriorityClass": ("scheduling.k8s.io/v1", lambda odd: {"value": odd.chance.choice((-_INT32 - 1, 0, 10**9))}),
    "PersistentVolumeClaim": ("v1", OddObjects._claim),
    "PersistentVolume": ("v1", OddObjects._volume_of_cluster),
    "StorageClass": ("storage.k8s.io/v1", OddObjects._storage_class),
    "CSIStorageCapacity": ("storage.k8s.io/v1", OddObjects._capacity),
    "CSINode": ("storage.k8s.io/v1", OddObjects._csi_node),
}
