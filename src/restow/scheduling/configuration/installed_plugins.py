"""Plugins of other packages, found by their entry points and checked before anything is asked of them.

A package is loaded when a configuration names its plugin, so one that is broken does no harm where nobody uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from restow.documents.findings import Issue
from restow.errors import InputError
from restow.kube.excerpts import described
from restow.scheduling.framework.declaration import PluginArgs, Point, SchedulerPlugin

#: Other packages register a ``SchedulerPlugin`` under this entry point group, by the plugin's name.
ENTRY_POINTS: Final = "restow.scheduler_plugins"
#: Where a plugin of another package can run.
POINTS: Final[tuple[Point, ...]] = ("preFilter", "filter", "postFilter", "preScore", "score", "reserve")


class UnusablePluginError(InputError):
    """A package is at fault, and not what somebody wrote; each sentence names the plugin."""


@cache
def installed() -> dict[str, EntryPoint]:
    """The entry points by name; UnusablePluginError where two packages have the same."""
    found: dict[str, EntryPoint] = {}
    for each in entry_points(group=ENTRY_POINTS):
        if found.setdefault(each.name, each) != each:
            raise UnusablePluginError(
                f"entry point {ENTRY_POINTS}: {each.name} is registered by two packages; uninstall one"
            )
    return found


@cache
def load(name: str) -> SchedulerPlugin:
    """The plugin of an entry point; UnusablePluginError where it cannot be imported or is none."""
    try:
        offered = installed()[name].load()
    except Exception as error:  # whatever a package raises when it is imported
        raise _refusal(name, f"cannot be imported: {described(error)}") from error
    if not isinstance(offered, SchedulerPlugin):
        raise _refusal(name, "is no restow.scheduling.framework.declaration.SchedulerPlugin")
    problem = _problem(name, offered)
    if problem:
        raise _refusal(name, problem)
    return replace(
        offered,
        check=partial(_checked, offered),
        with_defaults=partial(_with_defaults, offered),
    )


def _refusal(name: str, why: str) -> UnusablePluginError:
    return UnusablePluginError(f"entry point {ENTRY_POINTS}: {name} {why}")


def _problem(name: str, plugin: SchedulerPlugin) -> str:
    """Why a declaration is of no use; empty where it is."""
    if plugin.name != name:
        return f'declares the plugin "{plugin.name}"; name the entry point like the plugin'
    elsewhere = [point for point in plugin.points if point not in POINTS]
    if elsewhere or not plugin.points:
        return f"must run at some of the points {', '.join(POINTS)} and at no other, such as {elsewhere or 'none'}"
    if plugin.args is not None and not (isinstance(plugin.args, type) and issubclass(plugin.args, PluginArgs)):
        return "has args that are no subclass of restow.scheduling.framework.declaration.PluginArgs"
    if set(plugin.points) != {"postFilter"} and plugin.make is None:
        return "has no make, which makes what filters and scores"
    if ("postFilter" in plugin.points) != (plugin.make_post_filter is not None):
        return "needs make_post_filter if it runs at postFilter, and only then"
    return ""


def _checked(plugin: SchedulerPlugin, args: Any) -> list[Issue]:
    """What the plugin finds wrong with arguments; UnusablePluginError where it cannot tell."""
    found = _called(plugin, lambda given: list(plugin.check(given)), args)
    if not all(isinstance(each, Issue) for each in found):
        raise UnusablePluginError(
            f'scheduler plugin "{plugin.name}": check must give restow.documents.findings.Issue objects'
        )
    issues: list[Issue] = found
    return issues


def _with_defaults(plugin: SchedulerPlugin, args: PluginArgs) -> PluginArgs:
    filled = _called(plugin, plugin.with_defaults, args)
    if type(filled) is not plugin.args:
        raise UnusablePluginError(
            f'scheduler plugin "{plugin.name}": with_defaults must give what it gets, changed or not'
        )
    return filled


def _called(plugin: SchedulerPlugin, function: Callable[[Any], Any], args: Any) -> Any:
    try:
        return function(args)
    except Exception as error:  # whatever a package raises
        raise UnusablePluginError(
            f'scheduler plugin "{plugin.name}": its arguments cannot be checked: {described(error)}'
        ) from error
