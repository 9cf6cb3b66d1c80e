"""Which settings of a policy may be searched, and in which range; and a policy with other values of them.

A setting is named by its path in the policy's YAML file. A step is the key of a mapping, or the ``name`` of an item of a list:
``profiles.default.pluginConfig.LowNodeUtilization.args.targetThresholds.cpu``. Keys that are not there are added; items are
not. ``descheduler.every`` is the interval of the descheduler, which is no part of a policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct, field

from restow.documents.decoding import decode
from restow.documents.document import DocumentKind, further_documents, read_document, refusal, repeated_keys
from restow.documents.findings import Issue
from restow.errors import InputError
from restow.kube.duration import parse_duration
from restow.kube.excerpts import did_you_mean, excerpt

_API_VERSION: Final = "restow.dev/v1alpha1"
_KIND: Final = "TuningSpace"
_FILE: Final = DocumentKind(f"a {_KIND}", f"apiVersion: {_API_VERSION} and kind: {_KIND}")
#: The setting that is no part of a policy.
INTERVAL: Final = "descheduler.every"
#: Values that a range may have at most; futures do not differ between finer ones.
_MOST: Final = 10_000

Value = int | float | str | bool


class WrittenSetting(Struct, frozen=True):
    """One setting, as it is written: a range, or choices."""

    path: str
    low: float | None = field(default=None, name="from")
    high: float | None = field(default=None, name="to")
    step: float = 1
    choices: tuple[Value, ...] = ()


class WrittenSpace(Struct, frozen=True, rename="camel"):
    """The whole file."""

    api_version: str = ""
    kind: str = ""
    settings: tuple[WrittenSetting, ...] = ()


@dataclass(slots=True, frozen=True)
class TunableSetting:
    """One setting and the values that it may have, in order; there are two or more."""

    path: str
    values: tuple[Value, ...]
    #: Whether its values are a scale, on which near ones do nearly the same.
    is_range: bool


def read_space(text: bytes, filename: str) -> tuple[TunableSetting, ...]:
    """Return the settings of a file; InputError with file, line and field of everything that is wrong with it."""
    document = read_document(text, filename, _FILE)
    decoded = decode(document.data, WrittenSpace, ())
    errors = [*repeated_keys(document), *further_documents(document), *decoded.strictly()]
    if decoded.value is not None:
        errors += _problems(decoded.value)
    if errors or decoded.value is None:
        raise refusal(document, errors)
    return tuple(TunableSetting(each.path, _values(each), not each.choices) for each in decoded.value.settings)


def _problems(space: WrittenSpace) -> Iterator[Issue]:
    if (space.api_version, space.kind) != (_API_VERSION, _KIND):
        yield Issue((), f"is no {_KIND} of {_API_VERSION}; start with {_FILE.start}")
    if not space.settings:
        yield Issue(("settings",), "names no setting; write path, and from and to or choices")
    seen: set[str] = set()
    for number, each in enumerate(space.settings):
        place = ("settings", number)
        if each.path in seen:
            yield Issue((*place, "path"), f"{excerpt(each.path)} is there twice")
        seen.add(each.path)
        problem = _problem(each)
        if problem:
            yield Issue(place, problem)


def _problem(setting: WrittenSetting) -> str:
    """What is wrong with a setting; empty if nothing is."""
    if not all(setting.path.split(".")):
        return "path must be keys and names with points between them"
    return _problem_of_choices(setting) if setting.choices else _problem_of_range(setting)


def _problem_of_choices(setting: WrittenSetting) -> str:
    if setting.low is not None or setting.high is not None:
        return "has choices, and from or to; leave one of them out"
    if setting.path == INTERVAL and not all(map(_is_duration, setting.choices)):
        return f"choices of {INTERVAL} must be durations above 0, such as 5m"
    return "" if len(set(setting.choices)) > 1 else "needs two choices or more, each once"


def _problem_of_range(setting: WrittenSetting) -> str:
    if setting.low is None or setting.high is None:
        return "needs from and to, or choices"
    if setting.path == INTERVAL:
        return "needs choices, such as [1m, 5m, 15m]"
    if not setting.low < setting.high or not setting.step > 0:
        return "from must be below to, and step above 0"
    many = (setting.high - setting.low) / setting.step >= _MOST
    return f"has more than {_MOST:,} values; choose a larger step" if many else ""


def _is_duration(value: Value) -> bool:
    try:
        return isinstance(value, str) and parse_duration(value) > 0
    except ValueError:
        return False


def _values(setting: WrittenSetting) -> tuple[Value, ...]:
    if setting.choices:
        return tuple(dict.fromkeys(setting.choices))
    assert setting.low is not None
    assert setting.high is not None
    count = int((setting.high - setting.low) / setting.step + 1e-9) + 1
    return tuple(_plain(setting.low + number * setting.step) for number in range(count))


def _plain(value: float) -> Value:
    """A number as people write it: 40, and 0.1 without the dust of its sum."""
    rounded = round(value, 9)
    return int(rounded) if rounded == int(rounded) else rounded


def applied(policy: Mapping[str, Any], values: Mapping[str, Value]) -> dict[str, Any]:
    """Return a policy with these values, by path; InputError for a path that leads nowhere."""
    changed = deepcopy(dict(policy))
    for path, value in values.items():
        if path != INTERVAL:
            *steps, last = path.split(".")
            place: Any = changed
            for step in steps:
                place = _child(place, step, path)
            if not isinstance(place, dict):
                raise InputError(f"{excerpt(path)}: the policy has no mapping there")
            place[last] = value
    return changed


def _child(place: Any, step: str, path: str) -> Any:
    """What is one step further; a mapping that is not there is added."""
    if isinstance(place, list):
        items = {str(each.get("name")): each for each in place if isinstance(each, dict)}
        if step not in items:
            hint = did_you_mean(step, items) or f"there are {', '.join(items) or 'none'}"
            raise InputError(f'{excerpt(path)}: the policy has no item of the name "{excerpt(step)}" there; {hint}')
        return items[step]
    if not isinstance(place, dict):
        raise InputError(f'{excerpt(path)}: the policy has a value where the path has "{excerpt(step)}"')
    if place.get(step) is None:
        place[step] = {}
    return place[step]


def value_at(policy: Mapping[str, Any], path: str) -> Any:
    """Return what a policy has at a path; None where it has nothing."""
    place: Any = policy
    for step in path.split("."):
        if isinstance(place, list):
            place = next((each for each in place if isinstance(each, dict) and each.get("name") == step), None)
        else:
            place = place.get(step) if isinstance(place, dict) else None
    return place
