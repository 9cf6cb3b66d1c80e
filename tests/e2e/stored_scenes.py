"""Random scenes on a real API server: what it accepts of them, in the order in which it does.

Nobody but the API server has a say: no controllers and no kubelets run, so a scene stays as it was made. The pods that
wait are gated, and wait for ``ungate``.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from builders import Object, a_namespace, a_priority_class
from e2e.claim_binding import claims_of
from e2e.control_plane import ControlPlane
from e2e.kinds import collection
from e2e.rest import Rest, name_of
from scheduling.random_scenes import EXCLUSIVE, GPU, Scene

#: The scheduler that all waiting pods name.
NAME = "my-scheduler"
#: Flags without which nodes are tainted, claims kept and accounts wanted by controllers that are not there.
FLAGS = ("--disable-admission-plugins=TaintNodesByCondition,StorageObjectInUseProtection,ServiceAccount",)
#: Of a scene, in the order in which they are created, as far as they have one.
KINDS = (
    "Node",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Service",
    "ReplicaSet",
    "PodDisruptionBudget",
    "CSINode",
    "Pod",
)
NAMESPACES = {"default": "x", "other": "y"}
#: Workloads that only wait, beside those of the scene.
_GUESTS = 4
_GATE = [{"name": "example.com/later"}]
_PRIORITIES = (0, 5, 10, 100)
#: Of pods that terminate for ever: nobody may wait for them to leave, so nobody preempts them.
_TOP = 1000
_NEVER_ENDING = 3600


def prepare(rest: Rest) -> None:
    """Make what all scenes share."""
    for name, team in NAMESPACES.items():
        if rest.find("Namespace", name) is None:
            rest.create(a_namespace(name))
        rest.patch("Namespace", name, {"metadata": {"labels": {"team": team}}})
    rest.create(a_priority_class(f"p{_TOP}", _TOP))
    for value in _PRIORITIES:
        rest.create(a_priority_class(f"p{value}", value))
        rest.create(a_priority_class(f"p{value}-never", value) | {"preemptionPolicy": "Never"})


def make(plane: ControlPlane, seed: int) -> list[tuple[str, str]]:
    """Create a scene where none is; returns namespace and name of the pods that wait, in the order for scheduling them."""
    rest, objects = plane.admin, _objects(seed)
    for kind in KINDS:
        made = [each for each in objects if each["kind"] == kind and not _pod_of(each)]
        rest.create_all([_accepted(each) for each in made])
        rest.together(_complete, [(rest, each) for each in made])
    _claims_of_pods(rest, [each for each in objects if _pod_of(each)])
    waiting = sorted(_key(each) for each in objects if each["kind"] == "Pod" and _waits(each))
    Random(seed).shuffle(waiting)
    return waiting


def clear(rest: Rest) -> None:
    """Delete whatever ``make`` has created, and what came of it."""
    for kind in reversed(KINDS):
        paths = {collection(kind, namespace) for namespace in NAMESPACES}
        for path in sorted(paths):
            rest.call("DELETE", path, {"gracePeriodSeconds": 0})


def ungate(rest: Rest, namespace: str, name: str) -> None:
    """Let a pod be scheduled."""
    rest.patch("Pod", name, {"spec": {"schedulingGates": None}}, namespace)


def stored(rest: Rest) -> list[Object]:
    """Everything that decisions depend on, as it is now."""
    kinds = (*KINDS, "Namespace")
    lists = rest.together(rest.call, [("GET", collection(kind, None)) for kind in kinds])
    return [{"kind": kind} | item for kind, found in zip(kinds, lists, strict=True) for item in found["items"]]


def _objects(seed: int) -> list[Object]:
    """A scene with more pods that wait. Nobody of it is nominated: only preemption does that here."""
    scene = Scene(seed)
    scene.rules.discard("nominated")
    objects = scene.objects()
    for number in range(20, 20 + _GUESTS):
        for each in scene.workload(number):
            if each["kind"] == "Pod":
                each["spec"].pop("nodeName", None)
                each["metadata"].pop("deletionTimestamp", None)
            objects.append(each)
    _part_ports(objects)
    _part_claims(objects)
    _size_images(objects)
    _enlarge(objects)
    return objects


def _part_claims(objects: Iterable[Object]) -> None:
    """Have one pod use a claim that only one may use, and nobody in another namespace one of its name.

    Of such users kube-scheduler's preemption makes something else than restow's, on purpose.
    """
    used = set[str]()
    for pod in (each for each in objects if each["kind"] == "Pod"):
        own = {name for name in claims_of(pod) if name in EXCLUSIVE}
        if pod["metadata"].get("namespace") == "other" or (not _waits(pod) and own & used):
            volumes = pod["spec"].get("volumes", ())
            pod["spec"]["volumes"] = [each for each in volumes if each["name"] not in EXCLUSIVE]
        elif not _waits(pod):
            used |= own


def _size_images(objects: Iterable[Object]) -> None:
    """Have an image the same size on all nodes, as it has outside of tests.

    kube-scheduler goes by the node that it has heard of first, restow by the first one by name.
    """
    sizes: dict[str, int] = {}
    for node in (each for each in objects if each["kind"] == "Node"):
        for image in node["status"].get("images", ()):
            image["sizeBytes"] = sizes.setdefault(image["names"][0], image["sizeBytes"])


def _enlarge(objects: Iterable[Object]) -> None:
    """Make room on most nodes for the pods that have come on top."""
    for position, node in enumerate(each for each in objects if each["kind"] == "Node"):
        room = node["status"]["allocatable"]
        if position % 3:
            room |= {"cpu": str(3 * int(room["cpu"])), "memory": "24Gi", "pods": "30"}
            node["status"]["capacity"] = room


def _part_ports(objects: Iterable[Object]) -> None:
    """Take host ports from pods where others on their node have them already, as no kubelet would allow.

    kube-scheduler takes such a port for free as soon as one of the pods goes.
    """
    taken = set[tuple[str, int]]()
    for pod in objects:
        if pod["kind"] != "Pod" or _waits(pod):
            continue
        for container in pod["spec"]["containers"]:
            used = {(pod["spec"]["nodeName"], each["hostPort"]) for each in container.get("ports", ())}
            if used & taken:
                del container["ports"]
            else:
                taken |= used


def _accepted(thing: Object) -> Object:
    """An object as somebody would create it; its status comes later, except for a node's, which registers with it."""
    metadata = {key: value for key, value in thing["metadata"].items() if key not in _SERVERS}
    made = {key: value for key, value in thing.items() if key != "status" or thing["kind"] == "Node"}
    made |= {"metadata": metadata, "apiVersion": _version(thing["kind"])}
    adapt = {"Pod": _pod, "Service": _service, "ReplicaSet": _replica_set}.get(thing["kind"])
    return made if adapt is None else made | {"spec": adapt(thing)}


