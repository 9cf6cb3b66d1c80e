"""Where objects of each kind are in the API."""

from __future__ import annotations

_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
#: Path of the group and version, plural, whether in namespaces.
_KINDS: dict[str, tuple[str, str, bool]] = {
    "Namespace": ("/api/v1", "namespaces", False),
    "Node": ("/api/v1", "nodes", False),
    "Pod": ("/api/v1", "pods", True),
    "Service": ("/api/v1", "services", True),
    "ServiceAccount": ("/api/v1", "serviceaccounts", True),
    "ConfigMap": ("/api/v1", "configmaps", True),
    "Secret": ("/api/v1", "secrets", True),
    "ResourceQuota": ("/api/v1", "resourcequotas", True),
    "LimitRange": ("/api/v1", "limitranges", True),
    "ReplicationController": ("/api/v1", "replicationcontrollers", True),
    "PersistentVolume": ("/api/v1", "persistentvolumes", False),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims", True),
    "Deployment": ("/apis/apps/v1", "deployments", True),
    "ReplicaSet": ("/apis/apps/v1", "replicasets", True),
    "StatefulSet": ("/apis/apps/v1", "statefulsets", True),
    "DaemonSet": ("/apis/apps/v1", "daemonsets", True),
    "ControllerRevision": ("/apis/apps/v1", "controllerrevisions", True),
    "Job": ("/apis/batch/v1", "jobs", True),
    "CronJob": ("/apis/batch/v1", "cronjobs", True),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets", True),
    "PodGroup": ("/apis/scheduling.k8s.io/v1alpha2", "podgroups", True),
    "PodGroup.scheduling.x-k8s.io": ("/apis/scheduling.x-k8s.io/v1alpha1", "podgroups", True),
    "PriorityClass": ("/apis/scheduling.k8s.io/v1", "priorityclasses", False),
    "StorageClass": ("/apis/storage.k8s.io/v1", "storageclasses", False),
    "CSINode": ("/apis/storage.k8s.io/v1", "csinodes", False),
    "CSIDriver": ("/apis/storage.k8s.io/v1", "csidrivers", False),
    "CSIStorageCapacity": ("/apis/storage.k8s.io/v1", "csistoragecapacities", True),
    "ResourceClaim": ("/apis/resource.k8s.io/v1", "resourceclaims", True),
    "ResourceClaimTemplate": ("/apis/resource.k8s.io/v1", "resourceclaimtemplates", True),
    "DeviceClass": ("/apis/resource.k8s.io/v1", "deviceclasses", False),
    "ResourceSlice": ("/apis/resource.k8s.io/v1", "resourceslices", False),
    "NodeResourceTopology": ("/apis/topology.node.k8s.io/v1alpha2", "noderesourcetopologies", False),
    "NetworkPolicy": ("/apis/networking.k8s.io/v1", "networkpolicies", True),
    "Lease": ("/apis/coordination.k8s.io/v1", "leases", True),
    "Event": ("/apis/events.k8s.io/v1", "events", True),
    "Role": ("/apis/rbac.authorization.k8s.io/v1", "roles", True),
    "RoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "rolebindings", True),
    "ClusterRole": ("/apis/rbac.authorization.k8s.io/v1", "clusterroles", False),
    "ClusterRoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings", False),
    "MutatingAdmissionPolicy": (_ADMISSION, "mutatingadmissionpolicies", False),
    "MutatingAdmissionPolicyBinding": (_ADMISSION, "mutatingadmissionpolicybindings", False),
    "MutatingWebhookConfiguration": (_ADMISSION, "mutatingwebhookconfigurations", False),
    "ValidatingAdmissionPolicy": (_ADMISSION, "validatingadmissionpolicies", False),
    "ValidatingAdmissionPolicyBinding": (_ADMISSION, "validatingadmissionpolicybindings", False),
    "APIService": ("/apis/apiregistration.k8s.io/v1", "apiservices", False),
    "CustomResourceDefinition": ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions", False),
    "VirtualMachineInstance": ("/apis/kubevirt.io/v1", "virtualmachineinstances", True),
    "VirtualMachineInstanceMigration": ("/apis/kubevirt.io/v1", "virtualmachineinstancemigrations", True),
    "Rollout": ("/apis/argoproj.io/v1alpha1", "rollouts", True),
    "KubeDescheduler": ("/apis/operator.openshift.io/v1", "kubedeschedulers", True),
}


def collection(kind: str, namespace: str | None) -> str:
    """The path of all objects of a kind, in one namespace if there is one and the kind has any."""
    group, plural, namespaced = _KINDS[kind]
    return f"{group}/namespaces/{namespace}/{plural}" if namespaced and namespace else f"{group}/{plural}"


def path_of(kind: str, name: str, namespace: str = "default") -> str:
    """The path of one object."""
    return f"{collection(kind, namespace)}/{name}"
