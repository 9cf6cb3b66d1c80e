"""A node, a pod, and variants of what a dump says of them."""

from __future__ import annotations

import json

from builders import a_node, a_pod

NODE, POD = a_node("n1"), a_pod("p1", node="n1")
BASICS = [NODE, POD]


def with_field(item, path, value):
    """A copy of an object with the field at this path replaced; numbers index lists."""
    copy = json.loads(json.dumps(item))
    *parents, last = path
    place = copy
    for step in parents:
        place = place[step] if isinstance(step, int) else place.setdefault(step, {})
    place[last] = value
    return copy
