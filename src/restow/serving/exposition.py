"""Metrics in Prometheus' text format, under exactly the names that they were given.

prometheus-client has a writer of its own, which appends ``_total`` to every counter and a series with the time of its
creation to every metric; ``descheduler_pods_evicted`` could not be written with it. Source: Prometheus' exposition
formats, text-based format 0.0.4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, GCCollector, Metric, PlatformCollector, ProcessCollector
from prometheus_client.samples import Sample

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_TOTAL = "_total"
_CREATED = "_created"
#: Integers below are the same as floats.
_EXACT = 2**53
_IN_HELP = str.maketrans({"\\": r"\\", "\n": r"\n"})
_IN_LABEL = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def add_process_metrics(registry: CollectorRegistry) -> None:
    """Add what every program of Python can say of its process: memory, processor time, open files, garbage."""
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)


def exposition(registry: CollectorRegistry) -> str:
    """Return every series of a registry."""
    return "".join(line for family in registry.collect() for line in _family_lines(family))


def series(family: Metric) -> list[Sample]:
    """Return what is written of a family: all but the times of creation."""
    return [sample for sample in family.samples if not _is_creation_time(family, sample)]


def _is_creation_time(family: Metric, sample: Sample) -> bool:
    return sample.name == family.name + _CREATED


def exposed_name(family: Metric) -> str:
    """Return the name under which a family is written."""
    named_total = family.type == "counter" and all(sample.name.endswith(_TOTAL) for sample in series(family))
    return family.name + _TOTAL if named_total else family.name


def _family_lines(family: Metric) -> Iterator[str]:
    samples = series(family)
    if not samples:
        return
    name = exposed_name(family)
    yield f"# HELP {name} {family.documentation.translate(_IN_HELP)}\n"
    yield f"# TYPE {name} {family.type}\n"
    for sample in samples:
        yield f"{sample.name}{_labels(sample.labels)} {_number(sample.value)}\n"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{key}="{_label(key, value)}"' for key, value in labels.items()) + "}"


def _label(key: str, value: str) -> str:
    """Return a label's value; bounds of buckets are written as Go writes them, or queries for ``le="5"`` find nothing."""
    return value.removesuffix(".0") if key == "le" else value.translate(_IN_LABEL)


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if math.isnan(value):
        return "NaN"
    return str(int(value)) if abs(value) < _EXACT and value == int(value) else repr(value)
