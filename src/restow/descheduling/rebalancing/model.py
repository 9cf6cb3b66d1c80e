"""A cluster as a problem of the search core: the pods that may move are its processes, the compared nodes its machines.

Everything else on a node is its base load. Resources are those that some movable pod requests, and the number of pods;
usage that was measured may come beside them, for goals alone, since the scheduler goes by requests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import BASIC_RESOURCES, PODS
from restow.cluster.pod_values import Flag
from restow.cluster.pods import NO_POD
from restow.descheduling.framework import View
from restow.descheduling.node_utilization.usage import PodUsage, Usage
from restow.descheduling.pod_criteria import elapsed_since
from restow.descheduling.protections import flagged, of_daemon_sets
from restow.descheduling.rebalancing.budgets import BudgetLimits
from restow.descheduling.rebalancing.devices import counted_as_devices, free_to_move, with_devices
from restow.descheduling.rebalancing.rules import bound_to_node, classes, services
from restow.descheduling.rebalancing.spread_rules import spread_rules
from restow.kube.duration import MINUTE
from restow.optimizing.problem import Objective, ReassignmentProblem, problem
from restow.scheduling.devices.supply import DeviceSupply

#: A pod that is younger stays (nanoseconds): it has just been placed, perhaps by the plan before.
_SETTLED: Final = 10 * MINUTE
#: Of a resource that only goals look at, in milli-units of a core or in bytes.
_NANO_PER_MILLI: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class PlanningModel:
    """The pods that may move, the nodes, and the problem that both make, without a goal."""

    #: The row of each process's pod, and the index of each machine's node.
    pods: IntArray
    nodes: IntArray
    #: The labels of each machine's node.
    labels: tuple[Mapping[str, str], ...]
    problem: ReassignmentProblem
    #: The columns of the problem that goals look at, by the name of the resource.
    columns: dict[str, int]
    #: The resources of the problem's columns; kinds of devices and measured usage come behind them.
    resources: tuple[str, ...]
    #: The column that counts pods.
    pods_column: int
    #: Machines that a pod which must stay keeps in use, bool[machine].
    kept: BoolArray
    #: How many nodes pods keep in use which the same budgets forbid to evict, or, without budgets, the evictor.
    keeping: Mapping[tuple[str, ...], int]
    #: How reluctantly each process moves, as a multiple of one move: int64[process].
    reluctance: IntArray
    #: The columns of measured usage, which the scheduler does not look at.
    measured: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    #: What pods use; None where requests are the load.
    of_pod: PodUsage | None = None
    #: How many pods stay because it is not known what they use.
    unmeasured: int = 0


@dataclass(frozen=True, slots=True)
class MeasuredLoad:
    """What goals look at in place of requests."""

    usage: Usage
    #: Percent of allocatable that stays free on a node that receives pods.
    headroom: float
    _of_pods: dict[int, Mapping[str, int] | None] = field(default_factory=dict)

    def known(self, nodes: IntArray) -> IntArray:
        """The nodes whose usage is known, of some."""
        return nodes[np.isin(nodes, list(self.usage.by_node))]

    def knows(self, pods: IntArray) -> BoolArray:
        """Of which pods it is known what they use."""
        return np.array([self.of_pod(pod) is not None for pod in pods.tolist()], dtype=bool)

    def of_pod(self, pod: int) -> Mapping[str, int] | None:
        """What a pod uses; it is looked up once, for all searches of a plan."""
        if pod not in self._of_pods:
            self._of_pods[pod] = self.usage.of_pod(pod) if self.usage.of_pod else None
        return self._of_pods[pod]


def build(
    view: View,
    chosen: BoolArray,
    resources: Sequence[str],
    measured: MeasuredLoad | None,
    devices: DeviceSupply | None,
    *,
    budget: int,
    without: str = "",
) -> PlanningModel:
    """Return the model of a cluster as it is.

    ``chosen`` are the pods that a policy selects, bool[pod]: those that the evictor's filters pass may move. Goals look at
    ``resources``, by requests or by ``measured`` usage; a node of which that is not known is left out, and such a pod
    stays. ``devices`` are columns behind the resources, as ``with_devices``. At most ``budget``
    pods move. ``without`` names a PodDisruptionBudget that is to allow everything.
    """
    state, nodes = view.state, view.compared if measured is None else measured.known(view.compared)
    machine = np.full(len(view.is_listed) + 2, -1)
    machine[nodes] = np.arange(len(nodes))
    pods = _movable(view, view.pods.where(chosen & (machine[state.node] >= 0)))
    budgets = BudgetLimits(view, without)
    pods = pods[budgets.free(pods) & free_to_move(devices, pods)]
    known = np.ones(len(pods), dtype=bool) if measured is None else measured.knows(pods)
    pods = pods[known]
    rows = _rows(view, pods, resources, counted_as_devices(view, devices))
    vectors = _requests(view, pods)[:, rows]
    start = machine[state.node[pods]]
    leaving = _leaving(view, rows, nodes)
    load = _loads(view, rows, nodes) - leaving
    np.subtract.at(load, start, vectors)
    staying = _staying(view, pods, machine)
    service_of, limits = services(view, pods, staying, machine)
    spreads = spread_rules(view, pods, nodes, service_of, len(limits.limit))
    class_of, allowed = classes(view, pods, nodes, spreads.free)
    built = problem(
        vectors,
        state.cluster.nodes.allocatable[rows][:, nodes].T,
        start,
        Objective(),
        base=load,
        reserved=leaving,
        service_of=service_of,
        services=limits,
        class_of=class_of,
        allowed=allowed,
        budget=budget,
        limits=budgets.limits(pods),
        skews=spreads.skews,
    )
    built = with_devices(built, pods, nodes, devices)
    names = [state.cluster.nodes.resources[row] for row in rows]
    columns = {name: names.index(name) for name in resources if name in names}
    bound = _bound(view, staying)
    kept = np.bincount(machine[state.node[bound]], minlength=len(nodes)) > 0
    labels = tuple(state.cluster.nodes.labels[node] for node in nodes.tolist())
    model = PlanningModel(
        pods,
        nodes,
        labels,
        built,
        columns,
        tuple(names),
        rows.tolist().index(PODS),
        kept,
        _keeping(view, bound, machine, budgets),
        _reluctance(view, pods),
        unmeasured=int(np.count_nonzero(~known)),
    )
    return model if measured is None else _with_usage(model, measured)


def _movable(view: View, pods: IntArray) -> IntArray:
    """The pods that the evictor lets go and whose next place is not settled, of those given."""
    state = view.state
    free = state.holding(pods) & ~state.terminating[pods] & (view.pods.replaces[pods] == NO_POD)
    free &= elapsed_since(view.pods.created[pods], view.now) >= _SETTLED
    free &= (state.held[pods] == view.pods.resources[pods]) & ~bound_to_node(view, pods)
    pods = pods[free]
    return pods[view.passing(pods)]


def _rows(view: View, pods: IntArray, resources: Sequence[str], apart: IntArray) -> IntArray:
    """The rows of resources that decide: what pods request but for some, their number, and what goals look at."""
    wanted = np.asarray(_requests(view, pods).any(axis=0))
    wanted[PODS] = True
    for name in resources:
        row = view.state.cluster.nodes.resource(name)
        if row is not None:
            wanted[row] = True
    wanted[apart] = False
    return np.flatnonzero(wanted)


def _requests(view: View, pods: IntArray) -> IntArray:
    """The requests of some pods, int64[len(pods), resource]; each is one of the resource pods."""
    vectors = view.state.request_vectors()[view.pods.resources[pods]].astype(np.int64)
    vectors[:, PODS] = 1
    return vectors


def _loads(view: View, rows: IntArray, nodes: IntArray) -> IntArray:
    """The requests on each node, int64[len(nodes), len(rows)]."""
    state = view.state
    load = np.vstack([state.running if row == PODS else state.requested[row] for row in rows.tolist()])
    return np.ascontiguousarray(load[:, nodes].T.astype(np.int64))


def _leaving(view: View, rows: IntArray, nodes: IntArray) -> IntArray:
    """What terminating pods still hold of each node, int64[len(nodes), len(rows)]: room, but no load for goals."""
    state = view.state
    pods = np.flatnonzero(state.terminating & state.holds_resources() & (state.node >= 0))
    held = np.zeros((len(view.is_listed), len(rows)), np.int64)
    np.add.at(held, state.node[pods], _requests(view, pods)[:, rows])
    return held[nodes]


def _staying(view: View, pods: IntArray, machine: IntArray) -> IntArray:
    """The other pods on compared nodes that hold resources."""
    stays = view.state.holds_resources() & (machine[view.state.node] >= 0)
    stays[pods] = False
    return np.flatnonzero(stays)


def _bound(view: View, staying: IntArray) -> IntArray:
    """The pods that must stay and do not go with their node, as those of DaemonSets and mirror pods do."""
    apart = of_daemon_sets(view.state.cluster).of(staying)
    apart |= flagged(view.pods, Flag.MIRROR | Flag.STATIC | Flag.TERMINATING).of(staying)
    return staying[~apart]


def _keeping(view: View, bound: IntArray, machine: IntArray, budgets: BudgetLimits) -> dict[tuple[str, ...], int]:
    """How many nodes each set of budgets, and the evictor, keep in use."""
    nodes: defaultdict[tuple[str, ...], set[int]] = defaultdict(set)
    for pod, node in zip(bound.tolist(), machine[view.state.node[bound]].tolist(), strict=True):
        if view.pods.replaces[pod] == NO_POD:
            nodes[budgets.forbidding(pod)].add(node)
    return {name: len(some) for name, some in nodes.items()}


def _reluctance(view: View, pods: IntArray) -> IntArray:
    """What the move of each pod counts: one, or four if it would rather stay (``prefer-no-eviction``) or loses a Job's work."""
    of_job = np.array([any(each.kind == "Job" for each in owners) for owners in view.pods.tables.owners], dtype=bool)
    reluctant = flagged(view.pods, Flag.PREFER_NO_EVICTION).of(pods) | of_job[view.pods.owners[pods]]
    return np.where(reluctant, 4, 1).astype(np.int64)


