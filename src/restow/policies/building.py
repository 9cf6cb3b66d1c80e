"""What upstream finds only when it builds a profile: plugins at the wrong point, without configuration, unbuildable.

Source: descheduler v0.36, pkg/framework/profile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.kube.excerpts import excerpt
from restow.kube.near_words import misspelled_or_foreign
from restow.policies.configs import first_configs
from restow.policies.findings import Issue
from restow.policies.schema import DEFAULT_EVICTOR, EXTENSION_POINTS, OWNER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from restow.policies.configs import Config
    from restow.policies.findings import Path
    from restow.policies.schema import ExtensionPoint, Plugins
    from restow.policies.wire import DeschedulerProfile, PluginSet


def implements(plugins: Plugins, name: str, point: ExtensionPoint) -> bool:
    """Whether a plugin of that name exists and runs at that point."""
    return name in plugins and point in plugins[name].extension_points


def check_points(profile: DeschedulerProfile, path: Path, plugins: Plugins) -> Iterator[Issue]:
    """Yield upstream's errors about plugins of the profile at ``path`` that do not run where they are enabled."""
    for point in EXTENSION_POINTS:
        enabled = _plugin_set(profile, point).enabled
        for name in dict.fromkeys(enabled):
            if not implements(plugins, name, point):
                place = (*path, "plugins", _key(point), "enabled", enabled.index(name))
                yield Issue(place, _not_existing(profile.name, point, name, plugins))


def check_build(
    profile: DeschedulerProfile, path: Path, configs: tuple[Config, ...], plugins: Plugins
) -> Iterator[Issue]:
    """Yield upstream's errors about making the plugins of the profile that stands at ``path``."""
    first = first_configs(configs)
    for name, place in _places(profile, path, plugins).items():
        yield from (Issue(place, text) for text in _check_plugin(profile.name, name, first, plugins))


def _places(profile: DeschedulerProfile, path: Path, plugins: Plugins) -> dict[str, Path]:
    """Return where each plugin that will be built is first enabled; the evictor is, wherever it is written."""
    places: dict[str, Path] = {}
    for point in EXTENSION_POINTS:
        for position, name in enumerate(_plugin_set(profile, point).enabled):
            if implements(plugins, name, point):
                places.setdefault(name, (*path, "plugins", _key(point), "enabled", position))
    return places | ({} if DEFAULT_EVICTOR in places else {DEFAULT_EVICTOR: path})


def _key(point: ExtensionPoint) -> str:
    """Return the point's key as upstream reads it."""
    return point.lower()


def _plugin_set(profile: DeschedulerProfile, point: ExtensionPoint) -> PluginSet:
    match point:
        case "deschedule":
            return profile.plugins.deschedule
        case "balance":
            return profile.plugins.balance
        case "filter":
            return profile.plugins.filter
    return profile.plugins.preevictionfilter


def _not_existing(profile: str, point: ExtensionPoint, name: str, plugins: Plugins) -> str:
    """Return upstream's text, which names all such plugins of a point at once, for one of them."""
    text = f'profile "{excerpt(profile)}" configures {point} extension point of non-existing plugins: {excerpt(name)}'
    if name in plugins:
        return f"{text}; {name} belongs to {' and '.join(map(_key, plugins[name].extension_points))}"
    return f"{text}{misspelled_or_foreign(name, plugins, OWNER)}"


def _check_plugin(profile: str, name: str, first: Mapping[str, Config], plugins: Plugins) -> list[str]:
    start = f'unable to create "{excerpt(profile)}" profile: unable to build {name} plugin'
    if name not in first:
        if name == DEFAULT_EVICTOR:  # defaulting gives it one
            return []
        return [f'{start}: unable to find "{name}" plugin config; add "- name: {name}" to its pluginConfig']
    schema, args = plugins[name], first[name].args
    problems = [] if args is None else schema.construct(schema.default(args))
    return [f'{start}: unable to initialize "{name}" plugin: {problem}' for problem in problems]
