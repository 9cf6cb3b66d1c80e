"""Rows that a program reads one by one, a person as a short table, and Arrow as columns; and the nodes and pods of a cluster as such."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

from restow.cluster.owners import workload_of
from restow.cluster.pod_values import Phase
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState
from restow.plain_text import printable

if TYPE_CHECKING:
    from restow.api.arrow import ArrowTable, ColumnKind


Row_co = TypeVar("Row_co", covariant=True)

#: How a column is called, what it holds, and its value in a row.
Columns = Mapping[str, "tuple[ColumnKind, Callable[[Any], Any]]"]

#: Rows that ``repr`` and a notebook show, and the characters of a value that ``repr`` shows.
_SHOWN_IN_TEXT, _SHOWN_IN_PAGE, _WIDEST = 5, 20, 28
_GAP: Final = "  "


class Rows(Sequence[Row_co], Generic[Row_co]):
    """A sequence of rows of one kind; equal to another one with equal rows."""

    def __init__(self, what: str, rows: Sequence[Row_co], columns: Columns) -> None:
        self._what = what
        self._rows = tuple(rows)
        self._columns = columns

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row_co]:
        return iter(self._rows)

    @overload
    def __getitem__(self, at: int) -> Row_co: ...

    @overload
    def __getitem__(self, at: slice) -> Rows[Row_co]: ...

    def __getitem__(self, at: int | slice) -> Row_co | Rows[Row_co]:
        return Rows(self._what, self._rows[at], self._columns) if isinstance(at, slice) else self._rows[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rows) and self._rows == other._rows

    def __hash__(self) -> int:
        return hash(self._rows)

    def to_arrow(self) -> ArrowTable:
        """A table that pandas, polars and pyarrow read by the Arrow PyCapsule protocol, one row for each."""
        from restow.api.arrow import ArrowTable, Column

        columns = self._columns.items()
        return ArrowTable([Column(name, kind, [value(row) for row in self._rows]) for name, (kind, value) in columns])

    def __repr__(self) -> str:
        shown = self._shown(_SHOWN_IN_TEXT)
        widths = [max(map(len, column)) for column in zip(list(self._columns), *shown, strict=True)]
        used = [at for at in range(len(widths)) if sum(widths[: at + 1]) + len(_GAP) * at <= _SCREEN]
        lines = [
            _GAP.join(cells[at].ljust(widths[at]) for at in used).rstrip() for cells in (list(self._columns), *shown)
        ]
        return "\n".join([f"<{len(self):,} {self._what}>", *(lines if self._rows else ()), *self._more(len(shown))])

    def _repr_html_(self) -> str:
        shown = self._shown(_SHOWN_IN_PAGE)
        head = "".join(f"<th>{escape(name)}</th>" for name in self._columns)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>" for cells in shown)
        more = "".join(f"<p>{line}</p>" for line in self._more(len(shown)))
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<p>{len(self):,} {escape(self._what)}</p>{table if self._rows else ''}{more}"

    def _shown(self, most: int) -> list[list[str]]:
        return [[_text(value(row)) for _, value in self._columns.values()] for row in self._rows[:most]]

    def _more(self, shown: int) -> list[str]:
        return [f"... and {len(self) - shown:,} more"] if len(self) > shown else []


#: Characters of a line.
_SCREEN: Final = 100


def _text(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:.3g}" if isinstance(value, float) else printable(str(value))
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


@dataclass(slots=True, frozen=True)
class NodeSummary:
    """A node: what it offers, and what the pods on it request."""

    name: str
    ready: bool
    unschedulable: bool
    cpu_milli: int
    cpu_requested_milli: int
    memory_bytes: int
    memory_requested_bytes: int
    #: How many pods are on it that have not ended.
    pods: int


@dataclass(slots=True, frozen=True)
class PodSummary:
    """A pod: where it is, what it requests, and what it belongs to."""

    namespace: str
    name: str
    #: None while it waits.
    node: str | None
    phase: str
    cpu_requested_milli: int
    memory_requested_bytes: int
    #: Such as Deployment/web; None for a pod on its own.
    owner: str | None
    priority: int


def nodes_of(cluster: ClusterSnapshot) -> list[NodeSummary]:
    """The nodes in the order of their names."""
    state, nodes = ClusterState(cluster), cluster.nodes
    cpu, memory = nodes.resource("cpu"), nodes.resource("memory")
    return [
        NodeSummary(
            name=name,
            ready=bool(nodes.ready[at]),
            unschedulable=bool(nodes.unschedulable[at]),
            cpu_milli=0 if cpu is None else int(nodes.allocatable[cpu, at]),
            cpu_requested_milli=0 if cpu is None else int(state.requested[cpu, at]),
            memory_bytes=0 if memory is None else int(nodes.allocatable[memory, at]),
            memory_requested_bytes=0 if memory is None else int(state.requested[memory, at]),
            pods=int(state.running[at]),
        )
        for at, name in enumerate(nodes.names)
    ]


def pods_of(cluster: ClusterSnapshot) -> list[PodSummary]:
    """The pods in the order of their namespaces and names."""
    state = ClusterState(cluster)
    return [_pod(state, pod) for pod in cluster.pods.where(cluster.pods.read()).tolist()]


def _pod(state: ClusterState, pod: int) -> PodSummary:
    cluster = state.cluster
    pods, owner, node = cluster.pods, workload_of(cluster, pod), int(cluster.pods.node[pod])
    cpu, memory = cluster.nodes.resource("cpu"), cluster.nodes.resource("memory")
    requests = state.requests_of(pod)
    return PodSummary(
        namespace=pods.tables.namespaces[pods.namespace[pod]],
        name=pods.names[pod],
        node=cluster.nodes.names[node] if node >= 0 else None,
        phase=Phase(pods.phase[pod]).name.capitalize(),
        cpu_requested_milli=0 if cpu is None else int(requests[cpu]),
        memory_requested_bytes=0 if memory is None else int(requests[memory]),
        owner=None if owner is None else f"{owner.kind}/{owner.name}",
        priority=int(pods.priority[pod]),
    )
