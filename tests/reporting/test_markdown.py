"""``restow plan -o markdown``: the answer first, the rest folded, and no markup from the cluster."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from builders.plans import a_move, a_refusal, a_report
from restow.reporting.forms import Report
from restow.reporting.markdown import form, table, text


def rendered(report: Report) -> str:
    return b"".join(form(report)).decode()


def rows(document: str) -> list[str]:
    return [line for line in document.splitlines() if line.startswith("| ")]


def test_the_answer_comes_first_and_each_move_has_a_row() -> None:
    moves = (a_move("shop/web-1", ("n1", "n2")), a_move("shop/web-2", ("n1", "n3")))
    document = rendered(a_report(moves, (a_refusal("shop/db-0", "limit", "MaxPodsToEvictPerNode", "full"),)))
    assert document.startswith("**2 moves, the gain of all is certain; 2 targets certain**\n")
    assert "| 1 | shop/web-1 | Deployment/web | n1 | n2 | certain |" in document
    assert "**1 candidate refused**" in document
    assert "| 1 | limit | MaxPodsToEvictPerNode | full |" in document


def test_a_plan_without_moves_says_why() -> None:
    assert rendered(a_report()).startswith("**Nothing to move: no strategy found a pod to move**")


def test_what_is_too_much_to_read_is_folded_and_what_is_too_much_to_post_is_left_out() -> None:
    document = rendered(a_report(tuple(a_move(f"shop/web-{at}", ("n1", "n2")) for at in range(300))))
    assert "<summary>200 more moves</summary>" in document
    assert "... and 80 more moves: see -o wide" in document
    assert document.count("<details>") == document.count("</details>") == 1


def test_notes_are_a_list() -> None:
    assert "* steering would help" in rendered(a_report(notes=("steering would help",)))


@given(st.text())
def test_nothing_that_a_cluster_says_is_markup(said: str) -> None:
    line = text(said)
    assert "\n" not in line
    assert not re.search(r"(?<!\\)(\\\\)*[`*_<>|~#@\[\]]", line)
    assert table(("A", "B"), [(said, said)]).count("\n") == 2
