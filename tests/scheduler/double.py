"""An API server that binds, as far as a scheduler goes, with whatever can go wrong; and kubelets, in virtual time."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from builders import Object, a_pod
from live.apiserver import ApiServer, now, serving
from restow.client.objects import ObjectRef
from restow.client.transport import Api, Permit, always
from restow.scheduler.attempts import Attempt, AttemptObserver
from restow.scheduler.daemon import SchedulerDaemon
from restow.scheduler.settings import SchedulerSettings

_NODE = re.compile(r"/api/v1/nodes/([^/]+)")
_STORAGE = re.compile(r"/api/v1/(?:namespaces/([^/]+)/)?(persistentvolumeclaims|persistentvolumes)/([^/]+)")
_STORAGE_KINDS = {"persistentvolumeclaims": "PersistentVolumeClaim", "persistentvolumes": "PersistentVolume"}
_POD = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)(?:/(binding|status))?")
_VERSIONS = ("uid", "resourceVersion")
#: The answer is lost after the request was carried out, or before; None lets it pass, a number refuses it.
AFTER, BEFORE = "after", "before"
Trouble = Callable[[str], int | str | None]


@dataclass
class Binding:
    """A pod that was bound."""

    uid: str
    name: str
    node: str
    #: Virtual seconds.
    at: float


@dataclass
class SchedulingServer(ApiServer):
    """Serves all that a scheduler asks for, and keeps what it was asked."""

    bindings: list[Binding] = field(default_factory=list)
    #: Is told of each write: ``binding``, ``status`` or ``delete``.
    trouble: Trouble = lambda _: None
    #: Seconds until a request is carried out.
    latency: float = 0.01
    #: Seconds between the deletion of a pod and its end.
    grace: float = 0.5
    #: What was written to which pod, in order.
    written: list[tuple[str, str]] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer anything."""
        if node := _NODE.fullmatch(request.path):
            found = self.objects["Node"].get(("", node[1]))
            return _status(404, "not found") if found is None else web.json_response(found)
        if stored := _STORAGE.fullmatch(request.path):
            return await self._storage(request, _STORAGE_KINDS[stored[2]], (stored[1] or "", stored[3]))
        named = _POD.fullmatch(request.path)
        if named is None:
            return await super().handle(request)
        return await self._pod(request, (named[1], named[2]), named[3] or request.method.lower())

    async def _pod(self, request: web.Request, key: tuple[str, str], what: str) -> web.Response:
        """Get a pod or write to it, unless that goes wrong."""
        body = json.loads(await request.text() or "{}")
        await asyncio.sleep(self.latency)
        trouble = None if what == "get" else self.trouble(what)
        if trouble == BEFORE or self.dead:
            return _cut(request)
        if isinstance(trouble, int):
            return _status(trouble, "trouble")
        if what != "get":
            self.written.append((what, key[1]))
        answer = self._answer(what, key, body)
        return _cut(request) if trouble == AFTER else answer

    async def _storage(self, request: web.Request, kind: str, key: tuple[str, str]) -> web.Response:
        """Get a claim or a volume, or merge a change of its annotations or its claim."""
        body = json.loads(await request.text() or "{}")
        await asyncio.sleep(self.latency)
        found = self.objects[kind].get(key)
        if found is None:
            return _status(404, "not found")
        if request.method == "PATCH":
            asked = body["metadata"]
            if any(asked.get(each, found["metadata"][each]) != found["metadata"][each] for each in _VERSIONS):
                return _status(409, "the object has been modified")
            self.written.append((kind, key[1]))
            annotations = found["metadata"].get("annotations", {}) | asked.get("annotations", {})
            self.change(kind, key[1], "metadata", key[0], annotations=annotations)
            self.change(kind, key[1], "spec", key[0], **body.get("spec", {}))
        return web.json_response(self.objects[kind][key])

    def pod(self, name: str, namespace: str = "default") -> Object:
        """A pod as it is."""
        return self.objects["Pod"][namespace, name]

    def create(self, name: str, **features: Any) -> None:
        """A new pod, with a uid of its own."""
        self.put("Pod", a_pod(name, uid=f"{name}-{self.version}", **features))

    def change(self, kind: str, name: str, part: str, namespace: str = "", **fields: Any) -> None:
        """Change some fields of a part of an object; None removes one."""
        changed = deepcopy(self.objects[kind][namespace, name])
        merged = changed.get(part, {}) | fields
        changed[part] = {field: value for field, value in merged.items() if value is not None}
        self.put(kind, changed)

    def nodes_of(self) -> dict[str, str | None]:
        """The node of each pod, by name."""
        return {name: each["spec"].get("nodeName") for (_, name), each in self.objects["Pod"].items()}

    def _answer(self, what: str, key: tuple[str, str], body: Object) -> web.Response:
        pod = self.objects["Pod"].get(key)
        if pod is None:
            return _status(404, f'pods "{key[1]}" not found')
        uid = pod["metadata"]["uid"]
        asked = body.get("preconditions" if what == "delete" else "metadata", {})
        if asked.get("uid", uid) != uid:
            return _status(409, "the UID in the precondition does not match")
        match what:
            case "binding":
                return self._bind(key, pod, body["target"]["name"])
            case "status":
                self._write_status(key, pod, body["status"])
            case "delete":
                self._terminate(key, uid)
        return web.json_response(self.objects["Pod"][key])

    def _bind(self, key: tuple[str, str], pod: Object, node: str) -> web.Response:
        if (
            pod["metadata"].get("deletionTimestamp")
            or pod["spec"].get("nodeName")
            or pod["spec"].get("schedulingGates")
        ):
            return _status(409, f"pod {key[1]} is being deleted, gated or assigned to a node already")
        self.bindings.append(Binding(pod["metadata"]["uid"], key[1], node, now()))
        self.change("Pod", key[1], "status", key[0], nominatedNodeName=None)
        self.change("Pod", key[1], "spec", key[0], nodeName=node)
        return _status(201, "")

    def _write_status(self, key: tuple[str, str], pod: Object, given: Object) -> None:
        conditions = pod.get("status", {}).get("conditions", ())
        types = {each["type"] for each in given.get("conditions", ())}
        kept = [each for each in conditions if each["type"] not in types]
        merged = {"conditions": [*kept, *given.get("conditions", ())]}
        self.change("Pod", key[1], "status", key[0], **(given | merged))

    def _terminate(self, key: tuple[str, str], uid: str) -> None:
        self.change("Pod", key[1], "metadata", key[0], deletionTimestamp="2026-11-21T09:30:00Z")
        asyncio.get_running_loop().call_later(self.grace, self._end, key, uid)

    def _end(self, key: tuple[str, str], uid: str) -> None:
        pod = self.objects["Pod"].get(key)
        if pod is not None and pod["metadata"]["uid"] == uid:
            self.delete("Pod", key[1], key[0])


