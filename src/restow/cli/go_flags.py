"""Flags as Go programs take them, for those who come with the arguments of a Deployment.

A flag may be given again, and the last one counts; a value may begin with a hyphen; words may be joined by underscores;
a switch takes its value only after an equals sign. What is left after that, cyclopts reads by itself. Source: pflag 1.0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

_END = "--"


def last_ones(
    arguments: Sequence[str], *, switches: Collection[str], lists: Collection[str], aliases: Mapping[str, str]
) -> list[str]:
    """Return the arguments with each flag in one piece, ``--name=value``, and only its last value unless it is a list.

    ``aliases`` are names for other flags. All names are without the hyphens.
    """
    kept: dict[str, str] = {}
    for at, (name, text) in enumerate(_pieces(arguments, switches, aliases)):
        key = f"{name} {at}" if not name or name in lists else name
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
