"""An exporter of load whose values a test sets, for Prometheus to scrape over plain HTTP.

with Load() as load, Prometheus(tmp_path, targets={}, plain={"load": load.port}) as prometheus:
    load.values["10.0.0.1:9100"] = 0.9      # prometheus.ask("test_load")
"""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from e2e.ports import HOST

METRIC = "test_load"


class Load:
    """Serves from its ``with`` on; ``values`` are by instance."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self._server = ThreadingHTTPServer((HOST, 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def text(self) -> str:
        """In Prometheus' format."""
        return "".join(f'{METRIC}{{instance="{name}"}} {value}\n' for name, value in self.values.copy().items())

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        text = self.text

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = text().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing: nobody reads it."""

        return Handler
