"""The volume controller and the provisioner, played for the claims of one pod: what a scheduler waits for is done."""

from __future__ import annotations

from builders import Object, a_pv
from e2e.kinds import collection
from e2e.rest import Rest, name_of

_SELECTED = "volume.kubernetes.io/selected-node"
_BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def bind_claims(rest: Rest, pod: Object) -> None:
    """Bind the claims of a pod for which a scheduler has chosen a volume, or a node where one is to be made."""
    namespace = pod["metadata"]["namespace"]
    for name in claims_of(pod):
        claim = rest.find("PersistentVolumeClaim", name, namespace)
        if claim is None or claim["spec"].get("volumeName"):
            continue
        volume = _chosen(rest, claim)
        if volume is None and _SELECTED in claim["metadata"].get("annotations", {}):
            volume = name_of(rest.create(_provisioned(claim)))
        if volume is not None:
            _bind(rest, name, namespace, volume)


def claims_of(pod: Object) -> list[str]:
    """The claims that a pod names."""
    volumes = (each.get("persistentVolumeClaim") for each in pod["spec"].get("volumes", ()))
    return [each["claimName"] for each in volumes if each]


def _bind(rest: Rest, name: str, namespace: str, volume: str) -> None:
    """Bind a claim to a volume that refers to it."""
    change = {"metadata": {"annotations": _BOUND}, "spec": {"volumeName": volume}}
    rest.patch("PersistentVolume", volume, {"status": {"phase": "Bound"}}, part="status")
    rest.patch("PersistentVolumeClaim", name, change, namespace)
    rest.patch("PersistentVolumeClaim", name, {"status": {"phase": "Bound"}}, namespace, part="status")


def _chosen(rest: Rest, claim: Object) -> str | None:
    volumes = rest.call("GET", collection("PersistentVolume", None))["items"]
    uid = claim["metadata"]["uid"]
    return next((name_of(each) for each in volumes if each["spec"].get("claimRef", {}).get("uid") == uid), None)


def _provisioned(claim: Object) -> Object:
    about = claim["metadata"]
    reference = {"kind": "PersistentVolumeClaim"} | {key: about[key] for key in ("namespace", "name", "uid")}
    made = a_pv(f"made-{about['name']}", storage_class=claim["spec"]["storageClassName"], size="3Gi")
    made["metadata"] = {"name": made["metadata"]["name"]}
    made["spec"]["claimRef"] = reference
    return made
