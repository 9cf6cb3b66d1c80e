"""A plan as a value: what moves, what stays and why, and the way to carry it out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from restow.api.rows import Columns, Rows
from restow.application import LEASE

if TYPE_CHECKING:
    from restow.api.applying import Applied
    from restow.api.arrow import ArrowTable
    from restow.application.planning import Planned
    from restow.descheduling.plan import GoalResult, Move, PlanTotals, Refusal, Remark

_MOVES: Final[Columns] = {
    "namespace": ("text", lambda move: move.pod.namespace),
    "pod": ("text", lambda move: move.pod.name),
    "from": ("text", lambda move: move.source),
    "to": ("text", lambda move: move.target),
    "probability": ("number", lambda move: move.probability),
    "plugin": ("text", lambda move: move.plugin),
    "reason": ("text", lambda move: move.reason),
    "owner": ("text", lambda move: None if move.owner is None else str(move.owner)),
    "certainty": ("text", lambda move: move.certainty),
    "target_probability": ("number", lambda move: move.target_probability),
    "steering": ("text", lambda move: move.steering),
    "profile": ("text", lambda move: move.profile),
    "uid": ("text", lambda move: move.pod.uid),
}
_REFUSALS: Final[Columns] = {
    "namespace": ("text", lambda refusal: refusal.pod.namespace),
    "pod": ("text", lambda refusal: refusal.pod.name),
    "node": ("text", lambda refusal: refusal.node),
    "stage": ("text", lambda refusal: refusal.stage),
    "code": ("text", lambda refusal: refusal.code),
    "message": ("text", lambda refusal: refusal.message),
    "plugin": ("text", lambda refusal: refusal.plugin),
    "profile": ("text", lambda refusal: refusal.profile),
    "uid": ("text", lambda refusal: refusal.pod.uid),
}


@dataclass(frozen=True, repr=False, eq=False)
class Plan:
    """The moves that a policy would make in a cluster, each with its target and its reason, and the pods that stay."""

    #: Sentences about the input, the policy and the plan that a person should read.
    warnings: tuple[str, ...]
    _planned: Planned = field(compare=False)

    @cached_property
    def moves(self) -> Rows[Move]:
        """The evictions, in the order in which they are made."""
        return Rows("moves", self._planned.plan.moves, _MOVES)

    @cached_property
    def refusals(self) -> Rows[Refusal]:
        """The pods that a strategy wants to move and that stay, each with a stage, a code and a sentence."""
        return Rows("refusals", self._planned.plan.refusals, _REFUSALS)

    @property
    def goals(self) -> tuple[GoalResult, ...]:
        """How near the plan comes to each goal of Rebalance, and what no plan can be below; empty without one."""
        return self._planned.plan.goals

    @property
    def summary(self) -> PlanTotals:
        """Counts, and the load of the nodes before and after."""
        return self._planned.plan.summary

    @property
    def problems(self) -> tuple[Remark, ...]:
        """The strategies that could not run, and why; the plan is made without them."""
        return self._planned.plan.problems

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the plan as a whole, such as what each strategy gains."""
        return self._planned.notes

    def to_arrow(self) -> ArrowTable:
        """The moves as an Arrow table."""
        return self.moves.to_arrow()

    def to_json(self) -> bytes:
        """The document of ``restow plan -o json``, which ``restow apply`` takes."""
        return self._written("json").encode()

    def to_html(self) -> str:
        """The page of ``restow plan -o html``, in one file."""
        return self._written("html")

    def apply(self, *, dry_run: bool = False, lease: str | None = LEASE) -> Applied:
        """Carry out the plan on the live cluster that it was made of, as ``restow apply PLAN --yes``; asks nothing.

        Each move is decided again before it is made; the result has the outcome of each. ``lease`` is the one that
        ``restow run`` holds; with None no lease is taken, and replacements are not steered. InputError for a plan that
        was not made of a live cluster, ClientError if nothing could be begun.
        """
        from restow.in_thread import in_own_loop

        return in_own_loop(self.apply_async(dry_run=dry_run, lease=lease))

    async def apply_async(self, *, dry_run: bool = False, lease: str | None = LEASE) -> Applied:
        """As ``apply``, in the event loop of the caller."""
        import asyncio

        from restow.api.applying import applied

        return await applied(self._planned, await asyncio.to_thread(self.to_json), dry_run=dry_run, lease=lease)

    def _written(self, form: str) -> str:
        from restow.application.planning import rendered

        return rendered(self._planned, form).decode()

    def __str__(self) -> str:
        """The table of ``restow plan``."""
        return self._written("table")

    def __repr__(self) -> str:
        from restow.reporting.answer import headline

        more = f", {len(self.warnings)} warnings" if self.warnings else ""
        return f"<Plan: {headline(self._planned.plan)}; {len(self.refusals):,} refusals{more}>"

    def _repr_html_(self) -> str:
        from restow.reporting.html.elements import embedded

        return embedded(self.to_html())
