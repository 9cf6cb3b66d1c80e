"""What plugins of other packages answer, checked: a ``PluginError`` says what is no answer, in half a sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from restow.cluster.interning import IntArray
from restow.scheduling.framework.extension_points import MAX_SCORE, PASSES, FilterResult, Outcome, PreFiltered, Scores
from restow.scheduling.framework.post_filtering import Preemption


class PluginError(Exception):
    """A plugin raised, or gave an answer that is none."""


def prefiltered(answer: Any, nodes: int) -> PreFiltered:
    """Check a PreFilter answer about ``nodes`` nodes."""
    if not isinstance(answer, PreFiltered):
        raise PluginError(f"prefilter returned {_kind(answer)} instead of a PreFiltered")
    if answer.failure is not None:
        _check_outcome("prefilter", answer.failure)
    if answer.allowed is not None and not _is(answer.allowed, "b", nodes):
        raise PluginError(f"prefilter allowed {_kind(answer.allowed)} instead of bool[{nodes}]")
    return answer if answer.allowed is None else replace(answer, allowed=answer.allowed.copy())


def filter_result(answer: Any, nodes: int) -> FilterResult:
    """Check a filter answer about ``nodes`` nodes."""
    if not isinstance(answer, FilterResult):
        raise PluginError(f"filter returned {_kind(answer)} instead of a FilterResult")
    category = answer.category
    if not _is(category, "i", nodes):
        raise PluginError(f"filter returned categories of {_kind(category)} instead of int64[{nodes}]")
    if not isinstance(answer.outcomes, list | tuple):
        raise PluginError(f"filter returned outcomes of {_kind(answer.outcomes)} instead of a tuple")
    for each in answer.outcomes:
        _check_outcome("filter", each)
    if nodes and not PASSES <= int(category.min()) <= int(category.max()) < len(answer.outcomes):
        raise PluginError(f"filter returned a category that is none of its {len(answer.outcomes)} outcomes")
    return answer


def raw_scores(answer: Any, nodes: int) -> Scores | int | None:
    """Check the raw scores of ``nodes`` nodes."""
    if answer is None or (isinstance(answer, int) and not isinstance(answer, bool)):
        return answer
    if not _is(answer, "i", nodes):
        raise PluginError(f"score returned {_kind(answer)} instead of int64[{nodes}], a number or None")
    scores: Scores = answer
    return scores


def normalised_scores(answer: Any, nodes: int) -> Scores:
    """Check the normalised scores of ``nodes`` nodes."""
    if not _is(answer, "i", nodes):
        raise PluginError(f"normalize_score returned {_kind(answer)} instead of int64[{nodes}]")
    scores: Scores = answer
    return scores


def check_range(scores: Scores | int | None) -> None:
    """Scores are 0 to 100 in the end."""
    if scores is None or (isinstance(scores, np.ndarray) and len(scores) == 0):
        return
    least, most = int(np.min(scores)), int(np.max(scores))
    if least < 0 or most > MAX_SCORE:
        raise PluginError(f"a score is {least if least < 0 else most}, not 0 to {MAX_SCORE}")


def some_pods(answer: Any, pods: int) -> IntArray:
    """Check rows among those of ``pods`` pods."""
    if not (isinstance(answer, np.ndarray) and answer.dtype.kind == "i" and answer.ndim == 1):
        raise PluginError(f"affecting_pods returned {_kind(answer)} instead of rows of pods")
    if len(answer) and not 0 <= int(answer.min()) <= int(answer.max()) < pods:
        raise PluginError("affecting_pods returned a row that no pod has")
    rows: IntArray = answer
    return rows


def whole_number(answer: Any) -> int:
    """What a plugin looks at of a pod."""
    if isinstance(answer, bool) or not isinstance(answer, int | np.integer):
        raise PluginError(f"key returned {_kind(answer)} instead of a whole number")
    return int(answer)


def preemption(answer: Any) -> Preemption:
    """An answer to PostFilter."""
    if not isinstance(answer, Preemption):
        raise PluginError(f"post_filter returned {_kind(answer)} instead of a Preemption")
    return answer


def _check_outcome(method: str, outcome: Any) -> None:
    reasons = outcome.reasons if isinstance(outcome, Outcome) else None
    if not (isinstance(reasons, tuple) and reasons and all(isinstance(each, str) for each in reasons)):
        raise PluginError(f"{method} returned {_kind(outcome)} instead of an Outcome with a tuple of reasons")


def _is(value: Any, kind: str, length: int) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == kind and value.shape == (length,)


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    return "nothing" if value is None else f"a value of type {type(value).__name__}"
