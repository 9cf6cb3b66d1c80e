"""A stand-in for Prometheus that two programs can ask: each query has the answer that a test gives it.

with PrometheusDouble() as prometheus:
    prometheus.answers["load"] = vector([("n1", "0.5")])
"""

from __future__ import annotations

import json
import threading
import time
import urllib.parse
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from builders import Object


def vector(samples: Iterable[tuple[str | None, str]]) -> Object:
    """An instant vector of (instance, value); None for a series without that label."""
    now = time.time()
    result = [{"metric": {} if name is None else {"instance": name}, "value": [now, value]} for name, value in samples]
    return {"resultType": "vector", "result": result}


class PrometheusDouble:
    """Serves ``/api/v1/query`` on a loopback port; a context manager."""

    def __init__(self) -> None:
        #: ``data`` of the answer by query; what is not there is refused.
        self.answers: dict[str, Object] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answers = self.answers

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(urllib.parse.urlsplit(self.path).query)

            def do_POST(self) -> None:
                self._answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

            def _answer(self, form: str) -> None:
                query = urllib.parse.parse_qs(form)["query"][0]
                known = query in answers
                refusal = {"status": "error", "errorType": "bad_data", "error": "parse error"}
                body = json.dumps({"status": "success", "data": answers[query]} if known else refusal).encode()
                self.send_response(200 if known else 400)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        return Handler
