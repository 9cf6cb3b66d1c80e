"""A stand-in for Prometheus that two programs can ask: each query has the answer that a test gives it.

with PrometheusDouble() as prometheus:
    prometheus.answers["load"] = vector([("n1", "0.5")])
"""

from __future__ import annotations

import json
import time
import urllib.parse
from collections.abc import Iterable

from builders import Object
from builders.loopback import Loopback, Reply


def vector(samples: Iterable[tuple[str | None, str]]) -> Object:
    """An instant vector of (instance, value); None for a series without that label."""
    now = time.time()
    result = [{"metric": {} if name is None else {"instance": name}, "value": [now, value]} for name, value in samples]
    return {"resultType": "vector", "result": result}


class PrometheusDouble(Loopback):
    """Serves ``/api/v1/query``; a context manager."""

    def __init__(self) -> None:
        super().__init__()
        #: ``data`` of the answer by query; what is not there is refused.
        self.answers: dict[str, Object] = {}

    def reply(self, path: str, form: str) -> Reply:
        """The answer to the query of a form."""
        query = urllib.parse.parse_qs(form)["query"][0]
        if query not in self.answers:
            return Reply(json.dumps({"status": "error", "errorType": "bad_data", "error": "parse error"}).encode(), 400)
        return Reply(json.dumps({"status": "success", "data": self.answers[query]}).encode())
