"""JSON patches of a node's taints, as far as restow sends them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from restow.client.errors import BadRequest

Taint = dict[str, Any]


def patched_taints(taints: Iterable[Taint], operations: Sequence[dict[str, Any]]) -> list[Taint]:
    """The taints after a patch; BadRequest, as of the API server, if it does not fit. Source: RFC 6902.

    The API server takes a missing value to be null in a test.
    """
    left: list[Taint] | None = [dict(each) for each in taints] or None
    for each in operations:
        match each["op"], each["path"].removeprefix("/spec/taints").split("/"):
            case "test", [""] if left == each["value"]:
                pass
            case "test", ["", place, field] if left and [each["value"]] == [
                taint.get(field) for taint in left[int(place) :][:1]
            ]:
                pass
            case "add", [""]:
                left = [*each["value"]]
            case "add", ["", "-"] if left is not None:
                left = [*left, each["value"]]
            case "remove", ["", place] if left and int(place) < len(left):
                del left[int(place)]
            case _:
                raise BadRequest(422, "Invalid", "the server rejected our request due to an error in our request")
    return left or []
