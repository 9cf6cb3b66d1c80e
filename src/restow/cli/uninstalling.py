"""From the arguments of ``restow operator uninstall`` to its exit status."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from restow.application.operator_removal import OperatorRemoval, RemovalRequest, remove_operator
from restow.cli.feedback import Terminal
from restow.cli.output import write_bytes
from restow.cli.streams import warn
from restow.errors import InputError
from restow.plain_text import printable
from restow.reporting.columns import joined, widths
from restow.reporting.json import indented_json
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from restow.operator.inventory import Item

_DONE, _FAILED, _INTERRUPTED = 0, 1, 130

_HEAD = ("STEP", "KIND", "NAME")


def uninstall_operator(request: RemovalRequest, output: Literal["table", "json"], *, yes: bool) -> int:
    """Remove it and report; returns the exit status. InputError where nothing can be started, ClientError for what cannot be read."""
    if not yes and not _can_ask(output):
        raise InputError("there is no terminal to ask at: add --yes to remove everything")

    def agrees(items: tuple[Item, ...], server: str) -> bool:
        if output == "table":
            _print(items)
        return yes or _agrees(len(items), server)

    removal = remove_operator(request, agrees, Terminal(), _interrupted_by_signals)
    if removal is None:
        return _FAILED
    _report(output, removal)
    if removal.interrupted:
        return _INTERRUPTED
    return _FAILED if removal.left else _DONE


@contextmanager
def _interrupted_by_signals(stop: Callable[[], object]) -> Iterator[None]:
    """Have Ctrl-C end the block after the request that is out; a second one ends the command."""
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop)
    try:
        yield
    finally:
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(each)


def _print(items: tuple[Item, ...]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in _removal_lines(items))
    sys.stdout.flush()


def _can_ask(output: str) -> bool:
    return output == "table" and sys.stdin.isatty() and sys.stderr.isatty()


def _agrees(count: int, server: str) -> bool:
    """Ask at the terminal; no answer is a no."""
    sys.stderr.write(f"\nRemove {counted(count, 'object')} from {server}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _report(output: str, removal: OperatorRemoval) -> None:
    # A problem that was solved by a later step is none.
    warn(removal.problems if removal.left else ())
    if output == "json":
        write_bytes(indented_json(removal) + b"\n")
        return
    if removal.left:
        stopped = "Interrupted; run the command again to go on. " if removal.interrupted else ""
        sys.stdout.write(f"\n{stopped}{counted(len(removal.left), 'object')} left:\n")
        _print(removal.left)
        return
    removed = len(removal.removed)
    sys.stdout.write(
        f"{counted(removed, 'object')} removed; nothing is left\n" if removed else "there is no operator\n"
    )


def _removal_lines(items: Sequence[Item]) -> Iterator[str]:
    """Yield a line for each thing, in the order of removal; no name is cut, for each is about to be removed."""
    rows = [_HEAD, *map(_row, items)]
    columns = widths(rows)
    return (joined(row, columns).rstrip() for row in rows)


def _row(item: Item) -> tuple[str, str, str]:
    name = f"{item.namespace}/{item.name}" if item.namespace else item.name
    return item.step, item.kind, printable(f"{name}: soft taints" if item.step == "taints" else name)
