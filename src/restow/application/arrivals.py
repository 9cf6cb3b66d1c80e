"""Which pods have come and gone, as Prometheus knows from kube-state-metrics: a trace that a scenario plays again.

Pods of Deployments, StatefulSets and DaemonSets are left out: in a simulation their controllers make them. Left are pods that
run for a while, such as those of Jobs. One is gone when it has completed, or since Prometheus has seen it for the last time.
Source of the metrics' names and labels: the documentation of kube-state-metrics 2.
"""

from __future__ import annotations

import asyncio
import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

from restow.application.feedback import Feedback
from restow.client.credentials import Endpoint
from restow.client.prometheus import LabelledSample, QueryError, query_labelled
from restow.client.sessions import open_session
from restow.client.transport import Api
from restow.errors import InputError
from restow.in_thread import in_own_loop
from restow.kube.timestamps import SECOND, format_time
from restow.reporting.wording import counted
from restow.simulating.scenarios.traces import ARRIVAL_COLUMNS

#: Seconds between two looks at whether a pod is there, and without a sample after which it is gone.
_STEP: Final = 60
_GONE: Final = 3 * _STEP
#: What is asked, in PromQL: ``$match`` are further labels, ``$since`` is the whole time.
QUERIES: Final[Mapping[str, str]] = {
    "created": "max by (namespace, pod) (last_over_time(kube_pod_created{$match}[$since]))",
    "completed": "max by (namespace, pod) (last_over_time(kube_pod_completion_time{$match}[$since]))",
    "seen": f"max by (namespace, pod) (max_over_time(timestamp(kube_pod_created{{$match}})[$since:{_STEP}s]))",
    "owner": "max by (namespace, pod, owner_kind) (last_over_time(kube_pod_owner{$match}[$since]))",
    "requests": (
        "sum by (namespace, pod, resource) (max by (namespace, pod, container, resource) "
        "(last_over_time(kube_pod_container_resource_requests{$match}[$since])))"
    ),
}
#: Whose pods are made by a controller in a simulation, too; a Node owns the mirrors of static pods.
_REPLICATED: Final = frozenset(("ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Node"))
#: What resources are called that kube-state-metrics writes with underscores.
_RESOURCES: Final[Mapping[str, str]] = {
    "cpu": "cpu",
    "memory": "memory",
    "ephemeral_storage": "ephemeral-storage",
    "nvidia_com_gpu": "nvidia.com/gpu",
    "amd_com_gpu": "amd.com/gpu",
}
#: Behind the names, because pods that are still there may be in the dump that a simulation starts with.
_AGAIN: Final = "-again"
#: The end of the year 9999, in seconds since the epoch.
_LATEST: Final = 253_402_300_799
#: Seconds that Prometheus gets for a query.
_TIME_OUT: Final = 300.0

_Key: TypeAlias = tuple[str, str]


@dataclass(slots=True, frozen=True)
class ArrivalsRequest:
    """What to ask."""

    prometheus: Endpoint
    #: How far back, in seconds.
    since: int
    #: Further labels of the metrics, such as ``cluster="prod-1"``.
    match: str = ""


@dataclass(slots=True, frozen=True)
class RecordedArrivals:
    """A trace, and what it holds."""

    #: CSV.
    text: str
    pods: int
    #: How many pods were made by controllers that a simulation has, too.
    replicated: int
    #: Resources whose names are not known, as the metrics spell them.
    unknown: Sequence[str]

    @property
    def sentence(self) -> str:
        """What it holds, in a sentence."""
        others = f"; {counted(self.replicated, 'pod')} of Deployments and the like left out" if self.replicated else ""
        unknown = f"; without requests of {', '.join(self.unknown)}" if self.unknown else ""
        return f"{counted(self.pods, 'pod')} that came and went by themselves{others}{unknown}"


def recorded_arrivals(request: ArrivalsRequest, feedback: Feedback) -> RecordedArrivals:
    """Ask Prometheus which pods came; InputError for what it refuses and where there are none, ClientError without an answer."""
    if request.since < _STEP:
        raise InputError("--since must be 1m or more")
    with feedback.working("asking Prometheus"):
        found = in_own_loop(_ask(request))
    if not found["created"]:
        raise InputError(
            "Prometheus knows no pods of that time: kube_pod_created has no series",
            "kube-state-metrics has to be scraped; --match names the cluster where Prometheus has several",
        )
    return _arrivals(found, request.since)


