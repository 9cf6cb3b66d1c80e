"""``restow top``: how full the nodes are and what is under way, on one screen."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import App, Parameter, validators

from restow.cli.options import Context, Filename, Kubeconfig, NoSizeLimit
from restow.cli.terminal import Terminal, end_in_order

if TYPE_CHECKING:
    from restow.application.clusters import ClusterSource

_EXAMPLES = """Examples:
  restow top
  restow top --context staging --every 2
  restow top --once
  restow top -f cluster.json
"""
_EVERY: Final = "Seconds from one look to the next."
_ONCE: Final = "Print one look, and end; so it is with -f too, and where the output is no terminal."

app = App(name="top", help_epilogue=_EXAMPLES, sort_key=7)
_Every = Annotated[float, Parameter(metavar="SECONDS", validator=validators.Number(gte=1), help=_EVERY)]
_Once = Annotated[bool, Parameter(negative=(), show_default=False, help=_ONCE)]


@app.default
def top(
    *,
    filename: Filename = None,
    every: _Every = 5.0,
    once: _Once = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    no_size_limit: NoSizeLimit = False,
) -> None:
    """Show how full the nodes are and which pods are on their way, until Ctrl-C.

    Reads nodes and pods, and changes nothing. Nodes are the fullest first, by what is requested of them.
    """
    from restow.application.clusters import ClusterSource

    where = ClusterSource(tuple(filename or ()), kubeconfig, context, no_size_limit)
    if once or not where.is_live or not sys.stdout.isatty():
        _print(where)
    else:
        _watch(where, every)


def _print(where: ClusterSource) -> None:
    from restow.application.watching import look
    from restow.reporting.terminal import console
    from restow.reporting.top_table import top_lines

    now, page = look(where, Terminal()), console()
    for line in top_lines(now, page.width):
        page.print(line)


def _watch(where: ClusterSource, every: float) -> None:
    """Draw the screen anew after each look; Ctrl-C leaves the terminal as it was."""
    from rich.console import Console, Group
    from rich.live import Live

    from restow.application.watching import look
    from restow.errors import ClientError
    from restow.reporting.terminal import wrapped
    from restow.reporting.top_table import top_lines

    # The screen is left in order, which the handler of the other commands would not wait for.
    end_in_order()
    page, now = Console(highlight=False), look(where, Terminal())
    with suppress(KeyboardInterrupt), Live(console=page, screen=True, auto_refresh=False) as screen:
        while True:
            screen.update(Group(*top_lines(now, page.width, page.height)), refresh=True)
            time.sleep(every)
            try:
                now = look(where, Terminal())
            except ClientError as error:
                screen.update(Group(*wrapped(f"{error}; the next look is in {every:g} s", page.width)), refresh=True)
                time.sleep(every)
