"""ImageLocality: prefer nodes that have the pod's images, the more so the larger and the more widespread they are.

Nothing of it changes while pods are placed, so each distinct list of images is scored once; a node with other images
is taken out of those that had the old ones. Source: Kubernetes 1.33 to 1.37.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np
from msgspec import Struct

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import NodePart
from restow.scheduling.framework.caches import LruCache
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import SchedulerPlugin
from restow.scheduling.framework.extension_points import MAX_SCORE, Scores
from restow.scheduling.framework.minors import VOLUME_IMAGES, VOLUME_IMAGES_DIVIDE, holds

NAME = "ImageLocality"

_MIB = 1 << 20
_LEAST = 23 * _MIB
_MOST_PER_IMAGE = 1000 * _MIB
#: More than counts of all images of a pod together, and thousands of it fit into int64.
_LARGEST = 1 << 50


class _Image(Struct, frozen=True):
    """An image that some nodes have."""

    #: Its size, weighted by the share of nodes that have it, truncated to bytes.
    spread_size: int
    #: The nodes that have it, sorted.
    holders: IntArray


class ImageLocality:
    """Score."""

    name = NAME

    def __init__(self, context: Context) -> None:
        self._nodes = context.state.cluster.nodes
        self._pods = context.state.cluster.pods
        self._volumes_count = holds(VOLUME_IMAGES, context.state.cluster)
        self._volumes_divide = holds(VOLUME_IMAGES_DIVIDE, context.state.cluster)
        self._scores: LruCache[tuple[int, int, int], Scores | int] = LruCache()
        #: The size of each image by node; None before the first question.
        self._sizes: dict[str, dict[int, int]] | None = None
        #: What of the images was asked for.
        self._known: dict[str, _Image | None] = {}
        self._nodes.follow(NodePart.POSITION, self._forget)
        self._nodes.follow(NodePart.IMAGES, self._follow)

    def score(self, pod: int, nodes: IntArray) -> Scores | int:
        """0 to 100 by the summed size of the images that a node already has."""
        scores = self._everywhere(pod)
        return scores if isinstance(scores, int) else scores[nodes]

    def score_all(self, pod: int, _feasible: BoolArray) -> Scores | int:
        """The scores of all nodes."""
        return self._everywhere(pod)

    def signature(self, pod: int) -> Hashable:
        """What nodes without the images get; where some have them, the images."""
        scores = self._everywhere(pod)
        return scores if isinstance(scores, int) else self._listed(pod)

    def _everywhere(self, pod: int) -> Scores | int:
        if self._sizes is not None and not self._sizes:
            # No node lists any image.
            return 0
        tables = self._pods.tables
        key = self._listed(pod)
        known = self._scores.get(key)
        if known is None:
            containers = (*tables.init_images[key[1]], *tables.images[key[0]])
            known = self._score(containers, tables.volume_images[key[2]])
            self._scores.put(key, known)
        return known

    def _listed(self, pod: int) -> tuple[int, int, int]:
        """The identifiers of a pod's lists of images."""
        pods = self._pods
        return int(pods.images[pod]), int(pods.init_images[pod]), int(pods.volume_images[pod])

    def _score(self, containers: tuple[str, ...], volumes: tuple[str, ...]) -> Scores | int:
        """One number where all nodes get the same."""
        counted = (*containers, *volumes) if self._volumes_count else containers
        names = map(full_name, counted)
        found = [image for name in names if (image := self._image(name)) is not None]
        if not found:
            return 0
        nodes = np.unique(np.concatenate([image.holders for image in found]))
        total = np.zeros(len(nodes), dtype=np.int64)
        for image in found:
            total[nodes.searchsorted(image.holders)] += image.spread_size
        images = len(counted) if self._volumes_divide else len(containers)
        most = max(_MOST_PER_IMAGE * images, _LEAST + 1)
        some = MAX_SCORE * (np.clip(total, _LEAST, most) - _LEAST) // (most - _LEAST)
        if not some.any():
            return 0
        scores = np.zeros(len(self._nodes), dtype=np.int16)
        scores[nodes] = some
        return scores

    def _image(self, name: str) -> _Image | None:
        """An image, if some node has it; its size is what the first node that has it says."""
        if self._sizes is None:
            self._sizes, self._read, self._images = {}, len(self._nodes.written), list(self._nodes.images)
            for node in range(len(self._nodes)):
                self._enter(node)
        if name not in self._known:
            sizes = self._sizes.get(name)
            self._known[name] = self._spread(sizes) if sizes else None
        return self._known[name]

    def _spread(self, sizes: Mapping[int, int]) -> _Image:
        holders = sorted(sizes)
        spread_size = int(sizes[holders[0]] * (len(holders) / len(self._nodes)))
        return _Image(min(spread_size, _LARGEST), np.array(holders))

    def _enter(self, node: int) -> None:
        assert self._sizes is not None
        for image in self._images[node]:
            for name in image.names or ():
                self._sizes.setdefault(name, {}).setdefault(node, image.size_bytes)

    def _follow(self) -> None:
        """Some nodes have other images than before."""
        if self._sizes is None:
            return
        for node in set(self._nodes.written[self._read :]):
            for image in self._images[node]:
                for name in image.names or ():
                    self._sizes[name].pop(node, None)
            self._images[node] = self._nodes.images[node]
            self._enter(node)
        self._read = len(self._nodes.written)
        self._known, self._scores = {}, LruCache()

    def _forget(self) -> None:
        self._sizes, self._known, self._scores = None, {}, LruCache()


def full_name(image: str) -> str:
    """An image name with its tag: ``:latest`` where there is none."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


PLUGIN = SchedulerPlugin(NAME, ("score",), lambda context, _args: ImageLocality(context))
