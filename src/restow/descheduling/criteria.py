"""Criteria that judge a pod by one of its shared values: each distinct value is judged once.

A criterion answers with the few words that tell people why it holds, so that the reason of a suggestion is made of the
criteria it met, and never made again for the next pod alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from restow.cluster.interning import IdArray, IntArray
from restow.cluster.pods import Pods
from restow.errors import InputError
from restow.kube.excerpts import excerpt

T = TypeVar("T")


@dataclass(slots=True, frozen=True)
class Criterion(Generic[T]):
    """A question about a column of ``Pods`` and its table."""

    ids: IdArray
    table: Sequence[T]
    #: Why a value meets it, empty where there is nothing to say; None where it does not. ValueError where the value
    #: cannot be read.
    why: Callable[[T], str | None]


def meeting(pods: Pods, candidates: IntArray, criteria: Iterable[Criterion[Any]]) -> tuple[IntArray, list[list[str]]]:
    """Return the candidates that meet every criterion, each with what the criteria say about it.

    InputError names the first pod with a value that cannot be read.
    """
    found: list[tuple[IdArray, dict[int, str]]] = []
    for criterion in criteria:
        known = _filter(criterion, pods, candidates)
        candidates = candidates[np.isin(criterion.ids[candidates], list(known))]
        found.append((criterion.ids, known))
    clauses: list[list[str]] = [[] for _ in range(len(candidates))]
    for ids, known in found:
        for said, identifier in zip(clauses, ids[candidates].tolist(), strict=True):
            if known[identifier]:
                said.append(known[identifier])
    return candidates, clauses


def _filter(criterion: Criterion[T], pods: Pods, candidates: IntArray) -> dict[int, str]:
    """What the criterion says about each value that meets it, by the value's identifier."""
    used, first = np.unique(criterion.ids[candidates], return_index=True)
    known: dict[int, str] = {}
    for identifier, pod in zip(used.tolist(), candidates[first].tolist(), strict=True):
        try:
            text = criterion.why(criterion.table[identifier])
        except ValueError as error:
            raise InputError(f"Pod {excerpt(pods.full_name(pod))}: {error}") from error
        if text is not None:
            known[identifier] = text
    return known
