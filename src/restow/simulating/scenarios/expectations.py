"""What is expected of a run: ``always: {pods: ready, of: deployment/web, atLeast: 2}``, as written and as it is judged.

A statement is a number that the cluster has at every moment (ready pods of a Deployment, nodes in use, evictions so
far) and its bounds; as written it begins with what is counted, then come words that say which of them, and the bounds,
and without bounds it says that there is at least one. An expectation says at which moments of the run the statement
holds: ``eventually``, ``always`` or ``never``. All times are nanoseconds since the start of the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from msgspec import Struct, field

from restow.documents.findings import Issue, Path
from restow.documents.shapes import Duration
from restow.kube.duration import format_duration
from restow.kube.labels import EVERYTHING, Selector, parse_selector
from restow.kube.validation import key_problems
from restow.simulating.scenarios.references import WITH_PODS, NodeChoice, Reference, parse_node_choice, parse_reference

Modality = Literal["eventually", "always", "never"]

#: ``any`` pod that is neither over nor being deleted, and which of these.
PodState = Literal["any", "pending", "scheduled", "running", "ready", "unready", "terminating", "succeeded", "failed"]
#: ``any`` node, and which of them; ``used`` nodes hold a pod that no DaemonSet put there.
NodeState = Literal["any", "ready", "unready", "cordoned", "used", "empty"]


@dataclass(slots=True, frozen=True)
class PodCount:
    """How many pods there are."""

    state: PodState = "any"
    labels: Selector = EVERYTHING
    #: The controller that they belong to, directly or through another one.
    of: Reference | None = None
    namespace: str | None = None
    #: Where they are; None is anywhere, or nowhere yet.
    on: NodeChoice | None = None
    #: Instead of their number: how many more are in the fullest domain of this label of nodes than in the emptiest.
    skew_across: str | None = None


@dataclass(slots=True, frozen=True)
class NodeCount:
    """How many nodes there are."""

    state: NodeState = "any"
    labels: Selector = EVERYTHING


@dataclass(slots=True, frozen=True)
class EvictionCount:
    """How many pods have been evicted since the run began, by any actor."""

    labels: Selector = EVERYTHING
    of: Reference | None = None
    namespace: str | None = None
    #: The strategy or the actor that evicted them, such as ``RemoveDuplicates`` or ``drain``; None is any.
    by: str | None = None


@dataclass(slots=True, frozen=True)
class Spread:
    """How unevenly nodes are full: the standard deviation of what pods request of each, as a share of allocatable."""

    resource: str
    labels: Selector = EVERYTHING


@dataclass(slots=True, frozen=True)
class LoopCount:
    """How many workloads have gone round in a loop since the run began."""

    of: Reference | None = None
    namespace: str | None = None


Measure = PodCount | NodeCount | EvictionCount | LoopCount | Spread


@dataclass(slots=True, frozen=True)
class Statement:
    """A number of the cluster, and what it must be; None is no bound."""

    measure: Measure
    at_least: float | None = None
    at_most: float | None = None

    def holds(self, number: float) -> bool:
        """Whether the number is within the bounds."""
        low = self.at_least is None or number >= self.at_least
        return low and (self.at_most is None or number <= self.at_most)


@dataclass(slots=True, frozen=True)
class Expectation:
    """A statement and the moments at which it has to hold.

    Looked at is the time from ``after`` to ``until``, both included; None is the end of the run. A statement that holds
    for less than ``hold`` without a break does not count as holding.
    """

    #: As it stands in the file, for people.
    text: str
    modality: Modality
    statement: Statement
    after: int = 0
    until: int | None = None
    hold: int = 0
    #: Where it stands in the scenario.
    place: Path = ()


T = TypeVar("T")

_CAPITAL: Final = re.compile(r"(?=[A-Z])")


class WrittenStatement(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A statement as it stands in a file, in its order."""

    pods: PodState | None = None
    nodes: NodeState | None = None
    evictions: Literal["any"] | None = None
    loops: Literal["any"] | None = None
    spread: str | None = None
    of: str | None = None
    with_: str | None = field(default=None, name="with")
    in_: str | None = field(default=None, name="in")
    on_nodes: str | None = None
    by: str | None = None
    skew_across: str | None = None
    exactly: float | None = None
    at_least: float | None = None
    at_most: float | None = None


class WrittenExpectation(Struct, frozen=True, rename="camel", omit_defaults=True):
    """An expectation as it stands in a file."""

    eventually: WrittenStatement | None = None
    always: WrittenStatement | None = None
    never: WrittenStatement | None = None
    after: Duration | None = None
    within: Duration | None = None
    until: Duration | None = None
    hold: Duration | None = field(default=None, name="for")


_MODALITIES: Final[tuple[Modality, ...]] = ("eventually", "always", "never")
#: What is counted, and the words that say which of it.
_WHICH: Final = {
    "pods": ("of", "with", "in", "onNodes", "skewAcross"),
    "nodes": ("with",),
    "evictions": ("of", "with", "in", "by"),
    "loops": ("of", "in"),
    "spread": ("with",),
}
_BOUNDS: Final = ("exactly", "atLeast", "atMost")


def statement_of(written: WrittenExpectation) -> tuple[Modality, WrittenStatement] | None:
    """Return the statement and when it has to hold; None where there is none, or more than one."""
    given = [(word, found) for word in _MODALITIES if (found := getattr(written, word)) is not None]
    return given[0] if len(given) == 1 else None


def check_expectation(written: WrittenExpectation, path: Path) -> Iterator[Issue]:
    """Yield everything that is wrong with an expectation; one without problems can be read."""
    found = statement_of(written)
    if found is None:
        yield Issue(path, "has no statement, or several", hint=f"write one of {', '.join(_MODALITIES)}")
        return
    modality, statement = found
    yield from _check_times(written, modality, path)
    yield from _check_statement(statement, (*path, modality))


