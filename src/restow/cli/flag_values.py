"""Values of flags as Go programs read them; errors are Go's, by ValueError. Source: pflag 1.0, Kubernetes 1.36."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from restow.kube.duration import parse_duration

__all__ = ["boolean", "comma_list", "duration", "key_pair"]

#: Go's strconv.ParseBool.
_TRUE: Final = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE: Final = frozenset(("0", "f", "F", "FALSE", "false", "False"))

duration = parse_duration


def boolean(text: str) -> bool:
    """Return true or false."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f'strconv.ParseBool: parsing "{text}": invalid syntax')


def comma_list(given: Iterable[str]) -> tuple[str, ...]:
    """Return the items of a flag that takes a list and can be repeated."""
    return tuple(item.strip() for text in given for item in text.split(",") if item.strip())


def key_pair(text: str) -> tuple[Path, Path, tuple[str, ...]]:
    """Return certificate, key and names of ``cert.pem,key.pem:one.example,*.two.example``."""
    files, _, names = text.partition(":")
    certificate, separator, key = files.partition(",")
    if not (certificate and separator and key):
        raise ValueError("expected comma separated certificate and key file paths")
    return Path(certificate), Path(key), comma_list([names])
