"""The policy of a command: the file that was named, or the one that comes with restow, which is an example too."""

from __future__ import annotations

from pathlib import Path

from builders.policies import PLUGINS
from restow.application.policies import policy_view, read_policy_file
from restow.policies.fallbacks import Fallbacks
from restow.policies.lint import lint_policy

EXAMPLE = Path(__file__).parents[2] / "examples" / "policies" / "default.yaml"


def bundled():
    return read_policy_file(None, Fallbacks())


def test_it_is_the_example():
    installed = Path(__file__).parents[2] / "src" / "restow" / "application" / "default-policy.yaml"
    assert installed.read_bytes() == EXAMPLE.read_bytes()


def test_it_says_that_it_is_bundled():
    view = policy_view(bundled())
    assert view.bundled
    assert view.name == "default-policy.yaml"
    assert "RemoveDuplicates" in view.strategies


def test_its_text_is_made_only_where_it_is_shown(monkeypatch):
    """A table does not show it; a policy of 20,000 profiles has a text that takes half a minute."""
    monkeypatch.setattr("restow.application.policies.understood", lambda *_: "made")
    view = policy_view(bundled())
    assert view.text() == "made"


def test_there_is_nothing_to_say_against_it():
    assert lint_policy(EXAMPLE.read_bytes(), "default.yaml", PLUGINS) == []


def test_it_is_careful_and_its_limits_hide_nothing():
    policy = bundled().loaded.policy
    (profile,) = policy.profiles
    assert profile.args["DefaultEvictor"].node_fit
    assert policy.max_no_of_pods_to_evict_per_node is None
    assert policy.max_no_of_pods_to_evict_total is None


def test_strategies_are_named_in_the_order_in_which_they_run():
    """First every profile's deschedule strategies, then every profile's balance strategies."""
    old = EXAMPLE.with_name("v1alpha1.yaml")
    assert policy_view(read_policy_file(str(old), Fallbacks())).strategies == (
        "RemovePodsHavingTooManyRestarts",
        "RemovePodsViolatingNodeTaints",
        "LowNodeUtilization",
        "RemoveDuplicates",
    )
