"""``restow schedule -o json``: one line a pod, written as soon as the pod is decided.

A pod in a large cluster has thousands of scores; its outcome becomes bytes before the next one is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from restow.descheduling.plan import API_VERSION
from restow.reporting.json import compact_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from restow.reporting.schedule_result import PodOutcome, ScheduleMetadata

_DIGITS: Final = 4


def render_pod(outcome: PodOutcome) -> bytes:
    """Return the outcome of one pod on one line."""
    return compact_json(outcome)


def render_result(metadata: ScheduleMetadata, pods: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the document in pieces; ``pods`` come from ``render_pod``."""
    head = {"apiVersion": API_VERSION, "kind": "ScheduleResult", "metadata": _rounded(metadata)}
    fields = ",\n".join(f'  "{name}": {compact_json(value).decode()}' for name, value in head.items())
    yield f'{{\n{fields},\n  "pods": ['.encode()
    separator = b"\n    "
    for pod in pods:
        yield separator
        yield pod
        separator = b",\n    "
    yield b"]\n}\n" if separator == b"\n    " else b"\n  ]\n}\n"


def _rounded(metadata: ScheduleMetadata) -> ScheduleMetadata:
    if metadata.timings is msgspec.UNSET:
        return metadata
    timings = {name: round(each, _DIGITS) for name, each in metadata.timings.items()}
    return msgspec.structs.replace(metadata, timings=timings)
