"""What the policy reader has to know of a plugin, without importing one.

A policy names plugins and carries their arguments; which plugins exist is the business of ``descheduling``, a room
above this one. So the set of known plugins is an argument of every reader: ``Mapping[str, PluginSchema]``. The schema
of a strategy stands in the strategy's own file. Readers know no plugin by its name but DefaultEvictor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from msgspec import Struct

    from restow.documents.findings import Issue

#: The points of a profile at which plugins are enabled.
ExtensionPoint = Literal["deschedule", "balance", "filter", "preEvictionFilter"]

#: In the order in which upstream builds a profile.
EXTENSION_POINTS: tuple[ExtensionPoint, ...] = ("deschedule", "balance", "filter", "preEvictionFilter")

#: The plugin that is part of every profile.
DEFAULT_EVICTOR = "DefaultEvictor"

#: Whose plugins a policy names, for messages about others.
OWNER = "the Descheduler's"

#: What to do about an argument that once held what are arguments now.
FLATTENED: Final = "write what is inside it directly into args"


def no_errors(_args: Any) -> list[str]:
    """Accept any arguments."""
    return []


def nothing_odd(_args: Any) -> Iterable[Issue]:
    """Find nothing odd about any arguments."""
    return ()


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
    #: What ``policy lint`` reports about valid arguments: settings that do nothing, or not what they seem to do. It
    #: gets them as written, and the paths of its issues begin inside ``args``.
    lint: Callable[[Any], Iterable[Issue]] = nothing_odd
    #: The strategies that undo the work of this one, and how: "one empties full nodes, the other fills them".
    conflicts: Mapping[str, str] = field(default_factory=dict)
    #: Keys that people write among the arguments, because they once were there or seem to be, and what to do instead.
    renamed: Mapping[str, str] = field(default_factory=dict)
    #: The Go package, with a dot, of the structs inside ``args`` that are the plugin's own: upstream's errors quote it.
    go_package: str = ""


#: The plugins that a policy may name.
Plugins = Mapping[str, PluginSchema]
