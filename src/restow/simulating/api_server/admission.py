"""What the API server makes of an object that comes or is applied: defaults, admission, and what stays of the old one.

A dump has no webhooks, but it has pods that went through them: what those have in addition to their template, the next
ones get too, as in ``workloads.next_pod``. VerticalPodAutoscalers set the requests of new pods. Source:
DefaultTolerationSeconds, the Priority admission plugin and the defaults of v1 and batch/v1, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import structs

from restow.kube.manifests import (
    Job,
    Manifest,
    Metadata,
    Node,
    Pod,
    PodTemplate,
    PriorityClass,
    ReplicaSet,
    document_of,
)
from restow.kube.objects import LabelSelector, OwnerReference, ResourceRequirements, VerticalPodAutoscaler
from restow.simulating.api_server.changes import with_metadata, with_spec, with_status
from restow.workloads.autoscaling import VERTICAL_POD_AUTOSCALER as AUTOSCALER
from restow.workloads.autoscaling import by_target, scaled
from restow.workloads.made_of import OF_THE_NODE, REVISION_HASH
from restow.workloads.next_parts import merge

#: Kinds that belong to no namespace.
_CLUSTER_WIDE: Final = frozenset(
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
        return with_metadata(manifest, labels=labels)
    return manifest


def pending(pod: Pod) -> Pod:
    """The pod, which is Pending unless its status says what else it is."""
    return pod if pod.status.phase else with_status(pod, phase="Pending")


def merged(manifest: Any, old: Any) -> Any:
    """An object that is applied over an old one: what others have written of it stays."""
    labels = _union(old.metadata.labels, manifest.metadata.labels)
    annotations = _union(old.metadata.annotations, manifest.metadata.annotations)
    metadata = structs.replace(old.metadata, labels=labels, annotations=annotations)
    manifest = structs.replace(manifest, metadata=metadata)
    if hasattr(manifest, "status") and not isinstance(manifest, Node):
        manifest = structs.replace(manifest, status=old.status)
    if isinstance(manifest, Pod):
        # All that may be changed of a pod is in its containers and tolerations.
        return structs.replace(manifest, spec={**old.spec, **manifest.spec})
    if isinstance(manifest, Job):
        return with_spec(manifest, selector=old.spec.selector, template=old.spec.template)
    return manifest


def is_namespaced(kind: str) -> bool:
    """Whether objects of a kind belong to a namespace."""
    return kind not in _CLUSTER_WIDE


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
    return with_spec(job, selector=selector, template=template)


#: An object of a kind, a namespace and a name; None if there is none.
Get = Callable[[str, str, str], Any]
#: The objects of a kind.
List = Callable[[str], Sequence[Any]]

_VPA_UPDATES: Final = "vpaUpdates"
#: Fields of a pod that admission may fill in where a template leaves them out.
_FILLED_IN: Final = ("schedulerName", "priorityClassName", "priority", "preemptionPolicy", "overhead")


class PodAdmission:
    """The admission of one simulated cluster."""

    def __init__(self, get: Get, listed: List) -> None:
        self._get = get
        self._list = listed
        #: Pods of each controller (a uid) as they were at the beginning: of each revision the first by name, if possible one
        #: of which nothing was changed since it was created.
        self._examples: defaultdict[str, dict[str, Pod]] = defaultdict(dict)

    def learn(self, pod: Pod) -> None:
        """Note a pod that was there at the beginning."""
        owner = pod.metadata.controller
        if owner is not None:
            examples, revision = self._examples[owner.uid], _revision_of(pod)
            if revision not in examples or _preference(pod) < _preference(examples[revision]):
                examples[revision] = pod

    def of(self, pod: Pod) -> Pod:
        """A new pod with what admission adds."""
        owner = pod.metadata.controller
        if owner is None:
            return pod
        pod = self._with_additions(pod, owner)
        autoscaler = self._autoscaler(pod, owner)
        return pod if autoscaler is None else structs.replace(pod, spec=_scaled(pod.spec, autoscaler))

    def _with_additions(self, pod: Pod, owner: OwnerReference) -> Pod:
        example, own = self._example(pod, owner)
        if example is None or own is None:
            return pod
        made_by_autoscaler = bool(example.metadata.annotation(_VPA_UPDATES)) and bool(self._list(AUTOSCALER))
        spec = _with_spec(pod.spec, example.spec, own.spec, owner.kind, requests=not made_by_autoscaler)
        added = merge(example.metadata.labels or {}, own.metadata.labels or {}, {}).values
        added = {key: value for key, value in added.items() if key not in OF_THE_NODE}
        labels = {**added, **(pod.metadata.labels or {})} or None
        return structs.replace(pod, metadata=structs.replace(pod.metadata, labels=labels), spec=spec)

    def _example(self, pod: Pod, owner: OwnerReference) -> tuple[Pod | None, PodTemplate | None]:
        """A pod of the same controller whose template is known, and that template: of the same revision if there is one."""
        examples = self._examples.get(owner.uid, {})
        for revision in sorted(examples, key=lambda each: (each != _revision_of(pod), each)):
            template = self._own_template(examples[revision], owner)
            if template is not None:
                return examples[revision], template
        return None, None

    def _own_template(self, example: Pod, owner: OwnerReference) -> PodTemplate | None:
        """The template that a pod was made of; None where that is not known."""
        namespace, label = example.metadata.namespace, _revision_of(example)
        controller = self._get(owner.kind, namespace, owner.name)
        if not label or controller is None:
            return None if controller is None else controller.spec.template
        name = label if owner.kind == "StatefulSet" else f"{owner.name}-{label}"
        revision = self._get("ControllerRevision", namespace, name)
        return None if revision is None else revision.data.spec.template

    def _autoscaler(self, pod: Pod, owner: OwnerReference) -> VerticalPodAutoscaler | None:
        read = [msgspec.convert(document_of(each), VerticalPodAutoscaler) for each in self._list(AUTOSCALER)]
        if not read:
            return None
        namespace = pod.metadata.namespace
        controller = self._get(owner.kind, namespace, owner.name)
        above = None if controller is None else controller.metadata.controller
        top = above if above is not None and owner.kind in ("ReplicaSet", "Job") else owner
        known = by_target({(each.metadata.namespace, each.metadata.name): each for each in read})
        return known.get((namespace, top.kind, top.name))


def _preference(pod: Pod) -> tuple[bool, str]:
    """Less for pods that say more of admission: in one that was resized, what admission set cannot be seen any more."""
    return pod.metadata.generation > 1, pod.metadata.name


def _revision_of(pod: Pod) -> str:
    return (pod.metadata.labels or {}).get(REVISION_HASH, "")


def with_default_requests(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec of a pod where what has limits and requests nothing requests its limits. Source: v1 defaults."""
    changed = {
        field: [_with_requests(each) for each in spec[field]]
        for field in ("containers", "initContainers")
        if any((each.get("resources") or {}).get("limits") for each in spec.get(field) or ())
    }
    return spec | changed if changed else spec


