"""What a kubelet writes to the API server, again and again until it is taken."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

from builders import Object
from e2e.followed import NODES, PODS
from e2e.rest import name_of
from restow.client.errors import Conflict, NotFound, ServerTrouble, TooManyRequests, Unreachable
from restow.client.transport import Api, Call

_PATCH = "application/strategic-merge-patch+json"
#: Seconds until a write is tried again while the API server is away.
_AGAIN = 0.2


@dataclass(slots=True, frozen=True)
class KubeletWrites:
    """Each returns when the API server has taken the write, or the object is gone or another one of that name."""

    api: Api

    async def patch_node(self, node: Object, status: Object) -> None:
        """Change the status of a node."""
        await self._patch(NODES.path("", name_of(node), "status"), node, status)

    async def patch_pod(self, pod: Object, status: Object) -> None:
        """Change the status of a pod."""
        await self._patch(_path(pod, "status"), pod, status)

    async def delete_pod(self, pod: Object) -> None:
        """Remove a pod at once: its processes are gone."""
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        await self._insist(Call("DELETE", _path(pod), body=json.dumps(options).encode()))

    async def _patch(self, path: str, thing: Object, status: Object) -> None:
        body = json.dumps({"metadata": {"uid": thing["metadata"]["uid"]}, "status": status}).encode()
        await self._insist(Call("PATCH", path, body=body, content_type=_PATCH))

    async def _insist(self, call: Call) -> None:
        while True:
            try:
                await self.api.send(call)
            except (NotFound, Conflict):
                return
            except (Unreachable, TooManyRequests, ServerTrouble):
                await asyncio.sleep(_AGAIN)
            else:
                return


def _path(pod: Object, part: str = "") -> str:
    return PODS.path(pod["metadata"]["namespace"], name_of(pod), part)
