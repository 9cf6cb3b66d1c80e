"""The status of a KubeDescheduler: whether it is valid, whether its descheduler runs, what that found; and the metrics.

The status is a pure function of the wanted and the actual objects. Conditions keep their time while their status stays
the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from restow.descheduler.publishing import SUMMARY, PlanSummary
from restow.operator.applying import Key
from restow.operator.desired import Desired
from restow.operator.objects import DEPLOYMENTS, JOBS, Object
from restow.operator.operand import NAME
from restow.operator.rights import PLAN_CONFIG_MAP
from restow.operator.rules import AS_EXPECTED, DEGRADED, OperatorCondition, Problem, conditions_of
from restow.serving.exposition import add_process_metrics, exposition
from restow.version import __version__

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
_NONE_RUNS: Final = {
    "remove": ("Removed", "spec.managementState is Removed"),
    "stop": ("Stopped", "the resource has a problem that does not let a descheduler run"),
    "leave": ("NotInstalled", "there is no descheduler, and the operator makes none now"),
    "apply": ("NotInstalled", "the descheduler could not be installed yet"),
}

#: Bytes of a summary that belongs into a status; those of restow have a few hundred.
_LARGEST: Final = 10_000
#: The outcome of a sync.
SyncResult = Literal["done", "failed"]
_SECONDS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250)
_RESULTS: Final[tuple[SyncResult, ...]] = ("done", "failed")


def status_of(
    previous: Object, generation: int, wanted: Desired, there: dict[Key, Object], *, plan: Object | None, now: str
) -> Object:
    """Return the status for a generation of a resource; ``there`` is what the operator has made, ``now`` is RFC 3339."""
    workload = _workload(there)
    conditions = (*_running(wanted, workload), *_with_failing(wanted.conditions, workload))
    status: Object = {
        "observedGeneration": generation,
        "version": __version__,
        "readyReplicas": _figure(workload, "readyReplicas"),
        "conditions": _dated(conditions, previous.get("conditions") or (), now),
        "generations": _generations(workload),
    }
    return status | ({"lastPlan": plan} if plan is not None else {})


def failed(wanted: Desired, problem: Problem) -> Desired:
    """Return what is wanted with conditions that say why it could not be had."""
    problems = (*wanted.problems, problem)
    return replace(wanted, problems=problems, conditions=conditions_of(problems, wanted.notices))


def is_written(live: Object, status: Object) -> bool:
    """Whether a resource's status says all of this already, and nothing else that an operator says."""
    ours = {key: live.get(key) for key in (*status, "lastPlan") if key != "conditions"}
    existing = {each["type"]: each for each in live.get("conditions") or ()}
    matches = all(existing.get(each["type"]) == each for each in status["conditions"])
    return matches and all(ours[key] == status.get(key) for key in ours)


def _workload(there: dict[Key, Object]) -> Object | None:
    found = [thing for (kind, *_), thing in there.items() if kind in (DEPLOYMENTS.kind, JOBS.kind)]
    return found[-1] if found else None


def _figure(workload: Object | None, name: str) -> int:
    return int(((workload or {}).get("status") or {}).get(name) or 0)


def _running(wanted: Desired, workload: Object | None) -> tuple[OperatorCondition, OperatorCondition]:
    """Return whether a descheduler runs, and whether it is about to."""
    if workload is None or wanted.action in ("remove", "stop"):
        reason, message = _NONE_RUNS[wanted.action]
        return OperatorCondition(AVAILABLE, "False", reason, message), OperatorCondition(
            PROGRESSING, "False", AS_EXPECTED
        )
    if workload["kind"] == JOBS.kind:
        return _of_job(workload)
    if workload["spec"].get("replicas") == 0:
        return OperatorCondition(AVAILABLE, "False", *_NONE_RUNS["stop"]), OperatorCondition(
            PROGRESSING, "False", AS_EXPECTED
        )
    ready = _figure(workload, "availableReplicas")
    available = (
        OperatorCondition(AVAILABLE, "True", AS_EXPECTED)
        if ready
        else OperatorCondition(AVAILABLE, "False", "NotReady", f"Deployment {NAME}: no pod is ready")
    )
    is_seen = _figure(workload, "observedGeneration") >= workload["metadata"].get("generation", 0)
    if is_seen and ready and _figure(workload, "updatedReplicas"):
        return available, OperatorCondition(PROGRESSING, "False", AS_EXPECTED)
    return available, OperatorCondition(PROGRESSING, "True", "RollingOut", f"Deployment {NAME} is being rolled out")


