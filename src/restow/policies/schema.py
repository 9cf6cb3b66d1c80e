"""What the policy reader has to know of a plugin, without importing one.

A policy names plugins and carries their arguments; which plugins exist is the business of ``descheduling``, a room
above this one. So the set of known plugins is an argument of every reader: ``Mapping[str, PluginSchema]``. The schema
of a strategy stands in the strategy's own file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from msgspec import Struct

#: The points of a profile at which plugins are enabled.
ExtensionPoint = Literal["deschedule", "balance", "filter", "preEvictionFilter"]

#: In the order in which upstream builds a profile.
EXTENSION_POINTS: tuple[ExtensionPoint, ...] = ("deschedule", "balance", "filter", "preEvictionFilter")

#: The plugin that is part of every profile.
DEFAULT_EVICTOR = "DefaultEvictor"

#: Whose plugins a policy names, for messages about others.
OWNER = "the Descheduler's"


def no_errors(_args: Any) -> list[str]:
    """Accept any arguments."""
    return []


def unchanged(args: Any) -> Any:
    """Return the arguments as they are: most plugins fill in nothing."""
    return args


@dataclass(slots=True, frozen=True)
class PluginSchema:
    """One registered plugin as the policy sees it. Source: descheduler v0.36, its plugin registry."""

    name: str
    extension_points: tuple[ExtensionPoint, ...]
    #: What ``pluginConfig[].args`` decodes to. Its name is the Go type's: upstream's decode errors quote it.
    args: type[Struct]
    #: Upstream's texts, in upstream's order; run on every pluginConfig entry, before ``default``.
    validate: Callable[[Any], list[str]] = no_errors
    #: The arguments with defaults filled in.
    default: Callable[[Any], Any] = unchanged
    #: Upstream's texts of what only constructing the plugin finds; run on enabled plugins, after ``default``.
    construct: Callable[[Any], list[str]] = no_errors


#: The plugins that a policy may name.
Plugins = Mapping[str, PluginSchema]
