"""Small random clusters whose pods use volumes of every kind: claims, ephemeral volumes and disks of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from builders import HOSTNAME, ZONE, a_node, a_pod, a_pv, a_pvc, a_storage_class, claim_volume, node_term, selector

if TYPE_CHECKING:
    from builders import Object
    from oracle.chance import Chance

BETA_ZONE, REGION = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
#: What tells a zone to the drivers that replaced built-in ones, and those that were replaced.
DRIVER_ZONES = ("topology.gke.io/zone", "topology.ebs.csi.aws.com/zone", "topology.cinder.csi.openstack.org/zone")
REPLACED = ("kubernetes.io/gce-pd", "kubernetes.io/aws-ebs", "kubernetes.io/cinder", "kubernetes.io/azure-disk")
DRIVERS = ("a.example.com", "b.example.com")
#: Provisioner and binding mode of the classes that may exist; "gone" never does.
CLASSES = {
    "now": (DRIVERS[0], "Immediate"),
    "later": (DRIVERS[0], "WaitForFirstConsumer"),
    "zonal": (DRIVERS[1], "WaitForFirstConsumer"),
    "local": ("kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
    "moved": ("kubernetes.io/gce-pd", "WaitForFirstConsumer"),
}
MODES = (("ReadWriteOnce",), ("ReadWriteOncePod",), ("ReadWriteOnce", "ReadOnlyMany"), ("ReadWriteMany",))
#: Built-in disks of volumes; the first two also of pods.
DISKS = ("gcePersistentDisk", "awsElasticBlockStore", "azureDisk", "cinder", "portworxVolume")
ZONES = ("x", "y", "z")


def a_storage_cluster(chance: Chance) -> list[Object]:
    """Nodes, storage objects, pods on nodes, and one to three pods that wait; their names say in which order."""
    nodes = [_node(chance, f"n{index}") for index in range(chance.randint(2, 5))]
    volumes = [_volume(chance, f"v{index}", f"{index + 1}Gi") for index in range(chance.randint(3, 7))]
    claims = [_claim(chance, f"c{index}", len(volumes), len(nodes)) for index in range(chance.randint(4, 9))]
    cluster = [*nodes, *volumes, *claims, *_classes(chance), *_csi(chance, nodes, volumes)]
    for index in range(chance.randint(0, 5)):
        cluster += _pod(chance, f"u{index}", claims, node=chance.choice(nodes)["metadata"]["name"])
    for index in range(chance.randint(1, 3)):
        cluster += _pod(chance, f"w{index}", claims)
    return cluster


def _node(chance: Chance, name: str) -> Object:
    labels = {HOSTNAME: name}
    for key, share in ((ZONE, 0.7), (BETA_ZONE, 0.3), (REGION, 0.3)):
        if chance.maybe(share):
            labels[key] = chance.choice(ZONES)
    for key in DRIVER_ZONES:
        if chance.maybe(0.6):
            labels[key] = labels.get(ZONE, "x") if chance.maybe(0.7) else chance.choice(ZONES)
    return a_node(name, labels=labels)


def _volume(chance: Chance, name: str, size: str) -> Object:
    volume = a_pv(name, storage_class=chance.choice(("", *CLASSES)), size=size, driver=chance.choice(DRIVERS))
    spec = volume["spec"]
    if chance.maybe(0.3):
        del spec["csi"]
        spec |= _disk(chance, DISKS)
    if chance.maybe(0.4):
        keys = chance.some((ZONE, HOSTNAME)) if chance.maybe(0.8) else chance.some((BETA_ZONE, REGION, BETA_REGION))
        places = {HOSTNAME: ("n0", "n1", "n2")}
        terms = [[(key, "In", *chance.some(places.get(key, ZONES), most=3)) for key in keys] for _ in range(2)]
        found = [node_term(*each) for each in terms[: chance.choice([0, 1, 1, 1, 2, 2])]]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": found}}
    if chance.maybe(0.4):
        # Labels of built-in disks that name several zones may be an error to upstream's translation.
        names = ("x", "y", "x__z", "x__") if "csi" in spec else ("x", "y")
        labels = {chance.choice((ZONE, BETA_ZONE, REGION, "disk")): chance.choice(names)}
        volume["metadata"]["labels"] = labels
    if chance.maybe(0.2):
        spec["claimRef"] = {"namespace": "default", "name": f"c{chance.randint(0, 5)}"}
    if chance.maybe(0.1):
        spec["claimRef"] = {"namespace": "default", "name": "c1", "uid": "another"}
    spec["accessModes"] = list(chance.choice(MODES))
    _oddities(chance, spec)
    if chance.maybe(0.05):
        volume["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return volume | {"status": {"phase": chance.weighted({"Available": 4, "Bound": 1})}}


def _oddities(chance: Chance, spec: Object) -> None:
    if chance.maybe(0.1):
        spec["volumeMode"] = chance.choice(("Block", "Filesystem"))
    if chance.maybe(0.1):
        spec["volumeAttributesClassName"] = chance.choice(("fast", ""))


def _disk(chance: Chance, kinds: tuple[str, ...], *, read_only: bool = False) -> Object:
    kind = chance.choice(kinds)
    name = chance.choice(("vol-1", "vol-2"))
    key = {"gcePersistentDisk": "pdName", "azureDisk": "diskURI", "iscsi": "iqn"}.get(kind, "volumeID")
    source: Object = {key: name}
    if kind == "rbd":
        monitors = chance.sample(["a", "b", "c"], 2)
        source = {"monitors": monitors, "pool": chance.choice(("p", "q")), "image": name}
    return {kind: source | ({"readOnly": True} if read_only else {})}


def _claim(chance: Chance, name: str, volumes: int, nodes: int) -> Object:
    size = f"{chance.randint(1, 6)}Gi"
    modes = chance.choice(MODES)
    storage_class = chance.weighted({**dict.fromkeys(("later", "zonal", "local", "moved"), 3), "now": 1, "gone": 0.3})
    annotations = {}
    volume = f"v{chance.randint(0, volumes)}" if chance.maybe(0.5) else None
    if volume is not None and chance.maybe(0.95):
        annotations["pv.kubernetes.io/bind-completed"] = "yes"
    if chance.maybe(0.1):
        annotations["volume.kubernetes.io/selected-node"] = f"n{chance.randint(0, nodes)}"
    if chance.maybe(0.1):
        annotations["volume.beta.kubernetes.io/storage-class"] = chance.choice(("later", "local", ""))
    named = storage_class if chance.maybe(0.95) else None
    claim = a_pvc(name, volume=volume, storage_class=named, size=size, access_modes=modes)
    claim["metadata"]["annotations"] = annotations
    _oddities(chance, claim["spec"])
    if chance.maybe(0.1):
        claim["spec"]["selector"] = selector((chance.choice((ZONE, "disk")), "In", "x", "y"))
    if chance.maybe(0.05):
        claim["spec"]["resources"] = {}
    if chance.maybe(0.04):
        claim["status"] = {"phase": "Lost"}
    if chance.maybe(0.04):
        claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return claim


def _classes(chance: Chance) -> list[Object]:
    made = [a_storage_class(name, provisioner=by, binding=mode) for name, (by, mode) in CLASSES.items()]
    for each in made:
        if chance.maybe(0.6 if each["metadata"]["name"] == "zonal" else 0.1):
            values = chance.some(ZONES)
            each["allowedTopologies"] = [{"matchLabelExpressions": [{"key": ZONE, "values": values}]}]
    return made


def _csi(chance: Chance, nodes: list[Object], volumes: list[Object]) -> list[Object]:
    made = [_csi_node(chance, node["metadata"]["name"]) for node in nodes if chance.maybe(0.7)]
    for driver in DRIVERS:
        if chance.maybe(0.5):
            spec = {"storageCapacity": chance.maybe(0.7), "preventPodSchedulingIfMissing": chance.maybe(0.3)}
            made.append({"kind": "CSIDriver", "metadata": {"name": driver}, "spec": spec})
    made += [_capacity(chance, f"s{index}") for index in range(chance.randint(0, 4))]
    for index in range(chance.randint(0, 3)):
        names = {"nodeName": chance.choice(nodes)["metadata"]["name"], "attacher": chance.choice(DRIVERS)}
        source = {"persistentVolumeName": chance.choice(volumes)["metadata"]["name"]}
        made.append(
            {"kind": "VolumeAttachment", "metadata": {"name": f"a{index}"}, "spec": {**names, "source": source}}
        )
    return made


def _csi_node(chance: Chance, name: str) -> Object:
    drivers: list[Any] = []
    for driver in (*DRIVERS, "pd.csi.storage.gke.io", "ebs.csi.aws.com", "disk.csi.azure.com"):
        limit = {"allocatable": {"count": chance.randint(0, 3)}} if chance.maybe(0.7) else {}
        drivers.append({"name": driver, "nodeID": name} | limit)
    replaced = ",".join(chance.some(REPLACED, most=4)) if chance.maybe(0.6) else ""
    metadata = {"name": name, "annotations": {"storage.alpha.kubernetes.io/migrated-plugins": replaced}}
    return {"kind": "CSINode", "metadata": metadata, "spec": {"drivers": drivers}}


def _capacity(chance: Chance, name: str) -> Object:
    capacity: Object = {
        "kind": "CSIStorageCapacity",
        "metadata": {"name": name, "namespace": "kube-system"},
        "storageClassName": chance.choice(("later", "zonal")),
        "capacity": f"{chance.randint(1, 6)}Gi",
    }
    if chance.maybe(0.9):
        capacity["nodeTopology"] = {"matchLabels": {ZONE: chance.choice(ZONES)}} if chance.maybe(0.8) else {}
    if chance.maybe(0.3):
        capacity["maximumVolumeSize"] = f"{chance.randint(1, 6)}Gi"
    return capacity


def _pod(chance: Chance, name: str, claims: list[Object], node: str | None = None) -> list[Object]:
    """A pod, after the claims of its ephemeral volumes."""
    volumes: list[Object] = []
    made: list[Object] = []
    for index in range(chance.randint(1, 3)):
        match chance.weighted({"claim": 6, "disk": 2, "ephemeral": 1, "missing": 0.1}):
            case "claim":
                volumes.append(claim_volume(chance.choice(claims)["metadata"]["name"]) | {"name": f"d{index}"})
            case "disk":
                disk = _disk(chance, (*DISKS[:2], "iscsi", "rbd"), read_only=chance.maybe(0.4))
                volumes.append({"name": f"d{index}"} | disk)
            case "ephemeral":
                volumes.append({"name": f"e{index}", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}})
                made += _own_claim(chance, name, f"e{index}", waits=node is None)
            case _:
                volumes.append(claim_volume("missing"))
    return [*made, a_pod(name, node=node, volumes=volumes, cpu="1m")]


def _own_claim(chance: Chance, pod: str, volume: str, *, waits: bool) -> list[Object]:
    """The claim of an ephemeral volume, most of the time; a pod that waits may find one that is not its own."""
    claim = _claim(chance, f"{pod}-{volume}", 3, 2)
    if not (waits and chance.maybe(0.1)):
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "controller": True}
        claim["metadata"]["ownerReferences"] = [owner | {"uid": a_pod(pod)["metadata"]["uid"]}]
    return [claim] if chance.maybe(0.9) else []
