"""A server that stands in for API servers, an OpenID provider and proxies, and records who asks for what, and how.

Every path that ends with /version is an API server's. It takes every token and every certificate of ``AUTHORITY``; who has
none is anonymous.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import trustme

AUTHORITY = trustme.CA()
#: Names by which the server can be asked for; only the first one is that of this machine.
NAMES = ("127.0.0.1", "api.test.invalid", "inner.test.invalid")
_VERSION = {"major": "1", "minor": "36", "gitVersion": "v1.36.1"}


@dataclass(frozen=True)
class Seen:
    """A request to an API server, or to the provider, as far as the kubeconfig decides about it."""

    #: With the query.
    path: str
    host: str
    #: Authorization and the Impersonate headers, their names as the API server reads them.
    identity: tuple[tuple[str, str], ...]
    #: Whether compressed answers are welcome.
    compressed: bool
    #: The name in the client's certificate, and the name that the client asked for.
    certificate: str
    server_name: str
    #: What the client sent in the body, such as a refresh token.
    form: tuple[tuple[str, str], ...] = ()


@dataclass
class Recorder:
    """The ports, and what came."""

    secure: int = 0
    plain: int = 0
    secure_proxy: int = 0
    socks: int = 0
    seen: list[Seen] = field(default_factory=list)
    #: Where the proxy was told to go, and with which password.
    proxied: list[tuple[str, str]] = field(default_factory=list)
    #: What the provider grants.
    granted: dict[str, str] = field(default_factory=dict)

    def taken(self) -> tuple[list[Seen], list[tuple[str, str]]]:
        """What came since the last time."""
        taken = self.seen, self.proxied
        self.seen, self.proxied = [], []
        return taken


@contextlib.contextmanager
def a_recorder() -> Iterator[Recorder]:
    """A recorder that listens: with TLS, without, and as a proxy with TLS; the one without TLS is a proxy too."""
    recorder = Recorder()
    tls = _serving(ssl.CERT_OPTIONAL)
    with (
        _listening(recorder, tls) as recorder.secure,
        _listening(recorder, None) as recorder.plain,
        _listening(recorder, _serving(ssl.CERT_NONE)) as recorder.secure_proxy,
        _socks(recorder) as recorder.socks,
    ):
        yield recorder


def _serving(clients: ssl.VerifyMode) -> ssl.SSLContext:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    AUTHORITY.issue_cert(*NAMES).configure_cert(tls)
    AUTHORITY.configure_trust(tls)
    tls.verify_mode = clients

    def note(connection: Any, name: str | None, _context: ssl.SSLContext) -> None:
        connection.asked_for = name

    tls.sni_callback = note  # type: ignore[assignment]
    return tls


@contextlib.contextmanager
def _listening(recorder: Recorder, tls: ssl.SSLContext | None) -> Iterator[int]:
    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def finish_request(self, request: Any, client_address: Any) -> None:
            # In the thread of the connection; who does not trust the server says so within the handshake.
            with contextlib.suppress(OSError):
                request.settimeout(30)
                with request if tls is None else tls.wrap_socket(request, server_side=True) as connection:
                    _Handler(connection, client_address, self)

    Server.recorder = recorder  # type: ignore[attr-defined]
    with Server(("127.0.0.1", 0), _Handler) as server:
        yield from _served(server)


@contextlib.contextmanager
def _socks(recorder: Recorder) -> Iterator[int]:
    """A SOCKS 5 proxy without passwords."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.rfile.read(self.rfile.read(2)[1])
            self.wfile.write(b"\5\0")
            name = self.rfile.read(self.rfile.read(5)[4]).decode()
            recorder.proxied.append((f"{name}:{int.from_bytes(self.rfile.read(2))}", ""))
            self.wfile.write(b"\5\0\0\1" + bytes(6))
            with socket.create_connection(("127.0.0.1", recorder.secure)) as server:
                _pass_on(self.connection, server)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        yield from _served(server)


def _served(server: socketserver.BaseServer) -> Iterator[int]:
    """The port of a server that runs meanwhile."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]  # type: ignore[index]
    finally:
        server.shutdown()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    @property
    def recorder(self) -> Recorder:
        recorder: Recorder = self.server.recorder  # type: ignore[attr-defined]
        return recorder

    def log_message(self, *_: Any) -> None:
        """The test tells what matters."""

    def do_GET(self) -> None:
        self._note_proxy()
        path = urlsplit(self.path).path
        self._record()
        if path.endswith("/version"):
            self._answer(_VERSION)
        elif path.endswith("/.well-known/openid-configuration"):
            issuer = f"https://127.0.0.1:{self.recorder.secure}{path.partition('/.well-known')[0]}"
            self._answer({"issuer": issuer, "token_endpoint": f"{issuer}/token"})
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._record(tuple(sorted(parse_qsl(form))))
        self._answer({"token_type": "Bearer", "access_token": "a", **self.recorder.granted})

    def do_CONNECT(self) -> None:
        """Whatever the client wants, it gets the API server."""
        self.recorder.proxied.append((self.path, self.headers.get("Proxy-Authorization", "")))
        with socket.create_connection(("127.0.0.1", self.recorder.secure)) as server:
            self.send_response(200)
            self.end_headers()
            _pass_on(self.connection, server)
        self.close_connection = True

    def _note_proxy(self) -> None:
        if self.path.startswith("http://"):
            self.recorder.proxied.append((urlsplit(self.path).netloc, self.headers.get("Proxy-Authorization", "")))

    def _record(self, form: tuple[tuple[str, str], ...] = ()) -> None:
        certificate = getattr(self.connection, "getpeercert", dict)() or {}
        names = [value for part in certificate.get("subject", ()) for _, value in part if value.startswith("me-")]
        url = urlsplit(self.path)
        self.recorder.seen.append(
            Seen(
                path=url.path + (f"?{url.query}" if url.query else ""),
                host=self.headers["Host"],
                identity=tuple(sorted(_identity(self.headers.items()))),
                compressed="gzip" in self.headers.get("Accept-Encoding", ""),
                certificate=names[0] if names else "",
                server_name=getattr(self.connection, "asked_for", None) or "",
                form=form,
            )
        )

    def _answer(self, value: Mapping[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _identity(headers: Any) -> Iterator[tuple[str, str]]:
    for name, value in headers:
        if name.lower().startswith(("authorization", "impersonate-")):
            yield unquote(name).lower(), value


def _pass_on(client: Any, server: socket.socket) -> None:
    """Bytes in both directions until one side ends."""
    sides = {client: server, server: client}
    while True:
        pending = isinstance(client, ssl.SSLSocket) and client.pending()
        for source in [client] if pending else select.select(list(sides), [], [], 30)[0]:
            piece = source.recv(65536)
            if not piece:
                return
            sides[source].sendall(piece)
