"""Wire pods as rows for the columns of a state, so that they can come while it lives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from restow.cluster.pod_store import PodStore
from restow.cluster.pod_values import PodTables
from restow.cluster.pods import UNKNOWN_NODE, PodRow, Pods
from restow.kube.objects import Pod

#: The column of each table where it has another name.
_COLUMNS = {"namespaces": "namespace"}


def pod_rows(pods: Pods, wire: Sequence[Pod], nodes: Mapping[str, int]) -> list[PodRow]:
    """The rows of some pods, in order of their names; of several with the same name the last one counts.

    ``nodes`` gives the index of each node. InputError and OutOfRangeError as ``PodStore.add``.
    """
    store = PodStore()
    store.add(wire)
    read = store.columns(nodes)
    return [_translated(read, pod, pods) for pod in range(len(read))]


def _translated(read: Pods, pod: int, pods: Pods) -> PodRow:
    """A row of one set of columns for another, whose tables have other identifiers."""
    row = read.row(pod)
    for each in PodTables.__struct_fields__:
        column = _COLUMNS.get(each, each)
        if row[column] >= 0:
            row[column] = pods.intern(each, getattr(read.tables, each)[row[column]])
    for column in ("node", "nominated"):
        if row[column] <= UNKNOWN_NODE:
            row[column] = pods.unknown_node(read.unknown_nodes[UNKNOWN_NODE - row[column]])
    return row
