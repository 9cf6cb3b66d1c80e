"""Feature gates: which there are, and which are open. Source: Descheduler 0.36, pkg/features; component-base/featuregate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from restow.cli.flag_values import boolean, comma_list

Gate = Literal["EvictionsInBackground"]

_ALL_ALPHA: Final = "AllAlpha"
#: There is no gate of this stage.
_ALL_BETA: Final = "AllBeta"
_ALPHA: Final[frozenset[Gate]] = frozenset(("EvictionsInBackground",))
KNOWN: Final = frozenset((*_ALPHA, _ALL_ALPHA, _ALL_BETA))


def is_open(given: Iterable[str], gate: Gate) -> bool:
    """Return whether a gate is open: as said of itself, else as said of all alpha gates, else not."""
    gates = gates_of(given)
    return gates.get(gate, gates.get(_ALL_ALPHA, False))


def gates_of(given: Iterable[str]) -> dict[str, bool]:
    """Return what ``A=true,B=false`` says, the last of a name; ValueError for unknown names and unreadable values."""
    gates = {}
    for item in comma_list(given):
        name, separator, value = (part.strip() for part in item.partition("="))
        if not separator:
            raise ValueError(f"missing bool value for {name}")
        if name not in KNOWN:
            raise ValueError(f"unrecognized feature gate: {name}")
        try:
            gates[name] = boolean(value)
        except ValueError as error:
            raise ValueError(f"invalid value of {name}={value}, err: {error}") from error
    return gates
