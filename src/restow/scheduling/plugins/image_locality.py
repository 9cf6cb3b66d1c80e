"""ImageLocality: prefer nodes that have the pod's images, the more so the larger and the more widespread they are.

Nothing of it changes while pods are placed, so each distinct list of images is scored once. Source: Kubernetes 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.scheduling.context import Context
from restow.scheduling.framework import MAX_SCORE, Scores

NAME = "ImageLocality"

_MIB = 1 << 20
_LEAST = 23 * _MIB
_MOST_PER_CONTAINER = 1000 * _MIB


@dataclass(slots=True, frozen=True)
class _Image:
    """An image that some nodes have."""

    #: Its size, weighted by the share of nodes that have it, truncated to bytes.
    spread_size: int
    present: BoolArray


class ImageLocality:
    """Score."""

    name = NAME

    def __init__(self, context: Context) -> None:
        self._nodes = context.state.cluster.nodes
        self._pods = context.state.cluster.pods
        self._scores: dict[tuple[int, int], Scores] = {}

    def score(self, pod: int, nodes: IntArray) -> Scores:
        """0 to 100 by the summed size of the images that a node already has."""
        key = (int(self._pods.images[pod]), int(self._pods.init_images[pod]))
        known = self._scores.get(key)
        if known is None:
            tables = self._pods.tables
            known = self._scores[key] = self._score((*tables.init_images[key[1]], *tables.images[key[0]]))
        scores: Scores = known[nodes]
        return scores

    def _score(self, images: tuple[str, ...]) -> Scores:
        total = np.zeros(len(self._nodes), dtype=np.int64)
        for name in images:
            image = self._images.get(full_name(name))
            if image is not None:
                total[image.present] += image.spread_size
        most = max(_MOST_PER_CONTAINER * len(images), _LEAST + 1)
        return MAX_SCORE * (np.clip(total, _LEAST, most) - _LEAST) // (most - _LEAST)

    @cached_property
    def _images(self) -> dict[str, _Image]:
        """Every image that some node has; its size is what the first node that has it says."""
        sizes: dict[str, int] = {}
        holders: dict[str, set[int]] = {}
        for node, listed in enumerate(self._nodes.images):
            for image in listed:
                for name in image.names or ():
                    sizes.setdefault(name, image.size_bytes)
                    holders.setdefault(name, set()).add(node)
        return {name: self._image(sizes[name], found) for name, found in holders.items()}

    def _image(self, size: int, holders: set[int]) -> _Image:
        present = np.zeros(len(self._nodes), dtype=bool)
        present[list(holders)] = True
        return _Image(int(size * (len(holders) / len(self._nodes))), present)


def full_name(image: str) -> str:
    """An image name with its tag: ``:latest`` where there is none."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
