"""How the command line declares the flags of ``restow run``: groups, help, and how values are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cyclopts import Group, Parameter, Token

from restow.cli.options import FlagError
from restow.kube.duration import format_duration

CYCLES = Group("Cycles and policy", sort_key=1)
PLACEMENT = Group("Placement", sort_key=2)
API_SERVER = Group("API server", sort_key=3)
ELECTION = Group("Leader election", sort_key=4)
SERVER = Group("HTTPS server", sort_key=5)
LOGS = Group("Logs", sort_key=6)
TRACES = Group("Traces", sort_key=7)
OLD = Group("Flags of Descheduler 0.10 to 0.22", sort_key=8)
UNHEEDED = Group("Accepted, but without effect", sort_key=9)


def switch(group: Group, meaning: str) -> Parameter:
    """A flag that is on or off."""
    return Parameter(group=group, help=meaning, show_default=False)


def value(group: Group, metavar: str, meaning: str) -> Parameter:
    """A flag that is read by its type."""
    return Parameter(group=group, metavar=metavar, help=meaning, allow_leading_hyphen=True, show_default=_shown(group))


def time_span(group: Group, meaning: str, read: Callable[[str], int]) -> Parameter:
    """A flag that takes a duration."""
    return Parameter(
        group=group,
        metavar="DURATION",
        help=meaning,
        show_default=_shown(group, format_duration),
        n_tokens=1,
        converter=lambda _, tokens: _read(read, tokens[-1].value, tokens[-1]),
    )


def items(group: Group, metavar: str, meaning: str, read: Callable[[Sequence[str]], Any] = tuple) -> Parameter:
    """A flag that can be repeated."""
    return Parameter(
        group=group,
        metavar=metavar,
        help=meaning,
        show_default=False,
        n_tokens=1,
        converter=lambda _, tokens: _read(read, [token.value for token in tokens], tokens[-1]),
    )


def _shown(group: Group, form: Callable[[Any], str] = str) -> Callable[[Any], str] | bool:
    """How a default is shown: where there is one, and it says something."""
    if group is UNHEEDED:
        return False
    return lambda default: "" if default in ("", None) else form(default)


def _read(reader: Callable[[Any], Any], given: Any, token: Token) -> Any:
    try:
        return reader(given)
    except ValueError as error:
        raise FlagError(f'invalid argument "{token.value}" for "{token.keyword}" flag: {error}') from error
