"""The API server's audit log: every call that it finished, by whom, and how it ended."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import msgspec


class Reference(msgspec.Struct, frozen=True, rename="camel"):
    """What a call was about."""

    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class Preconditions(msgspec.Struct, frozen=True):
    """What the object must be for a deletion to be carried out."""

    uid: str = ""


class Deletion(msgspec.Struct, frozen=True):
    """How an eviction deletes its pod."""

    preconditions: Preconditions = Preconditions()


class Body(msgspec.Struct, frozen=True, rename="camel"):
    """What was sent; logged of evictions only."""

    delete_options: Deletion = Deletion()


class User(msgspec.Struct, frozen=True):
    """The caller, as authenticated."""

    username: str = ""


class Status(msgspec.Struct, frozen=True):
    """How it ended."""

    code: int = 0
    reason: str = ""


class Call(msgspec.Struct, frozen=True, rename="camel"):
    """One finished call."""

    verb: str
    requestURI: str  # noqa: N815 - the field's own name
    user: User
    stage: str
    request_received_timestamp: datetime
    stage_timestamp: datetime
    user_agent: str = ""
    object_ref: Reference = Reference()
    response_status: Status = Status()
    request_object: Body = Body()

    @property
    def seconds(self) -> float:
        """From its arrival to this entry."""
        return (self.stage_timestamp - self.request_received_timestamp).total_seconds()


class AuditLog:
    """The calls from now on; ``restart`` forgets the ones before."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._from = 0
        self.restart()

    def restart(self) -> None:
        """Only calls that are finished after this are told of."""
        self._from = self._file.stat().st_size if self._file.exists() else 0

    def calls(
        self, verb: str = "", resource: str = "", subresource: str | None = None, *, user: str = "", agent: str = ""
    ) -> list[Call]:
        """In the order of their ends. Long calls (watches) have an entry when they start too.

        Empty arguments say nothing; ``subresource`` "" means none. ``agent`` is a part of the user agent.
        """
        with self._file.open("rb") as file:
            file.seek(self._from)
            lines = file.read().splitlines(keepends=True)
        found = [_CALL.decode(line[line.rfind(_BEGINNING) :]) for line in lines if _is_whole(line)]
        return [
            call
            for call in found
            if verb in ("", call.verb)
            and resource in ("", call.object_ref.resource)
            and subresource in (None, call.object_ref.subresource)
            and user in ("", call.user.username)
            and agent in call.user_agent
        ]


def _is_whole(line: bytes) -> bool:
    """Whether it ends with an entry: one that is being written does not, nor does the first line if it began before.

    Half an entry that a killed API server has left may stand before the next one.
    """
    return line.endswith(b"\n") and _BEGINNING in line


_BEGINNING = b'{"kind":"Event","apiVersion":"audit.k8s.io/v1"'
_CALL = msgspec.json.Decoder(Call)
