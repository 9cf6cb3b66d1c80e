"""The soft taints of busy nodes: which nodes should have them, and the one patch that adds or removes them.

kube-scheduler prefers nodes without them. A patch changes only these taints, and tests each that it removes: if another
program has moved them in the list meanwhile, the patch fails, and the node is read again.
Source of the names: cluster-kube-descheduler-operator 5.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct, structs

from restow.client import objects
from restow.client.errors import BadRequest, Conflict, NotFound
from restow.client.flow_control import for_each
from restow.client.listing import readable_objects
from restow.client.objects import PatchKind, adding_taint, removing_taint
from restow.client.resources import RESOURCES
from restow.client.transport import Api
from restow.errors import ClientError

_PREFIX: Final = "nodeutilization.descheduler.openshift.io"
#: Of a node with appropriate utilization, if others are used less; and of an overutilized node, which has both.
APPROPRIATE: Final = f"{_PREFIX}/appropriate"
OVERUTILIZED: Final = f"{_PREFIX}/overutilized"
KEYS: Final = (APPROPRIATE, OVERUTILIZED)
VALUE: Final = "true"
EFFECT: Final = "PreferNoSchedule"

#: How many nodes are written at a time, and how often one is tried.
_AT_A_TIME: Final = 20
_TRIES: Final = 3

#: A taint with all of its fields.
RawTaint = dict[str, Any]


class _Metadata(Struct, frozen=True):
    name: str = ""
    labels: dict[str, str] | None = None


class _Spec(Struct, frozen=True):
    unschedulable: bool = False
    taints: tuple[RawTaint, ...] | None = None


class TaintedNode(Struct, frozen=True):
    """A v1 Node, as far as soft taints go."""

    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def taints(self) -> tuple[RawTaint, ...]:
        """Its taints, in order."""
        return self.spec.taints or ()


@dataclass(slots=True, frozen=True)
class Written:
    """The outcome for some nodes."""

    #: The nodes whose taints were changed.
    changed: tuple[str, ...] = ()
    #: Why others could not be, one sentence each.
    problems: tuple[str, ...] = ()


_NODES: Final = structs.replace(RESOURCES["Node"], type=TaintedNode)


def is_soft_taint(taint: RawTaint) -> bool:
    """Whether a taint is one of these two; the value does not count."""
    return taint.get("key") in KEYS and taint.get("effect") == EFFECT


def has_soft_taints(nodes: Iterable[TaintedNode]) -> bool:
    """Whether any node has one."""
    return any(is_soft_taint(taint) for node in nodes for taint in node.taints)


def taint_patch(taints: Sequence[RawTaint], keys: Collection[str]) -> list[dict[str, Any]]:
    """Return the JSON patch after which a node has the soft taints of these keys and no others.

    Empty if it has already. All other taints stay, in their order.
    """
    present = {taint["key"]: place for place, taint in enumerate(taints) if is_soft_taint(taint)}
    # From the end, so that earlier indices stay valid.
    obsolete = sorted((place for key, place in present.items() if key not in keys), reverse=True)
    patch = [operation for place in obsolete for operation in removing_taint(place, taints[place])]
    is_tainted = bool(taints)
    for key in sorted(set(keys) - present.keys()):
        patch += adding_taint({"key": key, "value": VALUE, "effect": EFFECT}, is_tainted=is_tainted)
        is_tainted = True
    return patch


async def read_nodes(api: Api) -> list[TaintedNode]:
    """Return all nodes; ClientError if one of them cannot be read, for a taint may stand there."""
    return await readable_objects(api, _NODES)


async def write_taints(api: Api, nodes: Iterable[TaintedNode], wanted: Mapping[str, Collection[str]]) -> Written:
    """Set the soft taints of each of these nodes; one without an entry gets none."""
    changed: list[str] = []
    problems: list[str] = []

    async def one(node: TaintedNode) -> None:
        try:
            if await _write(api, node, wanted.get(node.name, ())):
                changed.append(node.name)
        except ClientError as error:
            problems.append(f"the soft taints of {node.name} cannot be changed: {error}")

    await for_each(nodes, one, at_a_time=_AT_A_TIME)
    return Written(tuple(sorted(changed)), tuple(sorted(problems)))


async def remove_taints(api: Api) -> int:
    """Remove the soft taints from all nodes; returns how many nodes had some. ClientError if one may still have them."""
    written = await write_taints(api, await read_nodes(api), {})
    if written.problems:
        raise ClientError("; ".join(written.problems))
    return len(written.changed)


async def _write(api: Api, node: TaintedNode, keys: Collection[str]) -> bool:
    """Whether a node had to be changed; it is read again after each patch that did not fit any more."""
    for attempt in range(1, _TRIES + 1):
        patch = taint_patch(node.taints, keys)
        if not patch:
            return False
        try:
            await objects.patch(api, _NODES, "", node.name, patch, kind=PatchKind.JSON)
        except NotFound:
            return False
        except (Conflict, BadRequest):
            # The list has changed, or another tainter has added the same taint.
            if attempt == _TRIES:
                raise
            node = await objects.get(api, _NODES, "", node.name, TaintedNode)
        else:
            return True
    return False
