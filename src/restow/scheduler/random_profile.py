"""A scheduler in sixty lines: each pod that names it goes to a random ready node, whether it fits there or not."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from random import Random
from typing import Any

from restow.client.binding import BindingRefused, BindingUnanswered, Outcome, bind
from restow.client.listing import Selection
from restow.client.objects import ObjectRef
from restow.client.resources import RESOURCES
from restow.client.transport import Api, Permit
from restow.client.watching import Changed, Listed, Removed, follow
from restow.kube.objects import ABSENT, Node, Pod

OnBinding = Callable[[ObjectRef, str, Outcome], None]


async def schedule_at_random(api: Api, name: str, chance: Random, permit: Permit, on_binding: OnBinding) -> None:
    """Bind the pods that name this scheduler until cancelled; ``on_binding`` is called with each pod's node and the outcome."""
    nodes, pods, changed = dict[str, Node](), dict[str, Pod](), asyncio.Event()
    # Only the pods that name it and have no node: it never sees pods of other schedulers, and what it has bound leaves
    # the selection.
    waiting = Selection(fields=f"spec.schedulerName={name},spec.nodeName=,status.phase=Pending")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_keep(nodes, api, "Node", Selection(), changed))
        tasks.create_task(_keep(pods, api, "Pod", waiting, changed))
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(1):  # After a second, what was refused is tried again.
                    await changed.wait()
            changed.clear()
            ready = sorted(node.metadata.name for node in nodes.values() if _takes_pods(node))
            for pod in [each for each in pods.values() if ready and each.spec.scheduling_gates is ABSENT]:
                ref, node = ObjectRef(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid), chance.choice(ready)
                on_binding(ref, node, outcome := await bind(api, ref, node, permit=permit))
                if not isinstance(outcome, BindingRefused | BindingUnanswered):
                    pods.pop(ref.uid, None)


async def _keep(known: dict[str, Any], api: Api, kind: str, which: Selection, changed: asyncio.Event) -> None:
    """Keep the objects of a kind, by uid, as the API server has them."""
    async with aclosing(follow(api, RESOURCES[kind], which)) as events:
        async for event in events:
            match event:
                case Listed(objects, first):
                    if first:
                        known.clear()
                    known.update({each.metadata.uid: each for each in objects if isinstance(each, Node | Pod)})
                case Changed(Node() | Pod() as found):
                    known[found.metadata.uid] = found
                case Removed(Node() | Pod() as found):
                    known.pop(found.metadata.uid, None)
            changed.set()


def _takes_pods(node: Node) -> bool:
    ready = any(each.type == "Ready" and each.status == "True" for each in node.status.conditions or ())
    return ready and not node.spec.unschedulable
