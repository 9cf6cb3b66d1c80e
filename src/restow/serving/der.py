"""The few DER values that a certificate is made of. Source: ITU-T X.690."""

from __future__ import annotations

from typing import Final

from restow.kube.timestamps import format_time

_SEQUENCE: Final = 0x30
_SET: Final = 0x31
#: From this year on a UTCTime is of the century before.
_GENERALIZED_FROM: Final = "2050"


def value(tag: int, content: bytes) -> bytes:
    """A value of any kind."""
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(length)]) + length + content


def sequence(*parts: bytes) -> bytes:
    """A SEQUENCE."""
    return value(_SEQUENCE, b"".join(parts))


def set_of(part: bytes) -> bytes:
    """A SET of one."""
    return value(_SET, part)


def integer(number: int) -> bytes:
    """A non-negative INTEGER."""
    return value(0x02, number.to_bytes(number.bit_length() // 8 + 1))


def boolean_true() -> bytes:
    """The BOOLEAN true."""
    return value(0x01, b"\xff")


def bits(content: bytes) -> bytes:
    """A BIT STRING of whole bytes."""
    return value(0x03, b"\x00" + content)


def octets(content: bytes) -> bytes:
    """An OCTET STRING."""
    return value(0x04, content)


def text(content: str) -> bytes:
    """A UTF8String."""
    return value(0x0C, content.encode())


def explicit(number: int, content: bytes) -> bytes:
    """A value with a tag of its context around it."""
    return value(0xA0 | number, content)


def identifier(dotted: str) -> bytes:
    """An OBJECT IDENTIFIER such as ``2.5.4.3``."""
    first, second, *rest = (int(arc) for arc in dotted.split("."))
    return value(0x06, bytes([40 * first + second]) + b"".join(_base_128(arc) for arc in rest))


def _base_128(number: int) -> bytes:
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.append(0x80 | number & 0x7F)
    return bytes(reversed(digits))


def time(nanoseconds: int) -> bytes:
    """A UTCTime or, from 2050 on, a GeneralizedTime, of nanoseconds since the epoch."""
    digits = "".join(each for each in format_time(nanoseconds) if each.isdigit())
    if digits < _GENERALIZED_FROM:
        return value(0x17, f"{digits[2:]}Z".encode())
    return value(0x18, f"{digits}Z".encode())
