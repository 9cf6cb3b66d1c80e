"""Flags as Go programs read them: the syntax of arguments, and values. Errors of values are Go's, by ValueError.

Source: pflag 1.0, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from restow.kube.duration import parse_duration

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

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


_END = "--"


# A flag may be repeated, and the last one counts; a value may begin with a hyphen; words may be joined by underscores;
# a switch takes its value only after an equals sign. cyclopts reads the rest by itself.
# Source: pflag 1.0.
def last_ones(arguments: Sequence[str], flags: type[DataclassInstance], aliases: Mapping[str, str]) -> list[str]:
    """Return the arguments with each flag in one piece, ``--name=value``, and only its last value unless it is a list.

    ``aliases`` are names for other flags, without the hyphens.
    """
    kinds = {each.name.replace("_", "-"): each.default for each in fields(flags)}
    switches = {"help", *(name for name, default in kinds.items() if isinstance(default, bool))}
    kept: dict[str, str] = {}
    for at, (name, text) in enumerate(_pieces(arguments, switches, {"h": "help", **aliases})):
        key = f"{name} {at}" if not name or isinstance(kinds.get(name), tuple) else name
        kept.pop(key, None)
        kept[key] = text
    return list(kept.values())


def _pieces(
    arguments: Sequence[str], switches: Collection[str], aliases: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Each flag with its name, everything else with none."""
    rest = iter(arguments)
    for argument in rest:
        if argument == _END:
            yield from (("", each) for each in (_END, *rest))
        elif not argument.startswith("-") or argument == "-":
            yield "", argument
        else:
            name, separator, value = _flag(argument)
            name = aliases.get(name, name)
            if not separator and name not in switches:
                following = next(rest, None)
                separator, value = ("", "") if following is None else ("=", following)
            yield name, f"--{name}{separator}{value}"


def _flag(argument: str) -> tuple[str, str, str]:
    """Name, equals sign and value; ``-v4`` is ``-v=4``."""
    if argument.startswith("--"):
        name, separator, value = argument.removeprefix("--").partition("=")
        return name.replace("_", "-"), separator, value
    name, value = argument[1], argument[2:].removeprefix("=")
    return name, "=" if argument[2:] else "", value
