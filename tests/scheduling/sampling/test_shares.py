"""How windows share their weights: the compiled loop and NumPy find the same numbers, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.scheduling.sampling.relative_scores import AddedScores
from restow.scheduling.sampling.shares import library, shares, vectorised, won_everywhere
from restow.scheduling.sampling.windows import WindowRuns

#: Kinds of entries.
_KINDS = 4


def some_scores(random: np.random.Generator, count: int, size: int, scales: int) -> AddedScores:
    """Scores of as many scales at most, which windows have in runs or at random."""
    kinds = random.integers(0, _KINDS, count + size - 1)
    table = random.integers(0, 20, (scales, _KINDS))
    scale = random.integers(0, scales, count)
    scale = np.sort(scale) if random.random() < 0.5 else scale
    begins = np.concatenate(([0], np.flatnonzero(np.diff(scale)) + 1))
    runs = WindowRuns(scale[begins], np.append(begins, count))
    return AddedScores(kinds, runs, table, table.min(axis=0), table.max(axis=0))


@pytest.mark.skipif(library() is None, reason="no compiler")
@given(seed=st.integers(0, 10**6), count=st.integers(1, 60), scales=st.integers(0, 6), left_out=st.floats(0, 0.9))
def test_the_compiled_loop_finds_what_numpy_finds(seed, count, scales, left_out):
    random = np.random.default_rng(seed)
    size = int(random.integers(1, count + 1))
    fixed = random.integers(-5, random.integers(1, 30), count + size - 1)
    added = some_scores(random, count, size, scales) if scales else None
    weights = random.random(count)
    weights[random.random(count) < left_out] = 0.0
    weights[random.integers(count)] = 0.5
    assert won_everywhere(fixed, added, weights, size).tolist() == vectorised(fixed, added, weights, size).tolist()


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64])
def test_each_window_is_won_by_somebody(dtype):
    random = np.random.default_rng(1)
    fixed = random.integers(0, 9, 349).astype(dtype)
    added = some_scores(random, 250, 100, 3)
    won, missed = shares(fixed, added, np.full(250, 1 / 250), 100)
    assert won.sum() == pytest.approx(1.0)
    assert missed == 0.0


def test_scores_that_are_far_apart_are_left_to_numpy():
    """The loop counts entries by score, and does not for millions of them."""
    fixed = np.array([0, 10**12, 3, 10**15, 7, 0, 10**12])
    weights = np.full(5, 0.2)
    assert won_everywhere(fixed, None, weights, 3).tolist() == pytest.approx([0, 0.2, 0, 0.6, 0, 0, 0.2])
    assert won_everywhere(fixed, None, weights, 3).tolist() == vectorised(fixed, None, weights, 3).tolist()
