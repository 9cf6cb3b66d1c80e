"""Sources of usage of installed packages: which declarations are refused, each with one sentence that names it."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from msgspec import Struct

from builders.entry_points import entry_points, offering
from restow.installed_packages import UnusablePackageError
from restow.usage.sources import UsageSource, UsageSourceSchema, usage_schemas, usage_sources


class Args(Struct, frozen=True):
    url: str = ""


def failing(*_: Any) -> Any:
    raise ValueError("of\n no use")


GOOD = UsageSource(UsageSourceSchema("Own", Args), lambda _args, _query, _times: [])


def test_a_source_of_a_package_is_found_by_its_name() -> None:
    with entry_points(offering("Own", GOOD)):
        assert list(usage_schemas()) == ["Own"]
        assert usage_schemas()["Own"].args is Args
        assert usage_sources()["Own"].samples is GOOD.samples
    assert not usage_sources()


@pytest.mark.parametrize(
    ("offered", "problem"),
    [
        pytest.param("text", "is no restow.usage.sources.UsageSource", id="type"),
        pytest.param(replace(GOOD, schema=1), "has a schema that is no restow.usage", id="schema"),  # type: ignore[arg-type]
        pytest.param(replace(GOOD, samples=1), "has samples that are no function", id="samples"),  # type: ignore[arg-type]
        pytest.param(
            replace(GOOD, schema=UsageSourceSchema("Other", Args)), 'declares the source "Other"; name', id="name"
        ),
        pytest.param(
            replace(GOOD, schema=UsageSourceSchema("Own", dict)),  # type: ignore[arg-type]
            "has args that are no msgspec.Struct",
            id="args",
        ),
    ],
)
def test_a_declaration_of_no_use_is_refused(offered: object, problem: str) -> None:
    with entry_points(offering("Own", offered)), pytest.raises(UnusablePackageError) as refused:
        usage_schemas()["Own"]
    assert str(refused.value).startswith(f"entry point restow.usage_sources: Own {problem}")


@pytest.mark.parametrize("name", ["Prometheus", "KubernetesMetrics"])
def test_no_package_replaces_a_source_of_restow(name: str) -> None:
    with entry_points(offering(name, GOOD)), pytest.raises(UnusablePackageError, match=f"{name} is a source of restow"):
        usage_schemas()[name]


def test_a_package_that_cannot_be_imported_is_told_where_somebody_names_it() -> None:
    point = EntryPoint(name="Own", value="no_such_package:SOURCE", group="restow.usage_sources")
    with entry_points(point):
        assert "Own" in usage_schemas()
        with pytest.raises(UnusablePackageError, match="Own cannot be imported: ModuleNotFoundError"):
            usage_schemas()["Own"]


@pytest.mark.parametrize("check", ["validate", "check_query"])
@pytest.mark.parametrize(
    ("function", "problem"),
    [
        pytest.param(failing, "a policy cannot be checked: ValueError: of no use", id="raises"),
        pytest.param(lambda _given: None, "a policy cannot be checked: TypeError", id="nothing"),
        pytest.param(lambda _given: [1], "what is wrong with a policy must be told in sentences", id="a number"),
    ],
)
def test_what_a_package_cannot_check_is_refused(check: str, function: Any, problem: str) -> None:
    offered = replace(GOOD, schema=replace(GOOD.schema, **{check: function}))
    with entry_points(offering("Own", offered)):
        checked = getattr(usage_schemas()["Own"], check)
        with pytest.raises(UnusablePackageError, match=f'usage source "Own": {problem}'):
            checked("")