def _of_job(job: Object) -> tuple[OperatorCondition, OperatorCondition]:
    name = job["metadata"]["name"]
    if _figure(job, "failed"):
        available = OperatorCondition(AVAILABLE, "False", "RunFailed", f"Job {name} has failed; its pod's log says why")
    else:
        available = OperatorCondition(AVAILABLE, "True", AS_EXPECTED)
    if _figure(job, "failed") or _figure(job, "succeeded"):
        return available, OperatorCondition(PROGRESSING, "False", AS_EXPECTED)
    return available, OperatorCondition(PROGRESSING, "True", "Running", f"Job {name} has not ended yet")


def _with_failing(conditions: Iterable[OperatorCondition], workload: Object | None) -> Iterable[OperatorCondition]:
    """Yield the conditions; a Deployment that does not come about makes the resource degraded."""
    stuck = next(filter(None, map(_stuck, ((workload or {}).get("status") or {}).get("conditions") or ())), None)
    for each in conditions:
        if stuck is not None and each.type in DEGRADED and each.status == "False":
            yield OperatorCondition(each.type, "True", "DeploymentFailing", f"Deployment {NAME}: {stuck}")
        else:
            yield each


def _stuck(condition: Object) -> str | None:
    """Return why a Deployment makes no progress; None if it does."""
    is_stuck = (condition.get("type"), condition.get("status")) in (
        ("Progressing", "False"),
        ("ReplicaFailure", "True"),
    )
    return condition.get("message", "") if is_stuck else None


def _dated(conditions: Sequence[OperatorCondition], previous: Sequence[Object], now: str) -> list[Object]:
    before = {str(each.get("type")): each for each in previous}
    return [{**msgspec.to_builtins(each), "lastTransitionTime": _since(each, before, now)} for each in conditions]


def _since(condition: OperatorCondition, before: dict[str, Object], now: str) -> str:
    known = before.get(condition.type, {})
    return known.get("lastTransitionTime", now) if known.get("status") == condition.status else now


def _generations(workload: Object | None) -> list[Object]:
    if workload is None or workload["kind"] != DEPLOYMENTS.kind:
        return []
    metadata = workload["metadata"]
    where = {"group": DEPLOYMENTS.group, "resource": DEPLOYMENTS.plural, "namespace": metadata["namespace"]}
    return [{**where, "name": metadata["name"], "lastGeneration": metadata.get("generation", 0), "hash": ""}]


def summary_in(there: Mapping[tuple[str, str, str], Object]) -> Object | None:
    """Return the summary of the last plan for a status, None where there is none that can be read."""
    found = next(
        (thing for (kind, _, name), thing in there.items() if (kind, name) == ("ConfigMap", PLAN_CONFIG_MAP)), {}
    )
    text = (found.get("data") or {}).get(SUMMARY, "")
    if len(text) > _LARGEST:
        return None
    try:
        summary = msgspec.json.decode(text, type=PlanSummary)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
    return {**msgspec.to_builtins(summary), "configMap": PLAN_CONFIG_MAP}


class OperatorMetrics:
    """The metrics of ``/metrics``."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._leads = self._gauge("leader", "1 while this process holds the lease and syncs; 0 while it waits.")
        self._last = self._gauge("last_sync_timestamp_seconds", "End of the last sync that did not fail; 0 before it.")
        self._conditions = self._gauge(
            "condition", "1 while the condition of the KubeDescheduler is True, else 0.", "condition"
        )
        self._syncs = Counter("restow_operator_syncs", "Syncs by result.", ["result"], registry=self.registry)
        self._seconds = Histogram(
            "restow_operator_sync_duration_seconds",
            "Duration of a sync: reading the cluster, and writing what differs.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        for result in _RESULTS:
            self._syncs.labels(result)
        add_process_metrics(self.registry)

    def text(self) -> str:
        """Return all of it in Prometheus' text format."""
        return exposition(self.registry)

    def leads(self, leading: bool) -> None:  # noqa: FBT001 - a gauge's value
        """Set whether this process syncs; if not, the process that does has the metrics of the resource."""
        self._leads.set(leading)
        if not leading:
            self.conditions(())

    def synced(self, result: SyncResult, seconds: float, ended: float) -> None:
        """Count a sync that ended at a time in seconds since 1970."""
        self._syncs.labels(result).inc()
        self._seconds.observe(seconds)
        if result == "done":
            self._last.set(ended)

    def conditions(self, conditions: Sequence[Object]) -> None:
        """Set the conditions of the resource that counts; none if there is no such resource."""
        self._conditions.clear()
        for each in conditions:
            self._conditions.labels(each["type"]).set(each["status"] == "True")

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(f"restow_operator_{name}", meaning, labels, registry=self.registry)
