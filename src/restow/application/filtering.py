"""Which part of a plan is shown: the moves and refusals of a namespace, a node, a strategy or a workload.

The plan is made as a whole, and balance, load and the exit status are those of the whole plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct, structs

from restow.application.clusters import find_node
from restow.application.planning import Planned
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.plan import OwnerRef, PodRef
from restow.descheduling.registry import plugins
from restow.errors import InputError
from restow.kube.excerpts import did_you_mean, excerpt
from restow.proving.planning import owner_ref
from restow.reporting.wording import counted


class PlanFilter(Struct, frozen=True):
    """What to show, as a user writes it; None is all."""

    namespace: str | None = None
    strategy: str | None = None
    node: str | None = None
    #: ``deployment/web``, or only its name.
    workload: str | None = None
    #: Moves at most.
    limit: int | None = None

    def __bool__(self) -> bool:
        """Whether it leaves anything out."""
        return self != PlanFilter()

    def words(self) -> Iterator[str]:
        """What is asked for, for people."""
        named = (
            ("namespace", self.namespace),
            ("strategy", self.strategy),
            ("node", self.node),
            ("workload", self.workload),
        )
        yield from (f"{what} {value}" for what, value in named if value is not None)


def part_of(planned: Planned, wanted: PlanFilter) -> Planned:
    """Return the part of a plan that is asked for, with a note that says so; InputError for what the input does not hold."""
    if not wanted:
        return planned
    cluster, plan = planned.cycle.state.cluster, planned.plan
    _check(wanted, cluster)
    owner_of = _owners(cluster)
    moves = tuple(
        each
        for each in plan.moves
        if _is_of(wanted, each.pod, each.plugin, each.owner) and wanted.node in (None, each.source, each.target)
    )
    refusals = tuple(
        each
        for each in plan.refusals
        if _is_of(wanted, each.pod, each.plugin, owner_of(each.pod)) and wanted.node in (None, each.node)
    )
    if not moves and not refusals and (plan.moves or plan.refusals):
        raise InputError(f"no move and no refusal of the plan is of {' and '.join(map(excerpt, wanted.words()))}")
    part = structs.replace(plan, moves=moves[: wanted.limit], refusals=refusals)
    return structs.replace(
        planned, plan=part, notes=(*planned.notes, _note(planned, wanted, len(part.moves), len(refusals)))
    )


def _is_of(wanted: PlanFilter, pod: PodRef, plugin: str, owner: OwnerRef | None) -> bool:
    names = wanted.namespace in (None, pod.namespace) and wanted.strategy in (None, plugin)
    return names and (wanted.workload is None or _is_workload(wanted.workload, owner))


def _is_workload(asked: str, owner: OwnerRef | None) -> bool:
    """Whether a pod's owner is meant by ``deployment/web`` or ``web``."""
    if owner is None:
        return False
    kind, _, name = asked.rpartition("/")
    return name == owner.name and kind.lower() in ("", owner.kind.lower())


def _owners(cluster: ClusterSnapshot) -> Callable[[PodRef], OwnerRef | None]:
    """Finds the topmost workload of a pod of the plan."""
    rows = {uid: row for row, uid in enumerate(cluster.pods.uids)}

    def owner_of(pod: PodRef) -> OwnerRef | None:
        row = rows.get(pod.uid)
        return None if row is None else owner_ref(cluster, row)

    return owner_of


def _check(wanted: PlanFilter, cluster: ClusterSnapshot) -> None:
    if wanted.node is not None:
        find_node(cluster.nodes, wanted.node, "--node")
    _check_known("-n", "namespace", wanted.namespace, cluster.pods.tables.namespaces)
    _check_known("--strategy", "strategy", wanted.strategy, plugins())


def _check_known(flag: str, what: str, name: str | None, known: Iterable[str]) -> None:
    names = set(known)
    if name is not None and name not in names:
        hint = did_you_mean(name, names)
        where = "the input holds no pods of" if what == "namespace" else "there is no"
        raise InputError(f"{flag}: {where} {what} {excerpt(name)}{f'; {hint}' if hint else ''}")


def _note(planned: Planned, wanted: PlanFilter, moves: int, refusals: int) -> str:
    plan = planned.plan
    what = f" ({', '.join(map(excerpt, wanted.words()))})" if any(wanted.words()) else ""
    shown = (
        f"{moves:,} of {counted(len(plan.moves), 'move')} and {refusals:,} of {counted(len(plan.refusals), 'refusal')}"
    )
    return f"Shown are {shown}{what}; balance and load are those of the whole plan"
