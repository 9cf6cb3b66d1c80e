"""Evictions that are asked for only once the API server has confirmed the replacement (``--confirm-replacements``).

A plan assumes what the replacement requests. Webhooks and policies may make another pod of it, or refuse it, and no dump
shows that. So the next pod of the controller is created in a dry run first, and what the scheduler would read of it is
compared with what the plan assumes. A pod whose eviction is asked for again is not confirmed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from restow.client import eviction
from restow.client.dry_creation import KINDS, created, why_refused
from restow.client.errors import ClientError, Forbidden, NotFound
from restow.client.transport import Api
from restow.cluster.pod_classes import Aspect, columns_of
from restow.cluster.pod_reading import STEERING_GATE
from restow.cluster.pod_store import PodStore
from restow.errors import InputError
from restow.executing.surroundings import Evicting
from restow.executing.task import Task
from restow.kube.objects import Pod

#: The API's names of what the columns of a pod hold.
_FIELDS: Final = {
    "labels": "metadata.labels",
    "resources": "resources",
    "tolerations": "spec.tolerations",
    "rules": "spec.nodeSelector or spec.affinity",
    "spread": "spec.topologySpreadConstraints",
    "images": "containers[].image",
    "init_images": "initContainers[].image",
    "volume_images": "volumes[].image",
    "ports": "hostPort",
    "schedulers": "spec.schedulerName",
    "gates": "spec.schedulingGates",
    "volumes": "spec.volumes",
}


@dataclass(slots=True)
class ConfirmedEvictions:
    """An ``Evicting`` that has replacements confirmed first; one for each plan."""

    evicting: Evicting
    api: Api
    #: The moves (their numbers) whose replacements are as planned.
    _confirmed: set[int] = field(default_factory=set, init=False)

    async def evict(self, task: Task) -> eviction.Outcome:
        """What the other one answers; Unconfirmed, and nothing was asked for, where the replacement would be another pod."""
        if task.number not in self._confirmed:
            problem = await self._problem(task)
            if problem is not None:
                return eviction.Unconfirmed(problem)
            self._confirmed.add(task.number)
        return await self.evicting.evict(task)

    async def _problem(self, task: Task) -> str | None:
        """Why the replacement is not confirmed; None if it is, or if none is to come or its kind cannot be asked about."""
        if task.owner is None or not task.is_replaced or task.owner.kind not in KINDS:
            return None
        try:
            pod = await created(self.api, task.move.pod.namespace, task.owner)
        except NotFound:
            return f"its {task.owner.kind} {task.owner.name} is gone"
        except Forbidden as error:
            return f"its replacement would be refused: {why_refused(error)}"
        except ClientError as error:
            return f"its replacement is not confirmed: {error}"
        return difference(task.replacement, pod)


def difference(planned: Mapping[str, Any], pod: Pod) -> str | None:
    """What the scheduler would read otherwise of a pod than a plan assumes; None if nothing."""
    store = PodStore()
    try:
        store.add((pod,))
    except InputError as error:
        return f"its replacement cannot be read: {error}"
    made = store.values(pod.metadata.namespace, pod.metadata.name) or {}
    found = list(_differences(planned, made))
    return f"its replacement would not be as planned: {'; '.join(found)}" if found else None


def _differences(planned: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[str]:
    for column in columns_of(Aspect.SCHEDULING):
        if column not in planned:
            continue
        before, now = planned[column], made[column]
        if column == "gates":
            before, now = ([each for each in gates if each != STEERING_GATE] for gates in (before, now))
        if column == "tolerations":
            before, now = set(before), set(now)
        if before != now and column == "resources":
            yield f"it would request {_amounts(now)}, not {_amounts(before)}"
        elif before != now:
            yield f"its {_FIELDS.get(column, column)} would differ"


def _amounts(resources: Any) -> str:
    """Amounts as ``cluster.amounts`` has them: CPU in milli."""
    units = {"cpu": "m"}
    asked = [f"{name} {amount}{units.get(name, '')}" for name, amount in sorted(resources.requests.items())]
    return ", ".join(asked) or "nothing"
