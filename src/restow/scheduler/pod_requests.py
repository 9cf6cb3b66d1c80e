"""What a scheduler requests from the API server for one pod: its binding, deletions of victims, conditions, its volumes.

A binding whose response is lost may have taken effect. It is requested again, which is safe, and the pod is read until
the outcome is known; until then the pod keeps its place in the state, so that no other pod gets it.

Volumes are bound before the pod is. A claim that waits for its first consumer gets its volume once a node
is decided: an existing volume is reserved for the claim, and the volume controller binds the two; otherwise the claim
names the node, and its provisioner creates the volume. Source: PreBind of VolumeBinding, Kubernetes 1.36.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct

from restow.client import objects
from restow.client.binding import (
    BindingRefused,
    BindingUnanswered,
    Bound,
    Elsewhere,
    Outcome,
    PodGone,
    Said,
    StatusChange,
    bind,
    claim_volume,
    preempt,
    scheduler_error,
    select_node,
    unschedulable,
    write_group_status,
    write_status,
)
from restow.client.errors import Conflict, NotFound, NotPermitted
from restow.client.flow_control import BackOff
from restow.client.objects import ObjectRef, find
from restow.client.resources import RESOURCES
from restow.client.transport import Api, Permit
from restow.cluster.snapshot import Key
from restow.errors import ClientError
from restow.kube.objects import ObjectReference, PersistentVolumeClaim, PodGroup
from restow.live.cluster import LiveCluster
from restow.scheduler.attempts import AttemptObserver, RunningAttempt, ref_of
from restow.scheduling.cycle.actions import MarkGroup, MarkUnschedulable
from restow.scheduling.volumes.storage import Reservation, annotations_of, is_bound

#: The pause between two reads of a pod whose binding is uncertain.
_PATIENCE: Final = BackOff(first=1.0, cap=10.0, jitter=0.2)


@dataclass(slots=True)
class PodRequests:
    """Makes the requests of one scheduler."""

    api: Api
    live: LiveCluster
    observer: AttemptObserver
    #: The last condition written for each pod, by uid.
    _conditions: dict[str, Said] = field(default_factory=dict)

    async def bind(self, pod: ObjectRef, node: str, permit: Permit) -> Bound | Elsewhere | PodGone | BindingRefused:
        """Bind a pod to a node, and return when the outcome is known."""
        tries = 0
        while True:
            if not await self._is_there(node):
                return BindingRefused(f'node "{node}" is gone')
            outcome = await self._ask(pod, node, permit)
            if not isinstance(outcome, BindingUnanswered):
                self._conditions.pop(pod.uid, None)
                return outcome
            tries += 1
            await asyncio.sleep(_PATIENCE.wait(tries))
            seen = self._seen(pod, node)
            if seen is not None:
                return seen

    async def announce(self, pod: ObjectRef, node: str, permit: Permit) -> None:
        """Write to a pod's status, as the nominated node, where it will be bound, for autoscalers; a failure does not matter.

        Source: NominatedNodeNameForExpectation, Kubernetes 1.35.
        """
        await self._write(pod, StatusChange(nominated_node=node), permit)

    async def reject(self, trial: RunningAttempt, rejection: MarkUnschedulable, permit: Permit) -> str:
        """Delete the victims, and write to the pod's status why it waits; returns what went wrong with the victims, or ""."""
        problem = await self._preempt(trial, rejection, permit) if rejection.victims else ""
        for each in rejection.outranked:
            await self._write(ref_of(each), StatusChange(nominated_node=""), permit)
        say = scheduler_error if rejection.is_error else unschedulable
        condition, known = say(rejection.message), self._conditions.get(trial.pod.uid)
        change = StatusChange(condition=condition, known=known, nominated_node=rejection.nominated_node)
        if await self._write(trial.pod, change, permit):
            self._conditions[trial.pod.uid] = condition
        return problem

    async def mark_group(self, mark: MarkGroup, permit: Permit) -> None:
        """Write to a PodGroup's status whether its pods get nodes, unless it says so already, or says that they did."""
        group: PodGroup | None = self.live.store.other("PodGroup", *mark.group)
        reason = "Scheduled" if mark.is_placed else "SchedulerError" if mark.is_error else "Unschedulable"
        said = Said(mark.condition, str(mark.is_placed), reason, mark.message)
        if group is None or _says(group, said):
            return
        ref = ObjectRef(group.metadata.namespace, group.metadata.name, group.metadata.uid)
        try:
            await write_group_status(self.api, ref, said, self.api.server_time.now(), permit=permit)
        except (NotFound, Conflict, NotPermitted):
            return
        except ClientError as error:
            self.observer.warn(f"the status of PodGroup {ref.namespace}/{ref.name} was not written: {error}")

    def forget(self, uid: str) -> None:
        """Forget a pod that is gone or has a node."""
        self._conditions.pop(uid, None)

    async def _is_there(self, node: str) -> bool:
        """Whether a node exists, for the API server binds pods to any name; it is asked if the watch may be behind."""
        if self.live.store.node(node) is None:
            return False
        if self.live.is_interrupted("Node"):
            try:
                await find(self.api, RESOURCES["Node"], "", node)
            except NotFound:
                return False
            except ClientError:
                # Nor will it bind the pod.
                return True
        return True

    async def _ask(self, pod: ObjectRef, node: str, permit: Permit) -> Outcome:
        try:
            return await bind(self.api, pod, node, permit=permit)
        except NotPermitted as error:
            return BindingRefused(str(error))
        except ClientError as error:
            return BindingRefused(str(error))

    def _seen(self, pod: ObjectRef, node: str) -> Bound | Elsewhere | PodGone | None:
        """What the watch shows of a pod; None if nothing new."""
        seen = self.live.pod(pod.namespace, pod.name)
        if seen is None or seen.uid != pod.uid:
            return PodGone("the pod is gone")
        if seen.node is None:
            return None
        return Bound() if seen.node == node else Elsewhere(seen.node, f'the pod is bound to node "{seen.node}"')

    async def _preempt(self, trial: RunningAttempt, rejection: MarkUnschedulable, permit: Permit) -> str:
        profile, now = trial.queued.pod.scheduler, self.api.server_time.now()
        victims = [ref_of(each) for each in rejection.victims]
        self.observer.preempted(trial.pod, profile, rejection.nominated_node or "", victims)
        for victim in victims:
            try:
                await preempt(self.api, victim, profile, now, permit=permit)
            except ClientError as error:
                return f"preempting {victim.namespace}/{victim.name}: {error}"
        return ""

    async def _write(self, pod: ObjectRef, change: StatusChange, permit: Permit) -> bool:
        """Write a pod's status; whether it says so now."""
        try:
            await write_status(self.api, pod, change, self.api.server_time.now(), permit=permit)
        except (NotFound, Conflict, NotPermitted):
            return False
        except ClientError as error:
            self.observer.warn(f"the status of pod {pod.namespace}/{pod.name} was not written: {error}")
            return False
        return True


