"""The reference of policies has every key and argument with its default, and no others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from docs.pages import prose, rows, section, text_of
from restow.cluster.closed_nodes import LEAVING
from restow.descheduling.registry import plugins
from restow.documents.shapes import Duration
from restow.kube.duration import format_duration
from restow.kube.objects import LabelSelector
from restow.policies.policy import DeschedulerPolicy, RestowSettings, UsageSettings, VetoSettings

PAGE = prose(text_of("docs/reference/policy.md"))
#: Every args may hold them, and they mean nothing.
MEANINGLESS = {"apiVersion", "kind"}


def arguments(kind: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The paths of a struct's arguments with their defaults."""
    match kind:
        case msgspec.inspect.UnionType(types=types):
            kind = next(each for each in types if not isinstance(each, msgspec.inspect.NoneType))
            yield from arguments(kind, path)
        case msgspec.inspect.Metadata(type=inner):
            yield from arguments(inner, path)
        case msgspec.inspect.VarTupleType(item_type=msgspec.inspect.StructType() as item):
            yield from arguments(item, f"{path}[]")
        case msgspec.inspect.StructType(cls=cls, fields=fields) if cls is not LabelSelector:
            for field in fields:
                inner_path = f"{path}.{field.encode_name}" if path else field.encode_name
                inner = dict(arguments(field.type, inner_path))
                yield from inner.items() if inner else [(inner_path, default_of(field))]


def default_of(field: msgspec.inspect.Field) -> Any:
    if field.default is not msgspec.NODEFAULT:
        return field.default
    # One that may be unset has no default.
    return None if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def shown(value: Any) -> str:
    """A default as the reference writes it."""
    match value:
        case None:
            return "none"
        case bool():
            return f"`{str(value).lower()}`"
        case "":
            return '`""`'
        case tuple() | list():
            return f"`[{', '.join(value)}]`"
    return f"`{value}`"


@pytest.mark.parametrize("schema", plugins().values(), ids=lambda schema: schema.name)
def test_every_argument_of_a_plugin_has_a_row_with_its_default(schema):
    expected = dict(arguments(msgspec.inspect.type_info(schema.args)))
    filled = schema.default(schema.args())
    for name in MEANINGLESS:
        del expected[name]
    written = rows(section(PAGE, f"## {schema.name}").partition("\n### ")[0])
    assert set(written) == set(expected)
    for field in msgspec.structs.fields(schema.args):
        if field.encode_name in expected and written[field.encode_name][1] != "required":
            assert written[field.encode_name][1] == shown(getattr(filled, field.name)), field.encode_name
    for name, value in expected.items():
        if "." in name:
            assert written[name][1] == shown(value), name


@pytest.mark.parametrize("schema", plugins().values(), ids=lambda schema: schema.name)
def test_an_argument_is_called_required_only_where_nothing_else_is_accepted(schema):
    cells = rows(section(PAGE, f"## {schema.name}")).values()
    if any(cell[1:2] == ["required"] for cell in cells):
        assert schema.validate(schema.args())


@pytest.mark.parametrize("schema", plugins().values(), ids=lambda schema: schema.name)
def test_every_plugin_says_at_which_points_it_runs(schema):
    first_line = section(PAGE, f"## {schema.name}").strip().partition(". ")[0]
    assert re.findall(r"`(\w+)`", first_line) == list(schema.extension_points)


def test_every_key_of_a_policy_file_has_a_row():
    keys = {field.encode_name for field in msgspec.structs.fields(DeschedulerPolicy)}
    assert set(rows(section(PAGE, "## The file"))) == keys


def test_every_setting_of_usage_has_a_row_with_its_default():
    fields = msgspec.structs.fields(UsageSettings)
    written = rows(section(PAGE, "## Usage from Prometheus"))
    assert set(written) == {f"usage.{field.encode_name}" for field in fields}
    for field in fields:
        default = format_duration(field.default) if is_duration(field) else field.default
        assert written[f"usage.{field.encode_name}"][1].replace("1h", "1h0m0s").replace("5m", "5m0s") == shown(default)


def test_every_veto_has_a_row_with_its_default():
    fields = msgspec.structs.fields(VetoSettings)
    written = rows(section(PAGE, "## Vetoes of other controllers"))
    assert {name for name in written if name.startswith("vetoes.")} == {
        f"vetoes.{field.encode_name}" for field in fields
    }
    for field in fields:
        default = format_duration(field.default) if is_duration(field) else field.default
        assert written[f"vetoes.{field.encode_name}"][1].replace("15m", "15m0s") == shown(default)


def test_every_taint_of_a_leaving_node_is_named():
    table = section(PAGE, "## Vetoes of other controllers")
    for key in LEAVING:
        assert key in table or f".../{key.partition('/')[2]}" in table


def is_duration(field: msgspec.structs.FieldInfo) -> bool:
    return getattr(field.type, "__metadata__", ()) == Duration.__metadata__


def test_every_setting_of_restow_has_a_row():
    keys = {f"restow.{field.encode_name}" for field in msgspec.structs.fields(RestowSettings)}
    assert set(rows(section(PAGE, "## The restow section"))) == keys
