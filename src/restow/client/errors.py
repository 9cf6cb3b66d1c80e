"""What an API server refuses, and how it says so: one exception for each reason.

A refusal is a ``Status`` object. Its status code and its reason together name the class here; the message stays the
server's own. ``Unreachable`` is the odd one out: there was no response, so nothing is known about what happened.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from restow.client.resources import ApiResource
from restow.client.server import http_date
from restow.errors import ClientError
from restow.kube.excerpts import LONGEST, excerpt

#: The server's own sentence names the user.
_USER = re.compile(r'User "([^"]+)" cannot ')


class StatusCause(Struct, frozen=True, gc=False):
    """One entry of ``details.causes``."""

    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(Struct, frozen=True, gc=False, rename="camel"):
    retry_after_seconds: int | None = None
    causes: tuple[StatusCause, ...] | None = None


class Status(Struct, frozen=True, gc=False):
    """metav1.Status, the body of every refusal."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None
    #: What Prometheus calls the message.
    error: str = ""


class Unreachable(ClientError):
    """No answer, or not the whole of one: the request may have been carried out or not."""


class Untrusted(ClientError):
    """The server's certificate cannot be verified, or it does not accept ours; asking again does not help."""


class MalformedReply(ClientError):
    """An answer that is not what the API promises."""


class TooLarge(MalformedReply):
    """A response with more bytes than the limit; asking again does not help."""


class NoCredentials(ClientError):
    """The credentials that the configuration names cannot be had: a plugin failed, a token has expired for good."""


class NotPermitted(ClientError):
    """The permission to write ended before the request went out; nothing was sent."""


@dataclass(eq=False)
class ApiError(ClientError):
    """A refusal by the API server."""

    #: HTTP status code.
    status: int
    #: The machine's word for it, such as ``Expired``; empty where the reply was no Status.
    reason: str
    #: All that it says, of any length.
    answer: str
    #: Seconds that the server asks to wait.
    retry_after: float | None = None
    causes: tuple[StatusCause, ...] = ()

    @property
    def message(self) -> str:
        """The message, cut to a readable length."""
        return excerpt(self.answer)

    def __str__(self) -> str:
        return f"the API server answered {self.status}{f' {self.reason}' if self.reason else ''}: {self.message}"


class BadRequest(ApiError):
    """400, or 422: the object or a parameter is wrong."""


class Unauthorized(ApiError):
    """401: the credentials are unknown or expired."""


class Forbidden(ApiError):
    """403: known, but without the right."""


class NotFound(ApiError):
    """404: there is no such object, or no such resource."""


class Conflict(ApiError):
    """409: the object has changed since it was read, exists already, or has another uid."""


class Gone(ApiError):
    """410: the resource version or the continue token is too old; list again."""


class TooManyRequests(ApiError):
    """429: the server has no time, or, for an eviction, the budget has no room."""


class ServerTrouble(ApiError):
    """5xx: the server failed or waited too long."""


_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: BadRequest,
    429: TooManyRequests,
}


def refusal(status: int, body: bytes, headers: Mapping[str, str], now: float) -> ApiError:
    """The error that a reply with a status of 400 or more means; ``now`` (seconds since the epoch) dates Retry-After."""
    try:
        reply = msgspec.json.decode(body, type=Status)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        reply = Status(message=body[:LONGEST].decode(errors="replace").strip() or "(no text)")
    waiting = _seconds(headers.get("Retry-After"), now)
    return _error(status, reply, waiting)


def refusal_of(status: Status) -> ApiError:
    """The error that a Status inside a watch means."""
    return _error(status.code, status, None)


def _error(code: int, reply: Status, waiting: float | None) -> ApiError:
    details = reply.details or _Details()
    if waiting is None and details.retry_after_seconds:
        waiting = float(details.retry_after_seconds)
    kind = _BY_STATUS.get(code, ServerTrouble if code >= 500 else ApiError)
    return kind(code, reply.reason, reply.message or reply.error or "(no text)", waiting, details.causes or ())


def _seconds(header: str | None, now: float) -> float | None:
    """Retry-After in seconds: a number, or a date as proxies write it; None for anything else."""
    if header is None:
        return None
    # Digits of other scripts are digits to Python, and no number.
    if header.isascii() and header.strip().isdigit():
        return float(header)
    until = http_date(header)
    return None if until is None else max(0.0, until - now)


def missing_right(error: ApiError, resource: ApiResource, verbs: Sequence[str], subresource: str = "") -> str:
    """One sentence: who may not do what, and the rule that permits it; the server's words where it says something else."""
    user = _USER.search(error.answer)
    if user is None:
        return error.message
    what = f"{resource.plural}/{subresource}" if subresource else resource.plural
    return (
        f"{excerpt(user[1])} may not {' and '.join(verbs)} {what}; "
        f"add the rule {resource.rule(verbs, subresource)} to its ClusterRole"
    )
