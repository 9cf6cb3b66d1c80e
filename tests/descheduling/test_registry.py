"""The plugins that a policy may name, and those that other packages bring."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from descheduling.trials import suggesting
from restow.descheduling import registry
from restow.errors import InputError

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
TRIAL = suggesting("a")


@pytest.fixture
def installed(monkeypatch):
    """Makes entry points appear, and the registry forget them afterwards."""

    def install(value):
        point = EntryPoint(name="other", value=value, group=registry.ENTRY_POINTS)
        monkeypatch.setattr(registry, "entry_points", lambda group: [point])
        registry.strategies.cache_clear()
        registry.plugins.cache_clear()

    yield install
    registry.strategies.cache_clear()
    registry.plugins.cache_clear()


def test_every_plugin_of_upstream_is_there():
    assert set(registry.strategies()) == UPSTREAM
    assert set(registry.plugins()) == UPSTREAM | {"DefaultEvictor"}


def test_other_packages_may_bring_strategies(installed):
    installed(f"{__name__}:TRIAL")
    assert registry.strategies()["Trial"].schema.name == "Trial"
    assert "Trial" in registry.plugins()


def test_anything_but_a_strategy_is_refused(installed):
    installed("json:dumps")
    with pytest.raises(InputError, match=r"entry point restow.strategies: other is no restow.descheduling"):
        registry.strategies()