def with_waiting(model: PlanningModel, pod: int, vector: IntArray, allowed: BoolArray) -> PlanningModel:
    """The model with a pod that waits as its last process, on a machine that no other process may go to.

    ``vector`` is what it requests, int64[problem.resources], and ``allowed`` where it may be, bool[len(model.nodes)].
    """
    built = model.problem
    nowhere = np.zeros((1, built.resources), np.int64)
    last, count = built.machines, len(built.services.limit)
    masks = np.zeros((len(built.allowed) + 1, last + 1), dtype=bool)
    masks[:-1, :-1], masks[-1, :-1], masks[-1, -1] = built.allowed, allowed, True
    services = replace(
        built.services,
        limit=np.append(built.services.limit, np.int32(0)),
        spread=np.append(built.services.spread, np.int32(0)),
        needs=(*built.services.needs, ()),
    )
    larger = replace(
        built,
        usage=np.vstack([built.usage, vector]),
        capacity=np.vstack([built.capacity, vector]),
        base=np.vstack([built.base, nowhere]),
        reserved=np.vstack([built.reserved, nowhere]),
        start=np.append(built.start, np.int32(last)),
        service_of=np.append(built.service_of, np.int32(count)),
        services=services,
        class_of=np.append(built.class_of, np.int32(len(built.allowed))),
        allowed=masks,
        location=np.append(built.location, built.location[:1]),
        neighbourhood=np.append(built.neighbourhood, built.neighbourhood[:1]),
        budget=built.budget + 1,
        limits=replace(built.limits, group_of=np.append(built.limits.group_of, np.int32(-1))),
        skews=replace(
            built.skews,
            of_service=(*built.skews.of_service, ()),
            location=np.pad(built.skews.location, ((0, 0), (0, 1))),
        ),
    )
    pods, reluctance = np.append(model.pods, pod), np.append(model.reluctance, 0)
    return replace(model, pods=pods, problem=larger, kept=np.append(model.kept, True), reluctance=reluctance)


