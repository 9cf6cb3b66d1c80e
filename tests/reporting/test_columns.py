from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from restow.reporting.terminal import cut_middle, joined, narrowed, total_width, widths, without_shared_domain, wrapped


@pytest.mark.parametrize(
    ("width", "expected"), [(20, "shop/web-7f9c5-x2k9q"), (19, "shop/web-…9c5-x2k9q"), (8, "shop…k9q")]
)
def test_a_long_name_keeps_both_ends(width: int, expected: str) -> None:
    assert cut_middle("shop/web-7f9c5-x2k9q", width) == expected


@given(st.text("abc-/", min_size=1, max_size=80), st.integers(8, 80))
def test_a_cut_name_fits(text: str, width: int) -> None:
    assert cell_len(cut_middle(text, width)) <= width


def test_the_widest_columns_give_first() -> None:
    assert narrowed([3, 30, 20], 3 + 2 + 20 + 2 + 20) == [3, 20, 20]


def test_no_column_becomes_unreadable() -> None:
    assert narrowed([3, 30, 20], 0) == [3, 8, 8]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6), st.integers(70, 200))
def test_columns_fit_where_they_can(natural: list[int], available: int) -> None:
    result = narrowed(natural, available)
    assert total_width(result) <= available
    assert all(one <= other for one, other in zip(result, natural, strict=True))


def test_a_line_has_no_trailing_blanks() -> None:
    rows = [["a", "bb"], ["ccc", ""]]
    assert [joined(row, widths(rows)) for row in rows] == ["a    bb", "ccc"]


def test_a_domain_that_all_nodes_share_is_left_out() -> None:
    names = ["ip-10-0-1-2.eu-west-1.compute.internal", "ip-10-0-1-3.eu-west-1.compute.internal"]
    assert list(without_shared_domain(names).values()) == ["ip-10-0-1-2…", "ip-10-0-1-3…"]


@pytest.mark.parametrize(
    "names",
    [["a.one", "a.two"], ["node-1", "node-2"], ["node-1", "a.one"], []],
    ids=["two domains", "none", "some", "0"],
)
def test_other_names_stay_whole(names: list[str]) -> None:
    assert without_shared_domain(names) == {name: name for name in names}


def test_a_sentence_breaks_neither_at_a_hyphen_nor_before_a_percent_sign() -> None:
    assert wrapped("in all 5 anti-affinity", 14) == ["in all 5", "anti-affinity"]
    assert wrapped("node-1 at cpu 80 %, target 50 %", 18) == ["node-1 at cpu", "80 %, target 50 %"]