def _check_times(written: WrittenExpectation, modality: Modality, path: Path) -> Iterator[Issue]:
    times = {"after": written.after, "within": written.within, "until": written.until, "for": written.hold}
    for key, time in times.items():
        if time is not None and time < 0:
            yield Issue((*path, key), "must not be negative")
    if modality == "always" and written.hold is not None:
        yield Issue((*path, "for"), "means nothing to always, which lasts anyway", hint="write until, or never")
    if modality != "eventually" and written.within is not None:
        yield Issue((*path, "within"), f"means nothing to {modality}", hint="write until")
    if written.within is not None and written.until is not None:
        yield Issue((*path, "until"), "ends what within ends already", hint="remove one of them")
    if written.until is not None and written.until < (written.after or 0):
        yield Issue((*path, "until"), "is before after: there is no time to look at")


def _check_statement(statement: WrittenStatement, path: Path) -> Iterator[Issue]:
    words = _words(statement)
    counted = [word for word in words if word in _WHICH]
    if len(counted) != 1:
        yield Issue(path, "must count one thing", hint=f"write one of {', '.join(_WHICH)}")
        return
    for word in words:
        if word not in (*counted, *_BOUNDS, *_WHICH[counted[0]]):
            yield Issue((*path, word), f"says nothing about {counted[0]}", hint="remove it")
    if counted[0] == "spread" and not any(word in words for word in _BOUNDS):
        yield Issue(path, "has no bound", hint="write atMost: 0.1")
    yield from _check_bounds(statement, path)
    yield from _check_texts(statement, path)


def _check_bounds(statement: WrittenStatement, path: Path) -> Iterator[Issue]:
    low, high = statement.at_least, statement.at_most
    for key, bound in zip(_BOUNDS, (statement.exactly, low, high), strict=True):
        if bound is not None and bound < 0:
            yield Issue((*path, key), "must not be negative")
    if statement.exactly is not None and not low is high is None:
        yield Issue((*path, "exactly"), "leaves nothing for atLeast and atMost to say", hint="remove one of them")
    if low is not None and high is not None and low > high:
        yield Issue((*path, "atLeast"), "is more than atMost: it can never hold")


def _check_texts(statement: WrittenStatement, path: Path) -> Iterator[Issue]:
    readers: dict[str, tuple[str | None, Callable[[str], object]]] = {
        "of": (statement.of, _parse_owner),
        "with": (statement.with_, parse_selector),
        "onNodes": (statement.on_nodes, parse_node_choice),
        "skewAcross": (statement.skew_across, _check_key),
    }
    for key, (text, read) in readers.items():
        try:
            _optional(read, text)
        except ValueError as error:
            yield Issue((*path, key), str(error))


def _parse_owner(text: str) -> Reference:
    found = parse_reference(text)
    if found.kind not in WITH_PODS:
        raise ValueError(f"must be about one of {', '.join(each.lower() for each in WITH_PODS)}, not a {found.kind}")
    return found


def _check_key(text: str) -> None:
    for problem in key_problems(text):
        raise ValueError(problem)


def read_expectation(written: WrittenExpectation, place: Path) -> Expectation:
    """Return what is judged, of an expectation without problems."""
    found = statement_of(written)
    assert found is not None
    modality, statement = found
    after = written.after or 0
    return Expectation(
        text=_text(modality, statement, written),
        modality=modality,
        statement=_statement(statement),
        after=after,
        until=written.until if written.within is None else after + written.within,
        hold=written.hold or 0,
        place=place,
    )


def _statement(written: WrittenStatement) -> Statement:
    if written.exactly is not None:
        return Statement(_measure(written), written.exactly, written.exactly)
    if written.at_least is None and written.at_most is None:
        return Statement(_measure(written), 1)
    return Statement(_measure(written), written.at_least, written.at_most)


def _measure(written: WrittenStatement) -> Measure:
    labels: Selector = _optional(parse_selector, written.with_) or EVERYTHING
    of = _optional(parse_reference, written.of)
    if written.pods is not None:
        on = _optional(parse_node_choice, written.on_nodes)
        return PodCount(written.pods, labels, of, written.in_, on, written.skew_across)
    if written.nodes is not None:
        return NodeCount(written.nodes, labels)
    if written.evictions is not None:
        return EvictionCount(labels, of, written.in_, written.by)
    if written.loops is not None:
        return LoopCount(of, written.in_)
    assert written.spread is not None
    return Spread(written.spread, labels)


def _optional(read: Callable[[str], T], text: str | None) -> T | None:
    return None if text is None else read(text)


def _words(statement: WrittenStatement) -> dict[str, Any]:
    """Return what a statement says, by its words as they are written."""
    return {
        word: value
        for attribute, word in zip(statement.__struct_fields__, statement.__struct_encode_fields__, strict=True)
        if (value := getattr(statement, attribute)) is not None
    }


def _text(modality: Modality, statement: WrittenStatement, written: WrittenExpectation) -> str:
    """Return an expectation as a sentence, such as ``eventually 3 pods ready of deployment/web, within 5m0s``."""
    said = [
        f"{_prose(word)} {f'{value:g}' if isinstance(value, float) else value}"
        for word, value in _words(statement).items()
    ]
    times = {"after": written.after, "within": written.within, "until": written.until, "for": written.hold}
    when = [f"{word} {format_duration(time)}" for word, time in times.items() if time is not None]
    return ", ".join([" ".join((modality, *said)), *when])


def _prose(word: str) -> str:
    return _CAPITAL.sub(" ", word).lower()
