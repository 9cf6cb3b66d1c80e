"""The flags that several daemons have: leader election, the HTTPS server, the log; and what is said of flags without effect.

Source: Descheduler 0.36 and Kubernetes 1.36, component-base/config/options.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Literal, get_type_hints

from restow.cli import options as option
from restow.cli.go_flags import comma_list, duration
from restow.cli.options import ELECTION, LOGS, SERVER
from restow.kube.duration import SECOND

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# No postponed annotations: cyclopts evaluates those of an inherited field in the module that inherits it.

LeaseDuration = Annotated[
    int,
    option.time_span(
        ELECTION, "How long other replicas wait after the leader's last renewal before they take over.", duration
    ),
]
RenewDeadline = Annotated[
    int, option.time_span(ELECTION, "How long the leader keeps trying to renew the lease before it stops.", duration)
]
RetryPeriod = Annotated[
    int, option.time_span(ELECTION, "Time between attempts to acquire or renew the lease.", duration)
]
LeaseName = Annotated[str, option.value(ELECTION, "NAME", "Name of the lease.")]


LoggingFormat = Annotated[Literal["text", "json"], option.value(LOGS, "FORM", "text or json.")]


@dataclass(frozen=True, kw_only=True)
class ElectionFlags:
    """Names are the flags', with underscores; durations are nanoseconds."""

    leader_elect: Annotated[
        bool, option.switch(ELECTION, "Act only while holding a lease, so that several replicas can run.")
    ] = False
    leader_elect_lease_duration: LeaseDuration = 137 * SECOND
    leader_elect_renew_deadline: RenewDeadline = 107 * SECOND
    leader_elect_retry_period: RetryPeriod = 26 * SECOND
    leader_elect_resource_lock: Annotated[str, option.value(ELECTION, "KIND", "Kind of the lock object.")] = "leases"
    leader_elect_resource_name: LeaseName = "descheduler"
    leader_elect_resource_namespace: Annotated[str, option.value(ELECTION, "NAMESPACE", "Namespace of the lease.")] = (
        "kube-system"
    )


ServerPort = Annotated[int, option.value(SERVER, "PORT", "Port for health checks and metrics; 0 disables the server.")]


@dataclass(frozen=True, kw_only=True)
class ServerFlags:
    """Names are the flags', with underscores."""

    secure_port: ServerPort = 10258
    bind_address: Annotated[str, option.value(SERVER, "ADDRESS", "Address to listen on; :: is every IPv6 address.")] = (
        "0.0.0.0"  # noqa: S104 - the kubelet and Prometheus come from outside
    )
    tls_cert_file: Annotated[
        str,
        option.value(
            SERVER, "FILE", "Certificate chain, reloaded when it changes. Default: a self-signed certificate."
        ),
    ] = ""
    tls_private_key_file: Annotated[str, option.value(SERVER, "FILE", "Private key of the certificate.")] = ""
    tls_sni_cert_key: Annotated[
        tuple[str, ...], option.items(SERVER, "CERT,KEY:NAMES", "Certificate for these server names. Repeatable.")
    ] = ()
    tls_cipher_suites: Annotated[
        tuple[str, ...], option.items(SERVER, "NAMES", "TLS 1.2 cipher suites, by their IANA names.", comma_list)
    ] = ()
    tls_min_version: Annotated[
        str, option.value(SERVER, "VERSION", "VersionTLS10 to VersionTLS13. Default: VersionTLS12.")
    ] = ""
    permit_port_sharing: Annotated[bool, option.switch(SERVER, "Let other processes listen on the same port.")] = False


def ignored_flags(flags: "DataclassInstance") -> Iterator[str]:
    """Return a sentence for each given flag that is declared as ``Ignored``."""
    hints = get_type_hints(type(flags), include_extras=True)
    for each in fields(flags):
        why = [note.why for note in hints[each.name].__metadata__ if isinstance(note, option.Ignored)]
        if why and getattr(flags, each.name) != each.default:
            yield f"--{each.name.replace('_', '-')} has no effect: {why[0]}"
