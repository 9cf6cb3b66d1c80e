"""JSON patches of a node's taints that lose nobody else's.

The list of taints is atomic for every other kind of patch, server-side apply included: whoever writes one taint with it,
writes all. A JSON patch adds one at the end, or removes the one at a place after it has tested which one that is.
Source: the OpenAPI of Kubernetes 1.36, NodeSpec.taints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from restow.client.errors import BadRequest, ClientError, Conflict

_TAINTS: Final = "/spec/taints"
#: What the API server says of a JSON patch with a test that fails, or to a place that is not there.
_DOES_NOT_FIT: Final = "the server rejected our request due to an error in our request"


def adding(taint: Mapping[str, str], *, is_tainted: bool) -> list[dict[str, Any]]:
    """Return the patch that adds a taint; BadRequest where the node has taints and ``is_tainted`` says that it has none."""
    if is_tainted:
        return [{"op": "add", "path": f"{_TAINTS}/-", "value": taint}]
    return [{"op": "test", "path": _TAINTS, "value": None}, {"op": "add", "path": _TAINTS, "value": [taint]}]


def removing(place: int, known: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the patch that removes the taint at a place; BadRequest where its fields are not the ``known`` ones."""
    path = f"{_TAINTS}/{place}"
    tests = [{"op": "test", "path": f"{path}/{field}", "value": value} for field, value in known.items()]
    return [*tests, {"op": "remove", "path": path}]


def is_outdated(error: ClientError) -> bool:
    """Whether a JSON patch does not fit the object any more; whoever forbids it says so in other words."""
    return isinstance(error, Conflict) or (isinstance(error, BadRequest) and error.answer == _DOES_NOT_FIT)
