"""Profiles of a policy: unknown and repeated keys, ``pluginConfig``, and what upstream finds when it builds the profile.

Every entry of ``pluginConfig`` is judged, also those of plugins that are not enabled and those after the first of a
name, which are never used: upstream refuses a policy for any of them. Plugins that are misplaced, unconfigured or
impossible are found last. Source: descheduler v0.36, pkg/framework/profile.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from restow.documents.findings import Issue, path_text
from restow.documents.shapes import json_kind
from restow.kube.excerpts import did_you_mean, excerpt, misspelled_or_foreign
from restow.policies.schema import DEFAULT_EVICTOR, EXTENSION_POINTS, OWNER, decode_args

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from restow.documents.decoding import UnknownKey
    from restow.documents.findings import Path
    from restow.policies.policy import DeschedulerProfile, PluginConfig, PluginSet
    from restow.policies.schema import ExtensionPoint, Plugins, PluginSchema


#: Settings of DefaultEvictor that people write next to it or into strategies, and where they belong.
_EVICTOR_SETTINGS: Final = {
    "evictLocalStoragePods": "it is an argument of DefaultEvictor: podProtections.defaultDisabled: [PodsWithLocalStorage]",
    "evictSystemCriticalPods": "it is an argument of DefaultEvictor: podProtections.defaultDisabled: [SystemCriticalPods]",
    "evictFailedBarePods": "it is an argument of DefaultEvictor: podProtections.defaultDisabled: [FailedBarePods]",
    "evictDaemonSetPods": "it is an argument of DefaultEvictor: podProtections.defaultDisabled: [DaemonSetPods]",
    "ignorePvcPods": "it is an argument of DefaultEvictor: podProtections.extraEnabled: [PodsWithPVC]",
    "nodeFit": "it is an argument of DefaultEvictor",
    "minReplicas": "it is an argument of DefaultEvictor",
    "minPodAge": "it is an argument of DefaultEvictor",
    "priorityThreshold": "it is an argument of DefaultEvictor",
    "thresholdPriority": "write priorityThreshold: {value: ...} into the arguments of DefaultEvictor",
    "thresholdPriorityClassName": "write priorityThreshold: {name: ...} into the arguments of DefaultEvictor",
}
#: Other keys that people write where they once belonged, or where they expect them.
_ELSEWHERE: Final = {
    "strategies": "it belongs to descheduler/v1alpha1: with that apiVersion it is read, "
    "and restow policy convert makes profiles of it",
    "tracing": "tracing is set by the --otel-* flags",
    "evictor": "upstream has no such extension point; DefaultEvictor is always on",
    "namespaces": "it is an argument of strategies; restow: {namespaces: annotated} asks namespaces to opt in",
} | _EVICTOR_SETTINGS

#: A key of a profile, such as pluginConfig.
_PROFILE: Final = re.compile(r"profiles\[\d+\]\.[^.\[]+")

#: Where Go looks for the version of args before it decodes them.
_HEADER = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'


# Every entry is judged, also those of plugins that are not enabled and those after the first of a name, which are
# never used: upstream refuses a policy for any of them.
class Config(Struct, frozen=True):
    """One entry; ``args`` is None unless there are no issues."""

    name: str
    args: Any
    #: What decoding found: upstream stops here before it validates anything.
    undecodable: tuple[Issue, ...] = ()
    #: What validation found.
    invalid: tuple[Issue, ...] = ()


def ignored_key(key: UnknownKey) -> Issue:
    """Return the warning about an unknown key in a place where upstream ignores those."""
    word = str(key.path[-1])
    elsewhere, near = _ELSEWHERE.get(word, ""), did_you_mean(word, key.known)
    is_misspelled = bool(near and not elsewhere)
    return Issue(key.path, f'unknown key "{excerpt(word)}" is ignored', "warning", elsewhere or near, is_misspelled)


def unknown_field(key: UnknownKey, owner: str, meant: str = "") -> Issue:
    """Return the error about an unknown key in a place where upstream decodes strictly. It contains upstream's text.

    ``meant`` is what to do instead; without it the nearest known key is named.
    """
    word = str(key.path[-1])
    hint = meant or did_you_mean(word, key.known)
    return Issue(key.path, f'unknown field "{path_text(key.inner)}" of {owner}', hint=hint)


def unknown_argument(key: UnknownKey, schema: PluginSchema) -> Issue:
    """Return the error about a key that is no argument of a plugin."""
    misplaced = {} if schema.name == DEFAULT_EVICTOR else _EVICTOR_SETTINGS
    word = str(key.path[-1])
    known = schema.renamed.get(word) or misplaced.get(word, "")
    return unknown_field(key, schema.name, known if len(key.inner) == 1 else "")


def duplicate_key(path: Path) -> Issue:
    """Return the warning about a key that was written before: of a whole section, or of a single value inside one."""
    is_section = len(path) == 1 or path[:-1] == ("strategies",) or _PROFILE.fullmatch(path_text(path)) is not None
    text = f'"{path[-1]}" is written more than once; the last one counts'
    return Issue(path, text, "warning", misleads=is_section)


def second_configs(profile: DeschedulerProfile, path: Path) -> Iterator[Issue]:
    """Yield a warning for each pluginConfig entry of the profile at ``path`` that an earlier one of its plugin hides."""
    seen: set[str] = set()
    for position, entry in enumerate(profile.plugin_config):
        if entry.name and entry.name in seen:
            text = f"{entry.name} is configured before; only the first pluginConfig entry of a plugin counts"
            yield Issue((*path, "pluginConfig", position), text, "warning", misleads=True)
        seen.add(entry.name)


def read_configs(
    profile: DeschedulerProfile, path: Path, plugins: Plugins, skipped: Collection[Path] = ()
) -> tuple[Config, ...]:
    """Return the entries of the profile at ``path``, in order; entries that are skipped are not reported."""
    places = [(*path, "pluginConfig", position) for position in range(len(profile.plugin_config))]
    return tuple(
        Config(entry.name, None) if place in skipped else _read_config(profile.name, entry, place, plugins)
        for place, entry in zip(places, profile.plugin_config, strict=True)
    )


def first_configs(configs: tuple[Config, ...]) -> dict[str, Config]:
    """Return the entry that counts for each plugin: its first."""
    first: dict[str, Config] = {}
    for config in configs:
        first.setdefault(config.name, config)
    return first


def _read_config(profile: str, entry: PluginConfig, path: Path, plugins: Plugins) -> Config:
    schema = plugins.get(entry.name)
    if schema is None:
        hint = misspelled_or_foreign(entry.name, plugins, OWNER)
        text = f"in profile {excerpt(profile)}: plugin {excerpt(entry.name)} in pluginConfig not registered"
        return Config(entry.name, None, invalid=(Issue((*path, "name"), text, hint=hint),))
    return _read_args(profile, entry, (*path, "args"), schema)


def _read_args(profile: str, entry: PluginConfig, path: Path, schema: PluginSchema) -> Config:
    if entry.args is not None and not isinstance(entry.args, dict):
        return Config(entry.name, None, undecodable=(Issue(path, _no_mapping(entry.args)),))
    decoded = decode_args(entry.args, schema, path)
    undecodable = (*decoded.errors, *(unknown_argument(key, schema) for key in decoded.unknown))
    if undecodable or decoded.value is None:
        return Config(entry.name, None, undecodable=undecodable)
    problems = schema.validate(decoded.value)
    invalid = tuple(Issue(path, f"in profile {profile}: {problem}") for problem in problems)
    return Config(entry.name, None if invalid else decoded.value, invalid=invalid)


def _no_mapping(args: Any) -> str:
    text = f"json: cannot unmarshal {json_kind(args)} into Go value of type {_HEADER}"
    return f"must be a mapping (couldn't get version/kind; json parse error: {text})"


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
