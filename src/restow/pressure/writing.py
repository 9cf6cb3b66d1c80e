"""Writes the difference between actual and wanted marks: one patch per change, none if nothing changes.

The watch shows a write a moment later; until then the node is left alone. In a dry run, each change is logged once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from restow.client.errors import Conflict, NotFound
from restow.client.flow_control import for_each
from restow.client.objects import is_outdated
from restow.client.transport import Api, Permit
from restow.daemon.logs import Log, Ref
from restow.errors import ClientError
from restow.pressure.marking import (
    FIELD_MANAGER,
    Mark,
    is_foreign,
    is_tainted,
    labels_wanted,
    write_labels,
    write_taint,
)
from restow.pressure.monitoring import MarkKind, PressureMetrics
from restow.pressure.nodes import MarkedNode, labels_of, refusal

#: What is logged, by whether the mark is there now, and whether that was a dry run.
_MESSAGES: Final = {
    (True, False): "Marked node",
    (False, False): "Removed mark from node",
    (True, True): "Marked node in dry run mode",
    (False, True): "Removed mark from node in dry run mode",
}


@dataclass(slots=True, frozen=True)
class MarkChange:
    """A change of one mark of a node."""

    node: MarkedNode
    kind: MarkKind
    #: Whether to set or to clear it.
    wanted: bool
    #: All labels that should be ours afterwards.
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def change(self) -> str:
        """The change as metrics name it: ``set`` or ``clear``."""
        return "set" if self.wanted else "clear"


def differences(
    nodes: Iterable[MarkedNode], mark: Mark, labelled: frozenset[str], tainted: frozenset[str]
) -> Iterator[MarkChange]:
    """Yield the changes after which exactly these nodes (names) have the marks."""
    for node in nodes:
        wanted = node.name in labelled
        labels = labels_wanted(node, mark, wanted=wanted)
        if labels_of(node, FIELD_MANAGER) != labels:
            yield MarkChange(node, "label", bool(labels), labels)
        if is_tainted(node, mark) != (node.name in tainted):
            yield MarkChange(node, "taint", node.name in tainted)


def foreign_nodes(nodes: Iterable[MarkedNode], mark: Mark, labelled: frozenset[str]) -> list[str]:
    """Return the nodes that should be labelled but have another program's label."""
    return sorted(node.name for node in nodes if node.name in labelled and is_foreign(node, mark))


@dataclass(slots=True)
class Writer:
    """Writes to the API server while ``permit`` allows it; in a dry run it writes nothing."""

    api: Api
    mark: Mark
    log: Log
    metrics: PressureMetrics
    dry_run: bool
    #: The version of each node (uid) after our last write.
    _versions: dict[str, int] = field(default_factory=dict, init=False)
    #: What was logged in a dry run, by node and mark.
    _logged: dict[tuple[str, MarkKind], bool] = field(default_factory=dict, init=False)

    async def write(self, found: Iterable[MarkChange], permit: Permit, reasons: Callable[[str], str]) -> dict[str, str]:
        """Write all changes; returns why some failed, by node. ``reasons`` gives the reason for a node's mark."""
        due = list(found)
        if self.dry_run:
            self._log_changes(due, reasons)
            return {}
        by_node: dict[str, list[MarkChange]] = {}
        for each in due:
            if each.node.version >= self._versions.get(each.node.uid, 0):
                by_node.setdefault(each.node.name, []).append(each)

        async def one(differences: list[MarkChange]) -> str:
            # One after the other: the first patch makes the version of the second one's node outdated.
            return await self._write(differences[0], permit, reasons)

        problems = await for_each(by_node.values(), one)
        return {name: problem for name, problem in zip(by_node, problems, strict=True) if problem}

    async def _write(self, due: MarkChange, permit: Permit, reasons: Callable[[str], str]) -> str:
        node = due.node
        try:
            if due.kind == "label":
                version = await write_labels(self.api, node, due.labels, permit)
            else:
                version = await write_taint(self.api, node, self.mark, permit, wanted=due.wanted)
        except (Conflict, NotFound):
            # Another program was quicker, or the node is gone: the watch shows which in a moment.
            self.metrics.written(due.kind, due.change, "outdated")
            return ""
        except ClientError as error:
            if is_outdated(error):
                self.metrics.written(due.kind, due.change, "outdated")
                return ""
            self.metrics.written(due.kind, due.change, "failed")
            return refusal(error, ("patch",))
        self._versions[node.uid] = version
        self.metrics.written(due.kind, due.change, "done")
        self._log(due, reasons)
        return ""

    def forget_all_but(self, nodes: Iterable[MarkedNode]) -> None:
        """Forget nodes that are gone."""
        there = {node.uid for node in nodes}
        self._versions = {uid: version for uid, version in self._versions.items() if uid in there}

    def _log_changes(self, due: list[MarkChange], reasons: Callable[[str], str]) -> None:
        now = {(each.node.uid, each.kind): each.wanted for each in due}
        for each in due:
            if self._logged.get((each.node.uid, each.kind)) != each.wanted:
                self._log(each, reasons)
        self._logged = now

    def _log(self, due: MarkChange, reasons: Callable[[str], str]) -> None:
        message = _MESSAGES[due.wanted, self.dry_run]
        more: dict[str, Any] = {"reason": reasons(due.node.name)} if due.wanted else {}
        self.log.info(message, node=Ref("", due.node.name), mark=due.kind, **more)
