"""What the policy reader has to know of a plugin, without importing one, and how it decodes with upstream's words.

A policy names plugins and carries their arguments; which plugins exist is the business of ``descheduling``, a room
above this one. So the set of known plugins is an argument of every reader: ``Mapping[str, PluginSchema]``. The schema
of a strategy stands in the strategy's own file. Readers know no plugin by its name but DefaultEvictor.

Upstream decodes with Go's JSON decoder, and users search for its texts. An error quotes the Go type and field as Go
does: the innermost struct, then the field's path from where decoding began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from msgspec import Struct, inspect

from restow.documents import decoding
from restow.documents.decoding import Decoded, DecodingPath
from restow.documents.findings import Path
from restow.documents.shapes import DURATION, Shape, json_kind, shape_of
from restow.kube.excerpts import excerpt

if TYPE_CHECKING:
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


S = TypeVar("S", bound=Struct)

_NAMES: Final[dict[type[inspect.Type], str]] = {
    inspect.BoolType: "bool",
    inspect.StrType: "string",
    inspect.FloatType: "float64",
    inspect.IntType: "int",
}
#: Go package of a struct that belongs to no plugin, by the module that declares ours.
_PACKAGES: Final = {
    "restow.kube.objects": "v1.",
    "restow.policies.arguments": "api.",
    "restow.policies.policy": "v1alpha2.",
    "restow.policies.usage": "nodeutilization.",
    "restow.policies.v1alpha1_strategies": "v1alpha1.",
}

#: Where the index of a profile stands in a path, the only list of which other items are examined.
_PROFILE_AT = 1
#: How long the path of a pluginConfig entry is: profiles, 0, pluginConfig, 1.
_ENTRY = 4


def decode(data: Any, cls: type[S], path: Path) -> Decoded[S]:
    """Decode what stands at ``path`` of a policy into ``cls``; None is the struct with nothing set."""
    return decoding.decode(data, cls, path, partial(_unmarshal_error, _PACKAGES))


def decode_args(data: Any, schema: PluginSchema, path: Path) -> Decoded[Struct]:
    """Decode a plugin's arguments that stand at ``path``; None is those with nothing set."""
    packages = _PACKAGES | {schema.args.__module__: schema.go_package}
    return decoding.decode(data, schema.args, path, partial(_unmarshal_error, packages))


def _unmarshal_error(packages: Mapping[str, str], shape: Shape, data: Any, place: DecodingPath) -> str:
    is_number = json_kind(data) == "number" and isinstance(shape.type, inspect.IntType)
    got = f"number {excerpt(data)}" if is_number and shape.name != DURATION else json_kind(data)
    where = f"struct field {place.struct}.{'.'.join(map(excerpt, place.fields))} of" if place.fields else "value of"
    return f"json: cannot unmarshal {got} into Go {where} type {_type_name(shape, packages)}"


def _type_name(shape: Shape, packages: Mapping[str, str]) -> str:
    if shape.name:
        return "string" if shape.name == DURATION else shape.name
    match shape.type:
        case inspect.VarTupleType(item_type=item):
            return f"[]{_type_name(shape_of(item), packages)}"
        case inspect.DictType(value_type=value):
            return f"map[string]{_type_name(shape_of(value), packages)}"
        case inspect.StructType(cls=cls):
            return f"{_package(cls, packages)}{cls.__name__}"
    return _NAMES.get(type(shape.type), "")


def _package(cls: type[Struct], packages: Mapping[str, str]) -> str:
    module = f"{cls.__module__}."
    return next((name for room, name in packages.items() if module.startswith(f"{room}.")), "")


# They are examined even if other values are wrong, so that all problems are reported at once.
def sound_parts(data: dict[str, Any], faults: Iterable[Path]) -> dict[str, Any]:
    """Return a copy of a document without the keys at whose values, or inside whose lists, there is a fault.

    Of a list of pluginConfig entries only the faulty one goes, and leaves a null at its place.
    """
    sound = deepcopy(data)
    for path in faults:
        if entry_of(path):
            _blank(sound, entry_of(path))
        else:
            _remove(sound, _key_around(path))
    return sound


def entry_of(path: Path) -> Path:
    """Return the path of the pluginConfig entry that a path leads into; empty if it does not."""
    return path[:_ENTRY] if len(path) >= _ENTRY and path[0] == "profiles" and path[2] == "pluginConfig" else ()


def _blank(sound: dict[str, Any], entry: Path) -> None:
    profiles, index, configs, position = entry
    inside = sound.get(str(profiles))
    if inside is not None and str(configs) in inside[index]:
        inside[index][str(configs)][position] = None


def _key_around(path: Path) -> Path:
    """Return the path of the key to remove: a whole list for one of its items, so that the others keep their places."""
    in_profile = path[:1] == ("profiles",) and len(path) > _PROFILE_AT + 1
    start = _PROFILE_AT + 1 if in_profile else 0
    for at in range(start, len(path)):
        if isinstance(path[at], int):
            return path[:at]
    return path


def _remove(data: Any, path: Path) -> None:
    for step in path[:-1]:
        if isinstance(data, dict) and step not in data:
            return  # what is around it is gone already
        data = data[step]
    data.pop(path[-1], None)
