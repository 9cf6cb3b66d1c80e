"""Where each kind lives in the API: group, version, plural name, and whether it belongs to a namespace.

The one table of API paths. A row also knows what its objects decode to, and the rule of a ClusterRole that permits an
action on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Raw, Struct

from restow.kube.kinds import KINDS
from restow.kube.objects import ConfigMap


class Resource(Struct, frozen=True):
    """One kind of objects as the API serves it."""

    kind: str
    #: The API group; empty for the core group.
    group: str
    version: str
    plural: str
    namespaced: bool
    #: What an object of this kind decodes to where it is listed or watched; bytes by default.
    type: Any = Raw

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of an object, or of all objects (of one namespace, where one is given)."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        within = f"/namespaces/{quote(namespace, safe='')}" if namespace and self.namespaced else ""
        tail = "".join(f"/{quote(part, safe='')}" for part in (name, subresource) if part)
        return f"{root}{within}/{self.plural}{tail}"

    def rule(self, verbs: Sequence[str], subresource: str = "") -> str:
        """The rule to add to a ClusterRole, in YAML's flow style."""
        plural = f"{self.plural}/{subresource}" if subresource else self.plural
        return f'{{apiGroups: ["{self.group}"], resources: ["{plural}"], verbs: [{", ".join(verbs)}]}}'


def _row(kind: str, group_version: str, plural: str, *, namespaced: bool) -> tuple[str, Resource]:
    group, _, version = group_version.rpartition("/")
    return kind, Resource(
        kind=kind, group=group, version=version, plural=plural, namespaced=namespaced, type=KINDS[kind]
    )


#: Every kind of ``KINDS`` that an API server has.
RESOURCES: Mapping[str, Resource] = dict(
    (
        _row("Node", "v1", "nodes", namespaced=False),
        _row("Pod", "v1", "pods", namespaced=True),
        _row("Namespace", "v1", "namespaces", namespaced=False),
        _row("PriorityClass", "scheduling.k8s.io/v1", "priorityclasses", namespaced=False),
        _row("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets", namespaced=True),
        _row("ReplicaSet", "apps/v1", "replicasets", namespaced=True),
        _row("Deployment", "apps/v1", "deployments", namespaced=True),
        _row("ReplicationController", "v1", "replicationcontrollers", namespaced=True),
        _row("StatefulSet", "apps/v1", "statefulsets", namespaced=True),
        _row("DaemonSet", "apps/v1", "daemonsets", namespaced=True),
        _row("Job", "batch/v1", "jobs", namespaced=True),
        _row("CronJob", "batch/v1", "cronjobs", namespaced=True),
        _row("Service", "v1", "services", namespaced=True),
        _row("PersistentVolumeClaim", "v1", "persistentvolumeclaims", namespaced=True),
        _row("PersistentVolume", "v1", "persistentvolumes", namespaced=False),
        _row("StorageClass", "storage.k8s.io/v1", "storageclasses", namespaced=False),
        _row("CSINode", "storage.k8s.io/v1", "csinodes", namespaced=False),
        _row("CSIDriver", "storage.k8s.io/v1", "csidrivers", namespaced=False),
        _row("CSIStorageCapacity", "storage.k8s.io/v1", "csistoragecapacities", namespaced=True),
        _row("VolumeAttachment", "storage.k8s.io/v1", "volumeattachments", namespaced=False),
        _row("NodeMetrics", "metrics.k8s.io/v1beta1", "nodes", namespaced=False),
        _row("PodMetrics", "metrics.k8s.io/v1beta1", "pods", namespaced=True),
    )
)

_ADMISSION = "admissionregistration.k8s.io"
CONFIG_MAPS = Resource(kind="ConfigMap", group="", version="v1", plural="configmaps", namespaced=True, type=ConfigMap)
SECRETS = Resource(kind="Secret", group="", version="v1", plural="secrets", namespaced=True)
LEASES = Resource(kind="Lease", group="coordination.k8s.io", version="v1", plural="leases", namespaced=True)
EVENTS = Resource(kind="Event", group="events.k8s.io", version="v1", plural="events", namespaced=True)
MUTATING_POLICY_BINDINGS = Resource(
    kind="MutatingAdmissionPolicyBinding",
    group=_ADMISSION,
    version="v1",
    plural="mutatingadmissionpolicybindings",
    namespaced=False,
)
MUTATING_WEBHOOKS = Resource(
    kind="MutatingWebhookConfiguration",
    group=_ADMISSION,
    version="v1",
    plural="mutatingwebhookconfigurations",
    namespaced=False,
)
VALIDATING_POLICY_BINDINGS = Resource(
    kind="ValidatingAdmissionPolicyBinding",
    group=_ADMISSION,
    version="v1",
    plural="validatingadmissionpolicybindings",
    namespaced=False,
)
ACCESS_REVIEWS = Resource(
    kind="SelfSubjectAccessReview",
    group="authorization.k8s.io",
    version="v1",
    plural="selfsubjectaccessreviews",
    namespaced=False,
)
