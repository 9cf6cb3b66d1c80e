"""Where each kind lives in the API: group, version, plural name, and whether it belongs to a namespace.

The one table of API paths. A row also knows what its objects decode to, and the rule of a ClusterRole that permits an
action on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Raw, Struct, structs

from restow.kube.objects import API_VERSIONS, KINDS, ConfigMap, written_kind


class ApiResource(Struct, frozen=True):
    """One kind of objects as the API serves it."""

    kind: str
    #: The API group; empty for the core group.
    group: str
    version: str
    plural: str
    namespaced: bool
    #: What an object of this kind decodes to where it is listed or watched; bytes by default.
    type: Any = Raw
    #: The version in which API servers serve it that do not have ``version`` yet; empty: they do not have the kind.
    older: str = ""

    @property
    def api_version(self) -> str:
        """Group and version, as its objects write them."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def versions(self) -> tuple[ApiResource, ...]:
        """The same kind in each of its versions, the newest first; of these an API server serves one, or none."""
        each = (self.version, self.older) if self.older else (self.version,)
        return tuple(structs.replace(self, version=version, older="") for version in each)

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of an object, or of all objects (of one namespace, where one is given)."""
        root = f"/{'apis' if self.group else 'api'}/{self.api_version}"
        within = f"/namespaces/{quote(namespace, safe='')}" if namespace and self.namespaced else ""
        tail = "".join(f"/{quote(part, safe='')}" for part in (name, subresource) if part)
        return f"{root}{within}/{self.plural}{tail}"

    def rule(self, verbs: Sequence[str], subresource: str = "") -> str:
        """The rule to add to a ClusterRole, in YAML's flow style."""
        plural = f"{self.plural}/{subresource}" if subresource else self.plural
        return f'{{apiGroups: ["{self.group}"], resources: ["{plural}"], verbs: [{", ".join(verbs)}]}}'


def _row(kind: str, plural: str, *, namespaced: bool, older: str = "") -> tuple[str, ApiResource]:
    group, _, version = API_VERSIONS[kind].rpartition("/")
    return kind, ApiResource(
        kind=written_kind(kind),
        group=group,
        version=version,
        plural=plural,
        namespaced=namespaced,
        type=KINDS[kind],
        older=older,
    )


