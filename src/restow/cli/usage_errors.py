"""Unusable arguments in a sentence, and which help page to look at."""

from __future__ import annotations

import re

from cyclopts import CycloptsError
from cyclopts.exceptions import UnknownCommandError, UnusedCliTokensError

from restow.cli.options import FlagError, NotAPathError

#: A word that is longer than anybody reads, and its beginning; the library's sentences quote whatever was typed.
_WORD = re.compile(r"(\S{200})\S+?([\"';,.:?]{0,3})(?=\s|$)")
#: The commands that read a cluster.
_READING = {("plan",), ("schedule",), ("explain", "pod"), ("explain", "node")}


def sentences_of(error: CycloptsError) -> tuple[str, str]:
    """Return what is wrong, and what to ask for help."""
    command = " ".join(("restow", *(error.command_chain or ())))
    return _WORD.sub(r"\1…\2", _sentence(error)), f"{command} --help shows what there is"


def _sentence(error: CycloptsError) -> str:
    unused = (error.unused_tokens or [""])[0]
    if isinstance(error, UnknownCommandError) and unused.startswith("-"):
        return f"{unused} stands before the command: options follow it, as in restow plan -f cluster.json"
    if isinstance(error, UnusedCliTokensError):
        hint = f"; did you mean -f {unused}?" if tuple(error.command_chain or ()) in _READING else ""
        return f'Unexpected argument "{unused}"{hint}'
    if isinstance(error.__cause__, (FlagError, NotAPathError)):
        return str(error.__cause__)
    return str(error)
