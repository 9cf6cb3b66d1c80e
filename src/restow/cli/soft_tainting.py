"""From the arguments of ``restow operator soft-tainter`` to its exit status."""

from __future__ import annotations

import asyncio
import gc
import sys
from dataclasses import dataclass

from restow.cli.operating import health_server
from restow.client.errors import ClientError
from restow.operator.soft_tainting import read_policy
from restow.operator.tainter_daemon import TainterSettings, taint
from restow.operator.tainting_policy import tainting_policy
from restow.running import log_lines
from restow.running.library_logs import hear_libraries
from restow.running.logs import Format, Log
from restow.running.settings import ApiSettings

_DONE, _FAILED = 0, 1


@dataclass(slots=True, frozen=True)
class TaintingRequest:
    """What was asked for, as it was written."""

    policy_file: str
    kubeconfig: str | None
    namespace: str
    port: int
    logging_format: Format
    verbosity: int


def keep_tainting(asked: TaintingRequest) -> int:
    """Do it; InputError for what cannot be used, else the exit status. What happens goes to the log."""
    # Seen at once, not only when somebody looks at the log.
    tainting_policy(read_policy(asked.policy_file))
    settings = TainterSettings(
        policy_file=asked.policy_file,
        namespace=asked.namespace,
        api=ApiSettings(kubeconfig=asked.kubeconfig),
        https=health_server(asked.port),
    )
    # Unlike the other commands this one lasts, and has to get rid of what it made.
    gc.enable()
    log = Log(sys.stderr, asked.logging_format, asked.verbosity)
    hear_libraries(log)
    try:
        asyncio.run(taint(settings, log))
    except (ClientError, OSError) as error:
        log_lines.failed(log, error)
        return _FAILED
    return _DONE
