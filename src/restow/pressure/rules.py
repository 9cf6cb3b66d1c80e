"""Rule files: which queries indicate pressure, and from which value on.

The format is that of a dynamic scheduler, whose files work unchanged. All further fields are restow's own and optional.
An unknown field is reported and ignored, as that scheduler ignores it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from msgspec import Struct, field

from restow.documents.decoding import decode, unknown_key
from restow.documents.document import (
    Document,
    DocumentKind,
    further_documents,
    read_document,
    refusal,
    repeated_keys,
    to_findings,
)
from restow.documents.findings import Finding, Issue, Path, errors_in
from restow.documents.shapes import Duration
from restow.errors import InputError

_RULES: Final = "Rulename"
#: The sum of weights that means pressure: decimal fractions may add up to slightly less than 1.
ENOUGH: Final = 1 - 1e-9
_FILE: Final = DocumentKind("a rule file", "Rulename: {<rule>: {Promsql: ..., Threshold: ...}}")

Direction = Literal["above", "below"]
Effect = Literal["label", "taint"]


class _Job(Struct, frozen=True):
    """The scrape job of the queries; it is read and ignored."""

    name: str = field(default="", name="Name")


class _Rule(Struct, frozen=True):
    promsql: str = field(name="Promsql")
    threshold: float = field(name="Threshold")
    direction: Direction = "above"
    hold: Duration = field(default=0, name="for")
    clear: float | None = None
    weight: float = 1
    effect: Effect = "label"


class _File(Struct, frozen=True):
    prom_job: _Job = field(default=_Job(), name="PromJob")
    rules: dict[str, _Rule] = field(default_factory=dict, name=_RULES)


@dataclass(slots=True, frozen=True)
class Rule:
    """One query, and when its value is pressure."""

    name: str
    #: PromQL, as it is written.
    query: str
    threshold: float
    direction: Direction = "above"
    #: Nanoseconds for which the value must be over the threshold.
    hold: int = 0
    #: The value at which pressure ends; between it and the threshold nothing changes.
    clear: float = math.nan
    #: A node is under pressure if the weights of the rules that find it so add up to 1.
    weight: float = 1
    effect: Effect = "label"


@dataclass(slots=True, frozen=True)
class RuleFile:
    """The rules of a file in its order, and the warnings about it."""

    document: Document
    rules: tuple[Rule, ...]
    warnings: tuple[Finding, ...] = ()

    def query_refused(self, rule: Rule, why: str) -> InputError:
        """Return the exception for a query that Prometheus refuses."""
        return refusal(self.document, [Issue((_RULES, rule.name, "Promsql"), why)])


def read_rules(text: bytes, filename: str) -> RuleFile:
    """Return the rules of a file; InputError with file, line and field of everything that is wrong with it."""
    document = read_document(text, filename, _FILE)
    decoded = decode(document.data, _File, ())
    ignored = [_ignored(unknown_key(key)) for key in decoded.unknown]
    if decoded.value is None:
        raise refusal(document, [*repeated_keys(document), *decoded.errors])
    issues = [*repeated_keys(document), *_check(decoded.value), *ignored, *further_documents(document)]
    if errors := errors_in(issues):
        raise refusal(document, errors)
    rules = tuple(_rule(name, written) for name, written in decoded.value.rules.items())
    return RuleFile(document, rules, tuple(to_findings(document, issues)))


def _ignored(issue: Issue) -> Issue:
    return Issue(issue.path, f"{issue.message} is ignored", "warning", issue.hint)


def _rule(name: str, written: _Rule) -> Rule:
    clear = written.threshold if written.clear is None else written.clear
    return Rule(
        name=name,
        query=written.promsql,
        threshold=written.threshold,
        direction=written.direction,
        hold=written.hold,
        clear=clear,
        weight=written.weight,
        effect=written.effect,
    )


def _check(file: _File) -> Iterator[Issue]:
    if not file.rules:
        yield Issue((_RULES,), "no rules: no node would ever be marked", hint=f"write {_FILE.start}")
    for name, rule in file.rules.items():
        yield from _check_rule(rule, (_RULES, name))
    weights = dict.fromkeys(("label", "taint"), 0.0)
    for rule in file.rules.values():
        weights[rule.effect] += rule.weight
    for effect, weight in weights.items():
        if 0 < weight < ENOUGH:
            text = f"the weights of all rules with effect {effect} come to {weight:g}: no node would ever be marked"
            yield Issue((_RULES,), text, hint="they must come to 1 or more")


def _check_rule(rule: _Rule, path: Path) -> Iterator[Issue]:
    if not rule.promsql.strip():
        yield Issue((*path, "Promsql"), "is empty", hint="write a query whose result has instance labels")
    if rule.hold < 0:
        yield Issue((*path, "for"), "must not be negative")
    if not 0 < rule.weight <= 1:
        yield Issue((*path, "weight"), "must be above 0, up to 1")
    if rule.clear is None:
        return
    if rule.direction == "above" and rule.clear > rule.threshold:
        yield Issue((*path, "clear"), f"must be at most the Threshold, {rule.threshold:g}, where direction is above")
    if rule.direction == "below" and rule.clear < rule.threshold:
        yield Issue((*path, "clear"), f"must be at least the Threshold, {rule.threshold:g}, where direction is below")
