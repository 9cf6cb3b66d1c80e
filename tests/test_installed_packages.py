"""What other packages add, whatever kind it is: found by name, imported when it is looked up."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from builders.entry_points import entry_points, offering
from restow.installed_packages import Extensible, UnusablePackageError

OWN = Extensible("group", {"b": 1}, "a number of restow itself", lambda _name, offered: int(offered))
BROKEN = EntryPoint(name="a", value="no_such_package:x", group="group")


def test_own_parts_come_first_then_those_of_packages_in_order():
    with entry_points(offering("d", 4), offering("c", "3"), offering("b", 2)):
        assert list(OWN) == ["b", "c", "d"]
        assert len(OWN) == 3
        assert (OWN["c"], OWN.get("d"), OWN.get("e")) == (3, 4, None)


def test_a_broken_package_is_told_when_it_is_looked_up_and_not_before():
    with entry_points(BROKEN):
        assert "a" in OWN
        assert list(OWN) == ["b", "a"]
        assert OWN["b"] == 1
        with pytest.raises(UnusablePackageError, match="entry point group: a cannot be imported: ModuleNotFoundError"):
            OWN["a"]


def test_a_package_that_ends_the_process_is_broken():
    def leave():
        raise SystemExit(0)

    point = offering("a", None)
    point.load = leave
    with entry_points(point), pytest.raises(UnusablePackageError, match="a cannot be imported: SystemExit: 0"):
        OWN["a"]


def test_a_name_belongs_to_one_package():
    with entry_points(offering("a", 1), offering("a", 2)), pytest.raises(UnusablePackageError, match="by two packages"):
        OWN["a"]


def test_the_same_entry_point_found_twice_is_one():
    with entry_points(BROKEN, BROKEN), pytest.raises(UnusablePackageError, match="cannot be imported"):
        OWN["a"]


def test_restows_own_names_are_taken():
    with entry_points(offering("b", 2)), pytest.raises(UnusablePackageError) as refused:
        OWN["b"]
    assert str(refused.value) == (
        "entry point group: b is a number of restow itself; uninstall the package or choose another name in it"
    )
