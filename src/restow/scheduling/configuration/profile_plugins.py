"""The plugins of a profile, made for one state.

A plugin that filters and scores is one object, so that what it keeps is kept once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from restow.scheduling.configuration.guarding import guarded, guarded_post_filter
from restow.scheduling.configuration.partial_plugins import FilterPart, PreFilterPart, PreScorePart, UnpreparedScore
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.scheduling.configuration.registry import IN_TREE, plugin
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import Point, SchedulerPlugin
from restow.scheduling.framework.extension_points import FilterPlugin, ScorePlugin, SigningPlugin
from restow.scheduling.framework.post_filtering import Handle, PostFilterPlugin
from restow.scheduling.framework.scoring import WeightedPlugin

_MAKING_POINTS: tuple[Point, ...] = ("preFilter", "filter", "preScore", "score")


@dataclass(slots=True, frozen=True)
class ProfilePlugins:
    """What filters and what scores, in order, and what tells pods apart by more than their parts."""

    filters: tuple[FilterPlugin, ...]
    scores: tuple[WeightedPlugin, ...]
    signing: tuple[SigningPlugin, ...]


def plugins_of(profile: SchedulerProfile, context: Context) -> ProfilePlugins:
    """The plugins of a profile that decisions depend on."""
    names = dict.fromkeys(name for point in _MAKING_POINTS for name in profile.plugins[point])
    made = {name: _made(each, context, profile) for name in names if (each := plugin(name)).make is not None}
    filters = {name: each for name, each in made.items() if isinstance(each, FilterPlugin)}
    scores = {name: each for name, each in made.items() if isinstance(each, ScorePlugin)}
    signing = tuple(each for each in made.values() if isinstance(each, SigningPlugin))
    return ProfilePlugins(_filters(profile, filters), _scores(profile, scores), signing)


def post_filters_of(profile: SchedulerProfile, handle: Handle) -> Sequence[PostFilterPlugin]:
    """The plugins of a profile that are asked about pods that fit nowhere, in order."""
    plugins = map(plugin, profile.plugins["postFilter"])
    return [_post_filter(each, handle, profile) for each in plugins if each.make_post_filter is not None]


def _made(plugin: SchedulerPlugin, context: Context, profile: SchedulerProfile) -> object:
    assert plugin.make is not None, "only plugins that can be made are"
    make = plugin.make if plugin.name in IN_TREE else partial(guarded, plugin)
    return make(context, _arguments(profile, plugin))


def _post_filter(plugin: SchedulerPlugin, handle: Handle, profile: SchedulerProfile) -> PostFilterPlugin:
    assert plugin.make_post_filter is not None, "only plugins that can be made are"
    make = plugin.make_post_filter if plugin.name in IN_TREE else partial(guarded_post_filter, plugin)
    return make(handle, _arguments(profile, plugin))


def _arguments(profile: SchedulerProfile, plugin: SchedulerPlugin) -> Any:
    """What a profile sets a plugin to; None for a plugin without arguments."""
    return profile.arguments.get(plugin.name) or (plugin.args() if plugin.args else None)


def _filters(profile: SchedulerProfile, plugins: Mapping[str, FilterPlugin]) -> tuple[FilterPlugin, ...]:
    before = [name for name in profile.plugins["preFilter"] if name in plugins]
    filtering = [name for name in profile.plugins["filter"] if name in plugins]
    if before == [name for name in filtering if "preFilter" in plugin(name).points]:
        return tuple(plugins[name] for name in filtering)
    return (
        *(PreFilterPart(plugins[name]) for name in before),
        *(FilterPart(plugins[name], prepared=name in before, lenient=plugin(name).is_lenient) for name in filtering),
    )


def _scores(profile: SchedulerProfile, plugins: Mapping[str, ScorePlugin]) -> tuple[WeightedPlugin, ...]:
    def prepared(name: str) -> ScorePlugin:
        needs = "preScore" in plugin(name).points and not profile.runs(name, "preScore")
        return UnpreparedScore(plugins[name]) if needs else plugins[name]

    scoring = [name for name in profile.plugins["score"] if name in plugins]
    unused = [name for name in profile.plugins["preScore"] if name in plugins and name not in scoring]
    return (
        *(WeightedPlugin(PreScorePart(plugins[name]), 1) for name in unused),
        *(WeightedPlugin(prepared(name), profile.weights[name]) for name in scoring),
    )
