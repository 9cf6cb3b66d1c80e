"""Criteria of pods that policies set: age, kinds of owners, and what the states of containers say.

Of a container only ``state`` is read, never ``lastState``: reasons, exit codes, restarts. Source: Descheduler 0.36,
PodLifeTime, RemoveFailedPods and RemovePodsHavingTooManyRestarts.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from restow.cluster.interning import IdArray, IntArray
from restow.cluster.pod_values import NO_TIME, PodStates
from restow.cluster.pods import Pods
from restow.errors import InputError
from restow.kube.duration import SECOND
from restow.kube.excerpts import excerpt
from restow.kube.objects import ContainerStatus, OwnerReference

_LONGEST_DURATION = 2**63 - 1
#: The age of what has no time, in seconds.
MISSING = _LONGEST_DURATION // SECOND

_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def statuses_of(states: PodStates, *, init: bool, ephemeral: bool = False) -> tuple[ContainerStatus, ...]:
    """The statuses of the regular containers, then of init and ephemeral containers if asked for."""
    statuses = states.containers
    if init:
        statuses += states.init_containers
    if ephemeral:
        statuses += states.ephemeral_containers
    return statuses


def waiting_reasons(statuses: Iterable[ContainerStatus]) -> Iterator[str]:
    """Why containers wait, where they say why."""
    for status in statuses:
        if status.state is not None and status.state.waiting is not None and status.state.waiting.reason:
            yield status.state.waiting.reason


def reasons(statuses: Iterable[ContainerStatus]) -> Iterator[str]:
    """Why containers wait or ended, where they say why."""
    for status in statuses:
        if status.state is not None:
            for part in (status.state.waiting, status.state.terminated):
                if part is not None and part.reason:
                    yield part.reason


def exit_codes(statuses: Iterable[ContainerStatus]) -> Iterator[int]:
    """The exit codes of containers that ended."""
    for status in statuses:
        if status.state is not None and status.state.terminated is not None:
            yield status.state.terminated.exit_code


def restarts(statuses: Iterable[ContainerStatus]) -> int:
    """How often these containers restarted, all together."""
    return sum(status.restart_count for status in statuses)


# An absent time is as long ago as the longest duration of Go, 292 years: Go's zero time is even older.
def elapsed_since(times: npt.NDArray[np.int64], now: int) -> npt.NDArray[np.int64]:
    """Nanoseconds from each time (nanoseconds since the epoch, or NO_TIME) until now, at most LONGEST_DURATION."""
    earliest, latest = max(now - _LONGEST_DURATION, NO_TIME), min(now + _LONGEST_DURATION, _LONGEST_DURATION)
    return np.where(times == NO_TIME, _LONGEST_DURATION, now - np.clip(times, earliest, latest))


def seconds_since(times: npt.NDArray[np.int64], now: int) -> npt.NDArray[np.int64]:
    """Seconds from each time (nanoseconds since the epoch, or NO_TIME) until now, truncated towards zero."""
    elapsed = elapsed_since(times, now)
    return np.where(elapsed < 0, -(-elapsed // SECOND), elapsed // SECOND)


def short_duration(seconds: int) -> str:
    """As ``kubectl`` writes ages, in the two largest units: ``3d4h``, ``10m``, ``45s``."""
    for place, (unit, length) in enumerate(_UNITS):
        if seconds >= length:
            count, rest = divmod(seconds, length)
            smaller, step = _UNITS[min(place + 1, len(_UNITS) - 1)]
            return f"{count}{unit}{rest // step}{smaller}" if rest >= step else f"{count}{unit}"
    return "0s"


def age_text(seconds: int) -> str:
    """The age of a pod for people, such as ``age 3d4h``."""
    if seconds >= MISSING:
        return "no creation time"
    return f"age {short_duration(seconds)}" if seconds >= 0 else "created in the future"


T = TypeVar("T")


# A criterion returns a few words that say why it is met. The reason of a suggestion consists of these, and is made only
# once for all pods with the same values.
class Criterion(Struct, Generic[T], frozen=True):
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
