"""Keys and signatures on the curve P-256, as far as a self-signed certificate needs them: one key, one signature.

The serving certificate is made at every start where none is given, and no client can verify it; encrypted connections
are OpenSSL's business, which Python offers no way to make a key with. The libraries that do cost 8 MB of memory in a
process of 60 for these two multiplications. Nothing here is constant in time: the only signature is made at start, of
restow's own certificate. Source: SEC 1 and SEC 2, NIST P-256.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final, NamedTuple

_FIELD: Final = 2**256 - 2**224 + 2**192 + 2**96 - 1
_A: Final = -3
ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


class Point(NamedTuple):
    """A point of the curve other than the one at infinity."""

    x: int
    y: int

    def encoded(self) -> bytes:
        """The uncompressed form."""
        return b"\x04" + self.x.to_bytes(32) + self.y.to_bytes(32)


_BASE: Final = Point(
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)


class Signature(NamedTuple):
    """An ECDSA signature."""

    r: int
    s: int


def public_key(private: int) -> Point:
    """The public half of a private key between 1 and ORDER - 1."""
    point = _multiplied(private)
    assert point is not None
    return point


def signature_of(message: bytes, private: int, below: Callable[[int], int]) -> Signature:
    """ECDSA with SHA-256; ``below`` gives a secret random number below its argument, such as ``secrets.randbelow``."""
    digest = int.from_bytes(hashlib.sha256(message).digest())
    while True:
        nonce = below(ORDER - 1) + 1
        r = public_key(nonce).x % ORDER
        s = pow(nonce, -1, ORDER) * (digest + r * private) % ORDER
        if r and s:
            return Signature(r, s)


def _multiplied(times: int) -> Point | None:
    """The base point added to itself; None is the point at infinity."""
    total: Point | None = None
    addend: Point | None = _BASE
    while times:
        if times & 1:
            total = _sum(total, addend)
        addend = _sum(addend, addend)
        times >>= 1
    return total


def _sum(one: Point | None, other: Point | None) -> Point | None:
    if one is None or other is None:
        return one or other
    if one.x == other.x:
        if (one.y + other.y) % _FIELD == 0:
            return None
        slope = (3 * one.x * one.x + _A) * pow(2 * one.y, -1, _FIELD)
    else:
        slope = (other.y - one.y) * pow(other.x - one.x, -1, _FIELD)
    x = (slope * slope - one.x - other.x) % _FIELD
    return Point(x, (slope * (one.x - x) - one.y) % _FIELD)
