"""Warnings and errors about keys that are unknown or written twice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from restow.documents.findings import Issue, path_text
from restow.documents.shapes import json_kind
from restow.kube.excerpts import did_you_mean, excerpt, misspelled_or_foreign
from restow.policies.decode import decode_args
from restow.policies.schema import DEFAULT_EVICTOR, OWNER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from restow.documents.decoding import UnknownKey
    from restow.documents.findings import Path
    from restow.policies.schema import Plugins, PluginSchema
    from restow.policies.wire import DeschedulerProfile, PluginConfig

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
@dataclass(slots=True, frozen=True)
class Config:
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