def _with_requests(container: dict[str, Any]) -> dict[str, Any]:
    resources = container.get("resources") or {}
    limits = resources.get("limits")
    if not limits:
        return container
    return container | {"resources": resources | {"requests": {**limits, **(resources.get("requests") or {})}}}


def _with_spec(
    new: dict[str, Any], pod: dict[str, Any], own: dict[str, Any], kind: str, *, requests: bool
) -> dict[str, Any]:
    """The spec of a new pod with what another pod has beyond its own template; ``requests`` of containers or not."""
    pod, own, new = (with_default_requests(each) for each in (pod, own, new))
    spec = dict(new)
    for field in ("containers", "initContainers"):
        spec[field] = _with_containers(new.get(field), pod.get(field), own.get(field), requests=requests)
    for field, key in (("tolerations", _text), ("topologySpreadConstraints", _topology), ("volumes", _name)):
        made_by_controller = _is_claim if field == "volumes" and kind == "StatefulSet" else _never
        given, owned, wanted = (_keyed(each.get(field) or (), key) for each in (pod, own, new))
        added = {name: each for name, each in given.items() if name not in owned and not made_by_controller(each)}
        spec[field] = list({**wanted, **{name: each for name, each in added.items() if name not in wanted}}.values())
    spec["nodeSelector"] = _added(new, pod, own, "nodeSelector")
    if kind != "DaemonSet":
        spec["affinity"] = _added(new, pod, own, "affinity")
    for field in _FILLED_IN:
        if field in pod and field not in own and field not in new:
            spec[field] = pod[field]
    if pod.get("priorityClassName") == spec.get("priorityClassName") and "priority" in pod:
        spec["priority"] = pod["priority"]
    return {name: value for name, value in spec.items() if value or name in new}


