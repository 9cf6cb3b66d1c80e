"""Problems, logged once when they begin and once when they end; and whether the API server answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from restow.kube.duration import format_duration
from restow.plain_text import printable, some
from restow.pressure.samples import RuleResults, reasons_by_node, unmatched_instances
from restow.pressure.situation import Criteria, Situation

_MOST_NAMED: Final = 5

#: Intervals without an answer after which something is wrong.
_INTERVALS: Final = 3


class ProblemLog:
    """Logs a problem once, and once when it is solved."""

    def __init__(self, warn: Callable[[str], None], info: Callable[[str], None]) -> None:
        self._warn = warn
        self._info = info
        #: The sentence to log when a problem is over, by the subject of the problem.
        self._open: dict[str, str] = {}

    def update(self, problems: Mapping[str, tuple[str, str]]) -> None:
        """Log each problem when it begins and when it ends; the two sentences say so."""
        for about, (begins, ends) in problems.items():
            if about not in self._open:
                self._warn(begins)
                self._open[about] = ends
        for about in self._open.keys() - problems.keys():
            self._info(self._open.pop(about))


class DependencyStatus:
    """When Prometheus and the API server last answered, for ``/status``; ``interval`` is in seconds."""

    def __init__(self, interval: float) -> None:
        self._most = _INTERVALS * interval
        self._answered: dict[str, float] = {}
        self._why: dict[str, str] = {}

    def expect(self, who: str) -> None:
        """Expect answers of Prometheus or the API server from now on."""
        self._answered.setdefault(who, _now())

    def note(self, who: str, why_not: str) -> None:
        """Note an answer; or why there was none."""
        self.expect(who)
        self._why[who] = why_not
        if not why_not:
            self._answered[who] = _now()

    def trouble(self) -> str:
        """Return which of them has not answered for three intervals, and why; "" if both have."""
        now = _now()
        for who, at in self._answered.items():
            if now - at > self._most:
                why = self._why.get(who)
                return f"{who} has not answered for {now - at:.0f} s{f': {why}' if why else ''}"
        return ""


def problems_of(asked: RuleResults, situation: Situation, criteria: Criteria) -> dict[str, tuple[str, str]]:
    """Return the problems that keep nodes from being evaluated, by subject."""
    return dict([*_failures(asked, criteria), *_of_rules(asked, situation, criteria), *_unmatched(situation)])


def _failures(asked: RuleResults, criteria: Criteria) -> Iterator[tuple[str, tuple[str, str]]]:
    if asked.failures and not asked.any_answered:
        why = next(iter(asked.failures.values()))
        yield "Prometheus", (f"no query has an answer: {why}; {_meanwhile(criteria)}", "queries have answers again")
        return
    for rule, why in asked.failures.items():
        name = printable(rule)
        yield (
            f"query of {rule}",
            (f"rule {name}: {why}; {_meanwhile(criteria)}", f"rule {name}: its query has an answer again"),
        )


def _of_rules(asked: RuleResults, situation: Situation, criteria: Criteria) -> Iterator[tuple[str, tuple[str, str]]]:
    nodes = len(situation.nodes)
    for row, rule in enumerate(criteria.rules):
        name = printable(rule.name)
        if situation.marks.held_back[row]:
            found = int(situation.pressure.pressed[row].sum())
            too_many = (
                f"rule {name} finds {found} of {nodes} nodes under pressure, more than the share {criteria.most:g}"
            )
            yield f"share of {rule.name}", (f"{too_many}: it marks none", f"rule {name} marks nodes again")
        if asked.answers[row] is None or not nodes:
            continue
        reasons = reasons_by_node(situation.joined[row])
        if len(reasons) == nodes:
            sentence = f"rule {name}: no node has a value; try its query in Prometheus: {printable(rule.query)}"
            yield f"values of {rule.name}", (sentence, f"rule {name}: nodes have values again")
        elif reasons:
            named = (f"{situation.nodes[position].name} ({why})" for position, why in reasons.items())
            sentence = f"rule {name}: {len(reasons)} of {nodes} nodes have no value: {some(list(named), _MOST_NAMED)}"
            yield f"some values of {rule.name}", (sentence, f"rule {name}: all nodes have a value")


def _unmatched(situation: Situation) -> Iterator[tuple[str, tuple[str, str]]]:
    if names := unmatched_instances(situation.joined):
        sentence = f"instances that are no node of the cluster: {some(names, _MOST_NAMED)}"
        yield "instances", (sentence, "all instances are nodes of the cluster")


def _meanwhile(criteria: Criteria) -> str:
    grace = format_duration(criteria.missing_data.grace)
    then = "then they are removed" if criteria.missing_data.afterwards == "clear" else "and longer"
    return f"marks stay as they are for {grace}, {then}"


def _now() -> float:
    return asyncio.get_running_loop().time()
