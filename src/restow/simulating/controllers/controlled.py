"""Pods of the store as controllers see them, and pods made from controllers' templates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from restow.cluster.pod_values import NO_TIME, PHASES, Phase
from restow.cluster.pods import PENDING
from restow.kube.label_syntax import parse_integer
from restow.kube.manifests import Metadata, Pod, PodTemplate
from restow.kube.timestamps import SECOND, parse_time
from restow.simulating.controllers.claiming import reference_to
from restow.workloads.controlled_pods import ControlledPod

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"


def controlled(pod: Pod, node: int = 0) -> ControlledPod:
    """A pod as its controller sees it; ``node`` is a number of its node, which counts only if it has one."""
    ready = pod.ready_since
    return ControlledPod(
        pod.metadata.name,
        uid=pod.metadata.uid,
        phase=PHASES.get(pod.status.phase, Phase.UNKNOWN),
        terminating=pod.metadata.is_terminating,
        ready=ready is not None,
        node=node if pod.node else PENDING,
        deletion_cost=_integer(pod.metadata.annotation(DELETION_COST)),
        restarts=max((each.restart_count for each in pod.status.container_statuses or ()), default=0),
        created=_time(pod.metadata.creation_timestamp),
        ready_since=_time(ready),
    )


def pod_from(
    template: PodTemplate,
    kind: str,
    controller: Any,
    *,
    name: str = "",
    labels: Mapping[str, str] = MappingProxyType({}),
    annotations: Mapping[str, str] = MappingProxyType({}),
) -> Pod:
    """A new pod of a controller, with a generated name unless one is given; labels are added to the template's."""
    metadata = Metadata(
        name=name,
        generate_name="" if name else f"{controller.metadata.name}-",
        namespace=controller.metadata.namespace,
        labels={**(template.metadata.labels or {}), **labels} or None,
        annotations={**(template.metadata.annotations or {}), **annotations} or None,
        owner_references=(reference_to(kind, controller),),
        finalizers=template.metadata.finalizers,
    )
    return Pod(metadata, template.spec)


def available_in(pod: Pod, min_ready_seconds: int, now: int) -> int | None:
    """In how many nanoseconds a pod is available if it stays ready, 0 if it is; None while it is not ready."""
    since = pod.ready_since
    if since is None or not min_ready_seconds:
        return None if since is None else 0
    return max(0, parse_time(since) + min_ready_seconds * SECOND - now)


def _integer(text: str) -> int:
    return parse_integer(text) or 0


@lru_cache(maxsize=4096)
def _time(text: str | None) -> int:
    return NO_TIME if text is None else parse_time(text)
