"""Plugins of installed packages: which declarations are refused, each with one sentence, and that others do no harm."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest

from builders.entry_points import entry_points, offering
from restow.documents.findings import Issue
from restow.errors import InputError
from restow.scheduling.configuration import registry
from restow.scheduling.configuration.registry import ENTRY_POINTS
from restow.scheduling.framework.declaration import SchedulerPlugin, SchedulerPluginArgs
from scheduling.configurations import a_configuration, a_profile, a_set, loaded


class Args(SchedulerPluginArgs, frozen=True):
    size: int = 1


class Filtering:
    def filter(self, pod, nodes):
        raise NotImplementedError


GOOD = SchedulerPlugin("Own", ("filter",), lambda _context, _args: Filtering(), args=Args)
NAMING = a_configuration(a_profile(multiPoint=a_set("Own"), args={"Own": {"size": 2}}))


def test_a_plugin_of_a_package_runs_where_a_configuration_enables_it():
    with entry_points(offering("Own", GOOD)):
        (profile,) = loaded(NAMING).profiles
    assert profile.plugins["filter"][-1] == "Own"
    assert profile.arguments["Own"] == Args(size=2)
    assert not profile.runs("Own", "score")


@pytest.mark.parametrize(
    ("offered", "problem"),
    [
        pytest.param("no plugin", "is no restow.scheduling.framework.declaration.SchedulerPlugin", id="type"),
        pytest.param(replace(GOOD, name="Other"), 'declares the plugin "Other"; name the entry point', id="name"),
        pytest.param(replace(GOOD, points=("bind",)), "must run at some of the points preFilter, filter,", id="point"),
        pytest.param(replace(GOOD, points=()), "must run at some of the points preFilter, filter,", id="no point"),
        pytest.param(replace(GOOD, args=dict), "has args that are no subclass of", id="args"),
        pytest.param(replace(GOOD, make=None), "has no make, which makes what filters and scores", id="make"),
        pytest.param(replace(GOOD, interests=("Node",)), "has interests that are no tuple of", id="interests"),
        pytest.param(replace(GOOD, points=("postFilter",)), "needs make_post_filter if it runs", id="post filter"),
    ],
)
def test_a_declaration_of_no_use_is_refused(offered, problem):
    with entry_points(offering("Own", offered)), pytest.raises(InputError) as refused:
        loaded(NAMING)
    assert str(refused.value).startswith(f"entry point {ENTRY_POINTS}: Own {problem}")


def test_a_package_that_cannot_be_imported_is_refused_in_one_sentence():
    point = EntryPoint(name="Own", value="no_such_package:PLUGIN", group=ENTRY_POINTS)
    with entry_points(point), pytest.raises(InputError, match="Own cannot be imported: ModuleNotFoundError: No module"):
        loaded(NAMING)


def test_a_broken_package_that_no_configuration_names_does_no_harm():
    point = EntryPoint(name="Own", value="no_such_package:PLUGIN", group=ENTRY_POINTS)
    with entry_points(point):
        assert loaded(a_configuration()).profiles


@pytest.mark.parametrize("name", ["NodeAffinity", "EBSLimits"])
def test_a_package_cannot_take_the_name_of_another_plugin(name):
    taken = offering(name, replace(GOOD, name=name))
    with (
        entry_points(taken),
        pytest.raises(InputError, match=f"{name} is a plugin of kube-scheduler; uninstall the package"),
    ):
        loaded(a_configuration())


def test_two_packages_cannot_have_the_same_plugin():
    two = offering("Own", GOOD), offering("Own", "another")
    with entry_points(*two), pytest.raises(InputError, match="Own is registered by two packages; uninstall one"):
        loaded(NAMING)


def failing(_args):
    raise ValueError("of\n no use")


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        pytest.param({"check": failing}, "arguments cannot be checked: ValueError: of no use", id="check"),
        pytest.param({"check": lambda _args: ["text"]}, "must give restow.documents.findings.Issue", id="no issue"),
        pytest.param({"with_defaults": failing}, "arguments cannot be checked: ValueError", id="defaults"),
        pytest.param({"with_defaults": lambda _args: None}, "with_defaults must give what it gets", id="nothing"),
    ],
)
def test_arguments_that_a_package_fails_to_check_are_refused(changed, problem):
    with entry_points(offering("Own", replace(GOOD, **changed))), pytest.raises(InputError) as refused:
        loaded(NAMING)
    assert str(refused.value).startswith('scheduler plugin "Own": ')
    assert problem in str(refused.value)


def test_what_a_package_finds_wrong_is_told_with_file_line_and_field():
    strict = replace(GOOD, check=lambda args: [Issue(("size",), f"must be even, not {args.size}")])
    with entry_points(offering("Own", strict)), pytest.raises(InputError) as refused:
        loaded(NAMING)
    assert "profiles[0].pluginConfig[0].args.size: must be even, not 2" in str(refused.value)


def test_nothing_is_asked_of_packages_without_a_configuration():
    def unasked():
        raise AssertionError("asked")

    with entry_points(offering("Own", property(unasked))):
        assert registry.find("NodeAffinity") is not None
