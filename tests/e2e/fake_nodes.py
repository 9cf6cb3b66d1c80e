"""Nodes whose kubelets kwok plays.

A kubelet deletes a pod by its uid. kwok deletes by name, and sometimes twice: on a busy machine its second call meets the
pod of the same name that a StatefulSet has made meanwhile. A validating policy refuses that call.
"""

from __future__ import annotations

from typing import Any

from builders import HOSTNAME, ZONE, Object, a_node

#: The label of nodes that kwok leaves alone: their pods are processes (``e2e.kubelet``).
PROCESSES = "test/processes"
#: Strings of a node's ``nodeInfo``; the API server wants all of them.
_INFO = {
    "architecture": "amd64",
    "bootID": "none",
    "containerRuntimeVersion": "kwok",
    "kernelVersion": "kwok",
    "kubeProxyVersion": "kwok",
    "kubeletVersion": "v1.36.1",
    "machineID": "none",
    "operatingSystem": "linux",
    "osImage": "kwok",
    "systemUUID": "none",
}
_ADMISSION = "admissionregistration.k8s.io/v1"
_BY_UID = {"name": "kwok-deletes-what-terminates"}
#: Keeps kwok from deleting a pod that nobody else has deleted.
GUARD: tuple[Object, ...] = (
    {
        "apiVersion": _ADMISSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": _BY_UID,
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]}
                ]
            },
            "matchConditions": [{"name": "kwok", "expression": "request.userInfo.username == 'kwok'"}],
            "validations": [{"expression": "has(oldObject.metadata.deletionTimestamp)"}],
        },
    },
    {
        "apiVersion": _ADMISSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": _BY_UID,
        "spec": {"policyName": _BY_UID["name"], "validationActions": ["Deny"]},
    },
)
#: Taints that the API server and the controllers put on nodes that are not ready yet.
_NOT_YET = "node.kubernetes.io/"


def a_fake_node(
    name: str,
    *,
    zone: str = "a",
    address: str = "127.0.0.1",
    labels: Object | None = None,
    annotations: Object | None = None,
    **features: Any,
) -> Object:
    """A node as its kubelet would register it; ``features`` are those of ``builders.a_node``: cpu, memory, taints..."""
    own = {HOSTNAME: name, ZONE: zone, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    node = a_node(
        name,
        labels=own | (labels or {}),
        annotations={"kwok.x-k8s.io/node": "fake"} | (annotations or {}),
        **features,
    )
    node["status"] |= {
        "phase": "Running",
        "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
        "nodeInfo": _INFO,
    }
    return node


def is_usable(node: Object) -> bool:
    """Whether pods can go there as far as its readiness goes; a node that is cordoned is usable."""
    taints = [taint["key"] for taint in node["spec"].get("taints", ())]
    watched = [key for key in taints if key.startswith(_NOT_YET) and not key.endswith("/unschedulable")]
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in node["status"].get("conditions", ()))
    return ready and not watched


def is_cordoned(node: Object) -> bool:
    """Whether the taint says so, which is all that the scheduler and the controllers look at in the end."""
    return any(taint["key"] == f"{_NOT_YET}unschedulable" for taint in node["spec"].get("taints", ()))
