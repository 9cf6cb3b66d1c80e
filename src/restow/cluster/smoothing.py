"""The usage of nodes as it is followed over time: a weighted mean, in which what is new counts a tenth.

A loop decides again and again, so one high sample must not move pods. The first sample of a node counts as it is; from
then on CPU is kept in whole milli-CPUs and memory in whole bytes. Source: Descheduler 0.36, pkg/descheduler/metricscollector.
"""

from __future__ import annotations

import math
from typing import Final

from msgspec import structs

from restow.cluster.usage import COLLECTED
from restow.kube.objects import NodeMetrics
from restow.kube.quantity import NANO_PER_MILLI, NANO_PER_UNIT, parse_quantity

#: Between two samples (seconds).
INTERVAL: Final = 5.0
#: What counts of the mean so far.
_BETA: Final = 0.9
_STEPS: Final = {"cpu": (NANO_PER_MILLI, "m"), "memory": (NANO_PER_UNIT, "")}


def share_before(seconds: float) -> float:
    """Which share of a mean is from before so many seconds ago, if samples come regularly."""
    return float(_BETA ** (max(seconds, 0.0) / INTERVAL))


def smoothed(before: NodeMetrics | None, sample: NodeMetrics) -> NodeMetrics:
    """A sample, weighed with what was before it."""
    if before is None:
        return sample
    usage = {name: _mean(before, sample, name) for name in COLLECTED}
    return structs.replace(sample, usage=(sample.usage or {}) | usage)


def _mean(before: NodeMetrics, sample: NodeMetrics, resource: str) -> str:
    mean = _BETA * _steps(before, resource) + (1 - _BETA) * _steps(sample, resource)
    # Half a step is rounded up; usage is never negative.
    return f"{math.floor(mean + 0.5)}{_STEPS[resource][1]}"


def _steps(metrics: NodeMetrics, resource: str) -> int:
    """An amount in whole steps, rounded up; what a sample leaves out is 0."""
    size = _STEPS[resource][0]
    return -(-parse_quantity((metrics.usage or {}).get(resource, "0")).nano // size)
