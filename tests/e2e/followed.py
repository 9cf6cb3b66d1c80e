"""All objects of a kind, as they are after each change, for programs of tests that follow a cluster.

    async for pods in followed(api, PODS):
        ...  # objects by uid

Survives restarts of the API server, as ``restow.client.watching`` does.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from typing import Any

from builders import Object
from restow.client.listing import EVERYTHING, Selection
from restow.client.resources import ApiResource
from restow.client.transport import Api
from restow.client.watching import Changed, Listed, Removed, follow

NODES = ApiResource("Node", "", "v1", "nodes", namespaced=False, type=dict[str, Any])
PODS = ApiResource("Pod", "", "v1", "pods", namespaced=True, type=dict[str, Any])
ENDPOINT_SLICES = ApiResource(
    "EndpointSlice", "discovery.k8s.io", "v1", "endpointslices", namespaced=True, type=dict[str, Any]
)


async def followed(
    api: Api, resource: ApiResource, selection: Selection = EVERYTHING
) -> AsyncGenerator[Mapping[str, Object], None]:
    """The objects by uid after the first list and after each change; each mapping is a new one."""
    known: dict[str, Object] = {}
    async with aclosing(follow(api, resource, selection)) as events:
        async for event in events:
            match event:
                case Listed(objects=objects, first=first, last=last):
                    known = ({} if first else known) | _by_uid(objects)
                    if not last:
                        continue
                case Changed(object=found):
                    known = known | _by_uid([found])
                case Removed(object=found):
                    gone = found["metadata"]["uid"]
                    known = {uid: each for uid, each in known.items() if uid != gone}
                case _:
                    continue
            yield known


def _by_uid(objects: Iterable[Object]) -> dict[str, Object]:
    return {each["metadata"]["uid"]: each for each in objects}
