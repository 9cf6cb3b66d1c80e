"""Random clusters whose pods are not what their templates say: resized, of an older revision, changed by admission."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any

from builders import a_node, a_workload, ago
from builders.metadata import metadata, uid_of
from proving.proven import TOLD

Object = dict[str, Any]

_REQUESTS = ("100m", "500m", "1", "2", "4")
_SIDECAR: Object = {"name": "proxy", "image": "proxy:1", "resources": {"requests": {"cpu": "200m"}}}
_GPU: Object = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
_MODES = ("Off", "Initial", "Recreate", "Auto", "InPlaceOrRecreate", None)
#: Kinds of which some inputs say nothing.
_LEFT_OUT = ("ControllerRevision", "VerticalPodAutoscaler", "Deployment")


def a_changed_cluster(seed: int) -> list[Object]:
    """Nodes and workloads with their pods; what is not in it is known not to be there, but for a kind now and then."""
    random = Random(seed)
    nodes = [_node(random, number) for number in range(random.randint(3, 6))]
    free = {each["metadata"]["name"]: int(each["status"]["allocatable"]["cpu"]) * 1000 for each in nodes}
    made = [each for number in range(random.randint(1, 4)) for each in _Workload(random, f"w{number}", free).objects()]
    silent = random.choice((None, None, None, *_LEFT_OUT))
    kept = [each for each in made if each["kind"] != silent]
    return [*nodes, *kept, *(each for each in TOLD if each["kind"] != silent or silent in {o["kind"] for o in kept})]


def _node(random: Random, number: int) -> Object:
    taints = ["gpu"] if random.random() < 0.2 else []
    return a_node(
        f"n{number}",
        cpu=random.choice(("2", "4", "6", "8")),
        memory="64Gi",
        labels={"disk": random.choice(("ssd", "hdd"))},
        taints=[{"key": each, "effect": "NoSchedule"} for each in taints],
    )


class _Workload:
    """One controller, its pods, and what belongs to it."""

    def __init__(self, random: Random, name: str, free: dict[str, int]) -> None:
        self._random, self._name, self._free = random, name, free
        self._kind = random.choice(
            ("ReplicaSet", "ReplicaSet", "StatefulSet", "StatefulSet", "DaemonSet", "ReplicationController")
        )
        self._new = self._template()
        is_revised = self._kind in ("StatefulSet", "DaemonSet") and random.random() < 0.6
        self._old = self._template() if is_revised else self._new
        self._adds_sidecar, self._adds_toleration = random.random() < 0.2, random.random() < 0.2

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _template(self) -> Object:
        daemon = self._kind == "DaemonSet"
        amount = self._random.choice(_REQUESTS[:2] if daemon else _REQUESTS)
        resources: Object = {"requests": {"cpu": amount}}
        if self._chance(0.2):
            resources = {"limits": {"cpu": amount}}
        elif self._chance(0.1):
            resources = {}
        spec: Object = {"containers": [{"name": "app", "image": f"{self._name}:1", "resources": resources}]}
        if daemon:
            spec["tolerations"] = [{"operator": "Exists"}]
        elif self._chance(0.2):
            spec["nodeSelector"] = {"disk": self._random.choice(("ssd", "hdd"))}
        elif self._chance(0.2):
            spec["tolerations"] = [_GPU]
        if self._chance(0.05):
            spec["schedulingGates"] = [{"name": "example.com/wait"}]
        if self._chance(0.15) and not daemon:
            term = {"labelSelector": {"matchLabels": {"app": self._name}}, "topologyKey": "kubernetes.io/hostname"}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        labels = {"app": self._name} | ({"tier": self._random.choice("ab")} if self._chance(0.3) else {})
        return {"metadata": {"labels": labels}, "spec": spec}

    def objects(self) -> list[Object]:
        """The controller, what is above and beside it, and its pods."""
        self._partition = self._random.randint(0, 3)
        self._on_delete = self._kind == "DaemonSet" or self._chance(0.5)
        wanted = list(self._free) if self._kind == "DaemonSet" else range(self._random.randint(1, 3))
        pods = [each for at in wanted if (each := self._pod(at)) is not None]
        if not pods or (self._kind == "DaemonSet" and len(pods) < len(self._free)):
            for each in pods:
                self._free[each["spec"]["nodeName"]] += _cpu(each)
            return []
        return [*self._controllers(len(pods)), *self._revisions(), *self._autoscaler(), *pods]

    def _revision_of(self, ordinal: int) -> str:
        if self._old is self._new:
            return "b"
        if self._on_delete:
            return self._random.choice("ab")
        return "a" if ordinal < self._partition else "b"

    def _pod(self, at: int | str) -> Object | None:
        revision = self._revision_of(at if isinstance(at, int) else 0)
        spec = deepcopy((self._old if revision == "a" else self._new)["spec"])
        spec.pop("schedulingGates", None)
        labels = dict((self._old if revision == "a" else self._new)["metadata"]["labels"])
        name = f"{self._name}-{at}"
        if self._kind in ("StatefulSet", "DaemonSet"):
            labels["controller-revision-hash"] = f"{self._name}-{revision}" if self._kind == "StatefulSet" else revision
        if self._kind == "StatefulSet":
            labels |= {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(at)}
        app = spec["containers"][0]
        limits = app["resources"].get("limits")
        if limits:
            app["resources"]["requests"] = dict(limits)
        if self._adds_sidecar:
            spec["containers"].insert(self._random.randint(0, 1), deepcopy(_SIDECAR))
        if self._adds_toleration:
            spec["tolerations"] = [*spec.get("tolerations", []), {"key": "extra", "operator": "Exists"}]
        generation: int | None = 1
        annotations: Object = {}
        if self._chance(0.35) and app["resources"].get("requests"):
            app["resources"] = {"requests": {"cpu": self._random.choice(_REQUESTS[:4])}}
            generation = self._random.choice((2, 2, 2, 1, None))
            if generation == 1 and self._chance(0.6):
                annotations = {"vpaUpdates": "Pod resources updated"}
        node = at if isinstance(at, str) else self._place(spec)
        if node is None or self._free[node] < _cpu({"spec": spec}):
            return None
        self._free[node] -= _cpu({"spec": spec})
        if isinstance(at, str):
            term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [at]}]}
            pin = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
            spec["affinity"] = {"nodeAffinity": pin}
        owners = [(self._kind, self._name)]
        meta = metadata(
            "Pod",
            name,
            "default",
            labels=labels,
            annotations=annotations or None,
            owners=owners,
            created=ago(7200 + self._random.randint(0, 99)),
        )
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": meta | ({"generation": generation} if generation else {}),
            "spec": spec | {"nodeName": node, "schedulerName": "default-scheduler"},
            "status": {
                "phase": "Running",
                "startTime": ago(7200),
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ago(7000)}],
            },
        }

    def _place(self, spec: Object) -> str | None:
        fitting = [name for name, free in self._free.items() if free >= _cpu({"spec": spec})]
        return self._random.choice(fitting) if fitting else None

    def _controllers(self, replicas: int) -> list[Object]:
        app = {"app": self._name}
        spec: Object = {
            "template": self._new,
            "selector": app if self._kind == "ReplicationController" else {"matchLabels": app},
        }
        if self._kind != "DaemonSet":
            spec["replicas"] = replicas
        if self._kind == "StatefulSet":
            rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": self._partition}}
            spec["updateStrategy"] = {"type": "OnDelete"} if self._on_delete else rolling
        if self._kind == "DaemonSet":
            spec["updateStrategy"] = {"type": "OnDelete"}
        made = a_workload(self._kind, self._name, spec=spec)
        if self._kind == "StatefulSet":
            current = "b" if self._old is self._new else "a"
            made["status"] = {
                "currentRevision": f"{self._name}-{current}",
                "updateRevision": f"{self._name}-b",
                "replicas": replicas,
                "readyReplicas": replicas,
            }
        return [made]

    def _revisions(self) -> list[Object]:
        if self._kind not in ("StatefulSet", "DaemonSet"):
            return []
        templates = {"b": self._new} if self._old is self._new else {"a": self._old, "b": self._new}
        owner = {
            "apiVersion": "apps/v1",
            "kind": self._kind,
            "name": self._name,
            "uid": uid_of(self._kind, "default", self._name),
            "controller": True,
        }
        return [
            {
                "apiVersion": "apps/v1",
                "kind": "ControllerRevision",
                "metadata": metadata(
                    "ControllerRevision",
                    f"{self._name}-{name}",
                    "default",
                    labels=template["metadata"]["labels"] | {"controller-revision-hash": name},
                )
                | {"ownerReferences": [owner]},
                "data": {"spec": {"template": template}},
                "revision": number,
            }
            for number, (name, template) in enumerate(templates.items(), 1)
        ]

    def _autoscaler(self) -> list[Object]:
        if not self._chance(0.3):
            return []
        policy: Object = {"containerName": self._random.choice(("app", "*"))}
        if self._chance(0.3):
            policy["maxAllowed"] = {"cpu": "1"}
        if self._chance(0.3):
            policy["controlledValues"] = self._random.choice(("RequestsOnly", "RequestsAndLimits"))
        target = {"containerName": "app", "target": {"cpu": self._random.choice(_REQUESTS)}}
        mode = self._random.choice(_MODES)
        return [
            {
                "apiVersion": "autoscaling.k8s.io/v1",
                "kind": "VerticalPodAutoscaler",
                "metadata": metadata("VerticalPodAutoscaler", self._name, "default"),
                "spec": {
                    "targetRef": {"apiVersion": "apps/v1", "kind": self._kind, "name": self._name},
                    "updatePolicy": {"updateMode": mode} if mode else {},
                    "resourcePolicy": {"containerPolicies": [policy]},
                },
                "status": {"recommendation": {"containerRecommendations": [target]}},
            }
        ]


def _cpu(pod: Object) -> int:
    """What a pod requests, in milli."""
    texts = [each["resources"].get("requests", {}).get("cpu", "0") for each in pod["spec"]["containers"]]
    return sum(int(text[:-1]) if text.endswith("m") else int(text) * 1000 for text in texts)
