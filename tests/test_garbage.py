"""Python looks for garbage when it is worth while, and not among what a cluster is made of."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from restow import garbage


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    was_enabled, thresholds = gc.isenabled(), gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)
    (gc.enable if was_enabled else gc.disable)()


@pytest.mark.parametrize("was_enabled", [True, False])
def test_what_is_loaded_stays_and_after_that_it_is_as_before(was_enabled: bool) -> None:
    (gc.enable if was_enabled else gc.disable)()
    frozen = gc.get_freeze_count()
    with garbage.paused():
        assert not gc.isenabled()
        loaded = [[] for _ in range(1_000)]
    assert gc.isenabled() is was_enabled
    assert gc.get_freeze_count() >= frozen + len(loaded)


def test_long_work_gives_back_what_refers_to_itself_and_leaves_what_stays() -> None:
    garbage.collect()
    assert gc.isenabled()
    staying: list[object] = []
    staying.append(staying)
    garbage.settle()
    del staying
    circle: list[object] = []
    circle.append(circle)
    del circle
    assert gc.collect() >= 1
