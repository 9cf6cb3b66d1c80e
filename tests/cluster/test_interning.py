"""Interning of single values and of rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.cluster.interning import Interner, by_appearance, combine

ROWS = st.lists(st.tuples(st.integers(-5, 5), st.integers(-(2**31), 2**31 - 1), st.integers(0, 3)), max_size=30)


def columns(rows):
    return [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)] or [np.zeros(0, dtype=np.int64)] * 3


def test_identifiers_count_up_from_zero():
    interner = Interner()
    assert interner.ids(["b", "a", "b"]) == [0, 1, 0]
    assert interner.id("c") == 2
    assert interner.keys() == ["b", "a", "c"]
    assert len(interner) == 3


@given(ROWS)
def test_combined_rows_can_be_read_back(rows):
    ids, table = combine(*columns(rows))
    assert [tuple(table[each].tolist()) for each in ids] == rows
    assert len(table) == len(set(rows))


@given(ROWS)
def test_combined_rows_are_numbered_in_sorted_order(rows):
    assert [tuple(row) for row in combine(*columns(rows))[1].tolist()] == sorted(set(rows))


@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_change_their_numbers(rows, random):
    numbers = dict(zip(rows, combine(*columns(rows))[0].tolist(), strict=True))
    shuffled = random.sample(rows, len(rows))
    assert combine(*columns(shuffled))[0].tolist() == [numbers[row] for row in shuffled]


@pytest.mark.parametrize("count", [1, 4])
def test_no_rows_give_an_empty_table_with_all_columns(count):
    ids, table = combine(*[np.zeros(0, dtype=np.int32)] * count)
    assert ids.shape == (0,)
    assert table.shape == (0, count)


@given(st.lists(st.integers(0, 20), max_size=30))
def test_renumbering_by_appearance(ids):
    new, old = by_appearance(np.array(ids, dtype=np.int32))
    assert old == list(dict.fromkeys(ids))
    assert [old[each] for each in new] == ids
