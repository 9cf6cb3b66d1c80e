"""Remove all gates and fences of steering, and stop gating new pods: for a cluster where no restow runs any more."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from restow.client.errors import Conflict, NotFound
from restow.client.transport import Api
from restow.cluster.pods_now import PodNow
from restow.cluster.snapshot import ClusterStore
from restow.errors import ClientError
from restow.executing.fencing import remove
from restow.executing.releasing import for_each, release
from restow.executing.steering import CONFIG_MAP, clear
from restow.live.reading import read_kinds

#: The API server may still gate pods just after the ConfigMap is emptied, so pods are listed again until none is gated:
#: how often at most, and the pause before each (seconds).
_LOOKS: Final = 5
_PAUSE: Final = 1.0


@dataclass(slots=True)
class Released:
    """The result of a release."""

    #: A sentence about the ConfigMap.
    entries: str
    #: namespace/name of the pods that are no longer gated.
    pods: list[str] = field(default_factory=list)
    #: Why pods and nodes could not be released, one sentence each.
    failures: list[str] = field(default_factory=list)
    #: The nodes that were fenced.
    nodes: list[str] = field(default_factory=list)


async def release_all(api: Api, namespace: str) -> Released:
    """Empty the ConfigMap in the namespace, release all gated pods, and remove all fences.

    ClientError if nothing can be done.
    """
    released = Released(await _emptied(api, namespace))
    for look in range(_LOOKS):
        gated = await _gated(api)
        if look and not gated:
            break
        released.failures.clear()
        await for_each(gated, partial(_let_go, api, released), math.inf)
        await asyncio.sleep(_PAUSE)
    await _unfence(api, released)
    return released


async def _unfence(api: Api, released: Released) -> None:
    """Remove fences until none is left: a list may be out of date."""
    try:
        await _open(api, released)
    except ClientError as error:
        released.failures.append(f"nodes may still be fenced: {error}")


async def _open(api: Api, released: Released) -> None:
    problems: list[str] = []
    for _ in range(_LOOKS):
        fences = (await _read(api, "Node")).fences()
        if not fences:
            return
        problems = await remove(api, fences)
        released.nodes = sorted({*released.nodes, *(each.name for each in fences)})
    left = {each.name for each in (await _read(api, "Node")).fences()}
    released.nodes = [name for name in released.nodes if name not in left]
    released.failures += problems or [f"{name} is still fenced: somebody fences it again" for name in sorted(left)]


async def _emptied(api: Api, namespace: str) -> str:
    where = f"ConfigMap {namespace}/{CONFIG_MAP}"
    try:
        await clear(api, namespace)
    except NotFound:
        return f"there is no {where}: no new pods are gated"
    return f"{where} is empty: no new pods are gated"


async def _gated(api: Api) -> list[PodNow]:
    return (await _read(api, "Pod")).gated()


async def _read(api: Api, kind: str) -> ClusterStore:
    store = ClusterStore()
    await read_kinds(api, (kind,), store)
    return store


async def _let_go(api: Api, released: Released, pod: PodNow) -> None:
    name = f"{pod.namespace}/{pod.name}"
    try:
        await release(api, pod)
    except (NotFound, Conflict):
        return
    except ClientError as error:
        released.failures.append(f"{name} is still gated: {error}")
    else:
        released.pods.append(name)