async def _ask(request: ArrivalsRequest) -> dict[str, Sequence[LabelledSample]]:
    async with open_session() as session:
        prometheus = replace(Api(request.prometheus, session, None), time_out=_TIME_OUT)
        asked = (_series(prometheus, query, request) for query in QUERIES.values())
        return dict(zip(QUERIES, await asyncio.gather(*asked), strict=True))


async def _series(prometheus: Api, query: str, request: ArrivalsRequest) -> Sequence[LabelledSample]:
    text = query.replace("$match", request.match).replace("$since", f"{request.since}s")
    try:
        return await query_labelled(prometheus, text)
    except QueryError as error:
        raise InputError(f"{error}; it was asked {text}") from error


def _arrivals(found: Mapping[str, Sequence[LabelledSample]], seconds: int) -> RecordedArrivals:
    """The pods that were created in the last ``seconds`` of what Prometheus has, in the order in which they came."""
    requests, unknown = _requests(found["requests"])
    lives = _lives(found)
    newest = max((each.seen for each in lives.values()), default=0.0)
    came = {key: each for key, each in lives.items() if each.created >= newest - seconds}
    replicated = {_key(each) for each in found["owner"] if each.labels.get("owner_kind") in _REPLICATED}
    rows = [
        _row(key, life, newest) | requests.get(key, {})
        for key, life in sorted(came.items(), key=lambda each: (each[1].created, each[0]))
        if key not in replicated
    ]
    return RecordedArrivals(_as_csv(rows), len(rows), len(came.keys() & replicated), sorted(unknown))


class _Life(NamedTuple):
    """When a pod was created, was seen last and has completed, in seconds since the epoch; NaN where it has not."""

    created: float
    seen: float
    completed: float

    def end(self, newest: float) -> float | None:
        """When it went; None if it is still there. ``newest`` is the time of the newest sample of all pods."""
        if self.completed >= self.created:
            return self.completed
        return max(self.seen, self.created) if newest - self.seen > _GONE else None


def _lives(found: Mapping[str, Sequence[LabelledSample]]) -> dict[_Key, _Life]:
    created, seen, completed = (_by_pod(found[each]) for each in ("created", "seen", "completed"))
    return {key: _Life(at, seen.get(key, at), completed.get(key, math.nan)) for key, at in created.items()}


def _by_pod(samples: Sequence[LabelledSample]) -> dict[_Key, float]:
    """Times by pod; what is none is left out."""
    return {_key(each): each.value for each in samples if 0 <= each.value <= _LATEST}


def _key(sample: LabelledSample) -> _Key:
    return sample.labels.get("namespace", ""), sample.labels.get("pod", "")


def _requests(samples: Sequence[LabelledSample]) -> tuple[dict[_Key, dict[str, str]], set[str]]:
    """What each pod requests, as quantities by resource, and the resources whose names are not known."""
    found: dict[_Key, dict[str, str]] = {}
    unknown = set()
    for each in samples:
        spelled = each.labels.get("resource", "")
        if spelled not in _RESOURCES:
            unknown.add(spelled)
        elif math.isfinite(each.value):
            found.setdefault(_key(each), {})[_RESOURCES[spelled]] = _quantity(spelled, each.value)
    return found, unknown


def _quantity(resource: str, value: float) -> str:
    return f"{round(1000 * value)}m" if resource == "cpu" else str(round(value))


def _row(key: _Key, life: _Life, newest: float) -> dict[str, str]:
    namespace, name = key
    end = life.end(newest)
    times = (format_time(round(life.created) * SECOND), "" if end is None else format_time(round(end) * SECOND))
    return dict(zip(ARRIVAL_COLUMNS, (namespace, f"{name}{_AGAIN}", *times), strict=True))


def _as_csv(rows: Sequence[Mapping[str, str]]) -> str:
    resources = [each for each in _RESOURCES.values() if any(each in row for row in rows)]
    stream = io.StringIO()
    writer = csv.DictWriter(stream, (*ARRIVAL_COLUMNS, *resources), restval="0", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()
