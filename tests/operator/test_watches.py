"""What kopf is told to do."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from restow.operator import watches
from restow.operator.kinds import KUBEDESCHEDULERS

API: Any = SimpleNamespace(endpoint=SimpleNamespace(server="https://127.0.0.1:1"))


async def nothing() -> None:
    """There is nothing to remove."""


def registry() -> Any:
    return watches._registry(API, lambda: None, nothing)


def test_a_removal_is_tried_so_often_and_no_more() -> None:
    (removal,) = registry()._changing.get_all_handlers()
    assert (removal.retries, removal.backoff) == (12, 10.0)
    assert KUBEDESCHEDULERS.plural in (removal.selector.plural, removal.selector.any_name)


def test_how_often_it_was_tried_can_be_noted_in_an_annotation() -> None:
    (removal,) = registry()._changing.get_all_handlers()
    assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", removal.id)


def test_only_the_resource_that_counts_waits_for_its_removal() -> None:
    (removal,) = registry()._changing.get_all_handlers()
    assert [removal.when(name=each) for each in ("cluster", "other")] == [True, False]


def test_no_last_configuration_is_kept() -> None:
    storage: Any = watches._settings().persistence.diffbase_storage
    patch: dict[str, Any] = {}
    storage.store(body={}, patch=patch, essence={"spec": {}})
    assert (patch, storage.fetch(body={})) == ({}, None)
