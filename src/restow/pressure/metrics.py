"""The metrics of the pressure daemon."""

from __future__ import annotations

from collections import Counter as Tally
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from restow.pressure.samples import RuleResults, reasons_by_node
from restow.pressure.situation import Criteria, Situation
from restow.serving.exposition import add_process_metrics, exposition

#: Which mark is written.
MarkKind = Literal["label", "taint"]
#: The outcome of a write.
WriteResult = Literal["done", "failed", "outdated"]

_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50)


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
