"""The ``pluginConfig`` entries of a profile: decoded strictly, then validated, by the schema of the plugin they name.

Every entry is judged, also those of plugins that are not enabled and those after the first of a name, which are never
used: upstream refuses a policy for any of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from restow.documents.findings import Issue
from restow.documents.shapes import json_kind
from restow.kube.excerpts import excerpt, misspelled_or_foreign
from restow.policies.decode import decode_args
from restow.policies.schema import OWNER
from restow.policies.spelling import unknown_argument

if TYPE_CHECKING:
    from restow.documents.findings import Path
    from restow.policies.schema import Plugins, PluginSchema
    from restow.policies.wire import DeschedulerProfile, PluginConfig

#: Where Go looks for the version of args before it decodes them.
_HEADER = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'


@dataclass(slots=True, frozen=True)
class Config:
    """One entry; ``args`` is None unless there are no issues."""

    name: str
    args: Any
    #: What decoding found: upstream stops here before it validates anything.
    undecodable: tuple[Issue, ...] = ()
    #: What validation found.
    invalid: tuple[Issue, ...] = ()


def read_configs(profile: DeschedulerProfile, path: Path, plugins: Plugins) -> tuple[Config, ...]:
    """Return the entries of the profile that stands at ``path``, in order."""
    return tuple(
        _read_config(profile.name, entry, (*path, "pluginConfig", position), plugins)
        for position, entry in enumerate(profile.plugin_config)
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
