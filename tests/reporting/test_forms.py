"""Names of forms: restow's own are kept, and each is one package's."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest

from builders.entry_points import entry_points
from builders.plans import a_report
from restow.errors import InputError
from restow.reporting import forms

OWN = ("table", "wide", "json", "yaml", "html", "markdown")


@pytest.fixture
def install():
    """Makes entry points those that are installed."""
    with ExitStack() as stack:
        yield lambda *points: stack.enter_context(entry_points(*points))


def point(name: str, value: str = "builtins:repr") -> EntryPoint:
    return EntryPoint(name, value, forms.ENTRY_POINTS)


def test_installed_names_come_after_restows_own(install):
    install(point("two"), point("one"), point("one", "os:getcwd"))
    assert forms.form_names() == (*OWN, "one", "two")


@pytest.mark.parametrize("name", OWN)
def test_no_package_replaces_a_form_of_restow(install, name):
    install(point(name))
    assert forms.form_names() == OWN
    with pytest.raises(InputError, match=f"restow.outputs: {name} is a form of restow itself; uninstall the package"):
        forms.form_named(name)


def test_a_name_that_is_taken_does_not_touch_other_forms(install):
    install(point("table"))
    assert b"".join(forms.form_named("json")(a_report())).startswith(b"{")


def test_two_packages_cannot_share_a_name(install):
    install(point("one"), point("one", "os:getcwd"))
    with pytest.raises(InputError, match="one is registered by two packages; uninstall one"):
        forms.form_named("one")


def test_text_is_a_document_in_utf_8_whatever_it_holds(install):
    install(point("one"))
    report = a_report(notes=("ü\udc80",))
    assert "ü".encode() in b"".join(forms.form_named("one")(report))


@pytest.mark.parametrize("name", ["json", "yaml"])
def test_loads_are_not_counted_for_a_form_that_does_not_show_them(name):
    report = replace(a_report(), count_loads=lambda: pytest.fail("nobody shows them"))
    assert b"".join(forms.form_named(name)(report))
