"""``restow top``: the nodes as bars, the fullest first, and what is under way, in as many lines as a screen has."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable
from restow.reporting.terminal import cut_middle, joined, narrowed, widths
from restow.reporting.wording import counted, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.reporting.top_result import ClusterNow, MovingPod, NodeNow

_MOST_MOVING: Final = 8
#: Lines that are no rows: the headline, the balance, an empty line, the heads, and what is left out, with one to spare.
_OTHERS: Final = 6
_FEWEST: Final = 5
_FULL, _EMPTY = "█", "░"
_SHARE: Final = 6
_HOT: Final = 0.9


def top_lines(now: ClusterNow, width: int, height: int | None = None) -> list[Text]:
    """Return the screen; without a height all nodes."""
    most = _MOST_MOVING if height is None else min(max(height - _OTHERS - _FEWEST, 1), _MOST_MOVING)
    moving = list(_moving_lines(now.moving, width, most))
    room = len(now.nodes) if height is None else max(height - len(moving) - _OTHERS, _FEWEST)
    lines = [*_head(now, width), Text(), *_node_lines(now.nodes, width, room), *moving]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def _head(now: ClusterNow, width: int) -> Iterator[Text]:
    kinds = Counter(each.what for each in now.moving)
    counts = [counted(len(now.nodes), "node"), counted(now.pods, "pod")]
    counts += [f"{count:,} {_SHORT[what]}" for what, count in kinds.items()]
    yield Text(cut_middle(f"{', '.join(counts)}   {printable(now.origin)}", width), style="bold")
    yield Text(f"requests: standard deviation cpu {now.cpu_spread:.2f}, memory {now.memory_spread:.2f}", style="dim")


_SHORT: Final = {"ends": "ending", "waits behind restow's gate": "gated", "waits for a node": "pending"}


def _node_lines(nodes: Sequence[NodeNow], width: int, room: int) -> Iterator[Text]:
    ranked = sorted(nodes, key=lambda each: (-max(each.cpu, each.memory), each.name))
    shown = ranked[:room]
    rows = [(printable(each.name), f"{each.pods:,}", " ".join((*each.state, printable(each.zone)))) for each in shown]
    name, pods, state = narrowed(widths([("NODE", "PODS", ""), *rows]), width - 2 * _SHARE - 24)
    bar = max((width - name - pods - state - 10 - 2 * _SHARE) // 2, 4)
    heads = joined(("NODE", "CPU", "MEMORY", "PODS"), (name, bar + _SHARE + 1, bar + _SHARE + 1, pods))
    yield Text(heads, style="dim")
    for each, (label, count, more) in zip(shown, rows, strict=True):
        yield Text.assemble(
            f"{cut_middle(label, name):<{name}}  ",
            _share(each.cpu, bar),
            "  ",
            _share(each.memory, bar),
            f"  {count:>{pods}}  ",
            (cut_middle(more, max(state, 1)), "dim"),
        )
    if len(ranked) > room:
        yield Text(f"... and {len(ranked) - room:,} more, none of them fuller", style="dim")


def _share(share: float, width: int) -> Text:
    full = min(round(share * width), width)
    style = "red" if share >= _HOT else "yellow" if share >= _HOT - 0.2 else "green"
    return Text.assemble((_FULL * full, style), (_EMPTY * (width - full), "dim"), f" {percent(share):>{_SHARE}}")


def _moving_lines(moving: Sequence[MovingPod], width: int, most: int) -> Iterator[Text]:
    if not moving:
        return
    yield Text()
    rows = [(printable(each.pod), printable(each.node) or "-", each.what) for each in moving[:most]]
    columns = narrowed(widths([("POD", "NODE", ""), *rows]), width)
    yield Text(joined(("POD", "NODE", ""), columns), style="dim")
    yield from (Text(joined(row, columns)) for row in rows)
    if len(moving) > len(rows):
        yield Text(f"... and {len(moving) - len(rows):,} more", style="dim")
