"""What all daemon commands share: what their flags cannot ask for, lease, HTTPS server, log, event loop and exit status."""

from __future__ import annotations

import asyncio
import ipaddress
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

from restow import garbage
from restow.cli.daemon_flags import ElectionFlags, ServerFlags
from restow.cli.go_flags import key_pair
from restow.cli.terminal import DONE, FAILED
from restow.client.leader_election import Timing
from restow.daemon.connecting import HttpsSettings
from restow.daemon.electing import LeaseSettings
from restow.daemon.log_lines import hear_libraries
from restow.daemon.logs import Format, Log
from restow.errors import ClientError, InputError
from restow.in_thread import EndlessError
from restow.kube.duration import SECOND
from restow.serving.server import ListenAddress
from restow.serving.tls import KeyPair, TlsSettings, ciphers, tls_version

Given = TypeVar("Given")
_REMOVED_LOCKS: Final = ("endpoints", "configmaps", "endpointsleases", "configmapsleases")
#: The highest that TCP has.
HIGHEST_PORT: Final = 65535


def server_problems(flags: ServerFlags) -> Iterator[str]:
    """Yield the problems of the flags for the HTTPS server."""
    if flags.secure_port > HIGHEST_PORT:
        yield f"--secure-port {flags.secure_port}: invalid port; it must be between 0 and {HIGHEST_PORT}"
    yield from refused("bind-address", ipaddress.ip_address, flags.bind_address)
    if bool(flags.tls_cert_file) != bool(flags.tls_private_key_file):
        yield "--tls-cert-file and --tls-private-key-file go together: one of them is missing"
    yield from refused("tls-min-version", tls_version, flags.tls_min_version)
    yield from refused("tls-cipher-suites", ciphers, flags.tls_cipher_suites)
    for pair in flags.tls_sni_cert_key:
        yield from refused("tls-sni-cert-key", key_pair, pair)
        if ":" not in pair:
            yield f'--tls-sni-cert-key "{pair}" does not say for which names: write cert,key:names'


def refused(flag: str, read: Callable[[Given], object], given: Given) -> Iterator[str]:
    """Yield why a value cannot be read, if so."""
    try:
        read(given)
    except ValueError as error:
        yield f"--{flag}: {error}"


def election_problems(flags: ElectionFlags) -> Iterator[str]:
    """Yield what the flags of leader election ask for and cannot be."""
    yield from _lock(flags)
    try:
        _timing(flags).check()
    except InputError as error:
        yield f"--leader-elect: {error}"


def _lock(flags: ElectionFlags) -> Iterator[str]:
    lock = flags.leader_elect_resource_lock
    if lock in _REMOVED_LOCKS:
        yield (
            "leaderElection: unable to create leader election lock: "
            f"{lock} lock is removed, migrate to leases (--leader-elect-resource-lock)"
        )
    elif lock != "leases":
        yield f"leaderElection: Invalid lock-type {lock} (--leader-elect-resource-lock); it must be leases"
    if not flags.leader_elect_resource_namespace:
        yield "leaderElection: namespace may not be empty (--leader-elect-resource-namespace)"
    if not flags.leader_elect_resource_name:
        yield "leaderElection: name may not be empty (--leader-elect-resource-name)"


def _timing(flags: ElectionFlags) -> Timing:
    return Timing(
        flags.leader_elect_lease_duration / SECOND,
        flags.leader_elect_renew_deadline / SECOND,
        flags.leader_elect_retry_period / SECOND,
    )


def lease_of(flags: ElectionFlags) -> LeaseSettings | None:
    """Return the lease that flags ask for; None without leader election."""
    if not flags.leader_elect:
        return None
    return LeaseSettings(name=flags.leader_elect_resource_name, timing=_timing(flags))


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
    garbage.collect()
    log = Log(sys.stderr, form, verbosity)
    hear_libraries(log)
    return log


def run_daemon(work: Coroutine[Any, Any, None], failed: Callable[[Exception], None]) -> int:
    """Run until the work is done, and return the exit status; ``failed`` receives an error. InputError passes."""
    try:
        asyncio.run(work)
    except (ClientError, OSError, EndlessError) as error:
        failed(error)
        return FAILED
    return DONE
