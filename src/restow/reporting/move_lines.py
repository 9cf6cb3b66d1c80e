"""The moves on a terminal: one line each while they fit on a screen, the first few and totals when they do not.

A reason has its own column where the terminal is wide enough; on a narrow one it follows the moves that share it.
Before a name is cut, the least informative parts are left out: the hash in a pod's name, the domain that all nodes
share, and then in the pod's name what the owner's column says. The owner says what moves, and is cut last.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.text import Text

from restow.descheduling.plan import target_kind
from restow.plain_text import printable
from restow.policies.codes import TargetKind
from restow.reporting.answer import predicts
from restow.reporting.sureness import differs, landing, node_of, sureness
from restow.reporting.terminal import (
    GAP,
    cut_middle,
    joined,
    more_lines,
    narrowed,
    paragraph,
    total_width,
    widths,
    without_shared_domain,
    wrapped,
)
from restow.reporting.wording import counted, why

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from restow.descheduling.plan import Move, PlanDocument

_MOST_LISTED: Final = 20
_MOST_OF_MANY, _FEWEST_OF_MANY, _MOST_LINES = 10, 3, 21
_MOST_TOTALS: Final = 4
#: The longest title of a line of totals.
_TITLE: Final = len("by strategy")
_NARROWEST_WHY: Final = 60
_POD, _OWNER = 1, 2
#: From where and, if that is known, to where.
_NODES: Final = slice(3, 5)

_ELLIPSIS: Final = "…"


def move_lines(plan: PlanDocument, width: int, see: str = "-o wide or -o json") -> Iterator[Text]:
    """Yield the section's lines under its headline; ``see`` is what has all of them."""
    if len(plan.moves) <= _MOST_LISTED:
        yield from _table(plan, plan.moves, width)
    else:
        yield from _totals(plan, width)
        yield Text()
        count, lines = _first_few(plan, width)
        yield from lines
        yield from more_lines(len(plan.moves), count, see, indent=4)
    yield from _open_choices(plan, width, see)
    yield from _caveats(plan, width, see)


def _caveats(plan: PlanDocument, width: int, see: str) -> Iterator[Text]:
    """Say how many replacements may be other pods than those that were proven."""
    guessed = sum(bool(each.caveat) for each in plan.moves)
    if guessed:
        what = "Its replacement" if len(plan.moves) == 1 else f"The replacements of {guessed:,} of {len(plan.moves):,}"
        sentence = f"{what} may not be what is known of them, and {'it is' if len(plan.moves) == 1 else 'they are'} likely at most: see {see}"
        yield from paragraph(sentence, width, "dim", indent=4)


def _open_choices(plan: PlanDocument, width: int, see: str) -> Iterator[Text]:
    """Say how many moves could land on other nodes than the one that is shown."""
    several = sum(each.candidate_count > 1 for each in plan.moves)
    if several:
        share = f"{several:,} of {len(plan.moves):,}" if several < len(plan.moves) else "All" if several > 1 else "It"
        sentence = f"{share} could also land on other nodes: see {see}"
        yield from paragraph(sentence, width, "dim", indent=4)


def _first_few(plan: PlanDocument, width: int) -> tuple[int, list[Text]]:
    """Return how many of the first moves are shown and their table, which leaves room for the rest of the screen."""
    for count in range(_MOST_OF_MANY, _FEWEST_OF_MANY, -1):
        lines = list(_table(plan, plan.moves[:count], width))
        if len(lines) <= _MOST_LINES:
            return count, lines
    return _FEWEST_OF_MANY, list(_table(plan, plan.moves[:_FEWEST_OF_MANY], width))


def _table(plan: PlanDocument, moves: Sequence[Move], width: int) -> Iterator[Text]:
    header = ["#", "POD", "OWNER", "FROM", *(["TO"] if predicts(plan) else []), *(["GAIN"] if _is_mixed(plan) else [])]
    rows = [_cells(number, each)[: len(header)] for number, each in enumerate(moves, 1)]
    reasons = [why(each.plugin, each.reason) for each in moves]
    numbers = max(len(row[0]) for row in rows) + 1
    rows = [[row[0].rjust(numbers), *row[1:]] for row in [header, *rows]]
    hashless = _with_pods_below(rows, _without_hashes(rows))
    variants = [rows, hashless, _with_short_nodes(hashless)]
    for variant in variants:
        natural = widths(variant)
        room = width - total_width(natural) - len(GAP)
        if room >= min(max(map(len, reasons)), _NARROWEST_WHY):
            yield from _reasons_beside(variant, natural, reasons, room)
            return
    last = _with_short_nodes(rows)
    room = widths(last)[_POD] - (total_width(widths(last)) - width)
    variants.append(_with_pods_below(last, room))
    best = next((each for each in variants if total_width(widths(each)) <= width), variants[-1])
    yield from _reasons_below(best, narrowed(widths(best), width), reasons, width)


def _without_hashes(rows: list[list[str]]) -> int:
    """How wide pods are without the hashes of their templates."""
    return max(cell_len(pod_forms(row[_POD], row[_OWNER])[:2][-1]) for row in rows)


def _with_pods_below(rows: list[list[str]], width: int) -> list[list[str]]:
    """Write each pod in the longest form that is not wider."""
    heading, *body = rows
    forms = [fitting_form(pod_forms(row[_POD], row[_OWNER]), width) for row in body]
    return [heading, *([*row[:_POD], form, *row[_OWNER:]] for row, form in zip(body, forms, strict=True))]


