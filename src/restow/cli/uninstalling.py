"""From the arguments of ``restow operator uninstall`` to its exit status."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from restow.cli.output import write_bytes
from restow.cli.streams import warn
from restow.client.connection import connect
from restow.client.transport import Api
from restow.errors import InputError
from restow.operator.inventory import Item, inventory
from restow.operator.uninstalling import Uninstalling
from restow.plain_text import printable
from restow.reporting.columns import joined, widths
from restow.reporting.json import indented_json
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_DONE, _FAILED, _INTERRUPTED = 0, 1, 130

_HEAD = ("STEP", "KIND", "NAME")


@dataclass(slots=True, frozen=True)
class Request:
    """What was asked for, as it was written; seconds for each step."""

    namespace: str
    yes: bool
    patience: float
    output: Literal["table", "json"]
    kubeconfig: str | None
    context: str | None


class OperatorRemoval(Struct, frozen=True, rename="camel"):
    """The document of ``restow operator uninstall -o json``."""

    #: What there was, and is no more.
    removed: tuple[Item, ...]
    left: tuple[Item, ...]
    problems: tuple[str, ...]
    interrupted: bool
    api_version: str = "restow.dev/v1alpha1"
    kind: str = "OperatorRemoval"


def remove_operator(request: Request) -> int:
    """Do it and tell; returns the exit status. InputError where nothing can be begun, ClientError for what cannot be read."""
    if not request.yes and not _can_ask(request):
        raise InputError("there is no terminal to ask at: add --yes to remove everything")
    return asyncio.run(_remove(request))


async def _remove(request: Request) -> int:
    async with connect(request.kubeconfig, request.context) as api:
        warn(api.endpoint.warnings)
        before = await inventory(api, request.namespace)
        _show(request, before)
        if before and not (request.yes or await asyncio.to_thread(_agrees, len(before), api)):
            return _FAILED
        removal = await _carried_out(request, api, before)
    _report(request, removal)
    if removal.interrupted:
        return _INTERRUPTED
    return _FAILED if removal.left else _DONE


async def _carried_out(request: Request, api: Api, before: tuple[Item, ...]) -> OperatorRemoval:
    """What became of it; Ctrl-C ends it after the request that is out, and a second one ends the command."""
    uninstalling = Uninstalling(api, request.namespace, before, request.patience, lambda sentence: warn([sentence]))
    work, loop = asyncio.ensure_future(uninstalling.run()), asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, work.cancel)
    try:
        with suppress(asyncio.CancelledError):
            await work
    finally:
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(each)
    left = await uninstalling.left()
    removed = tuple(each for each in before if each not in left)
    return OperatorRemoval(removed, left, tuple(uninstalling.problems), work.cancelled())


def _show(request: Request, items: tuple[Item, ...]) -> None:
    if request.output == "table" and items:
        _print(items)


def _print(items: tuple[Item, ...]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in _removal_lines(items))
    sys.stdout.flush()


def _can_ask(request: Request) -> bool:
    return request.output == "table" and sys.stdin.isatty() and sys.stderr.isatty()


def _agrees(count: int, api: Api) -> bool:
    """Ask at the terminal; no answer is a no."""
    where = urlsplit(api.endpoint.server).netloc
    sys.stderr.write(f"\nRemove {counted(count, 'object')} from {where}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _report(request: Request, removal: OperatorRemoval) -> None:
    # What has become of a problem meanwhile is no problem.
    warn(removal.problems if removal.left else ())
    if request.output == "json":
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