def _says(group: PodGroup, said: Said) -> bool:
    """Whether a PodGroup says something already, or that its pods got nodes, which stays true."""
    found = next((each for each in group.status.conditions or () if each.type == said.type), None)
    if found is None:
        return False
    return found.status == "True" or (found.status, found.reason, found.message) == (
        said.status,
        said.reason,
        said.message,
    )


_CLAIM, _VOLUME = "PersistentVolumeClaim", "PersistentVolume"


class _Meta(Struct, frozen=True, rename="camel"):
    uid: str = ""
    resource_version: str = ""


class _Spec(Struct, frozen=True, rename="camel"):
    claim_ref: ObjectReference | None = None


class _Found(Struct, frozen=True):
    """A claim or a volume as it is now."""

    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()


class _VolumeError(Exception):
    """Why a pod cannot get its volumes on its node."""


@dataclass(slots=True)
class Volumes:
    """Binds the volumes of one scheduler's pods."""

    api: Api
    live: LiveCluster
    #: Claims whose annotation names the selected node already.
    _selected: set[Key] = field(default_factory=set)

    async def prepare(self, pod: ObjectRef, node: str, needs: Reservation, patience: float, permit: Permit) -> str:
        """Have the claims of a pod bound within ``patience`` seconds; returns why that failed, or ""."""
        claims = {*needs.taken.values(), *needs.selected}
        try:
            for volume, claim in needs.taken.items():
                await self._take(volume, claim, permit)
            for claim in needs.selected:
                await self._select(claim, node, permit)
            deadline = asyncio.get_running_loop().time() + patience
            if not await self.live.wait_for(lambda: self._are_bound(pod, node, claims), deadline):
                return f"binding volumes: {_names(claims)} not bound within {patience:.0f} s"
        except _VolumeError as problem:
            return f"binding volumes: {problem}"
        except ClientError as error:
            return f"binding volumes: {error}"
        finally:
            self._selected -= claims
        return ""

    async def _take(self, volume: str, key: Key, permit: Permit) -> None:
        """Reserve an existing volume for a claim, unless another claim has it."""
        claim = self._claim(key)
        found = await objects.get(self.api, RESOURCES[_VOLUME], "", volume, _Found)
        holder = found.spec.claim_ref
        if holder is not None and (holder.namespace, holder.name) != key:
            raise _VolumeError(f'persistentvolume "{volume}" was taken by {holder.namespace}/{holder.name}')
        if holder is None or not holder.uid:
            meta = found.metadata
            reserved = ObjectRef("", volume, meta.uid, meta.resource_version)
            await claim_volume(self.api, reserved, ObjectRef(*key, claim.metadata.uid), permit=permit)

    async def _select(self, key: Key, node: str, permit: Permit) -> None:
        """Have a volume provisioned for a claim, unless that was requested already."""
        claim = self._claim(key)
        if is_bound(claim) or annotations_of(claim).selected_node == node:
            return
        await select_node(self.api, ObjectRef(*key, claim.metadata.uid), node, permit=permit)

    def _are_bound(self, pod: ObjectRef, node: str, claims: set[Key]) -> bool:
        """Whether all claims are bound; _VolumeError where they will not be any more."""
        now = self.live.pod(pod.namespace, pod.name)
        if now is None or now.uid != pod.uid or now.is_terminating:
            raise _VolumeError("the pod is gone")
        if self.live.store.node(node) is None:
            raise _VolumeError(f'node "{node}" is gone')
        return not list(self._missing(node, claims))

    def _missing(self, node: str, claims: set[Key]) -> Iterator[Key]:
        for key in sorted(claims):
            claim = self._claim(key)
            if is_bound(claim) and self.live.store.other(_VOLUME, "", claim.spec.volume_name) is not None:
                continue
            selected = annotations_of(claim).selected_node
            if selected == node:
                self._selected.add(key)
            elif key in self._selected:
                raise _VolumeError(f"no volume can be made for {'/'.join(key)} on node {node}")
            yield key

    def _claim(self, key: Key) -> PersistentVolumeClaim:
        claim: PersistentVolumeClaim | None = self.live.store.other(_CLAIM, *key)
        if claim is None:
            raise _VolumeError(f'persistentvolumeclaim "{key[1]}" not found')
        return claim


def _names(claims: set[Key]) -> str:
    return ", ".join("/".join(key) for key in sorted(claims))
