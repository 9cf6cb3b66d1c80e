"""What is odd about profiles: plugins that never run or run twice, keys that upstream drops, strategies in conflict."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from restow.documents.findings import Issue
from restow.kube.excerpts import excerpt
from restow.policies.building import implements
from restow.policies.schema import DEFAULT_EVICTOR
from restow.policies.wire import dropped_filters

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from restow.documents.findings import Path
    from restow.policies.policy import Policy
    from restow.policies.schema import Plugins
    from restow.policies.wire import DeschedulerProfile, PluginSet

_HONOURED = "preevictionfilter"
_DOCUMENTED: Final = "preEvictionFilter"


def lint_profile(profile: DeschedulerProfile, written: dict[str, Any], path: Path, plugins: Plugins) -> Iterator[Issue]:
    """Yield what is odd about the profile that stands at ``path``; ``written`` is its plain data."""
    sets = _plugin_sets(profile)
    plugins_path = (*path, "plugins")
    yield from _unused_points(written.get("plugins") or {}, plugins_path)
    yield from _other_spelling(profile, written.get("plugins") or {}, plugins_path, plugins)
    for key, plugin_set in sets.items():
        yield from _lint_plugin_set(plugin_set, (*plugins_path, key))
    enabled = {name for plugin_set in sets.values() for name in plugin_set.enabled}
    yield from _lint_configs(profile, enabled, path)
    if not (profile.plugins.deschedule.enabled or profile.plugins.balance.enabled):
        yield Issue(plugins_path, f'profile "{excerpt(profile.name)}" enables no strategy: it does nothing', "warning")


def lint_conflicts(policy: Policy, plugins: Plugins) -> Iterator[Issue]:
    """Yield a note for each pair of enabled strategies that pull in opposite directions."""
    runs = [set(profile.deschedule + profile.balance) for profile in policy.profiles]
    for schema in plugins.values():
        for other, how in schema.conflicts.items():
            yield from _conflict(runs, (schema.name, other), how)


def _conflict(runs: Sequence[Collection[str]], pair: tuple[str, str], how: str) -> Iterator[Issue]:
    first, second = (next((at for at, names in enumerate(runs) if each in names), None) for each in pair)
    if first is not None and second is not None:
        together = any(names >= {*pair} for names in map(set, runs))
        where = "in one profile" if together else "in one policy"
        text = f"{pair[0]} and {pair[1]} {where} pull in opposite directions: {how}"
        yield Issue(("profiles", max(first, second), "plugins"), text, "note")


def _plugin_sets(profile: DeschedulerProfile) -> dict[str, PluginSet]:
    """Return the extension points that run, by the key they are written under."""
    return {
        "deschedule": profile.plugins.deschedule,
        "balance": profile.plugins.balance,
        "filter": profile.plugins.filter,
        _HONOURED: profile.plugins.preevictionfilter,
        _DOCUMENTED: dropped_filters(profile.plugins),
    }


def _unused_points(written: dict[str, Any], path: Path) -> Iterator[Issue]:
    for key in ("presort", "sort"):
        if written.get(key):
            yield Issue((*path, key), f"{key} is read and never used", "warning")


def _other_spelling(
    profile: DeschedulerProfile, written: dict[str, Any], path: Path, plugins: Plugins
) -> Iterator[Issue]:
    if written.get(_HONOURED) is not None:
        text = f'"{_HONOURED}" is spelled as upstream reads it; its documentation says {_DOCUMENTED}'
        yield Issue((*path, _HONOURED), text, "note")
    if written.get(_DOCUMENTED) is not None:
        text = f'upstream silently drops "{_DOCUMENTED}", whatever its documentation says; it reads "{_HONOURED}"'
        yield Issue((*path, _DOCUMENTED), text, "warning")
    for name in dropped_filters(profile.plugins).enabled:
        if not implements(plugins, name, _DOCUMENTED):
            yield Issue((*path, _DOCUMENTED), f'"{excerpt(name)}" is ignored: it is no {_DOCUMENTED} plugin', "warning")


def _lint_plugin_set(plugin_set: PluginSet, path: Path) -> Iterator[Issue]:
    if plugin_set.disabled:
        names = ", ".join(plugin_set.disabled)
        text = f"disabled is read and never used ({names}): nothing is enabled by default but {DEFAULT_EVICTOR}"
        yield Issue((*path, "disabled"), text, "warning")
    for name, times in Counter(plugin_set.enabled).items():
        if times > 1:
            text = f'"{excerpt(name)}" is enabled {times} times, and runs {times} times a cycle'
            yield Issue((*path, "enabled"), text, "warning")


def _lint_configs(profile: DeschedulerProfile, enabled: set[str], path: Path) -> Iterator[Issue]:
    seen: set[str] = set()
    for position, entry in enumerate(profile.plugin_config):
        place = (*path, "pluginConfig", position)
        if entry.name in seen:
            text = f"{entry.name} is configured before; only the first pluginConfig entry of a plugin counts"
            yield Issue(place, text, "warning")
        elif entry.name not in enabled and entry.name != DEFAULT_EVICTOR:
            yield Issue(place, f"{entry.name} is configured, but not enabled: it never runs", "warning")
        seen.add(entry.name)