#: What the API server says of objects itself.
_SERVERS = ("uid", "creationTimestamp", "deletionTimestamp")


def _version(kind: str) -> str:
    return collection(kind, None).removeprefix("/apis/").removeprefix("/api/").rpartition("/")[0]


def _pod(pod: Object) -> Object:
    leaves = "deletionTimestamp" in pod["metadata"]
    spec = {key: value for key, value in pod["spec"].items() if key not in ("priority", "preemptionPolicy")}
    never = "-never" if "preemptionPolicy" in pod["spec"] and not leaves else ""
    own = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    spec["volumes"] = [
        {"name": each["name"], "ephemeral": {"volumeClaimTemplate": {"spec": own}}} if "ephemeral" in each else each
        for each in spec.get("volumes", ())
    ]
    if rules := spec.get("topologySpreadConstraints"):
        spec["topologySpreadConstraints"] = list(
            {(r["topologyKey"], r["whenUnsatisfiable"]): r for r in rules}.values()
        )
    return spec | {
        "containers": [_container(each) for each in spec["containers"]],
        "priorityClassName": f"p{_TOP if leaves else pod['spec'].get('priority', 0)}{never}",
        # Victims are gone as soon as they are deleted.
        "terminationGracePeriodSeconds": _NEVER_ENDING if leaves else 0,
        **({"schedulerName": NAME, "schedulingGates": _GATE} if _waits(pod) else {}),
    }


def _container(container: Object) -> Object:
    """Extended resources are limited to what is requested."""
    requests = container.get("resources", {}).get("requests", {})
    limits = {name: amount for name, amount in requests.items() if name == GPU}
    return container | ({"resources": {"requests": requests, "limits": limits}} if limits else {})


def _service(service: Object) -> Object:
    return {**service["spec"], "ports": [{"port": 80}]}


def _replica_set(owner: Object) -> Object:
    (rule,) = owner["spec"]["selector"]["matchExpressions"]
    template = {
        "metadata": {"labels": {"app": rule["values"][0]}},
        "spec": {"containers": [{"name": "c", "image": "a"}]},
    }
    return {**owner["spec"], "replicas": 0, "template": template}


def _complete(rest: Rest, thing: Object) -> None:
    """Write the status, and delete what terminates."""
    namespace, name = _key(thing)
    if thing["kind"] != "Node" and thing.get("status") and not (thing["kind"] == "Pod" and _waits(thing)):
        rest.patch(thing["kind"], name, {"status": thing["status"]}, namespace, part="status")
    if "deletionTimestamp" in thing["metadata"]:
        rest.delete(thing["kind"], name, namespace)


def _claims_of_pods(rest: Rest, claims: Iterable[Object]) -> None:
    """Create the claims of ephemeral volumes, which name the pods by their uids."""
    for claim in claims:
        namespace, _ = _key(claim)
        (owner,) = claim["metadata"]["ownerReferences"]
        uid = rest.get("Pod", owner["name"], namespace)["metadata"]["uid"]
        claim["metadata"]["ownerReferences"] = [owner | {"apiVersion": "v1", "uid": uid}]
        rest.create(_accepted(claim))
        _complete(rest, claim)


def _pod_of(thing: Object) -> bool:
    return thing["kind"] == "PersistentVolumeClaim" and "ownerReferences" in thing["metadata"]


def _waits(pod: Object) -> bool:
    return "nodeName" not in pod["spec"]


def _key(thing: Object) -> tuple[str, str]:
    return thing["metadata"].get("namespace", "default"), name_of(thing)
