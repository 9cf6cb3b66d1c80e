"""The containers of the next pod: their requests, and the images that they run.

A container of the template requests what the template says, or what a VerticalPodAutoscaler recommends; one that
admission has added comes again as it is. Any other request of the running pod was changed by a resize if its spec has
been changed since it was created; otherwise nothing explains it. Images count for the scheduler's preference only, and
admission often rewrites them, so a pod keeps its own until its template has another one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from restow.cluster.pod_values import PodOrigin
from restow.kube.objects import VerticalPodAutoscaler
from restow.workloads import made_parts
from restow.workloads.made_parts import ContainerName, ContainerParts, Containers
from restow.workloads.merging import merge
from restow.workloads.vertical_scaling import scaled


class NextContainers(NamedTuple):
    """The containers of the next pod, and the requests about which pod and template disagree."""

    containers: dict[ContainerName, ContainerParts]
    disputed: tuple[str, ...]

    def keys(self, known: Any, pod: Containers) -> tuple[Any, ...]:
        """The keys of containers: the texts of ``resources``, those of the running pod where the container has the same."""
        texts = dict(zip(pod, known, strict=True))
        return tuple(
            texts[name]
            if name in pod and _same_resources(pod[name], each)
            else (made_parts.encoded(each.requests, each.limits), each.restart_policy)
            for name, each in self.containers.items()
        )


class ThreeContainers(NamedTuple):
    """The containers of a running pod, of its template, and of the template of the next pod."""

    pod: Containers
    own: Containers
    new: Containers

    def merged(
        self, origin: PodOrigin, autoscaler: VerticalPodAutoscaler | None, *, lacks_autoscalers: bool
    ) -> NextContainers:
        """The containers of the next pod."""
        found: dict[ContainerName, ContainerParts] = {}
        disputed: list[str] = []
        keeps = origin.by_autoscaler and lacks_autoscalers
        for name in self._names():
            made, about = self._container(name, keeps=keeps)
            found[name] = made
            disputed += [f"{name[0]}: {resource}" if name[0] else resource for resource in about]
        if origin.as_created is False and not keeps:
            disputed = []
        if autoscaler is not None:
            disputed = self._scale(found, autoscaler, disputed)
        elif origin.by_autoscaler and not lacks_autoscalers:
            disputed = ["what a VerticalPodAutoscaler gave it that is not there any more"] if self._has_more() else []
        gone = [name[0] for name in self.own if name not in self.pod]
        return NextContainers(found, (*_requests(disputed), *(f"container {each}" for each in gone)))

    def _has_more(self) -> bool:
        """Whether the pod requests what its template does not say."""
        return any(
            self.pod[name].requests.keys() - each.requests for name, each in self.own.items() if name in self.pod
        )

    def _names(self) -> list[ContainerName]:
        """The containers of the next pod: those of the template, and those that were added where they were added."""
        names = list(self.new)
        previous = -1
        for name in self.pod:
            if name in names:
                previous = names.index(name)
            elif name not in self.own:
                previous += 1
                names.insert(previous, name)
        return names

    def _container(self, name: ContainerName, *, keeps: bool) -> tuple[ContainerParts, tuple[str, ...]]:
        pod, own, new = self.pod.get(name), self.own.get(name), self.new.get(name)
        if pod is None or (own is None and new is not None):
            assert new is not None
            return new, ()
        if own is None or new is None:
            return pod, ()
        requests = merge(pod.requests, own.requests, new.requests)
        limits = merge(pod.limits, own.limits, new.limits)
        image = pod.image if own.image == new.image else new.image
        if keeps and requests.disputed:
            return pod._replace(image=image), requests.disputed
        return ContainerParts(requests.values, limits.values, new.restart_policy, image), requests.disputed

    def _scale(
        self, found: dict[ContainerName, ContainerParts], autoscaler: VerticalPodAutoscaler, disputed: list[str]
    ) -> list[str]:
        """Apply a recommendation; what it decides is not disputed any more."""
        resources = {
            name: made_parts.requirements(each.requests, each.limits) for (name, n), each in found.items() if not n
        }
        for name, made in scaled(autoscaler, resources).items():
            requests, limits = made_parts.quantities(made.requests), made_parts.quantities(made.limits)
            found[name, 0] = found[name, 0]._replace(requests=requests, limits=limits)
            disputed = [each for each in disputed if not each.startswith(f"{name}: ")]
        return disputed


def _requests(disputed: Iterable[str]) -> list[str]:
    found = list(disputed)
    return [f"requests ({', '.join(found)})"] if found else []


def _same_resources(one: ContainerParts, other: ContainerParts) -> bool:
    return one[:3] == other[:3]
