"""A small HTTP server on a loopback port: what a program under test asks beside the API server.

class Hello(Loopback):
    def reply(self, path: str, form: str) -> Reply:
        return Reply(b"hello", media="text/plain")

with Hello() as server:
    ...  # ask server.url
"""

from __future__ import annotations

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

#: Seconds after which a server that is told to stop notices.
_POLL = 0.02


class Reply(NamedTuple):
    """What is answered."""

    body: bytes
    status: int = 200
    media: str = "application/json"


class Loopback:
    """Serves ``reply`` from its ``with`` on."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_POLL,), daemon=True)

    def reply(self, path: str, form: str) -> Reply:
        """The answer at a path; ``form`` is what a POST sends, or the query of a GET."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Where it is, without TLS."""
        return f"http://127.0.0.1:{self.port}"


def _handler(server: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            self._answer(server.reply(path, query))

        def do_POST(self) -> None:
            form = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer(server.reply(self.path, form))

        def _answer(self, reply: Reply) -> None:
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.media)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: nobody reads it."""

    return Handler
