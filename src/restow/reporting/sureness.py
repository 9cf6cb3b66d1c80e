"""How sure moves are, in words. Two things are said separately: how sure the gain is, and where the replacement lands.

The *gain* is what the strategy wants. It is ``certain`` if the strategy gets it on every node that could win, else
``likely 0.93`` or ``possible 0.40``. The *target* is the node that the plan assumes: ``node-4`` if no other could win,
``node-4 0.38`` if others could, ``node-4 steered`` if restow brings the replacement there. A node that is improbable is
not named: ``one of 7 nodes``. So a move may be certain to gain although its target is open.
"""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from restow.descheduling.placement import NAMED, probability_text
from restow.descheduling.plan import target_kind
from restow.policies.codes import Certainty, TargetKind
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.descheduling.plan import Move

#: The smallest probability displayed: a node that could win never shows 0, and one of several never shows 1.
_LEAST: Final = 0.01
_MOST: Final = 0.99


def sureness(move: Move) -> str:
    """Return the shortest text for how sure the gain is: ``certain``, ``0.93``; ``possible`` where no number is known."""
    number = _number(move)
    return number or move.certainty or "-"


def sureness_in_words(move: Move) -> str:
    """Return how sure the gain is: ``certain``, ``likely 0.93``."""
    return " ".join(filter(None, (move.certainty, _number(move)))) or "-"


def _number(move: Move) -> str:
    """The probability of the gain, where the word does not say it already."""
    if move.probability is None or move.certainty in (None, Certainty.CERTAIN):
        return ""
    return probability_text(move.probability)


def differs(moves: Sequence[Move]) -> bool:
    """Whether the gain of some moves is surer than that of others, so that each has to say how sure it is."""
    return len(set(map(sureness, moves))) > 1


def landing(move: Move) -> str:
    """Return where a move leads: ``node-4``, ``node-4 0.38``, ``node-4 steered``, ``one of 7 nodes``.

    ``cleared`` is a terminated pod that is only removed, a dash means that landings are not predicted.
    """
    if move.target is None:
        return "cleared" if move.certainty else "-"
    if target_kind(move) == TargetKind.OPEN:
        return _named(move) if (move.target_probability or 0.0) >= NAMED else _one_of(move)
    return f"{move.target} {TargetKind.STEERED}" if move.steering else move.target


def landing_in_full(move: Move) -> str:
    """Return the same with the target of every move: ``one of 7 nodes (planned: node-4 0.14)``."""
    words = landing(move)
    return f"{words} (planned: {_named(move)})" if words == _one_of(move) else words


def node_of(cell: str) -> str:
    """Return the node in a text of ``landing``; empty if it names none."""
    return "" if cell in ("-", "cleared") or cell.startswith("one of ") else cell.partition(" ")[0]


def _named(move: Move) -> str:
    """The target of several nodes that could win, and its probability where that is known."""
    chance = move.target_probability
    return f"{move.target}" if chance is None else f"{move.target} {_chance_text(chance)}"


def _one_of(move: Move) -> str:
    return f"one of {move.candidate_count:,} nodes"


def how_sure(moves: Sequence[Move]) -> str:
    """Count moves by their gain and by their target: ``27 moves, the gain of all is certain; 4 targets certain, 23 open``."""
    return "; ".join(filter(None, (f"{counted(len(moves), 'move')}, {_gains(moves)}", targets(moves), _first(moves))))


def _first(moves: Sequence[Move]) -> str:
    """How many replacements come before their pods go; empty if none does."""
    count = sum(each.is_replaced_first for each in moves)
    return f"{count:,} replaced before {'it goes' if count == 1 else 'they go'}" if count else ""


def _gains(moves: Sequence[Move]) -> str:
    groups = {kind: [each for each in moves if each.certainty == kind] for kind in Certainty}
    found = {kind: f"{kind}{_range(group)}" for kind, group in groups.items() if group}
    if len(found) == 1:
        (words,) = found.values()
        return f"its gain is {words}" if len(moves) == 1 else f"the gain of all is {words}"
    (first, words), *others = found.items()
    parts = [f"the gain of {len(groups[first]):,} is {words}"]
    return ", ".join([*parts, *(f"of {len(groups[kind]):,} {words}" for kind, words in others)])


def targets(moves: Sequence[Move]) -> str:
    """Count the targets by how sure they are: ``4 targets certain, 23 open``; a pod that is only removed has none."""
    counts = Counter(map(target_kind, moves))
    placed = [kind for kind in TargetKind if counts[kind] and kind != TargetKind.NONE]
    parts = [f"{counts[kind]:,}{_noun(counts[kind]) if kind == placed[0] else ''} {kind}" for kind in placed]
    if counts[TargetKind.NONE]:
        parts.append(f"{counts[TargetKind.NONE]:,} cleared")
    return ", ".join(parts)


def _noun(count: int) -> str:
    return " target" if count == 1 else " targets"


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
    """Return one node of several that could win, with its probability where that is known."""
    parts = [] if probability is None else [_chance_text(probability)]
    parts += ["in vain"] if in_vain else []
    return f"{name} ({', '.join(parts)})" if parts else name


def _chance_text(probability: float) -> str:
    return probability_text(min(max(probability, _LEAST), _MOST))
