"""Keys in order with their rows: after any changes what sorting anew gives."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from restow.cluster.key_order import KeyOrder

KEYS = st.tuples(st.sampled_from("ab"), st.sampled_from("pqrstuvwxyz"))


@given(st.lists(st.lists(st.tuples(KEYS, st.booleans()), max_size=4), max_size=12))
@settings(max_examples=60, deadline=None)
def test_the_order_follows_whatever_keys_come_change_and_go(bursts):
    names: list[str] = []
    row_of: dict[tuple[str, str], int] = {}
    order = KeyOrder(row_of, {"name": names})
    for burst in [[(("c", str(each)), True) for each in range(40)], *bursts]:
        for key, there in burst:
            if there:
                row_of[key] = len(names)
                names.append(f"{key} in row {row_of[key]}")
            else:
                row_of.pop(key, None)
            order.touch(key)
        expected = [row_of[key] for key in sorted(row_of)]
        assert order.rows().tolist() == expected
        assert order.column("name") == [names[row] for row in expected]


def test_rows_may_all_change():
    order = KeyOrder({("a", "p"): 0, ("a", "q"): 1}, {"name": ["p", "q"]})
    assert order.column("name") == ["p", "q"]
    order.renumber({("a", "p"): 1, ("a", "q"): 0}, {"name": ["q", "p"]})
    assert (order.rows().tolist(), order.column("name")) == ([1, 0], ["p", "q"])