def _with_short_nodes(rows: list[list[str]]) -> list[list[str]]:
    heading, *body = rows
    short = without_shared_domain([node for row in body for node in map(node_of, row[_NODES]) if node])
    shortened = ([_with_node(cell, short) for cell in row[_NODES]] for row in body)
    return [
        heading,
        *([*row[: _NODES.start], *nodes, *row[_NODES.stop :]] for row, nodes in zip(body, shortened, strict=True)),
    ]


def _with_node(cell: str, short: Mapping[str, str]) -> str:
    """A cell with its node, if it names one, written short."""
    node = node_of(cell)
    return f"{short[node]}{cell.removeprefix(node)}" if node else cell


def _with_fitting_target(row: list[str], columns: list[int]) -> list[str]:
    """Where a target is too long for its column, cut the name and keep what stands behind it."""
    if len(row) < _NODES.stop or not node_of(row[_NODES.stop - 1]):
        return row
    cell, width = row[_NODES.stop - 1], columns[_NODES.stop - 1]
    node = node_of(cell)
    rest = cell.removeprefix(node)
    return [*row[: _NODES.stop - 1], f"{cut_middle(node, max(width - len(rest), 1))}{rest}", *row[_NODES.stop :]]


def _cells(number: int, move: Move) -> list[str]:
    owner = str(move.owner) if move.owner else "-"
    return [str(number), *map(printable, (str(move.pod), owner, move.source, landing(move), sureness(move)))]


def _is_mixed(plan: PlanDocument) -> bool:
    """Whether each move has to say how sure its gain is; otherwise the headline has said it of all."""
    return predicts(plan) and differs(plan.moves)


def _reasons_beside(rows: list[list[str]], columns: list[int], reasons: list[str], room: int) -> Iterator[Text]:
    heading, *body = rows
    yield Text(joined([*heading, "WHY"], [*columns, room]), style="bold")
    indent = " " * (total_width(columns) + len(GAP))
    for row, reason in zip(body, reasons, strict=True):
        first, *rest = wrapped(reason, room) or [""]
        names = joined([*row, first], [*columns, room])
        yield _dim_after(names, len(indent))
        yield from (Text(indent + line, style="dim") for line in rest)


def _dim_after(line: str, start: int) -> Text:
    text = Text(line)
    text.stylize("dim", start)
    return text


def _reasons_below(rows: list[list[str]], columns: list[int], reasons: list[str], width: int) -> Iterator[Text]:
    heading, *body = (_with_fitting_target(row, columns) for row in rows)
    yield Text(joined(heading, columns), style="bold")
    for reason, run in groupby(zip(reasons, body, strict=True), key=lambda each: each[0]):
        shared = [row for _, row in run]
        yield from (Text(joined(row, columns)) for row in shared)
        numbers = f"{shared[0][0].strip()}-{shared[-1][0].strip()}: " if len(shared) > 1 else ""
        yield from paragraph(numbers + reason, width, "dim", indent=columns[0] + len(GAP))


def _totals(plan: PlanDocument, width: int) -> Iterator[Text]:
    """Yield which strategies move what, from where and to where: the largest counts."""
    moves = plan.moves
    targets = [each.target for each in moves if each.target]
    short = without_shared_domain([*(each.source for each in moves), *targets])
    sections = {
        "by owner": ("owner", Counter(str(each.owner or "no owner") for each in moves)),
        "from": ("node", Counter(short[each.source] for each in moves)),
    }
    if predicts(plan):
        sections[_to(moves)] = ("node", Counter(short[each] for each in targets))
    for title, (kind, counts) in sections.items():
        yield from total_line(title, f"{counted(len(counts), kind)}: {_largest(counts)}", width)


def _to(moves: Sequence[Move]) -> str:
    """What leads to the counted targets: they are only planned where other nodes could win."""
    return "planned to" if any(target_kind(each) == TargetKind.OPEN for each in moves) else "to"


def total_line(title: str, description: str, width: int) -> Iterator[Text]:
    """Yield a title and a text, whose further lines are indented under its first."""
    start = f"{title:<{_TITLE}}{GAP}"
    yield from paragraph(f"{start}{description}", width, further=len(start))


def _largest(counts: Counter[str]) -> str:
    ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    shown = [f"{printable(name)} {count:,}" for name, count in ranked[:_MOST_TOTALS]]
    return ", ".join([*shown, "..."] if len(shown) < len(ranked) else shown)


def pod_forms(pod: str, owner: str) -> list[str]:
    """Return ``shop/web-7f9c-x2k9q``, ``shop/web-…-x2k9q`` and ``shop/…-x2k9q`` for Deployment/web; each shorter than the last."""
    namespace, _, name = pod.partition("/")
    workload = owner.partition("/")[2]
    if not workload or not name.startswith(f"{workload}-"):
        return [pod]
    rest = name.removeprefix(f"{workload}-")
    suffix = rest.rpartition("-")[2]
    forms = [f"{namespace}/{workload}-{_ELLIPSIS}-{suffix}", f"{namespace}/{_ELLIPSIS}-{suffix}"]
    return [pod, *(each for each in forms if cell_len(each) < cell_len(pod))]


def fitting_form(forms: Sequence[str], width: int) -> str:
    """Return the longest form that fits, or else the shortest."""
    return next((each for each in forms if cell_len(each) <= width), forms[-1])
