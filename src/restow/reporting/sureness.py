"""How sure moves are, in words: steered, certain, likely (0.93), possible (0.40)."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from restow.descheduling.certainty import probability_text
from restow.policies.codes import STEERED, SURENESS, Certainty
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.descheduling.plan import Move

#: No node that could win is shown as if it could not.
_LEAST: Final = 0.01


def kind_of(move: Move) -> str | None:
    """Return in a word how sure a move is; None where landing places are not predicted."""
    return STEERED if move.steering else move.certainty


def sureness(move: Move) -> str:
    """Return the shortest text: ``steered``, ``1`` for certain, ``0.93``; ``possible`` where no number is known."""
    kind = kind_of(move)
    if kind in (Certainty.LIKELY, Certainty.POSSIBLE) and move.probability is not None:
        return probability_text(move.probability)
    return "1" if kind == Certainty.CERTAIN else kind or "-"


def sureness_in_words(move: Move) -> str:
    """Return the word and the number: ``likely (0.93)``."""
    kind = kind_of(move) or "-"
    if kind not in (Certainty.LIKELY, Certainty.POSSIBLE) or move.probability is None:
        return kind
    return f"{kind} ({probability_text(move.probability)})"


def differs(moves: Sequence[Move]) -> bool:
    """Tell whether some moves are surer than others, so that each has to say how sure it is."""
    return len(set(map(sureness, moves))) > 1


def how_sure(moves: Sequence[Move]) -> str:
    """Say how many moves, and how sure they are: ``3 moves: 2 steered, 1 likely (0.93)``."""
    groups = {kind: [each for each in moves if kind_of(each) == kind] for kind in SURENESS}
    found = {kind: f"{kind}{_range(group)}" for kind, group in groups.items() if group}
    total = counted(len(moves), "move")
    if len(found) > 1:
        return f"{total}: {', '.join(f'{len(groups[kind]):,} {told}' for kind, told in found.items())}"
    (told,) = found.values()
    return f"{total}, {told if len(moves) == 1 else f'all {told}'}"


def _range(moves: Sequence[Move]) -> str:
    """The least and the greatest probability; empty where they go without saying, or where one is not known."""
    known = [each.probability for each in moves if each.probability is not None]
    figures = dict.fromkeys(map(probability_text, (min(known), max(known)))) if len(known) == len(moves) else {}
    return f" ({' to '.join(figures)})" if figures and figures.keys() != {"1"} else ""


def candidate_texts(move: Move) -> Iterator[str]:
    """Yield each node that could win with its probability: ``node-4 (0.93)``, ``node-5 (0.07, in vain)``."""
    in_vain = frozenset(move.in_vain)
    for name, probability in zip_longest(move.candidates, move.probabilities if len(move.candidates) > 1 else ()):
        yield candidate_text(name, probability, in_vain=name in in_vain)


def candidate_text(name: str, probability: float | None, *, in_vain: bool = False) -> str:
    """Return one node that could win, with its probability where that is known."""
    parts = [] if probability is None else [probability_text(max(probability, _LEAST))]
    parts += ["in vain"] if in_vain else []
    return f"{name} ({', '.join(parts)})" if parts else name
