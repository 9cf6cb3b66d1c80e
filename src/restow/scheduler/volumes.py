"""The volumes of a pod, bound before the pod is: existing ones are claimed, the others are provisioned for its node.

A claim with ``volumeBindingMode: WaitForFirstConsumer`` gets its volume once a node is decided. An existing volume is
reserved for the claim, and the volume controller binds the two; otherwise the claim names the node, and its provisioner
creates the volume. The pod is bound when all of its claims are.
Source: PreBind of VolumeBinding, Kubernetes 1.36.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec import Struct

from restow.client import objects
from restow.client.binding import ObjectRef, claim_volume, select_node
from restow.client.leadership import Permit
from restow.client.resources import RESOURCES
from restow.client.transport import Api
from restow.cluster.snapshot import Key
from restow.errors import ClientError
from restow.kube.objects import ObjectReference, PersistentVolumeClaim
from restow.live.cluster import LiveCluster
from restow.scheduling.volumes.reservations import Reservation
from restow.scheduling.volumes.storage import annotations_of, is_bound

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
