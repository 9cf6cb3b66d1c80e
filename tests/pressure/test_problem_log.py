"""What is told once, and that it is over."""

from __future__ import annotations

import asyncio

import pytest

from pressure.test_situation import answer, nodes
from restow.kube.duration import MINUTE
from restow.pressure.evaluation import MissingDataPolicy
from restow.pressure.marking import Mark
from restow.pressure.monitoring import DependencyStatus, ProblemLog, problems_of
from restow.pressure.rules import Rule
from restow.pressure.samples import RuleResults
from restow.pressure.situation import Criteria, assess

RULES = (Rule("cpu", "up", 0.8, clear=0.8), Rule("mem", "free", 2, "below", clear=2))


def told(*answers, names=("a", "b"), failures=None, most=0.5, afterwards="clear"):
    by = Criteria(RULES, Mark(), most, MissingDataPolicy(5 * MINUTE, afterwards))
    asked = RuleResults(list(answers), failures or {})
    return {
        about: begins
        for about, (begins, _) in problems_of(asked, assess(by, None, nodes(*names), answers, 0), by).items()
    }


FINE = answer(a=0.1, b=0.1), answer(a=3, b=3)


def test_where_all_is_well_nothing_is_told():
    assert told(*FINE) == {}


def test_what_is_wrong_is_told_with_what_becomes_of_marks():
    why = {"cpu": "connection refused", "mem": "connection refused"}
    assert told(None, None, failures=why) == {
        "Prometheus": "no query has an answer: connection refused; marks stay as they are for 5m0s, then they are removed"
    }
    assert told(None, FINE[1], failures={"cpu": "parse error"}, afterwards="stay") == {
        "query of cpu": "rule cpu: parse error; marks stay as they are for 5m0s, and longer"
    }


def test_nodes_without_values_are_named_with_the_reason():
    assert told(answer(), FINE[1])["values of cpu"].startswith("rule cpu: no node has a value; try its query")
    some = told(answer(a=0.1, b=float("nan")), FINE[1])
    assert some == {"some values of cpu": "rule cpu: 1 of 2 nodes have no value: b (not a number)"}


def test_a_rule_that_is_held_back_and_instances_of_no_node():
    found = told(answer(a=0.9, b=0.9, x=1), FINE[1])
    assert found == {
        "share of cpu": "rule cpu finds 2 of 2 nodes under pressure, more than the share 0.5: it marks none",
        "instances": "instances that are no node of the cluster: x",
    }


def test_a_problem_is_logged_when_it_begins_and_when_it_ends():
    warned: list[str] = []
    said: list[str] = []
    log = ProblemLog(warned.append, said.append)
    for now in ({}, {"x": ("x is down", "x is back")}, {"x": ("x is down for 2 s", "x is back")}, {}, {}):
        log.update(now)
    assert (warned, said) == (["x is down"], ["x is back"])


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_three_intervals_without_an_answer_are_told_with_the_reason() -> None:
    status = DependencyStatus(10.0)
    status.note("Prometheus", "")
    await asyncio.sleep(30)
    status.note("Prometheus", "connection refused")
    assert status.trouble() == ""
    await asyncio.sleep(1)
    assert status.trouble() == "Prometheus has not answered for 31 s: connection refused"
    status.note("Prometheus", "")
    assert status.trouble() == ""


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_who_is_not_asked_is_not_missed() -> None:
    status = DependencyStatus(1.0)
    await asyncio.sleep(100)
    assert status.trouble() == ""
    status.expect("Prometheus")
    await asyncio.sleep(4)
    assert status.trouble() == "Prometheus has not answered for 4 s"
