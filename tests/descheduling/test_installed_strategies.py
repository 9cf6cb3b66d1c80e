"""Strategies of installed packages that fail: each ends with a sentence that names it, and harms nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from builders import RS, a_node, a_pod
from descheduling.harness import NOW, a_cluster
from descheduling.trials import a_profile, evicted, refused, suggesting, trial
from proving.proven import TOLD
from restow.descheduling.framework import Proposal, StrategyError, Suggestion
from restow.descheduling.registry import strategy_of_a_package
from restow.documents.findings import Issue
from restow.installed_packages import UnusablePackageError
from restow.kube.timestamps import parse_time
from restow.policies.arguments import PluginArgs
from restow.policies.codes import PlacementConstraint
from restow.policies.policy import Policy
from restow.proving.search import prove_cycle

TRIAL = suggesting("a")
NODES = [a_node("n1"), a_node("n2"), a_node("n3")]
PODS = [a_pod("a", node="n1", owner=RS), a_pod("b", node="n1", owner=RS)]


def guarded(suggest=TRIAL.suggest, **more):
    return strategy_of_a_package("Trial", structs.replace(TRIAL, suggest=suggest, **more))


def run(suggest, **more):
    """A cycle with the strategy of a package and then one of restow."""
    strategies = {"Trial": guarded(suggest, **more), "Next": suggesting("b")}
    return trial(strategies, *NODES, *PODS, profiles=[a_profile(deschedule=("Trial", "Next"))])


def problems(cycle):
    return [(ref.plugin, problem) for ref, problem in cycle.record.problems]


def raises(_view, _args):
    yield Suggestion(0, "first")
    raise ValueError("of\n no use")


def exits(_view, _args):
    raise SystemExit(0)


@pytest.mark.parametrize(
    ("suggest", "problem"),
    [
        pytest.param(raises, "suggest raised ValueError: of no use", id="raises"),
        pytest.param(exits, "suggest raised SystemExit: 0", id="ends the process"),
        pytest.param(lambda _view, _args: [1], "suggest gave list and must be a generator", id="a list"),
        pytest.param(lambda _view, _args: iter_of(1), "suggest gave int instead of a Suggestion", id="a number"),
        pytest.param(lambda _view, _args: iter_of(None), "suggest gave NoneType instead of", id="nothing"),
        pytest.param(lambda _view, _args: iter_of(Suggestion(99, "x")), "suggest gave 99, which is no row", id="row"),
        pytest.param(lambda _view, _args: iter_of(Suggestion(-1, "x")), "suggest gave -1, which is no row", id="end"),
        pytest.param(lambda _view, _args: iter_of(Suggestion(0, None)), "suggest gave NoneType instead of a", id="why"),
        pytest.param(
            lambda _view, _args: iter_of(Proposal((Suggestion(99, "x"),), "try")), "suggest gave 99", id="proposal"
        ),
    ],
)
def test_one_that_fails_is_a_problem_of_the_plan_and_the_next_one_runs(suggest, problem):
    cycle = run(suggest)
    ((plugin, told),) = problems(cycle)
    assert plugin == "Trial"
    assert told.startswith(problem)
    assert "b" in evicted(cycle)


def iter_of(*suggestions):
    yield from suggestions


def test_what_it_raises_itself_is_told_as_it_is():
    def suggest(_view, _args):
        raise StrategyError("no metrics for node n1")
        yield

    assert problems(run(suggest)) == [("Trial", "no metrics for node n1")]


def test_a_sound_one_is_told_the_verdicts():
    heard = []
    assert evicted(run(suggesting("a", heard=heard).suggest)) == ["a", "b"]
    assert [each.value for each in heard] == ["evicted"]


def failing(_nodes):
    raise ValueError("of no use")


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        pytest.param({"accepts": failing}, "accepts raised ValueError: of no use", id="accepts"),
        pytest.param({"accepts": lambda _nodes: True}, "accepts raised TypeError: a bool for each of", id="one answer"),
        pytest.param({"accepts": lambda nodes: nodes}, "accepts raised TypeError: a bool for each of", id="numbers"),
    ],
)
def test_a_pod_stays_about_whose_landing_its_strategy_cannot_tell(function, problem):
    """What it would accept is not known, so nothing is accepted, and the strategy ends there."""

    def suggest(view, _args):
        for pod in (0, 1):
            yield Suggestion(pod, "x", PlacementConstraint.ELSEWHERE, **function)

    cycle = prove_with(guarded(suggest))
    assert evicted(cycle) == []
    assert refused(cycle) == {"a": ("placement", "NoGain")}
    ((plugin, told),) = problems(cycle)
    assert (plugin, told.startswith(problem)) == ("Trial", True)


def prove_with(strategy, **others):
    """A proven plan of these strategies."""
    strategies = {"Trial": strategy, **others}
    policy = Policy(profiles=(a_profile(deschedule=tuple(strategies)),))
    return prove_cycle(a_cluster(*NODES, *PODS, *TOLD), policy, strategies, parse_time(NOW))


@pytest.mark.parametrize("watch", [failing, lambda _view, _args: failing, lambda _view, _args: lambda _pod, _nodes: 1])
def test_a_watch_that_fails_is_noted_and_objects_to_nothing(watch):
    """It only saves time: what it would object to, the next round finds."""
    cycle = prove_with(guarded(suggesting().suggest, watch=watch), Next=suggesting("b"))
    assert evicted(cycle) == ["b"]
    assert any("watch raised " in note for _, note in cycle.record.notes)


def test_a_sound_watch_objects():
    def watch(_view, _args):
        return lambda _pod, nodes: np.ones(len(nodes), dtype=bool)

    cycle = prove_with(guarded(suggesting().suggest, watch=watch), Next=suggesting("b"))
    assert refused(cycle) == {"b": ("placement", "Circle")}


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        pytest.param({"validate": failing}, "ValueError: of no use", id="validate"),
        pytest.param(
            {"construct": lambda _args: [1]}, "TypeError: what is wrong with them must be str", id="construct"
        ),
        pytest.param({"lint": lambda _args: ["x"]}, "TypeError: what is wrong with them must be Issue", id="lint"),
        pytest.param({"default": lambda _args: None}, "TypeError: default must give what it gets", id="default"),
    ],
)
def test_arguments_that_a_package_fails_to_check_are_refused(changed, problem):
    schema = guarded(schema=replace(TRIAL.schema, **changed)).schema
    with pytest.raises(UnusablePackageError, match=f'strategy "Trial": its arguments cannot be checked: {problem}'):
        getattr(schema, *changed)(PluginArgs())


def test_what_a_package_finds_odd_is_told():
    odd = Issue(("x",), "odd", "warning")
    assert list(guarded(schema=replace(TRIAL.schema, lint=lambda _args: iter([odd]))).schema.lint(PluginArgs())) == [
        odd
    ]


@pytest.mark.parametrize("sort", [failing, lambda _view, _args: 1, lambda _view, _args: {0: "over"}])
def test_one_that_cannot_sort_nodes_says_so(sort):
    with pytest.raises(StrategyError, match="sort_nodes"):
        guarded(sort_nodes=sort).sort_nodes(None, None)
