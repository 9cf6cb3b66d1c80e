"""What random clusters lack where pods are really moved: everything that the scheduler asks of the pod that comes back.

Controllers and services, budgets that allow something, storage of every kind, host ports, pods that like each other,
images, pods that wait for a node or for victims to leave.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from builders import (
    HOSTNAME,
    ZONE,
    Object,
    a_pdb,
    a_pv,
    a_pvc,
    a_replica_set,
    a_service,
    a_storage_class,
    a_workload,
    claim_volume,
    node_term,
    pod_affinity,
    pod_anti_affinity,
    pod_term,
    selector,
)
from oracle.chance import Chance
from oracle.random_containers import IMAGES
from oracle.random_rules import NAMESPACES, NODE_NAMES, POD_LABELS, ZONES, label_selector

DRIVER = "csi.example.com"
#: Oddities that only clusters with moves know.
ODDITIES = ("alike", "ephemeral", "foreign", "images", "nominated", "ports", "sociable", "volumes")
#: Provisioner and binding mode of the storage classes.
CLASSES = {"gold": (DRIVER, "WaitForFirstConsumer"), "local": ("kubernetes.io/no-provisioner", "WaitForFirstConsumer")}
#: Access modes of a claim for all, and of one for a single pod.
SHARED, OWN = (("ReadWriteOnce",), ("ReadWriteMany",)), (("ReadWriteOnce",), ("ReadWriteOncePod",))
DISKS = ({"gcePersistentDisk": {"pdName": "disk"}}, {"awsElasticBlockStore": {"volumeID": "disk"}})


def enriched(chance: Chance, cluster: Sequence[Object]) -> list[Object]:
    """The cluster with more to it; its pods, nodes and budgets are changed in place."""
    odd = {oddity for oddity in ODDITIES if chance.maybe(0.35)}
    pods = [each for each in cluster if each["kind"] == "Pod"]
    nodes = [each for each in cluster if each["kind"] == "Node"]
    workloads: dict[tuple[str, str], list[Object]] = {}
    for pod in pods:
        workloads.setdefault(_workload(pod), []).append(pod)
    more = [*_controllers(workloads), *_services(chance), *_storage(chance, nodes)]
    for port, ((namespace, name), replicas) in enumerate(workloads.items(), start=8000):
        _make_demanding(chance, odd, replicas, port)
        if chance.maybe(0.5):
            more += _volumes(chance, odd, replicas, namespace, name)
    more += [_bind(chance, each, None) for each in cluster if each["kind"] == "PersistentVolumeClaim"]
    if "images" in odd:
        _store_images(chance, nodes)
    if "nominated" in odd:
        _nominate(chance, pods)
    if "alike" in odd:
        _make_alike(pods, nodes)
    _relax_budgets(chance, cluster)
    more.append(a_pdb("none", namespace="nowhere", selector={}))
    return [*cluster, *more]


def _make_demanding(chance: Chance, odd: set[str], pods: list[Object], port: int) -> None:
    """What all replicas of a workload ask for."""
    for pod in pods:
        _weigh(pod)
    if "sociable" in odd and chance.maybe(0.5):
        _make_sociable(chance, pods)
    if "ports" in odd and chance.maybe(0.4):
        _open_port(port, pods)
    if "foreign" in odd and chance.maybe(0.1):
        for pod in pods:
            pod["spec"]["schedulerName"] = "another"


def _relax_budgets(chance: Chance, cluster: Sequence[Object]) -> None:
    for each in cluster:
        if each["kind"] == "PodDisruptionBudget":
            each["status"]["disruptionsAllowed"] = chance.choice([0, 1, 1, 2, 3, 9])


def _weigh(pod: Object) -> None:
    """Preferences have weights of 1 to 100: others the API server refuses, and the scheduler breaks off at them."""
    affinity = pod["spec"].get("affinity") or {}
    for term in affinity.get("nodeAffinity", {}).get("preferredDuringSchedulingIgnoredDuringExecution") or ():
        term["weight"] = max(1, term["weight"])


def _workload(pod: Object) -> tuple[str, str]:
    metadata = pod["metadata"]
    owners = metadata.get("ownerReferences") or [{"name": f"bare-{metadata['name']}"}]
    return metadata.get("namespace", "default"), owners[0]["name"]


def _controllers(workloads: dict[tuple[str, str], list[Object]]) -> Iterator[Object]:
    for (namespace, name), pods in workloads.items():
        owners = pods[0]["metadata"].get("ownerReferences") or []
        wanted = selector(labels=pods[0]["metadata"].get("labels"))
        if owners and owners[0]["kind"] == "ReplicaSet":
            yield a_replica_set(name, namespace=namespace, replicas=len(pods), selector=wanted)
        if owners and owners[0]["kind"] == "StatefulSet":
            yield a_workload("StatefulSet", name, namespace=namespace, replicas=len(pods), selector=wanted)
    yield a_replica_set("idle", namespace="nowhere")
    yield a_workload("StatefulSet", "idle", namespace="nowhere", selector=selector(labels={"a": "b"}))
    yield a_workload("ReplicationController", "idle", namespace="nowhere", selector={"a": "b"})


def _services(chance: Chance) -> Iterator[Object]:
    yield a_service("idle", namespace="nowhere", selector={"a": "b"})
    for namespace in NAMESPACES:
        if chance.maybe(0.5):
            yield a_service("front", namespace=namespace, selector={"app": chance.choice(POD_LABELS["app"])})


def _storage(chance: Chance, nodes: Sequence[Object]) -> Iterator[Object]:
    """What every cluster has: classes, volumes that wait to be claimed, drivers."""
    for name, (provisioner, binding) in CLASSES.items():
        made = a_storage_class(name, provisioner=provisioner, binding=binding)
        if name == "gold" and chance.maybe(0.3):
            values = chance.some(ZONES, most=3)
            made["allowedTopologies"] = [{"matchLabelExpressions": [{"key": ZONE, "values": values}]}]
        yield made
    yield a_storage_class("silver")
    for node in nodes:
        name = node["metadata"]["name"]
        limit = {"allocatable": {"count": chance.randint(1, 4)}} if chance.maybe(0.4) else {}
        drivers = [{"name": DRIVER, "nodeID": name} | limit]
        yield {"kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": drivers}}
    for index in range(chance.randint(1, 4)):
        yield _tied(chance, f"free-{index}", "local", (HOSTNAME, NODE_NAMES))
    yield {"kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": {"storageCapacity": False}}
    yield {
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "much", "namespace": "nowhere"},
        "storageClassName": "none",
        "capacity": "9Gi",
    }


def _tied(chance: Chance, name: str, storage_class: str, where: tuple[str, Sequence[str]] | None) -> Object:
    """A volume that can be reached from some places only."""
    volume = a_pv(name, storage_class=storage_class, driver=DRIVER) | {"status": {"phase": "Available"}}
    if where is not None:
        terms = [node_term((where[0], "In", *chance.some(where[1], most=3)))]
        volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return volume


def _volumes(chance: Chance, odd: set[str], pods: list[Object], namespace: str, name: str) -> Iterator[Object]:
    """Volumes for all pods of a workload: one for all, one for each, one that comes with each, or a disk."""
    kinds = {"one": 3, "each": 3, "disk": 1} if "volumes" in odd else {}
    kinds |= {"ephemeral": 3} if "ephemeral" in odd else {}
    if not kinds:
        return
    kind = chance.weighted(kinds)
    if kind == "disk":
        for pod in pods:
            _mount(pod, {"name": "disk"} | DISKS[len(name) % 2])
        return
    place = chance.choice([None, (ZONE, ZONES), (ZONE, ZONES), (HOSTNAME, NODE_NAMES)])
    for pod in pods:
        own = pod["metadata"]["name"]
        if kind == "one":
            _mount(pod, claim_volume(f"{name}-data"))
        elif kind == "each":
            _mount(pod, claim_volume(f"{own}-data"))
            yield from _bound_claim(chance, namespace, f"{own}-data", chance.choice(OWN), place)
        else:
            _mount(pod, {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}})
            volume, claim = _bound_claim(chance, namespace, f"{own}-data", chance.choice(OWN), place)
            owner = {"apiVersion": "v1", "kind": "Pod", "name": own, "uid": pod["metadata"]["uid"], "controller": True}
            claim["metadata"]["ownerReferences"] = [owner]
            yield from (volume, claim)
    if kind == "one":
        yield from _bound_claim(chance, namespace, f"{name}-data", chance.choice(SHARED), place)


def _bound_claim(
    chance: Chance, namespace: str, name: str, modes: tuple[str, ...], place: tuple[str, Sequence[str]] | None
) -> tuple[Object, Object]:
    """A volume and the claim that has it."""
    claim = a_pvc(name, namespace=namespace, storage_class="gold", access_modes=modes)
    return _bind(chance, claim, place), claim


def _bind(chance: Chance, claim: Object, place: tuple[str, Sequence[str]] | None) -> Object:
    """A volume for a claim."""
    metadata = claim["metadata"]
    name = f"pv-{metadata['namespace']}-{metadata['name']}"
    claim["spec"]["volumeName"], claim["status"] = name, {"phase": "Bound"}
    metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    volume = _tied(chance, name, claim["spec"].get("storageClassName", ""), place)
    volume["spec"]["accessModes"] = claim["spec"]["accessModes"]
    reference = {key: metadata[key] for key in ("namespace", "name", "uid")}
    volume["spec"]["claimRef"] = reference
    return volume | {"status": {"phase": "Bound"}}


def _mount(pod: Object, volume: Object) -> None:
    pod["spec"]["volumes"] = [*(pod["spec"].get("volumes") or []), volume]


def _make_sociable(chance: Chance, pods: list[Object]) -> None:
    """Pod affinity, and preferred anti-affinity, for all replicas of a workload."""
    labels = pods[0]["metadata"].get("labels") or {}
    topology = chance.weighted({HOSTNAME: 3, ZONE: 4, "pool": 2})
    term = pod_term(label_selector(chance, labels) or selector(), topology=topology)
    weight = chance.choice([1, 10, 100])
    made = chance.choice(
        [pod_affinity([term]), pod_affinity(preferred=[(weight, term)]), pod_anti_affinity(preferred=[(weight, term)])]
    )
    for pod in pods:
        pod["spec"]["affinity"] = made | (pod["spec"].get("affinity") or {})


def _open_port(port: int, pods: list[Object]) -> None:
    """A host port for pods of a workload, of which no two are on the same node."""
    taken = set()
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node in taken:
            continue
        taken |= {node} - {None}
        containers = pod["spec"]["containers"]
        pod["spec"]["containers"] = [containers[0] | {"ports": [{"containerPort": port, "hostPort": port}]}]
        pod["spec"]["containers"] += containers[1:]


def _make_alike(pods: list[Object], nodes: list[Object]) -> None:
    """Nodes of one size and pods that ask for nothing, so that several nodes are the best."""
    for node in nodes:
        node["status"]["allocatable"] = node["status"]["capacity"] = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    for pod in pods:
        for container in pod["spec"]["containers"]:
            container["resources"] = {}


def _store_images(chance: Chance, nodes: list[Object]) -> None:
    for node in nodes:
        stored = [image for image in IMAGES if chance.maybe(0.4)]
        node["status"]["images"] = [{"names": [image], "sizeBytes": chance.choice([50, 400]) << 20} for image in stored]


def _nominate(chance: Chance, pods: list[Object]) -> None:
    """Pods that wait for the victims of their preemption to leave."""
    for pod in pods:
        if "nodeName" not in pod["spec"] and chance.maybe(0.5):
            pod.setdefault("status", {})["nominatedNodeName"] = chance.choice(NODE_NAMES)
