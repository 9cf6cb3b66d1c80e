"""The flags about the HTTPS server of a daemon: where it listens, and with which certificates."""

# Annotations are objects here and not texts, which cyclopts would read in the modules of subclasses.
from dataclasses import dataclass
from typing import Annotated

from restow.cli import options as option
from restow.cli.flag_values import comma_list
from restow.cli.options import SERVER

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
