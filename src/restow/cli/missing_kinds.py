"""The one line about what an input does not tell of, and the command that adds it."""

from __future__ import annotations

from collections.abc import Collection

from restow.scheduling.missing_data import KINDS
from restow.sources.kubectl import printing


def missing_warning(kinds: Collection[str], what: str) -> list[str]:
    """One sentence where ``what`` (moves, answers) depend on kinds that the input does not tell of; nothing otherwise."""
    if not kinds:
        return []
    names, adding = listed(kinds), printing(kinds, "more.json")
    return [f"{what} depend on {names}, which the input lacks; to add them: {adding}, then -f more.json"]


def missing_on_the_api_server(kinds: Collection[str], what: str) -> list[str]:
    """The same for a live cluster; which rights are missing has been told when it was read."""
    return [f"{what} depend on {listed(kinds)}, which could not be listed"] if kinds else []


def listed(kinds: Collection[str]) -> str:
    """Kinds for people, in one order: ``Services, ReplicaSets and StatefulSets``."""
    *names, last = (
        f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}es" if kind.endswith("s") else f"{kind}s"
        for kind in KINDS
        if kind in kinds
    )
    return f"{', '.join(names)} and {last}" if names else last
