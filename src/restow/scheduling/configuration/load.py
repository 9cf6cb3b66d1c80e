"""Read a KubeSchedulerConfiguration into scheduler profiles.

What kube-scheduler 1.36 refuses is refused, with all reasons at once. What it ignores silently becomes a warning. The
plugin sets of a profile are merged with the defaults: what runs at each point, in order, with which weight.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from msgspec import Struct, field

from restow.cluster.pod_reading import DEFAULT_SCHEDULER
from restow.documents.decoding import decode
from restow.documents.document import (
    DocumentKind,
    further_documents,
    read_document,
    refusal,
    repeated_keys,
    to_findings,
)
from restow.documents.findings import Finding, Issue, Path, errors_in
from restow.kube.excerpts import did_you_mean, excerpt, misspelled_or_foreign
from restow.scheduling.configuration.profiles import DEFAULT_PLUGINS, SchedulerProfile
from restow.scheduling.configuration.registry import OWNER, REMOVED, check_installed, find, names, plugin
from restow.scheduling.configuration.wire import (
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
)
from restow.scheduling.framework.declaration import (
    POINTS,
    Availability,
    Point,
    SchedulerPlugin,
    SchedulerPluginArgs,
    invalid,
)

_MULTI_POINT: Final = "multiPoint"
_ALL: Final = "*"
#: The field of ``Plugins`` that holds the set of a point.
_FIELDS: Final[Mapping[str, str]] = {
    point: "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in point)
    for point in (_MULTI_POINT, *POINTS)
}

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"
_FILE: Final = DocumentKind(f"a {KIND}", f"apiVersion: {API_VERSION} and kind: {KIND}")
_GROUP: Final = API_VERSION.partition("/")[0]
#: Where a plugin needs to have run before a point.
_BEFORE: Final[dict[Point, Point]] = {
    "filter": "preFilter",
    "score": "preScore",
    "reserve": "preFilter",
    "preBind": "preFilter",
}


class SchedulerConfiguration(Struct, frozen=True):
    """The profiles of a file, and the warnings about it."""

    profiles: tuple[SchedulerProfile, ...]
    warnings: tuple[Finding, ...] = ()
    #: The file as plain data, without tokens; None where there is none.
    document: dict[str, Any] | None = None
    #: Fields outside ``profiles``, and how profiles are written.
    written: KubeSchedulerConfiguration = field(default_factory=KubeSchedulerConfiguration)


def load_scheduler_configuration(text: bytes, name: str) -> SchedulerConfiguration:
    """The configuration in a file of this name; InputError with file, line and field where it cannot be used."""
    check_installed()
    document = read_document(text, name, _FILE)
    wrong_type = _check_type(document.data)
    if wrong_type:
        raise refusal(document, [wrong_type])
    decoded = decode(document.data, KubeSchedulerConfiguration, ())
    unreadable = [*repeated_keys(document), *decoded.strictly()]
    if decoded.value is None:
        raise refusal(document, unreadable)
    wire = decoded.value
    profiles = wire.profiles or (KubeSchedulerProfile(),)
    read = [_read_profile(each, index, wire) for index, each in enumerate(profiles)]
    issues = [*unreadable, *_check_settings(wire), *_check_names(profiles)]
    issues += [issue for _, found in read for issue in found]
    issues += [*_check_queue_sort(profiles), *further_documents(document)]
    if errors := errors_in(issues):
        raise refusal(document, errors)
    warnings = tuple(to_findings(document, issues))
    return SchedulerConfiguration(tuple(profile for profile, _ in read), warnings, _without_tokens(document.data), wire)


def _without_tokens(value: Any) -> Any:
    """Remove the tokens of metric providers, because plans show the file."""
    if isinstance(value, dict):
        return {key: _without_tokens(each) for key, each in value.items() if key != "token"}
    return [_without_tokens(each) for each in value] if isinstance(value, list) else value


def _check_type(data: dict[str, Any]) -> Issue | None:
    """What keeps a document from being a KubeSchedulerConfiguration of the version that is read."""
    if not data:
        return Issue((), "an empty file", hint=f"start with {_FILE.start}")
    kind, version = data.get("kind"), data.get("apiVersion")
    if kind is None or version is None:
        return Issue((), f"no {'kind' if kind is None else 'apiVersion'}", hint=f"add {_FILE.start}")
    if kind != KIND:
        hint = _inside(data) or did_you_mean(str(kind), (KIND,))
        return Issue(("kind",), f'must be {KIND}, not "{excerpt(kind)}"', hint=hint)
    if version != API_VERSION:
        removed = str(version).startswith(f"{_GROUP}/")
        why = "kube-scheduler 1.36 reads no other version" if removed else "this is another API"
        return Issue(("apiVersion",), f'must be {API_VERSION}, not "{excerpt(version)}": {why}')
    return None


def _inside(data: dict[str, Any]) -> str:
    """Where in a ConfigMap there is a configuration; empty where there is none."""
    texts = data.get("data")
    for key, value in texts.items() if isinstance(texts, dict) else ():
        if isinstance(value, str) and KIND in value:
            return f"data.{excerpt(key)} holds one: write that text into a file of its own"
    return ""


def _check_settings(wire: KubeSchedulerConfiguration) -> Iterator[Issue]:
    if wire.extenders:
        text = "restow calls no extenders, so it cannot tell where pods would go"
        yield Issue(("extenders",), text, hint="remove them")
    if wire.parallelism <= 0:
        yield invalid(("parallelism",), wire.parallelism, "should be an integer value greater than zero")
    yield from _check_percentage(wire.percentage_of_nodes_to_score, ())
    initial, most = wire.pod_initial_backoff_seconds, wire.pod_max_backoff_seconds
    if initial <= 0:
        yield invalid(("podInitialBackoffSeconds",), initial, "must be greater than 0")
    if most < initial:
        detail = "must be greater than or equal to PodInitialBackoffSeconds"
        yield invalid(("podMaxBackoffSeconds",), most, detail)


def _check_percentage(percentage: int | None, path: Path) -> Iterator[Issue]:
    if percentage is not None and not 0 <= percentage <= 100:
        yield invalid((*path, "percentageOfNodesToScore"), percentage, "not in valid range [0-100]")


def _check_names(profiles: Sequence[KubeSchedulerProfile]) -> Iterator[Issue]:
    first: dict[str, int] = {}
    for index, profile in enumerate(profiles):
        path: Path = ("profiles", index)
        name = profile.scheduler_name
        if name == "" or (name is None and len(profiles) > 1):
            yield Issue(path, "schedulerName is required: pods choose a profile by it")
        elif name is not None and name in first:
            other = f"profiles[{first[name]}]"
            yield Issue((*path, "schedulerName"), f'duplicate scheduler name "{excerpt(name)}": {other} has it too')
        elif name is not None:
            first[name] = index


def _check_queue_sort(profiles: Sequence[KubeSchedulerProfile]) -> Iterator[Issue]:
    for index, profile in enumerate(profiles):
        if profile.plugins.queue_sort != profiles[0].plugins.queue_sort:
            path = ("profiles", index, "plugins", "queueSort")
            yield Issue(path, "must be the same for all profiles: there is one queue")


def _read_profile(
    wire: KubeSchedulerProfile, index: int, whole: KubeSchedulerConfiguration
) -> tuple[SchedulerProfile, list[Issue]]:
    """A profile, and what is wrong with it or has no effect."""
    path: Path = ("profiles", index)
    merged = _merge(wire.plugins)
    running = {name for names in merged.points.values() for name in names}
    arguments, unusable = _read_arguments(wire.plugin_config, (*path, "pluginConfig"), running, API_VERSION)
    percentage = wire.percentage_of_nodes_to_score
    profile = SchedulerProfile(
        name=DEFAULT_SCHEDULER if wire.scheduler_name is None else wire.scheduler_name,
        plugins=merged.points,
        weights=merged.weights,
        arguments=arguments,
        percentage_of_nodes_to_score=whole.percentage_of_nodes_to_score if percentage is None else percentage,
    )
    sets = (*path, "plugins")
    issues = [*_check_percentage(percentage, path), *_check_plugin_sets(wire.plugins, sets)]
    return profile, [*issues, *_check_points(merged, sets), *unusable]


def _check_points(merged: _MergedPlugins, path: Path) -> Iterator[Issue]:
    """Yield what kube-scheduler cannot start with, or fails with on every pod."""
    if len(merged.points["queueSort"]) != 1:
        text = "exactly one queue sort plugin is needed: leave PrioritySort enabled"
        yield Issue((*path, "queueSort"), text)
    if not merged.points["bind"]:
        yield Issue((*path, "bind"), "at least one bind plugin is needed: leave DefaultBinder enabled")
    for point, before in _BEFORE.items():
        for name in merged.points[point]:
            known = find(name)
            if known and point in known.dependent and name not in merged.points[before]:
                text = f"{name} runs at {point} but not at {before}, so kube-scheduler would fail on every pod"
                yield Issue((*path, before), text, hint="disable it at both")
    for name in merged.points["filter"]:
        known = find(name)
        reserves = known and known.make is not None and "reserve" in known.points
        if reserves and name not in merged.points["reserve"]:
            text = f"restow reserves what placed pods take even without {name} here"
            yield Issue((*path, "reserve"), text, "warning")


# Source: SetDefaults and Validate of the plugins' arguments, Kubernetes 1.36.
def _read_arguments(
    configs: Sequence[PluginConfig], path: Path, running: Collection[str], api_version: str
) -> tuple[dict[str, SchedulerPluginArgs], list[Issue]]:
    """The arguments that stand at a path, by plugin, where they differ from the defaults, and what is wrong or has no effect.

    ``running`` are the plugins that run at some point.
    """
    found: dict[str, SchedulerPluginArgs] = {}
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
    """Why a plugin's arguments are refused or ignored regardless of content; None if they are read."""
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