def _with_usage(model: PlanningModel, measured: MeasuredLoad) -> PlanningModel:
    """The model with a column of measured usage for each resource that goals look at; full nodes take no more of it.

    What stays on a node is what is measured of it beyond its movable pods. It is negative where these have not all been
    at their percentiles at once: the node counts with its own figure, a pod that leaves or comes with its own.
    """
    built, usage = model.problem, measured.usage
    extra = [name for name in model.columns if name in usage.names]
    more = _amounts([measured.of_pod(pod) or {} for pod in model.pods.tolist()], extra)
    load = _amounts([usage.by_node[node] for node in model.nodes.tolist()], extra)
    np.subtract.at(load, built.start, more)
    sizes = [built.capacity[:, model.columns[name]] * (1 if name == BASIC_RESOURCES[0] else 1000) for name in extra]
    capacity = np.array(sizes, dtype=np.int64).reshape(len(extra), built.machines).T
    larger = replace(
        built,
        usage=np.ascontiguousarray(np.hstack([built.usage, more])),
        capacity=np.ascontiguousarray(np.hstack([built.capacity, capacity])),
        base=np.ascontiguousarray(np.hstack([built.base, load])),
        reserved=np.ascontiguousarray(np.hstack([built.reserved, _headroom(capacity, measured.headroom)])),
        transient=np.append(built.transient, np.zeros(len(extra), dtype=bool)),
    )
    columns = {name: built.resources + number for number, name in enumerate(extra)}
    return replace(
        model,
        problem=larger,
        columns=model.columns | columns,
        measured=np.array(list(columns.values()), dtype=np.int64),
        of_pod=measured.of_pod,
    )


def _amounts(used: Sequence[Mapping[str, int]], names: Sequence[str]) -> IntArray:
    """Usage as the core counts it, int64[len(used), len(names)]."""
    amounts = [[each.get(name, 0) // _NANO_PER_MILLI for name in names] for each in used]
    return np.array(amounts, dtype=np.int64).reshape(len(used), len(names))


def _headroom(capacity: IntArray, percent: float) -> IntArray:
    """What no pod may take of each node."""
    kept: IntArray = np.ceil(capacity * (percent / 100)).astype(np.int64)
    return kept
