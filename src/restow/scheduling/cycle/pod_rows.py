"""The pods of the store as rows of a state, which shares the store's decoded parts.

A part is looked up by its value the first time, and by its identity from then on: pods of one workload share their
parts in the store already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from restow.cluster.amounts import LARGEST
from restow.cluster.pod_values import PodStates, PodTables
from restow.cluster.pods import NO_POD, PodRow
from restow.cluster.state import ClusterState

#: The columns whose values are in tables; that of namespaces has another name.
_TABLES: Final = tuple(name for name in PodTables.__struct_fields__ if name != "namespaces")
#: Fields that no scheduling rule reads are the same for all pods: they change all the time.
_ANY_STATES: Final = PodStates("", "", (), (), ())
#: Conditions that decisions depend on. The others hold times, so that nearly each pod has its own.
_CONDITION: Final = "DisruptionTarget"
#: Changes of only these columns are ignored.
_IRRELEVANT: Final = frozenset(("states", "conditions", "qos", "rank", "replaces", "replaced_by"))
#: A million pods of this size are still counted.
_LARGE: Final = LARGEST // 1_000_000
#: How many parts are remembered by identity.
_CAPACITY: Final = 100_000


class PodRowBuilder:
    """Makes rows for the pods of one state."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        #: Identifiers by table and object, which is kept so that no other one takes its place in memory.
        self._known: dict[tuple[str, int], tuple[Any, int]] = {}

    def of(self, values: Mapping[str, Any]) -> PodRow:
        """The row of a pod, from its values by column."""
        row: PodRow = dict(values)
        for table in _TABLES:
            row[table] = self._identifier(table, row[table])
        row["namespace"] = self._identifier("namespaces", values["namespace"])
        row["node"], row["nominated"] = map(self._state.node_called, (values["node"], values["nominated"]))
        return row | {"replaces": NO_POD, "replaced_by": NO_POD, "rank": 0}

    def _identifier(self, table: str, value: Any) -> int:
        if value is None:
            # What a pod holds that is not being resized.
            return -1
        key = table, id(value)
        known = self._known.get(key)
        if known is None:
            if len(self._known) > _CAPACITY:
                self._known.clear()
            known = self._known[key] = value, self._state.cluster.pods.intern(table, value)
        return known[1]


def as_scheduled(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a pod, without what no rule of the scheduler reads."""
    conditions = tuple([each for each in values["conditions"] if each.type == _CONDITION])
    return {**values, "conditions": conditions, "states": _ANY_STATES}


def differs(before: PodRow, after: PodRow) -> bool:
    """Whether two rows of a pod differ in what scheduling depends on."""
    return any(before[name] != value for name, value in after.items() if name not in _IRRELEVANT)


# No kubelet admits such a pod, but a pod that names the node itself gets there for a moment, and sums that overflow
# make the node look empty.
def is_beyond_sums(state: ClusterState, values: Mapping[str, Any]) -> bool:
    """Whether a pod on a node would make some sum over the pods of that node exceed int64."""
    wanted: Mapping[str, int] = values["resources"].requests if values["held"] is None else values["held"][0]
    large = {name: amount for name, amount in wanted.items() if amount > _LARGE}
    node, resources = state.node_called(values["node"]), state.cluster.nodes.resources
    if not large or node < 0:
        return False
    held = state.requested[:, node].tolist()
    pod = state.order.find(values["namespace"], values["names"])
    if pod != NO_POD and int(state.node[pod]) == node:
        held = [total - own for total, own in zip(held, state.held_by(pod).tolist(), strict=True)]
    others = dict(zip(resources, held, strict=True))
    return any(others.get(name, 0) + amount > LARGEST for name, amount in large.items())
