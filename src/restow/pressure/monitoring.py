"""What people and programs see of ``restow pressure``: its metrics, problems in the log and at ``/status``, its pages."""

from __future__ import annotations

import asyncio
import json
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Literal

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from restow.kube.duration import format_duration
from restow.plain_text import printable, some
from restow.pressure.samples import RuleResults, reasons_by_node, unmatched_instances
from restow.pressure.situation import Criteria, History, Situation
from restow.serving.exposition import add_process_metrics, exposition
from restow.serving.health import Health
from restow.serving.pages import add_page, pages, plain_text

#: Which mark is written.
MarkKind = Literal["label", "taint"]
#: The outcome of a write.
WriteResult = Literal["done", "failed", "outdated"]

_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50)
_MOST_NAMED: Final = 5
#: Intervals without an answer after which something is wrong.
_INTERVALS: Final = 3
#: The page loads nothing, and must not be framed by other pages.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"


class PressureMetrics:
    """The metrics of ``/metrics``."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._leads = self._gauge("leader", "1 while this process asks Prometheus and writes marks; 0 otherwise.")
        self._nodes = self._gauge("nodes", "Nodes that rules are about.")
        self._marked = self._gauge("marked_nodes", "Nodes that are to bear the mark.", "mark")
        self._pressed = self._gauge("rule_nodes", "Nodes that the rule finds under pressure.", "rule")
        self._share = self._gauge("rule_share", "Share of all nodes that the rule finds under pressure.", "rule")
        self._held = self._gauge("rule_held_back", "1 while the rule would mark too many nodes and marks none.", "rule")
        self._valued = self._gauge("rule_values", "Nodes that the rule has a value of.", "rule")
        self._last = self._gauge("last_answer_timestamp_seconds", "When Prometheus last answered a query.")
        self._queries = self._counter("queries", "Queries by result: answered or failed.", "rule", "result")
        self._unusable = self._counter(
            "unusable_values", "Nodes without a value, by reason, counted in each interval.", "rule", "reason"
        )
        self._unmatched = self._counter(
            "unmatched_instances", "Instances that are no node, counted in each interval.", "rule"
        )
        self._writes = self._counter(
            "writes", "Marks that were written, by change (set or clear) and result.", "mark", "change", "result"
        )
        self._seconds = Histogram(
            "restow_pressure_round_duration_seconds",
            "Duration of a round: queries, judgement and writes.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        add_process_metrics(self.registry)

    def text(self) -> str:
        """Return all of it in Prometheus' format."""
        return exposition(self.registry)

    def leads(self, leading: bool) -> None:  # noqa: FBT001 - a gauge's value
        """Set whether this process may write."""
        self._leads.set(leading)

    def judged(self, asked: RuleResults, situation: Situation, criteria: Criteria) -> None:
        """Record the results of one interval."""
        nodes = len(situation.nodes)
        self._nodes.set(nodes)
        self._marked.labels("label").set(int(situation.marks.label.sum()))
        self._marked.labels("taint").set(int(situation.marks.taint.sum()))
        if asked.any_answered:
            self._last.set(situation.at / 1e9)
        for row, rule in enumerate(criteria.rules):
            pressed, joined = int(situation.pressure.pressed[row].sum()), situation.joined[row]
            self._pressed.labels(rule.name).set(pressed)
            self._share.labels(rule.name).set(pressed / nodes if nodes else 0.0)
            self._held.labels(rule.name).set(bool(situation.marks.held_back[row]))
            reasons = reasons_by_node(joined)
            self._valued.labels(rule.name).set(nodes - len(reasons))
            answered = asked.answers[row] is not None
            self._queries.labels(rule.name, "answered" if answered else "failed").inc()
            for reason, count in Tally(reasons.values() if answered else ["no answer"] * nodes).items():
                self._unusable.labels(rule.name, reason).inc(count)
            self._unmatched.labels(rule.name).inc(len(joined.unmatched))

    def written(self, mark: MarkKind, change: str, result: WriteResult) -> None:
        """Count one write."""
        self._writes.labels(mark, change, result).inc()

    def worked(self, seconds: float) -> None:
        """Count the work of one interval."""
        self._seconds.observe(seconds)

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(f"restow_pressure_{name}", meaning, labels, registry=self.registry)

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"restow_pressure_{name}", meaning, labels, registry=self.registry)


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


@dataclass(slots=True, frozen=True)
class PressureView:
    """What the pages show at one moment."""

    criteria: Criteria
    #: None before the first round, and in a process that waits for the lease.
    situation: Situation | None
    history: History
    #: The nodes that bear the label, by name.
    labelled: tuple[str, ...]
    #: What is wrong; empty if nothing is.
    trouble: str
    #: Whether this process may write.
    leads: bool
    dry_run: bool
    #: Nanoseconds since the epoch.
    now: int
    #: Seconds.
    interval: float


#: Makes a page of HTML.
Renderer = Callable[[PressureView], str]


def application(
    health: Health, metrics: Callable[[], str], view: Callable[[], PressureView], render: Renderer
) -> web.Application:
    """Return the application; ``view`` gives what there is to show now."""
    made = pages(health, metrics)
    add_page(made, "/status", lambda _: _status(view()))
    add_page(made, "/nodes", lambda _: _nodes(view()))
    add_page(made, "/", lambda _: _page(render(view())))
    return made


def _status(view: PressureView) -> web.Response:
    if view.trouble:
        return plain_text(f"{view.trouble}\n", HTTPStatus.SERVICE_UNAVAILABLE)
    return plain_text("ok")


def _nodes(view: PressureView) -> web.Response:
    body = {"type": view.criteria.mark.value, "num": len(view.labelled), "node_names": list(view.labelled)}
    return web.Response(text=json.dumps(body), content_type="application/json")


def _page(html: str) -> web.Response:
    headers = {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    return web.Response(text=html, content_type="text/html", headers=headers)