def _decoded(
    config: PluginConfig, plugin: SchedulerPlugin, path: Path
) -> tuple[SchedulerPluginArgs, tuple[Issue, ...]]:
    """The arguments with their defaults, or the defaults alone and why the arguments cannot be read."""
    decoded = decode(config.args, type(_default(plugin)), path)
    args: SchedulerPluginArgs = plugin.with_defaults(decoded.value or _default(plugin))
    return args, decoded.strictly()


def _default(plugin: SchedulerPlugin) -> SchedulerPluginArgs:
    assert plugin.args is not None, "arguments of a plugin without any are not read"
    return plugin.args()


def _check(
    plugin: SchedulerPlugin, args: SchedulerPluginArgs, path: Path, running: Collection[str], api_version: str
) -> Iterator[Issue]:
    if args.api_version not in ("", api_version):
        yield Issue((*path, "apiVersion"), f'must be {api_version}, not "{excerpt(args.api_version)}"')
    if args.kind not in ("", f"{plugin.name}Args"):
        yield Issue((*path, "kind"), f'must be {plugin.name}Args, not "{excerpt(args.kind)}"')
    if plugin.is_checked_when_idle or plugin.name in running:
        yield from (replace(issue, path=(*path, *issue.path)) for issue in plugin.check(args))


