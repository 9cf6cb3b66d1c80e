from __future__ import annotations

from builders.plans import a_move, a_refusal, a_report
from restow.reporting.answer import group_refusals, staying_pods


def test_the_most_frequent_reason_comes_first_then_the_arbiters_order() -> None:
    refusals = [
        a_refusal("a/1", "placement", "NoFit", "x"),
        a_refusal("a/2", "evictor", "Mirror", "x"),
        a_refusal("a/3", "evictor", "Annotated", "x"),
        a_refusal("a/4", "budget", "DisruptionBudget", "x"),
        a_refusal("a/5", "budget", "DisruptionBudget", "x"),
    ]
    assert [each.code for each in group_refusals(refusals)] == ["DisruptionBudget", "Annotated", "Mirror", "NoFit"]


def test_the_same_code_in_two_stages_is_two_reasons() -> None:
    refusals = [a_refusal("a/1", "limit", "X", "x"), a_refusal("a/2", "budget", "X", "x")]
    assert [each.stage for each in group_refusals(refusals)] == ["limit", "budget"]


def test_the_most_frequent_message_is_an_example() -> None:
    refusals = [a_refusal(f"a/{each}", "placement", "NoFit", f"needs {each}") for each in "1223"]
    (group,) = group_refusals(refusals)
    assert group.example == "e.g. needs 2"


def test_a_message_that_all_share_is_no_example() -> None:
    (group,) = group_refusals([a_refusal(f"a/{each}", "evictor", "X", "no") for each in "12"])
    assert group.example == "no"


def test_a_pod_that_one_strategy_refuses_and_another_moves_does_not_stay() -> None:
    report = a_report(
        (a_move("a/1", ("node-1", "node-2")),),
        tuple(a_refusal(f"a/{each}", "evictor", "X", "no") for each in "1223"),
    )
    assert staying_pods(report.plan) == 2
