"""The plugins that a policy may name, and those that other packages bring."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest
from msgspec import structs

from builders.entry_points import entry_points, offering
from builders.policies import a_config, a_policy, a_profile, as_yaml
from descheduling.trials import suggesting
from restow.descheduling import registry
from restow.errors import InputError
from restow.installed_packages import UnusablePackageError
from restow.policies.lint import lint_policy
from restow.policies.load import load_policy

UPSTREAM = {
    "HighNodeUtilization",
    "LowNodeUtilization",
    "PodLifeTime",
    "RemoveDuplicates",
    "RemoveFailedPods",
    "RemovePodsHavingTooManyRestarts",
    "RemovePodsViolatingInterPodAntiAffinity",
    "RemovePodsViolatingNodeAffinity",
    "RemovePodsViolatingNodeTaints",
    "RemovePodsViolatingTopologySpreadConstraint",
}
#: What restow has beside these.
OWN = {"Rebalance"}
TRIAL = suggesting("a")
BROKEN = EntryPoint(name="Trial", value="no_such_package:STRATEGY", group="restow.strategies")


def naming(strategy):
    """The text of a policy that enables a strategy."""
    return as_yaml(a_policy(a_profile(a_config(strategy), balance=[strategy])))


def test_every_plugin_of_upstream_is_there():
    assert set(registry.strategies()) == UPSTREAM | OWN
    assert set(registry.plugins()) == UPSTREAM | OWN | {"DefaultEvictor"}


def test_other_packages_may_bring_strategies():
    with entry_points(offering("Trial", TRIAL)):
        assert registry.strategies()["Trial"].schema.name == "Trial"
        assert list(registry.plugins())[-1] == "Trial"
        assert len(registry.plugins()) == len(UPSTREAM | OWN) + 2
        assert load_policy(naming("Trial"), "p.yaml", registry.plugins()).policy.profiles


@pytest.mark.parametrize(
    ("point", "problem"),
    [
        pytest.param(offering("Trial", "text"), "is no restow.descheduling.framework.Strategy", id="type"),
        pytest.param(offering("Trial", structs.replace(TRIAL, schema=1)), "has a schema that is no", id="schema"),
        pytest.param(BROKEN, "cannot be imported: ModuleNotFoundError: No module named", id="import"),
    ],
)
def test_a_package_of_no_use_is_refused_in_one_sentence_where_a_policy_names_its_strategy(point, problem):
    with entry_points(point), pytest.raises(UnusablePackageError) as refused:
        load_policy(naming("Trial"), "p.yaml", registry.plugins())
    (sentence,) = refused.value.sentences
    assert sentence.startswith(f"entry point restow.strategies: Trial {problem}")


def test_an_entry_point_has_the_name_of_its_strategy():
    with entry_points(offering("Other", TRIAL)), pytest.raises(InputError, match='declares the strategy "Trial"'):
        registry.strategies()["Other"]


@pytest.mark.parametrize("read", [load_policy, lint_policy])
def test_a_broken_package_does_no_harm_where_no_policy_names_it(read):
    with entry_points(BROKEN):
        assert read(naming("RemoveDuplicates"), "p.yaml", registry.plugins()) is not None


def test_a_misspelled_name_is_compared_with_those_of_packages_too():
    with entry_points(BROKEN), pytest.raises(InputError, match='did you mean "Trial"'):
        load_policy(naming("Triall"), "p.yaml", registry.plugins())


@pytest.mark.parametrize("name", ["RemoveDuplicates", "DefaultEvictor"])
def test_no_package_replaces_a_plugin_of_restow(name):
    """Otherwise a policy would mean something else as soon as somebody installs a package."""
    with entry_points(offering(name, TRIAL)), pytest.raises(InputError, match=f"{name} is a .* of restow itself"):
        load_policy(naming("RemoveDuplicates"), "p.yaml", registry.plugins())


def test_two_packages_cannot_have_the_same_strategy():
    two = offering("Trial", TRIAL), offering("Trial", suggesting("b"))
    with entry_points(*two), pytest.raises(InputError, match="Trial is registered by two packages; uninstall one"):
        registry.strategies()["Trial"]
