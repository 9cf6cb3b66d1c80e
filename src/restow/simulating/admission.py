"""Admission in the simulated API server: defaults, and which fields of the existing object an update keeps.

Source: DefaultTolerationSeconds, the Priority admission plugin and the defaults of v1 and batch/v1, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec import structs

from restow.kube.manifests import Job, Manifest, Metadata, Node, Pod, PodTemplate, PriorityClass, ReplicaSet
from restow.kube.objects import LabelSelector
from restow.simulating.pod_admission import with_default_requests

#: Kinds that belong to no namespace.
CLUSTER_WIDE: Final = frozenset(
    (
        "Namespace",
        "Node",
        "NodeMetrics",
        "NodeResourceTopology",
        "PriorityClass",
        "PersistentVolume",
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "VolumeAttachment",
    )
)
_TROUBLES: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
#: For how many seconds a pod stays on a node in trouble, unless it says otherwise.
_TOLERATED_FOR: Final = 300
_BUILT_IN_CLASSES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_POD_DEFAULTS: Final = {
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
}
#: The labels of a Job's pods, and its own selector.
CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
JOB_NAME: Final = "batch.kubernetes.io/job-name"


def admitted(manifest: Any, classes: Iterable[PriorityClass]) -> Any:
    """A new object as the API server keeps it; its uid is known, its status is not the writer's to say."""
    if hasattr(manifest, "status") and not isinstance(manifest, Node):
        manifest = structs.replace(manifest, status=type(manifest)().status)
    if isinstance(manifest, Pod):
        return pending(structs.replace(manifest, spec=_pod_spec(manifest.spec, classes)))
    if isinstance(manifest, Job) and not manifest.spec.manual_selector:
        return _with_own_selector(manifest)
    return manifest


def restored(manifest: Any) -> Any:
    """An object of a dump, with what a dump may leave out and controllers go by."""
    if isinstance(manifest, Pod):
        return pending(manifest)
    if isinstance(manifest, ReplicaSet) and not manifest.metadata.labels:
        labels = manifest.spec.template.metadata.labels
        return structs.replace(manifest, metadata=structs.replace(manifest.metadata, labels=labels))
    return manifest


def pending(pod: Pod) -> Pod:
    """The pod, which is Pending unless its status says what else it is."""
    return pod if pod.status.phase else structs.replace(pod, status=structs.replace(pod.status, phase="Pending"))


def merged(manifest: Any, old: Any) -> Any:
    """An object that is applied over an old one: what others have written of it stays."""
    metadata = structs.replace(
        old.metadata,
        labels=_union(old.metadata.labels, manifest.metadata.labels),
        annotations=_union(old.metadata.annotations, manifest.metadata.annotations),
    )
    manifest = structs.replace(manifest, metadata=metadata)
    if hasattr(manifest, "status") and not isinstance(manifest, Node):
        manifest = structs.replace(manifest, status=old.status)
    if isinstance(manifest, Pod):
        # All that may be changed of a pod is in its containers and tolerations.
        return structs.replace(manifest, spec={**old.spec, **manifest.spec})
    if isinstance(manifest, Job):
        spec = structs.replace(manifest.spec, selector=old.spec.selector, template=old.spec.template)
        return structs.replace(manifest, spec=spec)
    return manifest


def is_namespaced(kind: str) -> bool:
    """Whether objects of a kind belong to a namespace."""
    return kind not in CLUSTER_WIDE


def default_namespace(manifest: Manifest, kind: str) -> Metadata:
    """The metadata of an object, in the namespace ``default`` if it has to be in one and names none."""
    if manifest.metadata.namespace or not is_namespaced(kind):
        return manifest.metadata
    return structs.replace(manifest.metadata, namespace="default")


def _union(old: dict[str, str] | None, new: dict[str, str] | None) -> dict[str, str] | None:
    return old if not new else {**(old or {}), **new}


def _pod_spec(spec: dict[str, Any], classes: Iterable[PriorityClass]) -> dict[str, Any]:
    spec = with_default_requests(spec)
    return _POD_DEFAULTS | spec | _priority(spec, classes) | {"tolerations": _tolerations(spec)}


def _priority(spec: dict[str, Any], classes: Iterable[PriorityClass]) -> dict[str, Any]:
    """Priority and preemption policy by the class that a pod names, or by the one for all that name none."""
    known = {each.metadata.name: each for each in classes}
    name = spec.get("priorityClassName") or _default_class(known.values())
    if name in known:
        found = known[name]
        policy = {"preemptionPolicy": found.preemption_policy} if found.preemption_policy else {}
        return {"priority": found.value, "priorityClassName": name} | policy
    return {"priority": _BUILT_IN_CLASSES.get(name, spec.get("priority") or 0)}


def _default_class(classes: Iterable[PriorityClass]) -> str:
    return min((each.metadata.name for each in classes if each.global_default), default="")


def _tolerations(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The tolerations of a pod, and those for nodes in trouble of which it says nothing."""
    said = list(spec.get("tolerations") or ())
    for trouble in _TROUBLES:
        if not any(_is_about(each, trouble) for each in said):
            added = {"key": trouble, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATED_FOR}
            said.append(added)
    return said


def _is_about(toleration: dict[str, Any], trouble: str) -> bool:
    return toleration.get("key") in (None, "", trouble) and toleration.get("effect") in (None, "", "NoExecute")


def _with_own_selector(job: Job) -> Job:
    """A Job that selects its pods by its uid, which its template has them carry."""
    own = {CONTROLLER_UID: job.metadata.uid, JOB_NAME: job.metadata.name}
    old = {"controller-uid": job.metadata.uid, "job-name": job.metadata.name}
    template = job.spec.template
    labels = {**(template.metadata.labels or {}), **old, **own}
    template = PodTemplate(structs.replace(template.metadata, labels=labels), template.spec)
    selector = LabelSelector(match_labels={CONTROLLER_UID: job.metadata.uid})
    return structs.replace(job, spec=structs.replace(job.spec, selector=selector, template=template))