def _added(new: dict[str, Any], pod: dict[str, Any], own: dict[str, Any], field: str) -> dict[str, Any]:
    added = merge(pod.get(field) or {}, own.get(field) or {}, {}).values
    return {**added, **(new.get(field) or {})}


def _with_containers(new: Any, pod: Any, own: Any, *, requests: bool) -> list[dict[str, Any]]:
    news, pods, owns = (_keyed(each or (), _name) for each in (new, pod, own))
    names, previous = list(news), -1
    for name in pods:
        if name in news:
            previous = names.index(name)
        elif name not in owns:
            previous += 1
            names.insert(previous, name)
    return [
        _with_resources(news[name], pods, owns, requests=requests) if name in news else pods[name] for name in names
    ]


def _with_resources(
    container: dict[str, Any], pods: Mapping[Any, dict[str, Any]], owns: Mapping[Any, dict[str, Any]], *, requests: bool
) -> dict[str, Any]:
    """A container with the requests and limits that its namesake in a pod has beyond the template."""
    name = _name(container)
    if not requests or name not in pods or name not in owns:
        return container
    new, pod, own = (each.get("resources") or {} for each in (container, pods[name], owns[name]))
    found = {field: values for field in ("requests", "limits") if (values := _added(new, pod, own, field))}
    return container | {"resources": new | found} if found else container


def _keyed(values: Iterable[dict[str, Any]], key: Callable[[dict[str, Any]], Any]) -> dict[Any, dict[str, Any]]:
    return {key(each): each for each in values}


def _name(value: dict[str, Any]) -> str:
    return str(value.get("name", ""))


def _text(value: dict[str, Any]) -> bytes:
    return msgspec.json.encode(value, order="sorted")


def _topology(value: dict[str, Any]) -> tuple[Any, Any]:
    return value.get("topologyKey"), value.get("whenUnsatisfiable")


def _is_claim(volume: dict[str, Any]) -> bool:
    return "persistentVolumeClaim" in volume


def _never(_value: dict[str, Any]) -> bool:
    return False


def _scaled(spec: dict[str, Any], autoscaler: VerticalPodAutoscaler) -> dict[str, Any]:
    """A spec with the requests that a VerticalPodAutoscaler recommends."""
    spec = with_default_requests(spec)
    containers = {
        _name(each): msgspec.convert(each.get("resources") or {}, ResourceRequirements) for each in spec["containers"]
    }
    try:
        found = scaled(autoscaler, containers)
    except ValueError:
        return spec
    return spec | {"containers": [_with_scaled(each, found.get(_name(each))) for each in spec["containers"]]}


def _with_scaled(container: dict[str, Any], found: ResourceRequirements | None) -> dict[str, Any]:
    if found is None:
        return container
    given = {"requests": found.requests, "limits": found.limits}
    resources = {name: value for name, value in given.items() if value}
    return container | {"resources": (container.get("resources") or {}) | resources}
