"""Errors that upstream finds only when it builds a profile: plugins that are misplaced, unconfigured or impossible.

Source: descheduler v0.36, pkg/framework/profile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.documents.findings import Issue
from restow.kube.excerpts import excerpt, misspelled_or_foreign
from restow.policies.schema import DEFAULT_EVICTOR, EXTENSION_POINTS, OWNER
from restow.policies.spelling import first_configs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from restow.documents.findings import Path
    from restow.policies.schema import ExtensionPoint, Plugins, PluginSchema
    from restow.policies.spelling import Config
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
                yield Issue(place, _not_existing(profile.name, point, name), hint=_where(name, plugins))


def check_build(
    profile: DeschedulerProfile, path: Path, configs: tuple[Config, ...], plugins: Plugins
) -> Iterator[Issue]:
    """Yield upstream's errors about making the plugins of the profile that stands at ``path``."""
    first = first_configs(configs)
    for name, place in _places(profile, path, plugins).items():
        if name in first:
            yield from (Issue(place, text) for text in _check_plugin(profile.name, first[name], plugins[name]))
        elif name != DEFAULT_EVICTOR:  # defaulting gives it one
            yield Issue(place, _not_configured(profile.name, name), hint=f'add "- name: {name}" to its pluginConfig')


def _places(profile: DeschedulerProfile, path: Path, plugins: Plugins) -> dict[str, Path]:
    """Return where each plugin that will be built is first enabled; the evictor may be anywhere."""
    places: dict[str, Path] = {}
    for point in EXTENSION_POINTS:
        for position, name in enumerate(_plugin_set(profile, point).enabled):
            if implements(plugins, name, point):
                places.setdefault(name, (*path, "plugins", _key(point), "enabled", position))
    return places | ({} if DEFAULT_EVICTOR in places else {DEFAULT_EVICTOR: path})


def _key(point: ExtensionPoint) -> str:
    """Return the key under which upstream reads an extension point."""
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


def _not_existing(profile: str, point: ExtensionPoint, name: str) -> str:
    """Return upstream's text about one plugin. Upstream names all such plugins of an extension point in one text."""
    return f'profile "{excerpt(profile)}" configures {point} extension point of non-existing plugins: {excerpt(name)}'


def _where(name: str, plugins: Plugins) -> str:
    """Return a hint: the extension points of the plugin, or the known plugin that may be meant."""
    if name in plugins:
        return f"{name} belongs to {' and '.join(map(_key, plugins[name].extension_points))}"
    return misspelled_or_foreign(name, plugins, OWNER)


def _start(profile: str, name: str) -> str:
    return f'unable to create "{excerpt(profile)}" profile: unable to build {name} plugin'


def _not_configured(profile: str, name: str) -> str:
    return f'{_start(profile, name)}: unable to find "{name}" plugin config'


def _check_plugin(profile: str, config: Config, schema: PluginSchema) -> list[str]:
    problems = [] if config.args is None else schema.construct(schema.default(config.args))
    start = f'{_start(profile, config.name)}: unable to initialize "{config.name}" plugin'
    return [f"{start}: {problem}" for problem in problems]
