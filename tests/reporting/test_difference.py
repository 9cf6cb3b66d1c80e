"""What differs between two plans, and how that is shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from builders.plans import a_move, a_refusal, a_report
from restow.descheduling.plan import PlanDocument
from restow.reporting.difference_result import difference
from restow.reporting.difference_table import headline, markdown_form, print_difference
from restow.reporting.terminal import shown

PODS = [f"shop/web-{at}" for at in range(4)]
NODES = ["a", "b", "c"]
PLANS = st.dictionaries(st.sampled_from(PODS), st.tuples(st.just("a"), st.sampled_from(NODES[1:])))


def a_plan(routes: dict[str, tuple[str, str | None]], *codes: str) -> PlanDocument:
    moves = tuple(a_move(pod, route) for pod, route in routes.items())
    refusals = tuple(a_refusal("shop/stays-0", "limit", code, "no") for code in codes)
    return a_report(moves, refusals).plan


@given(PLANS, PLANS)
def test_every_move_is_the_same_elsewhere_or_only_in_one(old, new) -> None:
    found = difference(a_plan(old), a_plan(new), "old", "new")
    assert found.same + len(found.elsewhere) + len(found.only_old) == len(old)
    assert found.same + len(found.elsewhere) + len(found.only_new) == len(new)
    assert found.is_empty == (old == new)


@given(PLANS, PLANS)
def test_the_other_way_round_old_and_new_change_places(old, new) -> None:
    there, back = difference(a_plan(old), a_plan(new), "x", "y"), difference(a_plan(new), a_plan(old), "y", "x")
    assert (there.only_old, there.only_new, there.same) == (back.only_new, back.only_old, back.same)


def test_refusals_are_counted_by_their_reason() -> None:
    old = a_plan({}, "MaxPodsToEvictPerNode", "MaxPodsToEvictPerNode", "MaxPodsToEvictTotal")
    found = difference(old, a_plan({}, "MaxPodsToEvictTotal"), "old", "new")
    (counts,) = found.refusals
    assert (counts.code, counts.old, counts.new) == ("MaxPodsToEvictPerNode", 2, 0)
    assert headline(found) == "0 moves are the same; pods stay for other reasons"


def test_all_that_differs_is_shown_on_a_terminal_and_in_markdown() -> None:
    old = a_plan({PODS[0]: ("a", "b"), PODS[1]: ("a", "b"), PODS[2]: ("a", "b")}, "MaxPodsToEvictTotal")
    found = difference(old, a_plan({PODS[0]: ("a", "b"), PODS[1]: ("a", "c"), PODS[3]: ("a", None)}), "old", "new")
    texts = [shown(lambda console: print_difference(found, console)), b"".join(markdown_form(found)).decode()]
    for text in texts:
        assert "1 move is the same; 1 only with old, 1 only with new, 1 elsewhere" in text
        assert all(title in text for title in ("Only with new", "Only with old", "Elsewhere", "Stays"))
        assert all(pod in text for pod in PODS[1:])


def test_of_many_moves_the_first_are_shown() -> None:
    many = {f"shop/web-{at}": ("a", "b") for at in range(30)}
    found = difference(a_plan({}), a_plan(many), "old", "new")
    assert "... and 10 more: see -o json" in shown(lambda console: print_difference(found, console))
    assert "<summary>10 more moves</summary>" in b"".join(markdown_form(found)).decode()
