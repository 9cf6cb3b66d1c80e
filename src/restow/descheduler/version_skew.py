"""Warn if restow's rules were not tested against the API server's version."""

from __future__ import annotations

from typing import Final

from restow.client.errors import ServerTrouble, TooManyRequests
from restow.client.server_version import git_version, minor_of
from restow.client.transport import Api
from restow.daemon import log_lines
from restow.daemon.logs import Log
from restow.scheduling.loop.server_rules import MODELLED, other_scores
from restow.serving.metrics import FOLLOWS

#: How many minor versions the Descheduler allows for either way.
_ALLOWED: Final = 3


async def check_version(api: Api, log: Log) -> int | None:
    """Warn if the server's version differs in its scores or is too far away; return the minor version, None if unknown.

    ClientError if the server does not answer or refuses. A busy server is only a warning: the lists that follow wait
    until it has time.
    """
    try:
        version = await git_version(api)
    except (TooManyRequests, ServerTrouble) as error:
        log.warning(f"The version of the API server is not known ({error}); restow goes on without checking it")
        return None
    minor = minor_of(version)
    if minor is None or abs(minor - MODELLED) > _ALLOWED:
        log_lines.version_skew(log, FOLLOWS.removeprefix("v"), version)
    elif other := other_scores(minor):
        log.warning(f"{other[0].upper()}{other[1:]}: moves that depend on scores are likely at most")
    return minor
