"""Whether the API server is of a version that restow's rules were tried against; if not, a warning and nothing else."""

from __future__ import annotations

from typing import Final

from restow.client.errors import ServerTrouble, TooManyRequests
from restow.client.server_version import git_version, minor_of
from restow.client.transport import Api
from restow.running import log_lines
from restow.running.logs import Log
from restow.scheduling.loop.server_rules import MODELLED, other_scores
from restow.serving.metrics import FOLLOWS

#: How many minor versions the Descheduler allows for either way.
_ALLOWED: Final = 3


async def check_version(api: Api, log: Log) -> int | None:
    """Ask for the server's version, warn where it is another or far away, and return the minor one, None if not known.

    ClientError where nobody answers or restow is refused.

    A server that has no time for this question is no reason to end: the lists wait until it has.
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
