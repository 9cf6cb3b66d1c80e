"""What became of a plan: the document of ``restow apply -o json``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct, field

from restow.descheduling.plan import API_VERSION
from restow.executing.history import AppliedMove
from restow.policies.codes import AppliedResult, LandingKind
from restow.version import __version__


class ApplySummary(Struct, frozen=True, rename="camel"):
    """How many moves came to what; all of them together are the plan's."""

    moves: int
    refused: int
    #: Only of a dry run.
    promised: int
    moved: int
    dropped: int
    evicted: int
    #: Of those that were moved, how many landed where the plan wants them.
    as_planned: int
    #: How many replacements landed on their targets, on other good nodes, and on neither.
    on_target: int
    on_other: int
    missed: int


class ApplyMetadata(Struct, frozen=True, rename="camel"):
    """Which plan was applied, and how."""

    #: The name of its file.
    plan: str
    plan_generated_at: str
    restow_version: str
    dry_run: bool
    interrupted: bool
    #: From the question, or from the table where nobody was asked, to the end.
    seconds: float


class ApplyResult(Struct, frozen=True, rename="camel"):
    """The whole answer."""

    metadata: ApplyMetadata
    #: In the plan's order.
    moves: tuple[AppliedMove, ...]
    summary: ApplySummary
    api_version: str = field(default=API_VERSION)
    kind: str = "ApplyResult"


def apply_result(
    entries: Sequence[AppliedMove],
    *,
    plan: str,
    plan_generated_at: str,
    dry_run: bool,
    interrupted: bool,
    seconds: float,
) -> ApplyResult:
    """The document about what became of moves."""
    metadata = ApplyMetadata(
        plan=plan,
        plan_generated_at=plan_generated_at,
        restow_version=__version__,
        dry_run=dry_run,
        interrupted=interrupted,
        seconds=round(seconds, 1),
    )
    counts = Counter(each.result for each in entries)
    landings = Counter(each.landing for each in entries)
    summary = ApplySummary(
        moves=len(entries),
        refused=counts[AppliedResult.REFUSED],
        promised=counts[AppliedResult.PROMISED],
        moved=counts[AppliedResult.MOVED],
        dropped=counts[AppliedResult.DROPPED],
        evicted=counts[AppliedResult.EVICTED],
        as_planned=sum(each.kept for each in entries),
        on_target=landings[LandingKind.TARGET],
        on_other=landings[LandingKind.OTHER],
        missed=landings[LandingKind.MISSED],
    )
    return ApplyResult(metadata, tuple(entries), summary)
