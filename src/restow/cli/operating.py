"""From the arguments of ``restow operator`` to its exit status."""

from __future__ import annotations

import asyncio
import gc
import sys
from dataclasses import dataclass

from restow.client.errors import ClientError
from restow.client.leadership import Timing
from restow.errors import InputError
from restow.kube.duration import SECOND
from restow.operator.facts import Installation
from restow.running import log_lines
from restow.running.library_logs import hear_libraries
from restow.running.logs import Format, Log
from restow.running.settings import ApiSettings, HttpsSettings, LeaseSettings
from restow.serving.cipher_suites import ciphers, tls_version
from restow.serving.server import Endpoint
from restow.serving.tls import TlsSettings

_DONE, _FAILED = 0, 1
_EVERYWHERE = "0.0.0.0"  # noqa: S104 - the kubelet comes from outside


@dataclass(slots=True, frozen=True)
class Operating:
    """What was asked for, as it was written; durations are nanoseconds."""

    kubeconfig: str | None
    installation: Installation
    #: Lease, renewal, retry.
    timing: tuple[int, int, int]
    port: int
    logging_format: Format
    verbosity: int


def run_operator(asked: Operating) -> int:
    """Do it; InputError for what cannot be used, else the exit status. What happens goes to the log."""
    try:
        from restow.operator.daemon import LEASE, OperatorSettings, operate
    except ModuleNotFoundError as error:
        raise InputError(
            f"restow operator needs the package {error.name}; install it with: pip install 'restow[operator]'"
        ) from error
    if not asked.installation.image:
        raise InputError(
            "--image is missing: the image of restow that the descheduler runs (RELATED_IMAGE_OPERAND_IMAGE)"
        )
    timing = Timing(*(each / SECOND for each in asked.timing))
    timing.check()
    settings = OperatorSettings(
        installation=asked.installation,
        api=ApiSettings(kubeconfig=asked.kubeconfig),
        lease=LeaseSettings(name=LEASE, timing=timing),
        https=health_server(asked.port),
    )
    # Unlike the other commands this one lasts, and has to get rid of what it made.
    gc.enable()
    log = Log(sys.stderr, asked.logging_format, asked.verbosity)
    hear_libraries(log)
    try:
        asyncio.run(operate(settings, log))
    except (ClientError, OSError) as error:
        log_lines.failed(log, error)
        return _FAILED
    return _DONE


def health_server(port: int) -> HttpsSettings | None:
    """What a daemon of the operator serves on a port: health alone; None for 0."""
    if port <= 0:
        return None
    tls = TlsSettings(tls_version(""), ciphers(()))
    return HttpsSettings(endpoint=Endpoint(_EVERYWHERE, port), tls=tls, metrics=False)