#: Every kind of ``KINDS`` that an API server has.
RESOURCES: Mapping[str, ApiResource] = dict(
    (
        _row("Node", "nodes", namespaced=False),
        _row("Pod", "pods", namespaced=True),
        _row("Namespace", "namespaces", namespaced=False),
        _row("PriorityClass", "priorityclasses", namespaced=False),
        # v1alpha2 is that of Kubernetes 1.36.
        _row("PodGroup", "podgroups", namespaced=True, older="v1alpha2"),
        _row("Workload.scheduling.k8s.io", "workloads", namespaced=True),
        _row("PodGroup.scheduling.x-k8s.io", "podgroups", namespaced=True),
        _row("PodDisruptionBudget", "poddisruptionbudgets", namespaced=True),
        _row("ResourceQuota", "resourcequotas", namespaced=True),
        _row("ReplicaSet", "replicasets", namespaced=True),
        _row("Deployment", "deployments", namespaced=True),
        _row("ReplicationController", "replicationcontrollers", namespaced=True),
        _row("StatefulSet", "statefulsets", namespaced=True),
        _row("DaemonSet", "daemonsets", namespaced=True),
        _row("Job", "jobs", namespaced=True),
        _row("CronJob", "cronjobs", namespaced=True),
        _row("ControllerRevision", "controllerrevisions", namespaced=True),
        _row("VerticalPodAutoscaler", "verticalpodautoscalers", namespaced=True),
        _row("Service", "services", namespaced=True),
        _row("PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True),
        _row("PersistentVolume", "persistentvolumes", namespaced=False),
        _row("StorageClass", "storageclasses", namespaced=False),
        _row("CSINode", "csinodes", namespaced=False),
        _row("CSIDriver", "csidrivers", namespaced=False),
        _row("CSIStorageCapacity", "csistoragecapacities", namespaced=True),
        _row("VolumeAttachment", "volumeattachments", namespaced=False),
        _row("ResourceClaim", "resourceclaims", namespaced=True),
        _row("ResourceClaimTemplate", "resourceclaimtemplates", namespaced=True),
        _row("DeviceClass", "deviceclasses", namespaced=False),
        _row("ResourceSlice", "resourceslices", namespaced=False),
        _row("DeviceTaintRule", "devicetaintrules", namespaced=False),
        _row("NodeResourceTopology", "noderesourcetopologies", namespaced=False),
        _row("NodeMetrics", "nodes", namespaced=False),
        _row("PodMetrics", "pods", namespaced=True),
    )
)

_ADMISSION = "admissionregistration.k8s.io"
CONFIG_MAPS = ApiResource(
    kind="ConfigMap", group="", version="v1", plural="configmaps", namespaced=True, type=ConfigMap
)
SECRETS = ApiResource(kind="Secret", group="", version="v1", plural="secrets", namespaced=True)
LEASES = ApiResource(kind="Lease", group="coordination.k8s.io", version="v1", plural="leases", namespaced=True)
EVENTS = ApiResource(kind="Event", group="events.k8s.io", version="v1", plural="events", namespaced=True)
ENDPOINT_SLICES = ApiResource(
    kind="EndpointSlice", group="discovery.k8s.io", version="v1", plural="endpointslices", namespaced=True
)
HORIZONTAL_POD_AUTOSCALERS = ApiResource(
    kind="HorizontalPodAutoscaler",
    group="autoscaling",
    version="v2",
    plural="horizontalpodautoscalers",
    namespaced=True,
)
#: Of Argo.
ROLLOUTS = ApiResource(kind="Rollout", group="argoproj.io", version="v1alpha1", plural="rollouts", namespaced=True)
VIRTUAL_MACHINE_INSTANCES = ApiResource(
    kind="VirtualMachineInstance", group="kubevirt.io", version="v1", plural="virtualmachineinstances", namespaced=True
)
MIGRATIONS = ApiResource(
    kind="VirtualMachineInstanceMigration",
    group="kubevirt.io",
    version="v1",
    plural="virtualmachineinstancemigrations",
    namespaced=True,
)
MUTATING_POLICY_BINDINGS = ApiResource(
    kind="MutatingAdmissionPolicyBinding",
    group=_ADMISSION,
    version="v1",
    plural="mutatingadmissionpolicybindings",
    namespaced=False,
)
MUTATING_WEBHOOKS = ApiResource(
    kind="MutatingWebhookConfiguration",
    group=_ADMISSION,
    version="v1",
    plural="mutatingwebhookconfigurations",
    namespaced=False,
)
VALIDATING_POLICIES = ApiResource(
    kind="ValidatingAdmissionPolicy",
    group=_ADMISSION,
    version="v1",
    plural="validatingadmissionpolicies",
    namespaced=False,
)
VALIDATING_POLICY_BINDINGS = ApiResource(
    kind="ValidatingAdmissionPolicyBinding",
    group=_ADMISSION,
    version="v1",
    plural="validatingadmissionpolicybindings",
    namespaced=False,
)
ACCESS_REVIEWS = ApiResource(
    kind="SelfSubjectAccessReview",
    group="authorization.k8s.io",
    version="v1",
    plural="selfsubjectaccessreviews",
    namespaced=False,
)
SUBJECT_ACCESS_REVIEWS = ApiResource(
    kind="SubjectAccessReview",
    group="authorization.k8s.io",
    version="v1",
    plural="subjectaccessreviews",
    namespaced=False,
)
TOKEN_REVIEWS = ApiResource(
    kind="TokenReview", group="authentication.k8s.io", version="v1", plural="tokenreviews", namespaced=False
)
