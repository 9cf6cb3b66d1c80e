"""The server's side of TLS: which certificate is shown, that new ones are taken up while it runs, and what is offered to clients.

OpenSSL asks at the beginning of each handshake, so a renewed certificate is shown from the next connection on.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from restow.configuration_files import ReloadingFile, memory_file
from restow.errors import InputError

_VERSIONS: Final = {
    "": ssl.TLSVersion.TLSv1_2,
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}

_ALWAYS_OFFERED: Final = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")

#: Names of OpenSSL by those of the registry.
_SUITES: Final = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA": "ECDHE-ECDSA-RC4-SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA": "ECDHE-RSA-DES-CBC3-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA": "ECDHE-RSA-RC4-SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA": "DES-CBC3-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256": "AES128-SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "TLS_RSA_WITH_RC4_128_SHA": "RC4-SHA",
}

#: What is offered of TLS 1.2 where nothing is named: forward secrecy and authenticated encryption.
_DEFAULT: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"


@dataclass(slots=True, frozen=True)
class KeyPair:
    """Files of a certificate (with its chain) and of its key, and the names that they are shown for; none: any name."""

    certificate: Path
    key: Path
    names: tuple[str, ...] = ()


@dataclass(slots=True, frozen=True)
class TlsSettings:
    """What is negotiated: a version of ``ssl``, and the suites of TLS 1.2 as OpenSSL reads them."""

    minimum: ssl.TLSVersion
    ciphers: str

    def context(self) -> ssl.SSLContext:
        """Return a server's context that has no certificate yet."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self.minimum
        context.set_ciphers(self.ciphers)
        context.set_alpn_protocols(["http/1.1"])
        context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
        return context


def _reloading(pair: KeyPair, settings: TlsSettings, warn: Callable[[str], None]) -> ReloadingFile[ssl.SSLContext]:
    """The context of a pair of files."""

    def load() -> ssl.SSLContext:
        context = settings.context()
        context.load_cert_chain(pair.certificate, pair.key)
        return context

    def complain(trouble: str) -> None:
        warn(f"{pair.certificate}: the previously loaded certificate stays in use: {trouble}")

    try:
        return ReloadingFile((pair.certificate, pair.key), load, complain)
    except OSError as error:
        raise InputError(
            f"the certificate {pair.certificate} with the key {pair.key} cannot be used: {error.strerror or error}"
        ) from error


def context_of_files(
    pairs: Sequence[KeyPair], settings: TlsSettings, warn: Callable[[str], None] = lambda _: None
) -> ssl.SSLContext:
    """Return a context that shows the pair of the name that a client asks for, the first pair if there is no such name.

    InputError if a pair cannot be loaded.
    """
    renewing = [(pair.names, _reloading(pair, settings, warn)) for pair in pairs]

    def choose(connection: ssl.SSLObject, name: str | None, _listening: ssl.SSLContext) -> None:
        _, chosen = next((each for each in renewing if name and _matches(each[0], name)), renewing[0])
        connection.context = chosen.current()

    context = settings.context()
    context.sni_callback = choose
    return context


def _matches(names: Sequence[str], asked: str) -> bool:
    """Whether a name is among names of which some begin with ``*.``, which stands for one label."""
    return any(fnmatchcase(asked, name) and asked.count(".") == name.count(".") for name in names)


def context_of_pem(pem: str, settings: TlsSettings) -> ssl.SSLContext:
    """Return a context that shows a certificate that is in no file, given together with its key."""
    context = settings.context()
    with memory_file(pem.encode()) as path:
        context.load_cert_chain(path)
    return context


# Suites of TLS 1.3 are accepted and change nothing: all of them are always offered, as in the Descheduler. Suites
# that OpenSSL leaves out of its default security level cannot be negotiated even if they are named. Source:
# Kubernetes 1.36, component-base/cli/flag; the IANA registry; OpenSSL's ciphers(1).
def tls_version(name: str) -> ssl.TLSVersion:
    """Return the version of a name, TLS 1.2 for none; ValueError for an unknown one."""
    if name not in _VERSIONS:
        raise ValueError(f'unknown tls version "{name}"; known are {", ".join(filter(None, _VERSIONS))}')
    return _VERSIONS[name]


def registered_name(name: str) -> str | None:
    """Return the registry's name of a suite that OpenSSL has a name for, None where Kubernetes' flags know none."""
    if name in _ALWAYS_OFFERED:
        return name
    return next((known for known, theirs in _SUITES.items() if theirs == name), None)


def ciphers(names: Iterable[str]) -> str:
    """Return what to offer of TLS 1.2, as OpenSSL reads it; ValueError for an unknown suite."""
    wanted = []
    for name in names:
        if name not in _ALWAYS_OFFERED and name not in _SUITES:
            raise ValueError(f"Cipher suite {name} not supported or doesn't exist")
        if name in _SUITES:
            wanted.append(_SUITES[name])
    return ":".join(wanted) or _DEFAULT
