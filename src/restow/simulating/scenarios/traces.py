"""Traces of a cluster as CSV: pods that arrive and depart, a pod a row; and the nodes of the openb trace.

Which column is what, a scenario says. Of the openb trace, which its first line gives away, it is known: pods name their
requests, their times in seconds, and the models of GPU that they can use. A GPU can be shared there, so GPUs are
counted in thousandths, of a node all together.

Source: the openb trace of Alibaba's clusterdata repository (cluster-trace-gpu-v2023).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct

from restow.cluster.snapshot import ClusterStore
from restow.errors import InputError
from restow.kube.excerpts import did_you_mean, excerpt
from restow.kube.manifests import Manifest
from restow.kube.quantity import parse_quantity
from restow.kube.timestamps import SECOND, parse_time
from restow.simulating.scenarios.folder import read_object
from restow.usage.csv_files import CsvRows, read_rows

_NANO_DIGITS: Final = 9
_SECONDS: Final = re.compile(rf"([0-9]{{1,11}})(?:\.([0-9]{{0,{_NANO_DIGITS}}})[0-9]*)?", re.ASCII)
_GPU: Final = "alibabacloud.com/gpu-milli"
_MODEL: Final = "alibabacloud.com/gpu-card-model"
_QOS: Final = "alibabacloud.com/qos"
_PODS_PER_NODE: Final = "110"

#: The first columns of a trace of ``restow record arrivals``; the others are resources, with quantities.
ARRIVAL_COLUMNS: Final = ("namespace", "name", "arrives", "departs")

Row = Mapping[str, str]


class Columns(Struct, frozen=True):
    """Which column of a trace is what, as a scenario writes it; a resource's amounts may lack their unit."""

    name: str
    arrives: str
    departs: str = ""
    namespace: str = ""
    requests: dict[str, str] = {}
    units: dict[str, str] = {}
    labels: dict[str, str] = {}

    def named(self) -> list[str]:
        """Return the columns that a trace must have."""
        optional = filter(None, (self.departs, self.namespace))
        return [self.name, self.arrives, *optional, *self.requests.values(), *self.labels.values()]


@dataclass(slots=True, frozen=True)
class Arrival:
    """A pod that comes, and when it goes, in nanoseconds since the first pod of the trace; None is never."""

    at: int
    departs: int | None
    pod: Manifest


@dataclass(slots=True, frozen=True)
class Template:
    """What the pods of a trace share, and who takes those that can be read."""

    pod: Mapping[str, Any]
    readable: ClusterStore


#: The columns of the openb trace, by which it is known, and what they are.
_OPENB_PODS: Final = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
)
_OPENB_NODES: Final = "sn,cpu_milli,memory_mib,gpu,model"
_OPENB: Final = Columns(
    name="name",
    arrives="creation_time",
    departs="deletion_time",
    requests={"cpu": "cpu_milli", "memory": "memory_mib"},
    units={"cpu": "m", "memory": "Mi"},
    labels={_QOS: "qos"},
)


def read_arrivals(text: str, origin: str, columns: Columns | None, template: Template) -> list[Arrival]:
    """Return the pods of a trace by the time of their arrival; each is made of the template.

    InputError names file, line and column of each row that cannot be read.
    """
    rows = read_rows(text, origin)
    known = columns or _known(rows.header)
    if known is None:
        raise InputError(
            f"{origin}:1: these are neither the columns of the openb trace nor those of restow record arrivals; "
            "say under columns what each is"
        )
    _check_columns(rows.header, known, origin)
    more = _openb_pod if known is _OPENB else _nothing
    found = _each(rows, origin, lambda row: _arrival(row, known, _made(template, row, known, more(row))))
    if len({(each.pod.metadata.namespace, each.pod.metadata.name) for each in found}) < len(found):
        raise InputError(f"{origin}: column {known.name}: several pods have the same name; make them differ")
    first = min((each.at for each in found), default=0)
    arrivals = (Arrival(each.at - first, each.departs and each.departs - first, each.pod) for each in found)
    return sorted(arrivals, key=lambda each: each.at)


def _known(header: tuple[str, ...]) -> Columns | None:
    """What the columns are of a trace whose first line gives it away."""
    if ",".join(header) == _OPENB_PODS:
        return _OPENB
    if header[: len(ARRIVAL_COLUMNS)] != ARRIVAL_COLUMNS:
        return None
    resources = header[len(ARRIVAL_COLUMNS) :]
    namespace, name, arrives, departs = ARRIVAL_COLUMNS
    return Columns(name, arrives, departs, namespace, requests={each: each for each in resources})


def read_nodes(text: str, origin: str, readable: ClusterStore) -> list[Manifest]:
    """Return the nodes of the openb trace; InputError for any other CSV."""
    rows = read_rows(text, origin)
    if ",".join(rows.header) != _OPENB_NODES:
        raise InputError(f"{origin}:1: not the nodes of the openb trace, which begin with {_OPENB_NODES}")
    return _each(rows, origin, lambda row: read_object(_openb_node(row), readable).manifest)


