"""What is read of one wire pod: the keys of the parts that pods share, its flags and its times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from restow.cluster import pod_parts
from restow.cluster.pod_parts import held_key
from restow.cluster.pod_values import NO_TIME, NO_VETOES, Flag, GroupMarks, PodClaim, PodOrigin, PodVolume, vetoes_of
from restow.errors import InputError
from restow.kube.excerpts import title
from restow.kube.objects import (
    ABSENT,
    Container,
    ContainerStatus,
    Pod,
    PodAnnotations,
    PodSpec,
    PodStatus,
    Volume,
)
from restow.kube.objects.pods import (
    GROUP_ANNOTATIONS,
    SCHEDULING_GROUP,
    WORKLOAD_REFERENCE,
    PodResourceClaim,
    ResourceClaimInStatus,
)
from restow.kube.requests import QOS_CLASSES
from restow.kube.timestamps import SECOND, nearest_time

#: The scheduling gate that holds a new pod back until it is nominated for a node; an admission policy or a webhook adds it.
STEERING_GATE = "restow.dev/steer"
_STEERING_GATE = f'"{STEERING_GATE}"'.encode()

TimeArray = npt.NDArray[np.int64]

#: The scheduler of pods that name none.
DEFAULT_SCHEDULER = "default-scheduler"

#: Fewer times than this are read one by one.
_MANY: Final = 4
#: An RFC 3339 time in UTC without fractions; 0 stands for any digit.
_PLAIN_TIME = "0000-00-00T00:00:00Z"
#: The last second that int64 nanoseconds hold.
_LAST_SECOND = (1 << 63) // SECOND
#: Conditions of a pod whose resize waits or is under way.
_RESIZES = ("PodResizePending", "PodResizeInProgress")


def keys_of(pod: Pod) -> tuple[Any, ...]:
    """The keys of the parts that pods share, in the order of the store's columns."""
    meta, spec, status = pod.metadata, pod.spec, pod.status
    resources = resources_key(spec)
    return (
        bytes(meta.labels),
        bytes(meta.owner_references),
        resources,
        held_key(spec, status, resources),
        bytes(spec.tolerations),
        (bytes(spec.node_selector), bytes(spec.affinity)),
        bytes(spec.topology_spread_constraints),
        tuple([container.image for container in spec.containers]),
        tuple([container.image for container in spec.init_containers]) if spec.init_containers else (),
        tuple([volume.image.reference for volume in spec.volumes if volume.image]) if spec.volumes else (),
        ports_key(spec),
        spec.scheduler_name or DEFAULT_SCHEDULER,
        b"" if spec.scheduling_gates is ABSENT else bytes(spec.scheduling_gates),
        _group_marks(meta.annotations, spec) if meta.annotations or spec.scheduling_group or spec.workload_ref else (),
        volumes_of(meta.name, spec.volumes) if spec.volumes else (),
        claims_of(spec.resource_claims, status.resource_claim_statuses or ()) if spec.resource_claims else (),
        _origin(pod),
        vetoes_of(meta.annotations, spec.volumes or ()) if meta.annotations else NO_VETOES,
        _states_key(status),
    )


def times_of(field: str, texts: list[str | None], pods: Sequence[Pod]) -> TimeArray:
    """Nanoseconds since the epoch, or NO_TIME.

    Almost every time is ``2026-11-21T09:30:00Z``, which NumPy reads for a page at once; anything else is read alone.
    """
    given = [text for text in texts if text is not None]
    if len(given) >= _MANY and _are_plain(given):
        try:
            seconds = np.array([text[:-1] for text in given], dtype="datetime64[s]").astype(np.int64)
            if np.all(np.abs(seconds) < _LAST_SECOND):
                times = np.full(len(texts), NO_TIME)
                times[[text is not None for text in texts]] = seconds * SECOND
                return times
        except ValueError:
            pass
    return np.array([_time(field, text, pod) for text, pod in zip(texts, pods, strict=True)], dtype=np.int64)


def _are_plain(texts: list[str]) -> bool:
    """Whether all texts look like ``_PLAIN_TIME``."""
    joined = "".join(texts)
    if not set(map(len, texts)) <= {len(_PLAIN_TIME)} or not joined.isascii():
        return False
    characters = np.frombuffer(joined.encode(), dtype=np.uint8).reshape(-1, len(_PLAIN_TIME))
    template = np.frombuffer(_PLAIN_TIME.encode(), dtype=np.uint8)
    is_digit = (characters >= ord("0")) & (characters <= ord("9"))
    return bool(np.where(template == ord("0"), is_digit, characters == template).all())


def _time(field: str, text: str | None, pod: Pod) -> int:
    try:
        return NO_TIME if text is None else nearest_time(text)
    except ValueError as error:
        raise InputError(f"{title_of(pod)}: {field}: {error}") from error


def title_of(pod: Pod) -> str:
    """The pod in an error."""
    return title("Pod", pod.metadata.namespace, pod.metadata.name)


def flags_of(pod: Pod) -> int:
    """The bits of ``Flag``."""
    meta, spec = pod.metadata, pod.spec
    flags = _annotation_flags(meta.annotations) if meta.annotations else 0
    if meta.deletion_timestamp is not None:
        flags |= Flag.TERMINATING
    for volume in spec.volumes or ():
        if volume.host_path is not None or volume.empty_dir is not None:
            flags |= Flag.LOCAL_STORAGE
        if volume.persistent_volume_claim is not None:
            flags |= Flag.CLAIMS
    if spec.preemption_policy == "Never":
        flags |= Flag.NEVER_PREEMPTS
    if spec.resource_claims:
        flags |= Flag.RESOURCE_CLAIMS
    if spec.scheduling_gates is not ABSENT and _STEERING_GATE in bytes(spec.scheduling_gates):
        flags |= _gate_flags(bytes(spec.scheduling_gates))
    return int(flags)


