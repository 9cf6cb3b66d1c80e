"""What all daemon commands share: lease, HTTPS server, log, event loop and exit status."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

from restow.cli.election_flags import ElectionFlags
from restow.cli.flag_values import key_pair
from restow.cli.server_flags import ServerFlags
from restow.client.leadership import Timing
from restow.daemon.log_lines import hear_libraries
from restow.daemon.logs import Format, Log
from restow.daemon.settings import HttpsSettings, LeaseSettings
from restow.errors import ClientError
from restow.in_thread import EndlessError
from restow.kube.duration import SECOND
from restow.serving.server import ListenAddress
from restow.serving.tls import KeyPair, TlsSettings, ciphers, tls_version

_DONE: Final = 0
_FAILED: Final = 1


def lease_of(flags: ElectionFlags) -> LeaseSettings | None:
    """Return the lease that flags ask for; None without leader election."""
    if not flags.leader_elect:
        return None
    timing = Timing(
        flags.leader_elect_lease_duration / SECOND,
        flags.leader_elect_renew_deadline / SECOND,
        flags.leader_elect_retry_period / SECOND,
    )
    return LeaseSettings(name=flags.leader_elect_resource_name, timing=timing)


def https_settings(flags: ServerFlags, *, metrics: bool = True) -> HttpsSettings:
    """The HTTPS settings that flags ask for; ``metrics`` is whether metrics are served."""
    pairs = [KeyPair(*key_pair(text)) for text in flags.tls_sni_cert_key]
    if flags.tls_cert_file:
        pairs.insert(0, KeyPair(Path(flags.tls_cert_file), Path(flags.tls_private_key_file)))
    return HttpsSettings(
        endpoint=ListenAddress(flags.bind_address, flags.secure_port, flags.permit_port_sharing),
        tls=TlsSettings(tls_version(flags.tls_min_version), ciphers(flags.tls_cipher_suites)),
        certificates=tuple(pairs),
        metrics=metrics,
    )


def daemon_log(form: Format, verbosity: int) -> Log:
    """Return the log of a daemon and its libraries, and prepare the process for a long run."""
    # Unlike other commands, a daemon needs garbage collection.
    gc.enable()
    log = Log(sys.stderr, form, verbosity)
    hear_libraries(log)
    return log


def run_daemon(work: Coroutine[Any, Any, None], failed: Callable[[Exception], None]) -> int:
    """Run until the work is done, and return the exit status; ``failed`` receives an error. InputError passes."""
    try:
        asyncio.run(work)
    except (ClientError, OSError, EndlessError) as error:
        failed(error)
        return _FAILED
    return _DONE
