"""The scores of soft spread constraints by kinds of nodes, against the same worked out node by node."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from restow.scheduling.plugins.spread_scores import (
    ConstraintCounts,
    ScoredConstraint,
    SpreadClassScores,
    normalised,
    raw_scores,
)

#: Shared by all examples, so that much of what they ask has been asked before.
SHARED = SpreadClassScores()


@st.composite
def constraints(draw: st.DrawFn) -> tuple[list[ConstraintCounts], np.ndarray]:
    """One to three constraints over nodes or domains, and which of the nodes are scored, at least one."""
    count = draw(st.integers(1, 12))

    def some(lowest: int, highest: int, number: int) -> np.ndarray:
        return np.array(draw(st.lists(st.integers(lowest, highest), min_size=number, max_size=number)))

    def a_constraint() -> ConstraintCounts:
        skew = draw(st.integers(1, 5))
        if draw(st.booleans()):
            return ConstraintCounts(skew, some(0, 2, count).astype(np.int32), None)
        return ConstraintCounts(skew, np.append(0, some(0, 4, 3)).astype(np.int32), some(1, 3, count))

    scored = some(0, 1, count).astype(bool)
    scored[draw(st.integers(0, count - 1))] = True
    return [a_constraint() for _ in range(draw(st.integers(1, 3)))], scored


def by_node(found: list[ConstraintCounts], nodes: np.ndarray) -> list[int]:
    """The scores of some nodes, and of no others."""
    constraints = [
        ScoredConstraint(
            each.max_skew,
            each.pods[nodes] if each.domain is None else each.pods[each.domain[nodes]],
            np.ones(len(nodes), dtype=bool),
            None,
        )
        for each in found
    ]
    sizes = [len(nodes) if each.domain is None else len(set(each.domain[nodes].tolist())) for each in found]
    raw = raw_scores(constraints, sizes)
    scores: list[int] = normalised(raw, int(raw.min()), int(raw.max())).tolist()
    return scores


@given(constraints())
@settings(max_examples=100, deadline=None)
def test_kinds_score_as_their_nodes_do(drawn) -> None:
    found, scored = drawn
    kinds = SHARED.kinds(found)
    if kinds is not None:
        assert kinds.score_all(scored)[scored].tolist() == by_node(found, np.flatnonzero(scored))


@given(constraints(), st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_each_window_scores_as_if_it_were_all(drawn, most) -> None:
    found, scored = drawn
    nodes = np.flatnonzero(scored)[::-1]
    size = min(most, len(nodes))
    kinds = SHARED.kinds(found)
    relative = None if kinds is None else kinds.relative(nodes)
    if kinds is not None and relative is None:
        assert set(by_node(found, nodes)) == {100}
    if relative is not None:
        scores = relative.scores(size)
        scale = scores.of_window.everywhere().tolist()
        for start in range(len(nodes) - size + 1):
            window = slice(start, start + size)
            assert scores.table[scale[start], relative.kinds[window]].tolist() == by_node(found, nodes[window])


def test_there_are_no_kinds_where_nearly_every_node_is_one() -> None:
    zones = ConstraintCounts(1, np.zeros(10, dtype=np.int32), np.arange(1, 10))
    assert SpreadClassScores().kinds([zones, ConstraintCounts(1, np.arange(9, dtype=np.int32), None)]) is None