# ``multiPoint`` is merged first: the defaults that it does not disable, each replaced in its place where it is enabled
# again, then what is new. A point's own list comes before that: plugins that it repeats from multiPoint in its own order,
# then the rest of multiPoint that has this point and is not disabled there, then what is only in the point's list.
# Source: mergePluginSet and expandMultiPointPlugins, Kubernetes 1.36.
class _MergedPlugins(Struct, frozen=True):
    """What a profile runs."""

    points: Mapping[Point, tuple[str, ...]]
    #: Of the plugins at score.
    weights: Mapping[str, int]


def _plugin_set(plugins: Plugins, point: str) -> PluginSet:
    """What a profile changes at a point, or at all of them (multiPoint)."""
    found: PluginSet = getattr(plugins, _FIELDS[point])
    return found


def _merge(plugins: Plugins) -> _MergedPlugins:
    """The plugin sets of a profile that can be used, even if others are wrong."""
    everywhere = _merge_multi_point(plugins.multi_point)
    points = {point: tuple(_expand(point, _plugin_set(plugins, point), everywhere)) for point in POINTS}
    weights = _weights([*plugins.score.enabled, *everywhere])
    return _MergedPlugins(points, {name: weights.get(name, 1) for name in points["score"]})


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


def _check_plugin_sets(plugins: Plugins, path: Path) -> Iterator[Issue]:
    """Yield what is wrong with the sets that stand at a path, and what in them has no effect."""
    for point in (_MULTI_POINT, *POINTS):
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
        problem = _not_enabled(each.name, point, place)
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


def _not_enabled(name: str, point: str, path: Path) -> Issue | None:
    """Why a plugin cannot be enabled at a point; None where it can."""
    if name in REMOVED:
        return Issue(path, f'plugin "{name}" is no longer part of kube-scheduler')
    known = find(name)
    if known is None:
        return Issue(path, f'unknown plugin "{excerpt(name)}"', hint=misspelled_or_foreign(name, names(), OWNER))
    if known.availability is Availability.GATED:
        why = _not_modelled(name) if known.not_modelled else f"{name} runs for the pods that need it, enabled or not"
        return Issue(path, f"{why}, so it cannot be enabled")
    if point != _MULTI_POINT and point not in known.points:
        return Issue(path, f"{name} does not run at {point}", hint=f"it runs at {' and '.join(known.points)}")
    return None
