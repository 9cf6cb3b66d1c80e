"""The nodes that carry restow's own taint at this moment, for the code that adds and removes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from restow.kube.objects import Node
from restow.kube.taints import FENCE


@dataclass(slots=True, frozen=True)
class FencedNode:
    """One such taint of a node."""

    name: str
    #: Where it stands among the node's taints.
    place: int
    #: Who has put it there and when, as ``executing.fencing`` writes it.
    value: str


def fenced_nodes(nodes: Iterable[Node]) -> Iterator[FencedNode]:
    """The fences of some nodes."""
    for node in nodes:
        for place, taint in enumerate(node.spec.taints or ()):
            if taint.key == FENCE:
                yield FencedNode(node.metadata.name, place, taint.value)
