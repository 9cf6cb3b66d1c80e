"""StatefulSet: one pod for each ordinal, which keeps its name.

A name is taken until the old pod has vanished, so a pod comes again only after it, and one that is over is deleted
first. ``podManagementPolicy: OrderedReady`` creates pods one after the other, each when all before it are ready, and
takes them away from the highest ordinal down; ``Parallel`` does not wait. Source: StatefulSet controller, Kubernetes
1.36.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from restow.cluster.pod_values import Phase
from restow.kube.objects import Workload
from restow.workloads.controlled_pods import BURST, NOTHING, Actions, ControlledPod, NewPod

KIND = "StatefulSet"
_PARALLEL = "Parallel"
_NAME = re.compile(r"(?P<name>.*)-(?P<ordinal>[0-9]{1,10})")


def stateful_set(workload: Workload, pods: Sequence[ControlledPod]) -> Actions:
    """What the controller does now; pods whose name has no ordinal are not looked at."""
    spec = workload.spec
    first = spec.ordinals.start if spec.ordinals is not None else 0
    wanted = range(first, first + (1 if spec.replicas is None else spec.replicas))
    known = dict(_by_ordinal(workload.metadata.name, pods))
    ordered = spec.pod_management_policy != _PARALLEL
    surplus = sorted(ordinal for ordinal in known if ordinal not in wanted)
    if not ordered:
        return _all_at_once(wanted, known, surplus)
    for ordinal in wanted:
        step = _next_step(ordinal, known.get(ordinal))
        if step is not None:
            return step
    return _shrink([known[ordinal] for ordinal in surplus])


def ordinal_of(name: str, pod: str) -> int | None:
    """The ordinal of a pod of a StatefulSet by their names; None if the pod's name is not of that kind."""
    found = _NAME.fullmatch(pod)
    return int(found["ordinal"]) if found and found["name"] == name else None


def _by_ordinal(name: str, pods: Sequence[ControlledPod]) -> Iterator[tuple[int, ControlledPod]]:
    for pod in pods:
        ordinal = ordinal_of(name, pod.name)
        if ordinal is not None:
            yield ordinal, pod


def _all_at_once(wanted: range, known: Mapping[int, ControlledPod], surplus: Iterable[int]) -> Actions:
    missing = (NewPod(index=ordinal) for ordinal in wanted if ordinal not in known)
    over = (known[ordinal] for ordinal in sorted(known) if ordinal in wanted and known[ordinal].is_over)
    delete = [pod for pod in (*over, *(known[each] for each in surplus)) if not pod.terminating]
    return Actions(list(islice(missing, BURST)), delete[:BURST])


def _next_step(ordinal: int, pod: ControlledPod | None) -> Actions | None:
    """What is done, maybe only waited for, before the next ordinal; None where the pod is as it should be."""
    if pod is None:
        return Actions(create=[NewPod(index=ordinal)])
    if pod.is_over and not pod.terminating:
        return Actions(delete=[pod])
    return None if _is_healthy(pod) else NOTHING


def _shrink(surplus: Sequence[ControlledPod]) -> Actions:
    """Take one pod away, the last of those that are too many; if it is not healthy, only where no other is."""
    if not surplus or any(pod.terminating for pod in surplus):
        return NOTHING
    last = surplus[-1]
    unhealthy = [pod for pod in surplus if not _is_healthy(pod)]
    return Actions(delete=[last]) if _is_healthy(last) or unhealthy[0] is last else NOTHING


def _is_healthy(pod: ControlledPod) -> bool:
    return pod.phase is Phase.RUNNING and pod.ready and not pod.terminating
