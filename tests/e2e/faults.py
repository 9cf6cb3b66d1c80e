"""What can go wrong between a program and its API server, and with which calls: values for ``fault_proxy``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(slots=True, frozen=True)
class Asked:
    """A call, in the words of the audit log."""

    verb: str
    #: With its subresource: ``pods/eviction``; empty for a path of no resource.
    resource: str
    #: Of the caller.
    token: str
    query: Mapping[str, str]

    @staticmethod
    def of(method: str, path: str, query: Mapping[str, str], authorization: str) -> Asked:
        """What an HTTP request asks for."""
        resource, named = _resource(path)
        token = authorization.removeprefix("Bearer ")
        return Asked(_verb(method, query, named=named), resource, token, query)


#: With which calls something is the matter.
Where = Callable[[Asked], bool]


def calls(verb: str = "", resource: str = "") -> Where:
    """Calls of a verb (``list``, ``watch``, ``create``...), of a resource, or of both."""
    return lambda asked: verb in ("", asked.verb) and resource in ("", asked.resource)


def later_pages(asked: Asked) -> bool:
    """All pages of a list but the first."""
    return bool(asked.query.get("continue"))


def callers_with(token: str) -> Where:
    """The calls that carry a token."""
    return lambda asked: asked.token == token


def all_of(*wheres: Where) -> Where:
    """The calls with which something is the matter for several reasons."""
    return lambda asked: all(where(asked) for where in wheres)


@dataclass(slots=True, frozen=True)
class Refused:
    """The call is not passed on; the answer is a Status, which may say how many seconds to wait."""

    status: int
    reason: str = ""
    retry_after: int | None = None

    @property
    def body(self) -> bytes:
        """The Status."""
        told = {"code": self.status, "reason": self.reason, "message": f"a fault of the test: {self.status}"}
        return json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure"} | told).encode()


@dataclass(slots=True, frozen=True)
class NeverSent:
    """The connection breaks before the call gets through."""


@dataclass(slots=True, frozen=True)
class AnswerLost:
    """The server does what it is asked to, and the connection breaks before anybody hears of it."""


@dataclass(slots=True, frozen=True)
class Truncated:
    """The connection breaks after so many bytes of the answer's body."""

    size: int


@dataclass(slots=True, frozen=True)
class Slow:
    """The answer comes in pieces of so many bytes, with a pause (seconds) after each."""

    size: int
    pause: float


@dataclass(slots=True, frozen=True)
class Late:
    """The whole answer comes so many seconds late."""

    seconds: float


@dataclass(slots=True, frozen=True)
class Held:
    """The call is passed on when the trouble is over, if the caller still waits then."""


@dataclass(slots=True, frozen=True)
class Silent:
    """The call is taken, not passed on, and never answered."""


@dataclass(slots=True, frozen=True)
class Forgotten:
    """A watch begins, and its first event says that the version is too old: 410 inside a stream."""

    @property
    def line(self) -> bytes:
        """The event."""
        return b'{"type": "ERROR", "object": ' + Refused(410, "Expired").body + b"}\n"


@dataclass(slots=True, frozen=True)
class Paged:
    """A list comes in pages of so many objects, whatever was asked for."""

    limit: int


@dataclass(slots=True, frozen=True)
class Mute:
    """A watch begins, and nothing is ever said; it breaks off when the trouble is over."""


Fault = Refused | NeverSent | AnswerLost | Truncated | Slow | Late | Held | Silent | Forgotten | Paged | Mute


def _verb(method: str, query: Mapping[str, str], *, named: bool) -> str:
    if method != "GET":
        return _VERBS[method]
    if query.get("watch") in ("1", "true"):
        return "watch"
    return "get" if named else "list"


def _resource(path: str) -> tuple[str, bool]:
    """The resource of a path, with its subresource, and whether the path names one object."""
    parts = path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    if len(parts) > 2 and parts[0] == "namespaces":
        parts = parts[2:]
    if not parts:
        return "", True
    return "/".join([parts[0], *parts[2:]]), len(parts) > 1
