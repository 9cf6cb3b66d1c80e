"""A serving certificate for when none is given: made at start, kept in memory, signed by itself.

It encrypts and proves nothing: whoever scrapes restow without a certificate of its own has to skip verification, as with
the Descheduler. Source: RFC 5280, RFC 5480, RFC 5915.
"""

from __future__ import annotations

import base64
import ipaddress
import textwrap
from collections.abc import Callable, Sequence
from typing import Final

from restow.kube.duration import HOUR
from restow.serving import der
from restow.serving.p256 import ORDER, Point, Signature, public_key, signature_of

#: As long as the Descheduler's own.
_VALIDITY: Final = 3 * 365 * 24 * HOUR
#: Clocks differ.
_HEAD_START: Final = HOUR
_SERIAL_BITS: Final = 127

_EC_PUBLIC_KEY: Final = der.identifier("1.2.840.10045.2.1")
_P256: Final = der.identifier("1.2.840.10045.3.1.7")
_ECDSA_SHA256: Final = der.sequence(der.identifier("1.2.840.10045.4.3.2"))
_COMMON_NAME: Final = der.identifier("2.5.4.3")
_KEY_USAGE: Final = der.identifier("2.5.29.15")
_ALTERNATIVE_NAMES: Final = der.identifier("2.5.29.17")
_BASIC_CONSTRAINTS: Final = der.identifier("2.5.29.19")
_EXTENDED_USAGE: Final = der.identifier("2.5.29.37")
_SERVER_AUTHENTICATION: Final = der.identifier("1.3.6.1.5.5.7.3.1")
_DIGITAL_SIGNATURE: Final = bytes([0x03, 0x02, 0x07, 0x80])


def self_signed(common_name: str, hosts: Sequence[str], now: int, below: Callable[[int], int]) -> str:
    """Return a certificate and its key, both as PEM, for names and addresses; ``below`` as ``secrets.randbelow``."""
    private = below(ORDER - 1) + 1
    public = public_key(private)
    name = der.sequence(der.set_of(der.sequence(_COMMON_NAME, der.text(common_name))))
    content = der.sequence(
        der.explicit(0, der.integer(2)),
        der.integer(below(1 << _SERIAL_BITS) + 1),
        _ECDSA_SHA256,
        name,
        der.sequence(der.time(now - _HEAD_START), der.time(now + _VALIDITY)),
        name,
        der.sequence(der.sequence(_EC_PUBLIC_KEY, _P256), der.bits(public.encoded())),
        der.explicit(3, _extensions(hosts)),
    )
    signature = _encoded(signature_of(content, private, below))
    certificate = der.sequence(content, _ECDSA_SHA256, der.bits(signature))
    return _pem("CERTIFICATE", certificate) + _pem("EC PRIVATE KEY", _private_key(private, public))


def _extensions(hosts: Sequence[str]) -> bytes:
    return der.sequence(
        _extension(_BASIC_CONSTRAINTS, der.sequence(), critical=True),
        _extension(_KEY_USAGE, _DIGITAL_SIGNATURE, critical=True),
        _extension(_EXTENDED_USAGE, der.sequence(_SERVER_AUTHENTICATION)),
        _extension(_ALTERNATIVE_NAMES, der.sequence(*map(_alternative_name, hosts))),
    )


def _extension(identifier: bytes, content: bytes, *, critical: bool = False) -> bytes:
    return der.sequence(identifier, der.boolean_true() if critical else b"", der.octets(content))


def _alternative_name(host: str) -> bytes:
    try:
        return der.value(0x87, ipaddress.ip_address(host).packed)
    except ValueError:
        return der.value(0x82, host.encode("idna"))


def _encoded(signature: Signature) -> bytes:
    return der.sequence(der.integer(signature.r), der.integer(signature.s))


def _private_key(private: int, public: Point) -> bytes:
    return der.sequence(
        der.integer(1),
        der.octets(private.to_bytes(32)),
        der.explicit(0, _P256),
        der.explicit(1, der.bits(public.encoded())),
    )


def _pem(label: str, content: bytes) -> str:
    lines = textwrap.wrap(base64.b64encode(content).decode(), 64)
    return "\n".join((f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""))
