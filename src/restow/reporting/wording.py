"""Numbers and reasons as Kubernetes people write them: 3 moves, 61 %."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from restow.plain_text import printable
from restow.policies.codes import ReplacementMode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from restow.descheduling.plan import MeasuredUsage, Move

_RESOURCES_FIRST: Final = ("cpu", "memory")


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Write ``1 move``, ``3 moves``, ``40,000 moves``; ``plural`` where an s is not enough."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def percent(fraction: float) -> str:
    """Write a fraction in whole percent: ``61 %``."""
    return f"{round(fraction * 100):,} %"


def resource_title(resource: str) -> str:
    """Return a resource's name for prose and headings."""
    return "CPU" if resource == "cpu" else resource


def resource_order(resource: str) -> tuple[int, str]:
    """Return a sort key: CPU, memory, then the others by name."""
    known = resource in _RESOURCES_FIRST
    return (_RESOURCES_FIRST.index(resource) if known else len(_RESOURCES_FIRST), resource)


#: What comes before a pod goes.
_FIRST: Final = {
    ReplacementMode.RESERVE: "its place is held before it goes",
    ReplacementMode.SURGE: "replaced before it goes",
    ReplacementMode.ROLLOUT: "replaced before it goes, by a rollout",
    ReplacementMode.MIGRATE: "migrated while it runs",
}


def with_caveat(move: Move) -> str:
    """Return the reason of a move, what comes before its pod goes, and why that may be another pod than was proven."""
    first = _FIRST.get(move.mode, "") + (", if possible" if move.evicts_instead is True else "")
    caveat = f"likely at most: {move.caveat}" if move.caveat else ""
    return "; ".join(filter(None, (move.reason, first, caveat)))


def why(plugin: str, reason: str) -> str:
    """Return the strategy and its reason in one line."""
    return printable(f"{plugin}: {reason}" if reason else plugin)


def short_names(paths: Sequence[str]) -> list[str]:
    """Return the last parts of paths, as many as tell all of them apart: ``a/policy.yaml`` and ``b/policy.yaml``."""
    parts = [path.split("/") for path in paths]
    for count in range(1, max(map(len, parts))):
        short = ["/".join(each[-count:]) for each in parts]
        if len(set(short)) == len(set(paths)):
            return short
    return list(paths)


def usage_title(usage: MeasuredUsage) -> str:
    """Return who was asked what, and what counts of the answer."""
    figure = "newest value" if usage.percentile is None else f"p{usage.percentile:g}"
    return printable(f"Usage by {usage.source}, {figure} of {usage.query}")