def _gate_flags(gates: bytes) -> Flag:
    """The flags of a pod with gates, as JSON, steering's among them."""
    return Flag.STEERING_GATE | (Flag.OTHER_GATES if gates.count(b'"name"') > 1 else Flag(0))


def _annotation_flags(annotations: PodAnnotations) -> int:
    flags = Flag(0)
    if annotations.evict is not None:
        flags |= Flag.EVICT
    if annotations.prefer_no_eviction is not None:
        flags |= Flag.PREFER_NO_EVICTION
    if annotations.mirror is not None:
        flags |= Flag.MIRROR
    if annotations.source is not None and annotations.source != "api":
        flags |= Flag.STATIC
    if annotations.request_evict_only is not None:
        flags |= Flag.REQUEST_EVICT_ONLY
    if annotations.index_failures not in {None, "0"}:
        flags |= Flag.INDEX_FAILED
    return flags


def resources_key(spec: PodSpec) -> pod_parts.ResourcesKey:
    """The key of what a pod requests."""
    return (
        _container_keys(spec.containers),
        _container_keys(spec.init_containers) if spec.init_containers else (),
        bytes(spec.resources),
        bytes(spec.overhead),
    )


def ports_key(spec: PodSpec) -> tuple[bytes, ...]:
    """The ports of regular containers and sidecars; ordinary init containers hold none."""
    ports = [bytes(each.ports) for each in spec.containers if each.ports is not ABSENT]
    if spec.init_containers:
        sidecars = (each for each in spec.init_containers if each.restart_policy == "Always")
        ports.extend(bytes(each.ports) for each in sidecars if each.ports is not ABSENT)
    return tuple(ports)


def _container_keys(containers: tuple[Container, ...]) -> tuple[pod_parts.ContainerKey, ...]:
    return tuple([(bytes(container.resources), container.restart_policy) for container in containers])


def _group_marks(annotations: PodAnnotations | None, spec: PodSpec) -> GroupMarks:
    marks: list[tuple[str, str]] = []
    if annotations is not None:
        given = ((wire, getattr(annotations, name)) for name, wire in GROUP_ANNOTATIONS)
        marks += [(wire, value) for wire, value in given if value is not None]
    if spec.scheduling_group is not None:
        marks.append((SCHEDULING_GROUP, spec.scheduling_group.pod_group_name))
    if (workload := spec.workload_ref) is not None:
        named = workload.name, workload.pod_group, workload.pod_group_replica_key
        marks.append((WORKLOAD_REFERENCE, "/".join(filter(None, named))))
    return tuple(marks)


def volumes_of(pod: str, volumes: tuple[Volume, ...]) -> tuple[PodVolume, ...]:
    """The volumes that matter to scheduling, of a pod of this name."""
    return tuple([found for volume in volumes if (found := _volume(pod, volume)) is not None])


def _volume(pod: str, volume: Volume) -> PodVolume | None:
    if volume.persistent_volume_claim is not None:
        return PodVolume(volume.persistent_volume_claim.claim_name)
    if volume.ephemeral is not None:
        return PodVolume(f"{pod}-{volume.name}", ephemeral=True)
    disk = volume.gce_persistent_disk or volume.aws_elastic_block_store or volume.iscsi or volume.rbd
    return None if disk is None else PodVolume(disk=disk)


def claims_of(
    claims: Sequence[PodResourceClaim], made: Sequence[ResourceClaimInStatus], *, to_make: bool = False
) -> tuple[PodClaim, ...]:
    """The claims of a pod, with the names of those that were ``made`` of templates; ``to_make`` for those of a next pod."""
    names = {each.name: each.resource_claim_name for each in made}
    # Of a template no claim may be needed; the status says so.
    needed = [each for each in claims if names.get(each.name, "") is not None]
    return tuple([_claim(each, names.get(each.name) or "", to_make=to_make) for each in needed])


def _claim(claim: PodResourceClaim, made: str, *, to_make: bool) -> PodClaim:
    if claim.resource_claim_name:
        return PodClaim(claim.name, claim.resource_claim_name)
    template = claim.resource_claim_template_name or ""
    return PodClaim(claim.name, made, template, to_make and template != "")


def _origin(pod: Pod) -> PodOrigin:
    meta, spec, status = pod.metadata, pod.spec, pod.status
    resizes = [each for each in status.conditions or () if each.type in _RESIZES and each.status == "True"]
    return PodOrigin(
        tuple([each.name for each in spec.containers]),
        tuple([each.name for each in spec.init_containers]) if spec.init_containers else (),
        spec.priority_class_name or "",
        # Its deletion is one more generation.
        meta.generation == (1 if meta.deletion_timestamp is None else 2) if meta.generation else None,
        meta.annotations is not None and meta.annotations.vpa_updates is not None,
        bool(status.resize) or bool(resizes),
    )


def _states_key(status: PodStatus) -> tuple[Any, ...]:
    """The fields of PodStates."""
    return (
        status.phase,
        status.reason or "",
        _states(status.container_statuses),
        _states(status.init_container_statuses),
        _states(status.ephemeral_container_statuses),
    )


def _states(statuses: Sequence[ContainerStatus] | None) -> tuple[tuple[Any, ...], ...]:
    return tuple([(each.restart_count, each.state) for each in statuses]) if statuses else ()


def qos_code(stated: str | None) -> int:
    """The number of a QoS class, -1 where none is stated."""
    return QOS_CLASSES.index(stated) if stated in QOS_CLASSES else -1
