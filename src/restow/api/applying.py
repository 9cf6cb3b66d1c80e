"""Apply a plan without a terminal: ask no question, and collect warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from restow.api.rows import Columns, Rows
from restow.application.applying import ApplyRequest, apply, order_of
from restow.application.feedback import Collected
from restow.application.files import NamedText
from restow.errors import InputError
from restow.reporting.json import indented_json

if TYPE_CHECKING:
    from restow.application.planning import Planned
    from restow.daemon.logs import Log
    from restow.descheduler.applying import Application, Promise
    from restow.executing.history import AppliedMove
    from restow.executing.task import Outcome
    from restow.reporting.apply_result import ApplyResult, ApplySummary

_MOVES: Final[Columns] = {
    "namespace": ("text", lambda move: move.pod.namespace),
    "pod": ("text", lambda move: move.pod.name),
    "result": ("text", lambda move: move.result),
    "landed": ("text", lambda move: move.landed),
    "landing": ("text", lambda move: move.landing),
    "to": ("text", lambda move: move.target),
    "message": ("text", lambda move: move.message),
}


@dataclass(slots=True, frozen=True, repr=False)
class Applied:
    """The outcome of each move of a plan."""

    #: Warnings, one sentence each, such as why a move was not possible.
    warnings: tuple[str, ...]
    #: Whether all moves that still held were made as planned.
    is_kept: bool
    _result: ApplyResult

    @property
    def moves(self) -> Rows[AppliedMove]:
        """The moves in the plan's order."""
        return Rows("moves", self._result.moves, _MOVES)

    @property
    def summary(self) -> ApplySummary:
        """How many moves ended in which way."""
        return self._result.summary

    def to_json(self) -> bytes:
        """The document of ``restow apply PLAN -o json``."""
        return indented_json(self._result) + b"\n"

    def __repr__(self) -> str:
        summary = self.summary
        done = f"{summary.promised} would be made" if self._result.metadata.dry_run else f"{summary.moved} made"
        return f"<Applied: {summary.moves} moves, {done}, {summary.refused} do not hold any more, {summary.dropped} dropped>"

    def _repr_html_(self) -> str:
        return self.moves._repr_html_()


class Unattended(Collected):
    """Agrees to everything that holds; an ``Audience``."""

    def show(self, promise: Promise, plan: str, age: int, server: str) -> None:
        """What does not hold is in the result."""

    async def agrees(self, moves: int) -> bool:  # noqa: ARG002 - an ``Audience``
        """Agree: the program that calls has decided."""
        return True

    @contextmanager
    def watching(self, application: Application, log: Log) -> Iterator[Callable[[Outcome], None]]:  # noqa: ARG002
        """Each outcome is in the result."""
        yield lambda _: None


async def applied(planned: Planned, document: bytes, *, dry_run: bool, lease: str | None) -> Applied:
    """Carry out a plan of a live cluster, given its document; errors as ``apply``."""
    cluster = planned.cluster
    if not cluster.is_live:
        raise InputError(
            f"the plan was made of {cluster.origin}, not of a live cluster: plan Cluster.live() to apply it"
        )
    source = cluster.source
    request = ApplyRequest(NamedText("the plan", document), dry_run, lease, source.kubeconfig, source.context)
    audience = Unattended()
    outcome = await apply(request, order_of(request), audience)
    return Applied(tuple(audience.warnings), outcome.is_kept, outcome.result)