def _each(rows: CsvRows, origin: str, read: Callable[[Row], Any]) -> list[Any]:
    made, problems = [], []
    for line, row in rows.rows:
        try:
            made.append(read(row))
        except ValueError as error:
            problems.append(f"{origin}:{line}: {error}")
    if problems:
        raise InputError(*problems)
    if not made:
        raise InputError(f"{origin}: holds no rows below its first line")
    return made


def _check_columns(header: tuple[str, ...], columns: Columns, origin: str) -> None:
    missing = [each for each in columns.named() if each not in header]
    if missing:
        hints = (f'no column "{excerpt(each)}"; {did_you_mean(each, header)}'.rstrip("; ") for each in missing)
        raise InputError(*(f"{origin}:1: {hint}" for hint in hints))


def _arrival(row: Row, columns: Columns, pod: Manifest) -> Arrival:
    at = _time(row, columns.arrives)
    departs = _time(row, columns.departs) if columns.departs and row[columns.departs] else None
    if departs is not None and departs < at:
        raise ValueError(f"{columns.departs}: is before {columns.arrives}")
    return Arrival(at, departs, pod)


def _time(row: Row, column: str) -> int:
    seconds = _SECONDS.fullmatch(row[column])
    if seconds:
        return int(seconds[1]) * SECOND + int((seconds[2] or "").ljust(_NANO_DIGITS, "0"))
    try:
        return parse_time(row[column])
    except ValueError as error:
        raise ValueError(f"{column}: {error}; write seconds, or 2026-11-21T00:00:00Z") from error


def check_template(template: Mapping[str, Any]) -> None:
    """Raise ValueError unless pods can be made of a template."""
    for key in template:
        if key not in ("metadata", "spec"):
            raise ValueError(f"{excerpt(key)} is nothing that pods share; write metadata and spec")
    metadata, spec = (template.get(key) or {} for key in ("metadata", "spec"))
    containers = spec.get("containers") if isinstance(spec, dict) else None
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    shaped = isinstance(metadata, dict) and isinstance(spec, dict) and isinstance(labels, dict | None)
    if not shaped or not isinstance(containers, list | None) or not all(isinstance(e, dict) for e in containers or ()):
        raise ValueError("metadata, labels and spec must be mappings, containers a list of mappings")


def _made(template: Template, row: Row, columns: Columns, more: Mapping[str, Any]) -> Manifest:
    """The pod of a row: what the template says, and in its first container what the row requests."""
    metadata, spec = (dict(template.pod.get(key) or {}) for key in ("metadata", "spec"))
    labels = {key: row[column] for key, column in columns.labels.items() if row[column]}
    requests = {**_requests(row, columns), **more.get("requests", {})}
    first, *others = spec.get("containers") or [{"name": "main", "image": "trace"}]
    metadata |= {"name": row[columns.name], "labels": {**(metadata.get("labels") or {}), **labels}}
    if columns.namespace:
        metadata["namespace"] = row[columns.namespace]
    spec |= {"containers": [first | {"resources": {"requests": requests}}, *others], **more.get("spec", {})}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return read_object(document, template.readable).manifest


def _requests(row: Row, columns: Columns) -> dict[str, str]:
    found = {}
    for resource, column in columns.requests.items():
        text = row[column] + columns.units.get(resource, "")
        try:
            if parse_quantity(text).nano > 0:
                found[resource] = text
        except ValueError as error:
            raise ValueError(f"{column}: {error}") from error
    return found


def _nothing(_row: Row) -> dict[str, Any]:
    return {}


def _openb_pod(row: Row) -> dict[str, Any]:
    """The GPUs in a row of openb."""
    gpu = _number(row, "num_gpu") * _number(row, "gpu_milli")
    models = row["gpu_spec"].split("|") if row["gpu_spec"] else []
    expression = {"key": _MODEL, "operator": "In", "values": models}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return {"requests": {_GPU: str(gpu)} if gpu else {}, "spec": {"affinity": affinity} if models else {}}


def _openb_node(row: Row) -> dict[str, Any]:
    gpus, name = _number(row, "gpu"), row["sn"]
    room = {"cpu": f"{_number(row, 'cpu_milli')}m", "memory": f"{_number(row, 'memory_mib')}Mi", "pods": _PODS_PER_NODE}
    room |= {_GPU: str(gpus * 1000)} if gpus else {}
    labels = {"kubernetes.io/hostname": name} | ({_MODEL: row["model"]} if row["model"] else {})
    ready = {"type": "Ready", "status": "True"}
    status = {"allocatable": room, "capacity": room, "conditions": [ready]}
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def _number(row: Row, column: str) -> int:
    text = row[column]
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise ValueError(f'{column}: "{excerpt(text)}" is no whole number')
    return int(text)
