"""Whether the owner of a token may read a page of this program; the API server decides, as for Kubernetes' own programs.

A TokenReview says whose token it is, a SubjectAccessReview whether that user may get the page's path. Answers are kept
for ten seconds, by a hash of the token.
Source: delegating authentication and authorization, apiserver v0.36.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import msgspec
from msgspec import Struct

from restow.client.errors import Forbidden, missing_right
from restow.client.resources import SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS, ApiResource
from restow.client.server import boot_clock
from restow.client.transport import Api, Call, decoded
from restow.errors import ClientError

#: Seconds for which an answer counts, and how many are kept.
_KEPT_FOR: Final = 10.0
_MOST: Final = 1_000
#: Seconds that one question may take.
_PATIENCE: Final = 5.0


class _Review(Struct, frozen=True):
    """What of either review is an answer."""

    status: dict[str, Any] = {}


@dataclass(slots=True)
class AccessReviews:
    """Token and access reviews by one API server, kept for a while."""

    api: Api
    clock: Callable[[], float] = boot_clock
    _known: OrderedDict[tuple[bytes, str], tuple[HTTPStatus, float]] = field(default_factory=OrderedDict)

    async def review(self, token: str, path: str) -> HTTPStatus:
        """Return the HTTP status for a token and a path: OK, UNAUTHORIZED or FORBIDDEN.

        ClientError if the API server does not answer.
        """
        key, now = (hashlib.sha256(token.encode()).digest(), path), self.clock()
        kept = self._known.get(key)
        if kept is not None and now < kept[1]:
            return kept[0]
        found = await self._asked(token, path)
        self._known[key] = found, now + _KEPT_FOR
        self._known.move_to_end(key)
        if len(self._known) > _MOST:
            self._known.popitem(last=False)
        return found

    async def _asked(self, token: str, path: str) -> HTTPStatus:
        reviewed = await self._create(TOKEN_REVIEWS, {"token": token})
        if not reviewed.get("authenticated"):
            return HTTPStatus.UNAUTHORIZED
        user = reviewed.get("user") or {}
        names = {"uid": "uid", "groups": "groups", "extra": "extra", "username": "user"}
        who = {name: user[field] for field, name in names.items() if user.get(field)}
        asked = {**who, "nonResourceAttributes": {"path": path, "verb": "get"}}
        allowed = (await self._create(SUBJECT_ACCESS_REVIEWS, asked)).get("allowed")
        return HTTPStatus.OK if allowed else HTTPStatus.FORBIDDEN

    async def _create(self, resource: ApiResource, spec: dict[str, Any]) -> dict[str, Any]:
        """The status of a review."""
        review = {"apiVersion": f"{resource.group}/{resource.version}", "kind": resource.kind, "spec": spec}
        call = Call("POST", resource.path(), body=msgspec.json.encode(review))
        try:
            body = await self.api.without_limit().within(_PATIENCE).send(call)
        except Forbidden as error:
            raise ClientError(missing_right(error, resource, ("create",))) from error
        return decoded(body, msgspec.json.Decoder(_Review).decode, call).status
