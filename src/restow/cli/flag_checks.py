"""Check the flags of ``restow run``, and list those that have no effect.

The Descheduler accepts some unusable values or crashes on them; restow prints a sentence and exits with status 2.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from restow.cli.election_flags import election_problems
from restow.cli.flag_values import gates_of, key_pair
from restow.cli.run_flags import Flags
from restow.cli.server_flags import ServerFlags
from restow.errors import InputError
from restow.kube.duration import format_duration
from restow.serving.tls import ciphers, tls_version

Given = TypeVar("Given")

#: The highest that TCP has.
HIGHEST_PORT: Final = 65535
#: A namespace and a name.
_NAMED: Final = re.compile(r"[a-z0-9.-]+/[a-z0-9.-]+")
_FORMATS: Final = ("text", "json")

_BUFFERS: Final = "lines are written one by one"
_HTTP2: Final = "only HTTP/1.1 is served"

#: Why a flag has no effect, by field. Address sharing and the flush frequency are not listed: restow always does both.
IGNORED: Final = {
    "cert_dir": "nothing is written; the certificate is made in memory, as by the Descheduler",
    "tls_curve_preferences": "the curves are OpenSSL's",
    "enable_http2": _HTTP2,
    "disable_http2_serving": _HTTP2,
    "http2_max_streams_per_connection": _HTTP2,
    "vmodule": "its patterns name files of the Descheduler",
    "log_text_split_stream": "everything goes to stderr",
    "log_json_split_stream": "everything goes to stderr",
    "log_text_info_buffer_size": _BUFFERS,
    "log_json_info_buffer_size": _BUFFERS,
}


def check_flags(flags: Flags) -> None:
    """Raise InputError with the first problem."""
    for problem in _problems(flags):
        raise InputError(problem)


def _problems(flags: Flags) -> Iterator[str]:
    yield from _general(flags)
    yield from server_problems(flags)
    if flags.leader_elect:
        yield from _election(flags)


def _general(flags: Flags) -> Iterator[str]:
    if flags.logging_format not in _FORMATS:
        yield f'--logging-format "{flags.logging_format}" is unknown; there are text and json'
    if flags.descheduling_interval < 0:
        yield f"--descheduling-interval {format_duration(flags.descheduling_interval)} is negative; 0 runs one cycle"
    if flags.publish_plan and not _NAMED.fullmatch(flags.publish_plan):
        yield f'--publish-plan "{flags.publish_plan}" does not name a ConfigMap: write NAMESPACE/NAME'
    yield from refused("feature-gates", gates_of, flags.feature_gates)
    if flags.client_connection_qps > 0 and flags.client_connection_burst <= 0:
        yield (
            "--client-connection-burst: burst is required to be greater than 0 when RateLimiter is not set and QPS is "
            "set to greater than 0"
        )
    if (flags.max_pods_to_evict_per_node or 0) < 0:
        yield f"--max-pods-to-evict-per-node {flags.max_pods_to_evict_per_node} is negative; 0 is no limit"


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


def _election(flags: Flags) -> Iterator[str]:
    if flags.descheduling_interval <= 0:
        yield "--leader-elect: leaderElection must be used with deschedulingInterval (--descheduling-interval)"
    yield from election_problems(flags)


def refused(flag: str, read: Callable[[Given], object], given: Given) -> Iterator[str]:
    """Yield why a value cannot be read, if so."""
    try:
        read(given)
    except ValueError as error:
        yield f"--{flag}: {error}"


def ignored_flags(flags: Flags) -> Iterator[str]:
    """Return a sentence for each given flag without effect."""
    for name, why in IGNORED.items():
        if getattr(flags, name) != getattr(Flags, name):
            yield f"--{name.replace('_', '-')} has no effect: {why}"
