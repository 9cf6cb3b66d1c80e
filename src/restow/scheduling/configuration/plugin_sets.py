"""The plugin sets of a profile, merged with the defaults: what runs at each point, in order, with which weight.

``multiPoint`` is merged first: the defaults that it does not disable, each replaced in its place where it is enabled
again, then what is new. A point's own list comes before that: plugins that it repeats from multiPoint in its own order,
then the rest of multiPoint that has this point and is not disabled there, then what is only in the point's list.
Source: mergePluginSet and expandMultiPointPlugins, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from restow.documents.findings import Issue, Path
from restow.kube.excerpts import excerpt, misspelled_or_foreign
from restow.scheduling.configuration.profiles import DEFAULT_PLUGINS
from restow.scheduling.configuration.registry import OWNER, REMOVED, find, names, plugin
from restow.scheduling.configuration.wire import Plugin, Plugins, PluginSet
from restow.scheduling.framework.declaration import POINTS, Availability, Point

MULTI_POINT: Final = "multiPoint"
_ALL: Final = "*"
#: The field of ``Plugins`` that holds the set of a point.
_FIELDS: Final[Mapping[str, str]] = {
    point: "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in point)
    for point in (MULTI_POINT, *POINTS)
}


@dataclass(slots=True, frozen=True)
class MergedPlugins:
    """What a profile runs."""

    points: Mapping[Point, tuple[str, ...]]
    #: Of the plugins at score.
    weights: Mapping[str, int]


def _plugin_set(plugins: Plugins, point: str) -> PluginSet:
    """What a profile changes at a point, or at all of them (multiPoint)."""
    found: PluginSet = getattr(plugins, _FIELDS[point])
    return found


def merge(plugins: Plugins) -> MergedPlugins:
    """The plugin sets of a profile that can be used, even if others are wrong."""
    everywhere = _merge_multi_point(plugins.multi_point)
    points = {point: tuple(_expand(point, _plugin_set(plugins, point), everywhere)) for point in POINTS}
    weights = _weights([*plugins.score.enabled, *everywhere])
    return MergedPlugins(points, {name: weights.get(name, 1) for name in points["score"]})


def _merge_multi_point(custom: PluginSet) -> list[Plugin]:
    disabled = {each.name for each in custom.disabled}
    last = {each.name: index for index, each in enumerate(custom.enabled)}
    merged: list[Plugin] = []
    replacing: set[int] = set()
    for default in DEFAULT_PLUGINS if _ALL not in disabled else ():
        if default.name in disabled:
            continue
        if default.name in last:
            replacing.add(last[default.name])
            merged.append(custom.enabled[last[default.name]])
        else:
            merged.append(Plugin(default.name, default.weight))
    return merged + [each for index, each in enumerate(custom.enabled) if index not in replacing]


def _expand(point: Point, own: PluginSet, everywhere: Sequence[Plugin]) -> Iterator[str]:
    """The names of the plugins at a point."""
    listed = [each.name for each in own.enabled]
    disabled = {each.name for each in own.disabled}
    if _ALL in disabled:
        yield from listed
        return
    expanded = [
        each.name
        for each in everywhere
        if (known := find(each.name)) and point in known.points and each.name not in disabled
    ]
    yield from (name for name in listed if name in expanded)
    yield from (name for name in expanded if name not in listed)
    yield from (name for name in listed if name not in expanded)


def _weights(scoring: Sequence[Plugin]) -> dict[str, int]:
    """The first weight of each plugin; 0 is as good as none."""
    weights: dict[str, int] = {}
    for each in scoring:
        weights.setdefault(each.name, each.weight or 1)
    return weights


def check_plugin_sets(plugins: Plugins, path: Path) -> Iterator[Issue]:
    """Yield what is wrong with the sets that stand at a path, and what in them has no effect."""
    for point in (MULTI_POINT, *POINTS):
        written = _plugin_set(plugins, point)
        yield from _check_enabled(point, written, (*path, point, "enabled"))
        for index, each in enumerate(written.disabled):
            if each.name != _ALL and find(each.name) is None:
                text = f'unknown plugin "{excerpt(each.name)}": nothing is disabled'
                hint = misspelled_or_foreign(each.name, names(), OWNER)
                yield Issue((*path, point, "disabled", index), text, "warning", hint)


def _check_enabled(point: str, written: PluginSet, path: Path) -> Iterator[Issue]:
    seen: set[str] = set()
    for index, each in enumerate(written.enabled):
        place = (*path, index)
        problem = _problem(each.name, point, place)
        if problem:
            yield problem
        elif each.name in seen:
            yield Issue(place, f'plugin "{excerpt(each.name)}" is enabled twice')
        elif each.weight < 0:
            yield Issue((*place, "weight"), "must not be negative: the scores that it takes away could overflow")
        elif plugin(each.name).not_modelled:
            yield Issue(place, _not_modelled(each.name), "warning")
        seen.add(each.name)


def _not_modelled(name: str) -> str:
    """What restow leaves out where a plugin runs."""
    return f"restow does not model {name}: {plugin(name).not_modelled}"


def _problem(name: str, point: str, path: Path) -> Issue | None:
    """Why a plugin cannot be enabled at a point; None where it can."""
    if name in REMOVED:
        return Issue(path, f'plugin "{name}" is no longer part of kube-scheduler')
    known = find(name)
    if known is None:
        return Issue(path, f'unknown plugin "{excerpt(name)}"', hint=misspelled_or_foreign(name, names(), OWNER))
    if known.availability is Availability.GATED:
        return Issue(path, f"{_not_modelled(name)}, so it cannot be enabled")
    if point != MULTI_POINT and point not in known.points:
        return Issue(path, f"{name} does not run at {point}", hint=f"it runs at {' and '.join(known.points)}")
    return None
