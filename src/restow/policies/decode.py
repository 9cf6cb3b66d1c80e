"""Plain data to the structs of a policy, with upstream's words for what does not fit.

Upstream decodes with Go's JSON decoder, and users search for its texts. An error quotes the Go type and field as Go
does: the innermost struct, then the field's path from where decoding began.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct, inspect

from restow.documents import decoding
from restow.documents.decoding import Decoded, DecodingPath
from restow.documents.findings import Path
from restow.documents.shapes import DURATION, Shape, json_kind, shape_of
from restow.kube.excerpts import excerpt
from restow.policies.schema import PluginSchema

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    "restow.policies.usage_section": "nodeutilization.",
    "restow.policies.wire": "v1alpha2.",
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
