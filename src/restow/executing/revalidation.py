"""Whether a move is still valid on the newest state, checked just before the eviction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from msgspec import UNSET

from restow.cluster.pod_values import Phase, PodNow
from restow.descheduling.plan import Move
from restow.descheduling.protections import withheld
from restow.descheduling.vetoes import closed_now, node_veto_now, veto_now
from restow.executing.history import EvictionHistory
from restow.executing.surroundings import ClusterView, ExecutionSettings, closed, elapsed
from restow.executing.task import Task
from restow.kube.duration import SECOND
from restow.live.reading import PERMITTING
from restow.policies.codes import OutcomeCode
from restow.policies.policy import VetoSettings
from restow.workloads.groups import GroupKind, group_now

_LIVING = (Phase.PENDING, Phase.RUNNING)
#: Nodes named in a sentence.
_TOLD = 3


class Rejection(NamedTuple):
    """Why a task is not begun."""

    message: str
    code: OutcomeCode


def rejection(
    task: Task, view: ClusterView, memory: EvictionHistory, settings: ExecutionSettings, now: float
) -> Rejection | None:
    """Why a task is not begun at a time (seconds since the epoch), or not asked for again; None if it may be."""
    move, since_start = task.move, elapsed()
    asked: tuple[tuple[OutcomeCode, Callable[[], str | None]], ...] = (
        (OutcomeCode.UNKNOWN, lambda: unknown(task, view)),
        (OutcomeCode.GONE, lambda: gone(move, view)),
        (OutcomeCode.WINDOW, lambda: closed(settings.windows, now)),
        (OutcomeCode.REQUESTED, lambda: memory.requested(task, since_start)),
        (OutcomeCode.BACK_OFF, lambda: memory.reason_against(task, since_start)),
        (OutcomeCode.OPTED_OUT, lambda: withheld(view.opt_out(move.pod.namespace), settings.namespaces)),
        (OutcomeCode.VETOED, lambda: vetoed(move, view, settings.vetoes, now)),
        (OutcomeCode.NOT_READY, lambda: still_awaited(task, view, memory)),
        (OutcomeCode.STALE, lambda: stale(move, view)),
        (OutcomeCode.STALE, lambda: joined(task, view, settings.group_kinds)),
        (OutcomeCode.SURPLUS, lambda: surplus(task, view)),
        (OutcomeCode.NOT_READY, lambda: siblings_starting(task, view, now, settings.ready)),
    )
    return next((Rejection(message, code) for code, ask in asked if (message := ask()) is not None), None)


def unknown(task: Task, view: ClusterView) -> str | None:
    """Why it is not known whether the pod may be evicted: what restow knows of some kinds is too old. None if it is known."""
    return view.unknown((*PERMITTING, *_asked_by_proofs(task)))


def _asked_by_proofs(task: Task) -> tuple[str, ...]:
    """The kinds that a proven move was checked against. Others leave budgets to the API server and ignore Jobs."""
    if not task.is_proven:
        return ()
    of_job = task.owner is not None and task.owner.kind == "Job"
    return ("PodDisruptionBudget", "Job") if of_job else ("PodDisruptionBudget",)


def gone(move: Move, view: ClusterView) -> str | None:
    """Why there is nothing to evict any more; None if the pod is still there.

    A pod whose replacement comes first need not be deleted: KubeVirt leaves the launcher of a machine that has moved,
    with the phase Succeeded.
    """
    pod = view.pod(move.pod.namespace, move.pod.name)
    if pod is None:
        return "it is already gone"
    if pod.uid != move.pod.uid:
        return "it is already gone, and another pod has its name"
    if move.is_replaced_first and pod.phase in (Phase.SUCCEEDED, Phase.FAILED):
        return "it has ended"
    return "it is already being deleted" if pod.is_terminating else None


def stale(move: Move, view: ClusterView) -> str | None:
    """Why the plan is out of date for a pod that still exists; None if it is not."""
    pod = view.pod(move.pod.namespace, move.pod.name)
    if pod is not None and pod.node != move.source:
        return f"it is on {pod.node}, but the plan moves it from {move.source}"
    return _shut_out(move, view)


def joined(task: Task, view: ClusterView, kinds: Sequence[GroupKind]) -> str | None:
    """Why a pod may not move as planned: it has joined a group, or other pods have joined the one in which it was alone."""
    pod = view.pod(task.move.pod.namespace, task.move.pod.name) if task.is_proven else None
    group = None if pod is None else group_now(kinds, pod)
    if pod is None or group is None:
        return None
    if str(group) != task.group:
        return f"it belongs to {group} now, which does not move in parts"
    owner = task.owner if task.move.proposal is UNSET else None
    siblings = [] if owner is None else view.pods_of(pod.namespace, owner.uid)
    others = (each for each in siblings if each.uid != pod.uid and _counts(each))
    other = next((each for each in others if group_now(kinds, each) == group), None)
    return None if other is None else f"{other.namespace}/{other.name} has joined {group}, which does not move in parts"


def vetoed(move: Move, view: ClusterView, vetoes: VetoSettings, now: float) -> str | None:
    """Why another controller forbids a move by now, at a time in seconds since the epoch; None if none does.

    It may have started to only after the plan was made. Unproven moves ignore it.
    """
    pod = view.pod(move.pod.namespace, move.pod.name)
    if move.certainty is None or pod is None:
        return None
    return (
        veto_now(vetoes, pod, partial(view.pods_of, pod.namespace), int(now * SECOND))
        or node_veto_now(vetoes, view.node_row(move.source))
        or _closed_by_now(move, view, vetoes)
    )


def _closed_by_now(move: Move, view: ClusterView, vetoes: VetoSettings) -> str | None:
    """Why the replacement would land on a node that should receive nothing; None if one of its good candidates may."""
    good = [each for each in move.candidates if each not in move.in_vain]
    if not good or move.candidate_count > len(move.candidates):
        return None
    closed = [closed_now(vetoes, view.node_row(each)) for each in good]
    return f"{_listed(good)}, where it would land, {closed[0]}" if all(closed) else None


def surplus(task: Task, view: ClusterView) -> str | None:
    """Why no replacement would come: the controller has enough pods without this one; None if it has not.

    That lasts for as long as the controller has not seen the pod too many, or a rollout takes it down.
    """
    if not task.is_replaced or task.owner is None:
        return None
    wanted = view.replicas(task.move.pod.namespace, task.owner)
    others = sum(
        _counts(pod) for pod in view.pods_of(task.move.pod.namespace, task.owner.uid) if pod.uid != task.move.pod.uid
    )
    if wanted is None or others < wanted:
        return None
    return f"{task.owner.kind} {task.owner.name} has {others} of {wanted} replicas without it: none would be created"


def _counts(pod: PodNow) -> bool:
    """Whether a ReplicaSet counts a pod. Source: Kubernetes 1.36, IsPodActive."""
    return not pod.is_terminating and pod.phase not in (Phase.SUCCEEDED, Phase.FAILED)


def still_awaited(task: Task, view: ClusterView, memory: EvictionHistory) -> str | None:
    """Why a workload must wait for its last replacement, which was not ready in time; None if that is ready now or gone."""
    awaited = memory.awaited(task)
    if awaited is None:
        return None
    pod = view.pod(awaited.namespace, awaited.name)
    if pod is None or pod.uid != awaited.uid or pod.is_terminating or is_there(pod):
        memory.arrived(task)
        return None
    return f"the last replacement of its workload, {awaited.namespace}/{awaited.name}, is still not ready"


def is_there(pod: PodNow) -> bool:
    """Whether a pod is ready on a node, or has done its work."""
    return pod.phase == Phase.SUCCEEDED or (pod.node is not None and pod.is_ready)


def _shut_out(move: Move, view: ClusterView) -> str | None:
    candidates = move.candidates
    # Of very many candidates not all are known.
    if not candidates or move.candidate_count > len(candidates) or any(map(view.takes_pods, candidates)):
        return None
    return f"{_listed(candidates)}, where it would land, no longer accept{'s' if len(candidates) == 1 else ''} pods"


def _listed(names: Sequence[str]) -> str:
    more = [f"{len(names) - _TOLD} more"] if len(names) > _TOLD else []
    return ", ".join([*names[:_TOLD], *more])


def siblings_starting(task: Task, view: ClusterView, now: float, patience: float) -> str | None:
    """Why a pod must wait for other pods of its controller that are starting; None if it need not.

    ``patience`` (seconds) is how long a new pod may take to become ready. This also respects replacements for which an
    earlier process of restow waited, so a restart never makes a second replica unavailable.
    """
    if task.owner is None or not task.is_replaced:
        return None
    starting = [
        pod for pod in view.pods_of(task.move.pod.namespace, task.owner.uid) if _is_starting(pod, task, now, patience)
    ]
    if len(starting) < task.limit:
        return None
    return (
        f"{len(starting)} of {task.owner.kind} {task.owner.name}'s pods are not ready yet, such as {starting[0].name}"
    )


def _is_starting(pod: PodNow, task: Task, now: float, patience: float) -> bool:
    is_young = now - pod.created / SECOND < patience
    living = pod.phase in _LIVING and not pod.is_terminating and not pod.is_ready
    return is_young and living and pod.uid != task.move.pod.uid
