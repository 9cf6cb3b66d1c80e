"""Plugins of other packages, found by their entry points and checked before their first call.

A package is loaded only when a configuration names its plugin, so a broken one does no harm until then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final

from restow.documents.findings import Issue
from restow.installed_packages import FAULTS, UnusablePackageError, load, unusable
from restow.kube.excerpts import described
from restow.scheduling.framework.declaration import Point, SchedulerPlugin, SchedulerPluginArgs
from restow.scheduling.framework.requeueing import Interest

#: Other packages register a ``SchedulerPlugin`` under this entry point group, by the plugin's name.
ENTRY_POINTS: Final = "restow.scheduler_plugins"
#: Where a plugin of another package can run.
POINTS: Final[tuple[Point, ...]] = ("preFilter", "filter", "postFilter", "preScore", "score", "reserve")


@cache
def plugin_of_a_package(name: str) -> SchedulerPlugin:
    """The plugin of an entry point; UnusablePackageError where it cannot be imported or is none."""
    offered = load(ENTRY_POINTS, name)
    if not isinstance(offered, SchedulerPlugin):
        raise unusable(ENTRY_POINTS, name, "is no restow.scheduling.framework.declaration.SchedulerPlugin")
    problem = _problem(name, offered)
    if problem:
        raise unusable(ENTRY_POINTS, name, problem)
    return replace(
        offered,
        check=partial(_checked, offered),
        with_defaults=partial(_with_defaults, offered),
    )


def _problem(name: str, plugin: SchedulerPlugin) -> str:
    """Why a declaration is unusable; empty if it is usable."""
    if plugin.name != name:
        return f'declares the plugin "{plugin.name}"; name the entry point like the plugin'
    elsewhere = [point for point in plugin.points if point not in POINTS]
    if elsewhere or not plugin.points:
        return f"must run at some of the points {', '.join(POINTS)} and at no other, such as {elsewhere or 'none'}"
    if plugin.args is not None and not (isinstance(plugin.args, type) and issubclass(plugin.args, SchedulerPluginArgs)):
        return "has args that are no subclass of restow.plugins.SchedulerPluginArgs"
    if set(plugin.points) != {"postFilter"} and plugin.make is None:
        return "has no make, which makes what filters and scores"
    if ("postFilter" in plugin.points) != (plugin.make_post_filter is not None):
        return "needs make_post_filter if it runs at postFilter, and only then"
    return _problem_of_interests(plugin.interests)


def _problem_of_interests(interests: Any) -> str:
    if interests is None or (isinstance(interests, tuple) and all(isinstance(each, Interest) for each in interests)):
        return ""
    return "has interests that are no tuple of restow.scheduling.framework.requeueing.Interest"


def _checked(plugin: SchedulerPlugin, args: Any) -> list[Issue]:
    """The problems that the plugin finds in its arguments; UnusablePackageError if it fails."""
    found = _called(plugin, lambda given: list(plugin.check(given)), args)
    if not all(isinstance(each, Issue) for each in found):
        raise UnusablePackageError(
            f'scheduler plugin "{plugin.name}": check must give restow.documents.findings.Issue objects'
        )
    issues: list[Issue] = found
    return issues


def _with_defaults(plugin: SchedulerPlugin, args: SchedulerPluginArgs) -> SchedulerPluginArgs:
    filled = _called(plugin, plugin.with_defaults, args)
    if type(filled) is not plugin.args:
        raise UnusablePackageError(
            f'scheduler plugin "{plugin.name}": with_defaults must give what it gets, changed or not'
        )
    return filled


def _called(plugin: SchedulerPlugin, function: Callable[[Any], Any], args: Any) -> Any:
    try:
        return function(args)
    except FAULTS as error:
        raise UnusablePackageError(
            f'scheduler plugin "{plugin.name}": its arguments cannot be checked: {described(error)}'
        ) from error
