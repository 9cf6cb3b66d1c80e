"""Plans that were written as JSON: read again, or refused in one sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from builders.plans import a_move, a_steered_move, small_report
from restow.descheduling.plan import Fenced, PlanDocument
from restow.descheduling.plan_reading import read_plan
from restow.errors import InputError
from restow.policies.codes import PlacementConstraint
from restow.reporting.json import render_json

POLICY = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}


def a_plan(**changes: Any) -> PlanDocument:
    return structs.replace(small_report().plan, policy=POLICY, **changes)


def written(plan: PlanDocument | None = None) -> bytes:
    return b"".join(render_json(plan or a_plan()))


def changed(change: Any) -> bytes:
    document = json.loads(written())
    change(document)
    return json.dumps(document).encode()


def refusal(text: bytes) -> str:
    with pytest.raises(InputError) as refused:
        read_plan(text, "plan.json")
    (sentence,) = refused.value.sentences
    assert sentence.startswith("plan.json: ")
    assert "\n" not in sentence
    return sentence


def test_what_was_written_is_read_again() -> None:
    plan = a_plan(moves=(a_move("shop/a", ("n1", "n2")), a_steered_move("shop/b", ("n1", "n3"))))
    read = read_plan(written(plan), "plan.json")
    assert read.moves == plan.moves
    assert read.metadata == plan.metadata
    assert read.policy == POLICY
    assert read.scheduler_configuration is None


@pytest.mark.parametrize("where", [b"RemoveDuplicates", b"descheduler/v1alpha2", b"restow.dev"], ids=repr)
def test_a_byte_that_is_no_utf_8_is_one_sentence(where: bytes) -> None:
    text = written()
    assert where in text
    assert "not UTF-8" in refusal(text.replace(where, where[:3] + b"\xff" + where[4:]))


def test_a_field_beside_the_moves_may_be_new() -> None:
    """What stays in place, and what is said of strategies, is not carried out."""
    assert read_plan(changed(lambda plan: plan.update(added=1)), "plan.json").moves == a_plan().moves


def test_a_move_from_before_constraints_counts_on_another_node() -> None:
    """Plans that restow wrote before it said what strategies ask for can still be applied."""

    def of_old(plan: Any) -> None:
        del plan["moves"][0]["constraint"]

    assert read_plan(changed(of_old), "plan.json").moves[0].constraint is PlacementConstraint.ELSEWHERE


@pytest.mark.parametrize("constraint", list(PlacementConstraint))
def test_what_a_strategy_asks_for_is_read_again(constraint: PlacementConstraint) -> None:
    plan = a_plan(moves=(structs.replace(a_move("shop/a", ("n1", "n2")), constraint=constraint),))
    assert read_plan(written(plan), "plan.json").moves == plan.moves


def first_move(**fields: Any) -> Any:
    return lambda plan: plan["moves"][0].update(fields)


@pytest.mark.parametrize("end", [1, 100, -3, -200])
def test_a_file_that_was_cut_short_is_a_sentence(end: int) -> None:
    assert "is cut short or damaged" in refusal(written()[:end])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "is no JSON document"),
        (b"apiVersion: restow.dev/v1alpha1\nkind: Plan\n", "is no JSON document"),
        (b"{}", "kind: must be Plan, not missing"),
        (b'{"kind": "List"}', 'kind: must be Plan, not "List"'),
        (b'{"kind": "Plan"}', "apiVersion: must be restow.dev/v1alpha1, not missing"),
        (b"\xff\xfe{", "is no JSON document"),
        (b'{"kind": "Plan\xff"}', "contains bytes that are not UTF-8"),
        (b'{"kind":' + b"[" * 100_000, "is cut short or damaged"),
    ],
    ids=["empty", "yaml", "nothing", "kind", "no version", "utf-16", "no text", "deep"],
)
def test_what_is_no_plan_is_a_sentence(text: bytes, said: str) -> None:
    assert said in refusal(text)


def test_another_version_is_a_sentence_that_says_what_to_do() -> None:
    sentence = refusal(changed(lambda plan: plan.update(apiVersion="restow.dev/v2")))
    assert sentence == (
        'plan.json: apiVersion: must be restow.dev/v1alpha1, not "restow.dev/v2": '
        "apply a plan with the restow that wrote it"
    )


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda plan: plan.pop("policy"), "`policy`"),
        (lambda plan: plan.update(moves={}), "moves: "),
        (lambda plan: plan["moves"][1]["pod"].pop("uid"), "moves[1].pod: "),
        (first_move(to=3), "moves[0].to: "),
        (first_move(steering="teleport"), "moves[0].steering: "),
        (first_move(steering="fence"), "moves[0].steering: must be nominate or null, not fence"),
        (first_move(fromm="n1"), "moves[0]: "),
        (lambda plan: plan["moves"][0]["pod"].update(uid=""), "moves[0].pod.uid: is empty"),
        (lambda plan: plan["moves"].append(plan["moves"][0]), "moves[0].pod: shop/web-7f9c5d8b44-x2k9q is moved more than once"),
        (lambda plan: plan["metadata"].update(generatedAt="yesterday"), "metadata.generatedAt: "),
        (lambda plan: plan["metadata"].update(placement="somehow"), "metadata.placement: "),
    ],
)  # fmt: skip
def test_a_field_that_cannot_be_used_is_named(change: Any, place: str) -> None:
    sentence = refusal(changed(change))
    assert place in sentence
    assert sentence.endswith("write the plan anew: restow plan -o json")


def test_a_fence_that_is_none_of_restows_is_refused() -> None:
    """Its moves were proven on a cluster that nobody makes when it is applied."""
    text = written(a_plan(fence=Fenced(("n1",), "NoExecute")))
    assert 'fence.effect: must be NoSchedule or PreferNoSchedule, not "NoExecute"' in refusal(text)
