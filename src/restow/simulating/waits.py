"""How long containers wait: for their images, and until they are started again.

A node pulls an image that it lacks, one after the other. Containers that end are started again: at once the first time,
then after 10 s, twice as long each time, 5 minutes at most; those that have run for 10 minutes start over. Source: the
kubelet, Kubernetes 1.36, with ``serializeImagePulls`` and its back-off of containers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from restow.kube.manifests import Node, Pod
from restow.kube.timestamps import SECOND

_FIRST: Final = 10 * SECOND
LONGEST: Final = 300 * SECOND
#: A container that ran for this long does not count as crashing.
_FORGIVEN: Final = 2 * LONGEST


@dataclass(slots=True)
class BackOffs:
    """What the kubelets remember of pods whose containers have ended, by uid."""

    #: How long the next start waits, and when the last one was.
    _known: dict[str, tuple[int, int]] = field(default_factory=dict)

    def wait(self, uid: str, now: int) -> int:
        """Nanoseconds that the containers of a pod wait that have ended now."""
        wait, started = self._known.get(uid, (0, now))
        if now - started > _FORGIVEN:
            wait = 0
        self._known[uid] = min(2 * wait, LONGEST) or _FIRST, now + wait
        return wait

    def forget(self, uid: str) -> None:
        """A pod is gone."""
        self._known.pop(uid, None)


@dataclass(slots=True)
class ImagePulls:
    """The images on nodes that their status does not list."""

    #: How long it takes to pull one, in nanoseconds.
    each: int
    #: When a node has an image, by both.
    _there: dict[tuple[str, str], int] = field(default_factory=dict)
    #: When a node has pulled what it was asked for so far.
    _busy: dict[str, int] = field(default_factory=dict)

    def wait(self, node: Node, pod: Pod, now: int) -> int:
        """Nanoseconds until a node has all images of a pod that is to start there now."""
        if not self.each:
            return 0
        name, present = node.metadata.name, _present(node)
        return max((self._at(name, image, now) - now for image in _images(pod) if image not in present), default=0)

    def forget(self, node: str) -> None:
        """A node is gone; another one of its name has nothing."""
        self._busy.pop(node, None)
        self._there = {key: there for key, there in self._there.items() if key[0] != node}

    def _at(self, node: str, image: str, now: int) -> int:
        there = self._there.get((node, image))
        if there is None:
            there = self._busy[node] = max(self._busy.get(node, 0), now) + self.each
            self._there[node, image] = there
        return max(there, now)


def _images(pod: Pod) -> Iterable[str]:
    """The images of a pod, each once, those of init containers first."""
    containers = (*(pod.spec.get("initContainers") or ()), *(pod.spec.get("containers") or ()))
    return dict.fromkeys(each["image"] for each in containers if each.get("image"))


def _present(node: Node) -> frozenset[str]:
    return frozenset(name for image in node.status.images or () for name in image.names or ())
