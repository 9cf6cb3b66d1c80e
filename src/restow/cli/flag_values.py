"""Values of flags as Go programs read them; errors are Go's, by ValueError. Source: pflag 1.0, Kubernetes 1.36."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

from restow.kube.duration import parse_duration

#: Go's strconv.ParseBool.
_TRUE: Final = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE: Final = frozenset(("0", "f", "F", "FALSE", "false", "False"))

duration = parse_duration

#: The names of feature gates. Source: Descheduler 0.36, pkg/features; component-base/featuregate.
Gate = Literal["EvictionsInBackground"]

_ALL_ALPHA: Final = "AllAlpha"
#: There is no gate of this stage.
_ALL_BETA: Final = "AllBeta"
_ALPHA: Final[frozenset[Gate]] = frozenset(("EvictionsInBackground",))
FEATURE_GATES: Final = frozenset((*_ALPHA, _ALL_ALPHA, _ALL_BETA))


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


def is_gate_open(given: Iterable[str], gate: Gate) -> bool:
    """Return whether a feature gate is open: by its own value, else by that of all alpha gates, else it is not."""
    gates = gates_of(given)
    return gates.get(gate, gates.get(_ALL_ALPHA, False))


def gates_of(given: Iterable[str]) -> dict[str, bool]:
    """Return the feature gates of ``A=true,B=false``; of a name, the last counts.

    ValueError for an unknown name or an unreadable value.
    """
    gates = {}
    for item in comma_list(given):
        name, separator, value = (part.strip() for part in item.partition("="))
        if not separator:
            raise ValueError(f"missing bool value for {name}")
        if name not in FEATURE_GATES:
            raise ValueError(f"unrecognized feature gate: {name}")
        try:
            gates[name] = boolean(value)
        except ValueError as error:
            raise ValueError(f"invalid value of {name}={value}, err: {error}") from error
    return gates
