"""Criteria that several strategies let a policy set: kinds of owners, exit codes."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from restow.cluster.interning import IdArray, IntArray
from restow.cluster.pod_values import PodStates
from restow.cluster.pods import Pods
from restow.descheduling.container_states import exit_codes, statuses_of
from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.kube.objects import OwnerReference

T = TypeVar("T")


# A criterion returns a few words that say why it is met. The reason of a suggestion consists of these, and is made only
# once for all pods with the same values.
@dataclass(slots=True, frozen=True)
class Criterion(Generic[T]):
    """A condition on the values of a column of ``Pods``."""

    ids: IdArray
    table: Sequence[T]
    #: Why a value meets it, empty if that needs no words; None if it does not. ValueError if the value cannot be read.
    why: Callable[[T], str | None]


def owner_among(pods: Pods, kinds: Container[str]) -> Criterion[tuple[OwnerReference, ...]]:
    """Some owner is of one of these kinds."""

    def why(owners: tuple[OwnerReference, ...]) -> str | None:
        return next((f"owned by a {owner.kind}" for owner in owners if owner.kind in kinds), None)

    return Criterion(pods.owners, pods.tables.owners, why)


def owner_not_among(pods: Pods, kinds: Container[str]) -> Criterion[tuple[OwnerReference, ...]]:
    """No owner is of one of these kinds; pods without owner are among them."""

    def why(owners: tuple[OwnerReference, ...]) -> str | None:
        return None if any(owner.kind in kinds for owner in owners) else ""

    return Criterion(pods.owners, pods.tables.owners, why)


def exit_code_among(pods: Pods, codes: Container[int], *, init: bool) -> Criterion[PodStates]:
    """Some regular container, or with ``init`` some init container, ended with one of these codes."""

    def why(states: PodStates) -> str | None:
        found = exit_codes(statuses_of(states, init=init))
        return next((f"exit code {code}" for code in found if code in codes), None)

    return Criterion(pods.states, pods.tables.states, why)


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
