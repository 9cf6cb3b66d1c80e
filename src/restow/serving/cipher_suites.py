"""TLS versions and cipher suites under the names that Kubernetes' flags give them.

Suites of TLS 1.3 are accepted and change nothing: all of them are always offered, as in the Descheduler. Suites that
OpenSSL leaves out of its default security level cannot be negotiated even if they are named.
Source: Kubernetes 1.36, component-base/cli/flag; the IANA registry; OpenSSL's ciphers(1).
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Final

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
