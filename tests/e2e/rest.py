"""A small synchronous client of the API server, for tests to make clusters and to look at them.

    rest.create(a_deployment(...))
    rest.items("Pod", "default")

Keeps one connection a thread, so several threads may share it.
"""

from __future__ import annotations

import http.client
import json
import select
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from builders import Object
from e2e.kinds import collection, path_of
from restow.kube.objects import known_kind

T = TypeVar("T")
#: Of calls made at once.
_THREADS = 16


def name_of(thing: Object) -> str:
    """The name of an object."""
    name: str = thing["metadata"]["name"]
    return name


class RefusedError(Exception):
    """The API server said no: its status, and its answer as an object."""

    def __init__(self, call: str, status: int, answer: Any) -> None:
        said = answer.get("message") if isinstance(answer, dict) else answer
        super().__init__(f"{call}: {status} {said}")
        self.status = status
        self.answer = answer


@dataclass(slots=True, frozen=True)
class Answer:
    """What a call came to; the body is decoded if it is JSON."""

    status: int
    body: Any


class Rest:
    """One caller. ``timeout`` is in seconds, of one call."""

    def __init__(self, server: str, authority: Path, token: str, timeout: float = 30.0) -> None:
        self._address = urlsplit(server)
        self._tls = ssl.create_default_context(cafile=str(authority))
        self._token = token
        self._timeout = timeout
        self._local = threading.local()
        self._pool = ThreadPoolExecutor(_THREADS)
        self._open: list[http.client.HTTPSConnection] = []

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content: str = "application/json",
    ) -> Answer:
        """The answer, whatever its status. Raises OSError or HTTPException if there is none; nothing is tried again."""
        target = path + ("?" + urlencode(query) if query else "")
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content, "Accept": "application/json"}
        connection = self._connection()
        try:
            connection.request(method, target, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            read = response.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            raise
        told = response.headers.get_content_type()
        return Answer(response.status, json.loads(read) if told == "application/json" else read.decode())

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content: str = "application/json",
    ) -> Any:
        """The body of the answer. Raises RefusedError where its status is 400 or more."""
        answer = self.ask(method, path, body, query=query, content=content)
        if answer.status >= 400:
            raise RefusedError(f"{method} {path}", answer.status, answer.body)
        return answer.body

    def create(self, thing: Object) -> Object:
        """The object as it is stored."""
        namespace = thing["metadata"].get("namespace", "default")
        created: Object = self.call(
            "POST", collection(known_kind(thing["kind"], thing["apiVersion"]), namespace), thing
        )
        return created

    def create_all(self, things: list[Object]) -> list[Object]:
        """The same for many of them, several at a time and in no order."""
        return self.together(self.create, [(thing,) for thing in things])

    def together(self, call: Callable[..., T], arguments: Iterable[tuple[Any, ...]]) -> list[T]:
        """What a call comes to with each of the arguments, in their order; several are made at a time."""
        return list(self._pool.map(lambda given: call(*given), arguments))

    def get(self, kind: str, name: str, namespace: str = "default") -> Object:
        """Raises RefusedError, of status 404 where there is none."""
        found: Object = self.call("GET", path_of(kind, name, namespace))
        return found

    def find(self, kind: str, name: str, namespace: str = "default") -> Object | None:
        """None where there is none."""
        answer = self.ask("GET", path_of(kind, name, namespace))
        if answer.status not in (200, 404):
            raise RefusedError(f"GET {kind} {name}", answer.status, answer.body)
        return answer.body if answer.status == 200 else None

    def items(self, kind: str, namespace: str | None = None, *, labels: str = "") -> list[Object]:
        """All of a kind, in one namespace or all, with apiVersion and kind.

        They come from the API server's cache, which is quick but may be some milliseconds behind.
        """
        query = {"resourceVersion": "0"} | ({"labelSelector": labels} if labels else {})
        found = self.call("GET", collection(kind, namespace), query=query)
        told = {"apiVersion": found["apiVersion"], "kind": kind}
        return [told | item for item in found["items"]]

    def replace(self, thing: Object) -> Object:
        """The object as it is stored then. Raises RefusedError, of status 409 where it has changed in between."""
        path = path_of(thing["kind"], name_of(thing), thing["metadata"].get("namespace", "default"))
        replaced: Object = self.call("PUT", path, thing)
        return replaced

    def patch(self, kind: str, name: str, change: Object, namespace: str = "default", *, part: str = "") -> Object:
        """Merges a change; ``part`` is a subresource: ``status``, ``scale``."""
        path = path_of(kind, name, namespace) + (f"/{part}" if part else "")
        patched: Object = self.call("PATCH", path, change, content="application/merge-patch+json")
        return patched

    def delete(self, kind: str, name: str, namespace: str = "default", *, at_once: bool = False) -> None:
        """Its dependants follow in the background; ``at_once`` gives a pod no time to end."""
        options = {"propagationPolicy": "Background"} | ({"gracePeriodSeconds": 0} if at_once else {})
        self.call("DELETE", path_of(kind, name, namespace), options)

    def evict(self, pod: str, namespace: str = "default", *, uid: str = "", dry_run: bool = False) -> Answer:
        """What the eviction API answers, whatever it is; ``uid`` is a precondition."""
        options = ({"preconditions": {"uid": uid}} if uid else {}) | ({"dryRun": ["All"]} if dry_run else {})
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": namespace},
            "deleteOptions": options,
        }
        return self.ask("POST", f"{path_of('Pod', pod, namespace)}/eviction", eviction)

    def watch(
        self, kind: str, namespace: str | None = None, *, version: str = "0", seconds: int = 5
    ) -> Iterator[Object]:
        """The events of a watch until the server ends it."""
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(seconds), "allowWatchBookmarks": "1"}
        connection = self._connected()
        headers = {"Authorization": f"Bearer {self._token}"}
        try:
            connection.request("GET", f"{collection(kind, namespace)}?{urlencode(query)}", headers=headers)
            for line in connection.getresponse():
                yield json.loads(line)
        finally:
            connection.close()

    def close(self) -> None:
        """Ends all connections; the next call makes new ones."""
        for connection in self._open:
            connection.close()

    def _connection(self) -> http.client.HTTPSConnection:
        connection: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connected()
            self._open.append(connection)
        if _is_over(connection):
            connection.close()
        return connection

    def _connected(self) -> http.client.HTTPSConnection:
        assert self._address.hostname is not None
        return http.client.HTTPSConnection(
            self._address.hostname, self._address.port, context=self._tls, timeout=self._timeout
        )


def _is_over(connection: http.client.HTTPSConnection) -> bool:
    """Whether the server has hung up meanwhile, as it does after 90 idle seconds; the next call then connects again."""
    if connection.sock is None:
        return False
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))
