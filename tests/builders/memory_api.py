"""An API server that keeps objects in memory: as much of one as an operator asks for.

Server-side apply replaces what it names and keeps the rest; who owns which field is the business of the real one.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, TypeVar
from urllib.parse import unquote

from builders.json_patches import patched_taints
from builders.metadata import Object
from restow.client.errors import BadRequest, NotFound, ServerTrouble
from restow.client.resources import RESOURCES
from restow.client.transport import Call, Permit
from restow.operator.objects import KUBEDESCHEDULERS, WRITTEN
from restow.operator.uninstalling import DEFINITIONS

T = TypeVar("T")
#: The last part of the path of a list.
_PLURALS = {each.plural for each in (*RESOURCES.values(), *WRITTEN, KUBEDESCHEDULERS, DEFINITIONS)}
_WRITES = ("POST", "PUT", "PATCH", "DELETE")
#: Groups that it does not serve.
_UNKNOWN = ("monitoring.coreos.com", "openshift.io/")


@dataclass
class MemoryApi:
    """Made with objects by their paths."""

    stored: dict[str, Object] = field(default_factory=dict)
    #: What was written, in order: method and path.
    written: list[tuple[str, str]] = field(default_factory=list)
    #: Raises what a call fails with.
    trouble: Callable[[str, str], None] = lambda *_: None
    server_time: Any = field(default_factory=lambda: SimpleNamespace(now=lambda: 1_700_000_000.0))
    endpoint: Any = field(default_factory=lambda: SimpleNamespace(server="https://10.0.0.1:6443"))
    _versions: Any = field(default_factory=lambda: itertools.count(1))

    def put(self, path: str, thing: Object) -> Object:
        """Stores an object as it is."""
        self.stored[path] = thing
        return thing

    def without_limit(self) -> MemoryApi:
        return self

    def within(self, _seconds: float) -> MemoryApi:
        return self

    async def read(self, path: str, params: Mapping[str, str], decode: Callable[[bytes], T]) -> T:
        return decode(await self.send(Call("GET", path, params)))

    async def send(self, call: Call, *, permit: Permit | None = None) -> bytes:
        assert call.method == "GET" or permit is None or permit() > 0
        self.trouble(call.method, call.path)
        if call.method in _WRITES:
            self.written.append((call.method, call.path))
        return json.dumps(self._answer(call)).encode()

    def _answer(self, call: Call) -> Object:
        path = unquote(call.path)
        if any(each in path for each in _UNKNOWN) and "kubedeschedulers" not in path:
            raise NotFound(404, "NotFound", "the server could not find the requested resource")
        if path == "/apis":
            return {"groups": [{"name": "apps"}, {"name": "batch"}]}
        if path.rsplit("/", 1)[-1] in _PLURALS:
            return self._listed(path, call.params.get("labelSelector", ""))
        body = json.loads(call.body) if call.body else {}
        return copy.deepcopy(getattr(self, f"_{call.method.lower()}")(path, body, call.content_type))

    def _listed(self, path: str, selector: str) -> Object:
        wanted = dict(each.split("=") for each in selector.split(",") if each)
        tail = path.rsplit("/", 1)[-1]
        found = [
            thing
            for name, thing in sorted(self.stored.items())
            if name.rsplit("/", 2)[-2] == tail
            and (name.startswith(path.rsplit("/", 1)[0]))
            and wanted.items() <= thing["metadata"].get("labels", {}).items()
        ]
        return {"metadata": {}, "items": copy.deepcopy(found)}

    def _get(self, path: str, *_: Any) -> Object:
        if path not in self.stored:
            raise NotFound(404, "NotFound", f"{path} not found")
        return self.stored[path]

    def _delete(self, path: str, *_: Any) -> Object:
        if path not in self.stored:
            raise NotFound(404, "NotFound", f"{path} not found")
        metadata = self.stored[path]["metadata"]
        if metadata.get("finalizers"):
            metadata["deletionTimestamp"] = "2023-11-14T22:13:20Z"
            return self.stored[path]
        for inner in [each for each in self.stored if each.startswith(f"{path}/")]:
            # A namespace goes with all that is in it.
            del self.stored[inner]
        return self.stored.pop(path)

    def _put(self, path: str, body: Object, _: str) -> Object:
        self.stored[path] = body
        return body

    def _patch(self, path: str, body: Object, content: str) -> Object:
        for part in ("status", "scale"):
            if path.endswith(f"/{part}"):
                thing = self.stored[path.removesuffix(f"/{part}")]
                key = "status" if part == "status" else "spec"
                thing[key] = {**thing.get(key, {}), **body[key]}
                return thing
        if "json-patch" in content:
            return self._tainted(path, body)
        if "merge-patch" in content:
            return self._freed(path, body)
        assert "apply" in content, content
        return self._applied(path, body)

    def _tainted(self, path: str, operations: Any) -> Object:
        thing = self._get(path)
        taints = patched_taints(thing["spec"].pop("taints", ()), operations)
        thing["spec"] |= {"taints": taints} if taints else {}
        return thing

    def _freed(self, path: str, change: Object) -> Object:
        """A merge patch of the finalizers of an object."""
        thing = self._get(path)
        thing["metadata"]["finalizers"] = change["metadata"]["finalizers"]
        if thing["metadata"].get("deletionTimestamp") and not thing["metadata"]["finalizers"]:
            del self.stored[path]
        return thing

    def _applied(self, path: str, body: Object) -> Object:
        old = self.stored.get(path)
        if old is not None and "roleRef" in body and body["roleRef"] != old["roleRef"]:
            raise BadRequest(422, "Invalid", "cannot change roleRef")
        metadata: Object = {"generation": 0, **(old or {}).get("metadata", {}), **body["metadata"]}
        metadata["uid"] = metadata.get("uid") or f"uid-{next(self._versions)}"
        if old is None or old.get("spec") != body.get("spec"):
            metadata["generation"] += 1
        self.stored[path] = {**(old or {}), **body, "metadata": metadata}
        return self.stored[path]


def failing_from(number: int) -> Callable[[str, str], None]:
    """Lets that many writes pass, and no more."""
    counted = itertools.count()

    def trouble(method: str, path: str) -> None:
        if method in _WRITES and next(counted) >= number:
            raise ServerTrouble(503, "ServiceUnavailable", "no more")

    return trouble
