"""The arguments of a profile's plugins: decoded, filled with defaults, validated.

Source: SetDefaults and Validate of the plugins' arguments, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from restow.documents.decoding import decode
from restow.documents.findings import Issue, Path
from restow.kube.excerpts import excerpt, misspelled_or_foreign
from restow.scheduling.configuration.registry import OWNER, REMOVED, find, names, plugin
from restow.scheduling.configuration.wire import PluginConfig
from restow.scheduling.framework.declaration import PluginArgs, SchedulerPlugin


def read_arguments(
    configs: Sequence[PluginConfig], path: Path, running: Collection[str], api_version: str
) -> tuple[dict[str, PluginArgs], list[Issue]]:
    """The arguments that stand at a path, by plugin, where they differ from the defaults, and what is wrong or has no effect.

    ``running`` are the plugins that run at some point.
    """
    found: dict[str, PluginArgs] = {}
    issues: list[Issue] = []
    for index, config in enumerate(configs):
        place = (*path, index)
        issue = _unusable(config.name, place, found)
        if issue:
            issues.append(issue)
            continue
        known = plugin(config.name)
        found[known.name], undecodable = _decoded(config, known, (*place, "args"))
        issues += undecodable or _check(known, found[known.name], (*place, "args"), running, api_version)
    return {name: args for name, args in found.items() if args != _default(plugin(name))}, issues


def _unusable(name: str, path: Path, found: Collection[str]) -> Issue | None:
    """Why the arguments of a plugin are refused or ignored, whatever they say; None where they are read."""
    if name in REMOVED:
        return Issue(path, f'plugin "{excerpt(name)}" is no longer part of kube-scheduler')
    if name in found:
        return Issue(path, f'plugin "{excerpt(name)}" is configured twice')
    known = find(name)
    if known is None:
        hint = misspelled_or_foreign(name, names(), OWNER)
        return Issue(path, f'unknown plugin "{excerpt(name)}": its arguments are ignored', "warning", hint)
    if known.args is None:
        return Issue(path, f"{name} takes no arguments; these are ignored", "warning")
    return None


def _decoded(config: PluginConfig, plugin: SchedulerPlugin, path: Path) -> tuple[PluginArgs, tuple[Issue, ...]]:
    """The arguments with their defaults, or the defaults alone and why the arguments cannot be read."""
    decoded = decode(config.args, type(_default(plugin)), path)
    args: PluginArgs = plugin.with_defaults(decoded.value or _default(plugin))
    return args, decoded.strictly()


def _default(plugin: SchedulerPlugin) -> PluginArgs:
    assert plugin.args is not None, "arguments of a plugin without any are not read"
    return plugin.args()


def _check(
    plugin: SchedulerPlugin, args: PluginArgs, path: Path, running: Collection[str], api_version: str
) -> Iterator[Issue]:
    if args.api_version not in ("", api_version):
        yield Issue((*path, "apiVersion"), f'must be {api_version}, not "{excerpt(args.api_version)}"')
    if args.kind not in ("", f"{plugin.name}Args"):
        yield Issue((*path, "kind"), f'must be {plugin.name}Args, not "{excerpt(args.kind)}"')
    if plugin.is_checked_when_idle or plugin.name in running:
        yield from (replace(issue, path=(*path, *issue.path)) for issue in plugin.check(args))
