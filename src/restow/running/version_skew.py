"""Whether the API server is of a version that restow's rules were tried against; if not, a warning and nothing else."""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import Struct

from restow.client.errors import ServerTrouble, TooManyRequests
from restow.client.transport import Api
from restow.running import log_lines
from restow.running.logs import Log
from restow.serving.metrics import FOLLOWS

#: Of Kubernetes, whose rules are followed, and how many minor versions the Descheduler allows for either way.
_MINOR: Final = 36
_ALLOWED: Final = 3
_VERSION: Final = re.compile(r"v\d+\.(\d+)")


class _Version(Struct, rename="camel"):
    git_version: str = ""


async def check_version(api: Api, log: Log) -> None:
    """Ask for the server's version and warn where it is far away; ClientError where nobody answers or restow is refused.

    A server that has no time for this question is no reason to end: the lists wait until it has.
    """
    try:
        version = await api.read("/version", {}, msgspec.json.Decoder(_Version).decode)
    except (TooManyRequests, ServerTrouble) as error:
        log.caution(f"The version of the API server is not known ({error}); restow goes on without checking it")
        return
    found = _VERSION.match(version.git_version)
    if found is None or abs(int(found[1]) - _MINOR) > _ALLOWED:
        log_lines.version_skew(log, FOLLOWS.removeprefix("v"), version.git_version)
