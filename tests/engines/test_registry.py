"""Engines by name, restow's own and those of packages."""

from __future__ import annotations

from types import MappingProxyType

import msgspec
import pytest

from builders.entry_points import entry_points, offering
from engines.test_local import Squares
from restow.engines.registry import Engine, Run, RunFeedback, choose_engine, engines, make_all
from restow.installed_packages import UnusablePackageError


class Args(msgspec.Struct, frozen=True):
    times: int = 1


def twice(args: Args, task, listener) -> None:
    """Make the pieces from the last to the first, and some of them more than once."""
    for number in (*reversed(task.numbers), *task.numbers[: args.times]):
        listener.finished(number, task.work.make(number, int))


OWN = Engine("twice", Args, twice)


def test_an_engine_of_a_package_is_chosen_by_name_and_results_count_once():
    with entry_points(offering("twice", OWN)):
        assert [*engines()] == ["local", "kubernetes", "dask", "ray", "twice"]
        chosen = choose_engine("twice", None, b"times: 3", "engine.yaml")
        assert make_all(Squares(5), chosen, RunFeedback()) == [0, 1, 4, 9, 16]


@pytest.mark.parametrize(
    ("name", "offered", "sentence"),
    [
        ("own", "text", "is no restow.plugins.Engine"),
        ("own", OWN, 'declares the engine "twice"; name the entry point like the engine'),
        ("local", OWN, "is an engine of restow itself"),
    ],
)
def test_a_package_of_no_use_is_named(name, offered, sentence):
    with entry_points(offering(name, offered)), pytest.raises(UnusablePackageError, match=sentence):
        choose_engine(name, None, b"", "engine.yaml")


def test_results_that_are_kept_are_not_made_and_count_as_done():
    class Kept:
        found = MappingProxyType({0: 0, 3: 9})

        def add(self, number: int, result: int) -> None:
            added[number] = result

    added: dict[int, int] = {}
    done: list[int] = []
    with entry_points(offering("twice", OWN)):
        chosen = choose_engine("twice", None, b"", "engine.yaml")
        assert make_all(Squares(5), chosen, RunFeedback(done.append, 10), int, Run("run", Kept())) == [0, 1, 4, 9, 16]
    assert added == {1: 1, 2: 4, 4: 16}
    assert done == [30, 40, 50]
