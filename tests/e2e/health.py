"""Whether the programs of a control plane are up."""

from __future__ import annotations

import http.client
import ssl

from e2e.layout import Layout
from e2e.ports import HOST
from e2e.rest import Rest

_ANY = ssl.create_default_context()
_ANY.check_hostname = False
_ANY.verify_mode = ssl.CERT_NONE


def is_listening(rest: Rest) -> bool:
    """Whether the API server answers, well or not. Before that the others must not start: they would give up."""
    return _status_of(rest, "/livez") is not None


def is_ready(rest: Rest) -> bool:
    """Whether the API server is."""
    return _status_of(rest, "/readyz") == 200


def is_healthy(layout: Layout, component: str) -> bool:
    """Whether one of the other programs is; these answer anybody."""
    port, path, secure = {
        "kube-controller-manager": (layout.ports.controllers, "/healthz", True),
        "kube-scheduler": (layout.ports.scheduler, "/readyz", True),
        "kwok": (layout.ports.kwok, "/healthz", False),
        "etcd": (layout.ports.etcd, "/health", False),
    }[component]
    connection = (
        http.client.HTTPSConnection(HOST, port, context=_ANY, timeout=5)
        if secure
        else http.client.HTTPConnection(HOST, port, timeout=5)
    )
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _status_of(rest: Rest, path: str) -> int | None:
    try:
        return rest.ask("GET", path).status
    except (OSError, http.client.HTTPException):
        return None