def _cut(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=503)


def _status(code: int, message: str) -> web.Response:
    reason = {404: "NotFound", 409: "Conflict", 429: "TooManyRequests", 500: "InternalError"}.get(code, "")
    return web.json_response({"kind": "Status", "code": code, "reason": reason, "message": message}, status=code)


@dataclass
class Notes:
    """What an observer heard."""

    attempts: list[Attempt] = field(default_factory=list)
    victims: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def attempted(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)

    def preempted(self, pod: ObjectRef, profile: str, node: str, victims: Sequence[ObjectRef]) -> None:
        self.victims.extend(each.name for each in victims)

    def warn(self, sentence: str) -> None:
        self.warnings.append(sentence)


@asynccontextmanager
async def a_scheduler(
    api: Api, notes: AttemptObserver | None = None, *, permit: Permit = always, **settings: Any
) -> AsyncIterator[SchedulerDaemon]:
    """One that schedules while the block runs; what ended it early is raised at the end."""
    made = SchedulerSettings(seed=1, **settings)
    daemon = SchedulerDaemon(api, made, notes or Notes())
    async with daemon.watching():
        task = asyncio.create_task(daemon.schedule(permit))
        try:
            yield daemon
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def until(predicate: Callable[[], bool], seconds: float = 600.0) -> None:
    """Wait until something holds; AssertionError if it does not within so many virtual seconds."""
    end = now() + seconds
    while not predicate():
        assert now() < end, "it never happened"
        await asyncio.sleep(0.05)


@asynccontextmanager
async def a_server(**features: Any) -> AsyncIterator[tuple[SchedulingServer, Api]]:
    """One that runs, and a client of it."""
    server = SchedulingServer(**features)
    server.page = 500
    async with serving(server) as api:
        yield server, api
