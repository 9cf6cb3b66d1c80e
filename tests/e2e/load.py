"""An exporter of load whose values a test sets, for Prometheus to scrape over plain HTTP.

with Load() as load, Prometheus(tmp_path, targets={}, plain={"load": load.port}) as prometheus:
    load.values["10.0.0.1:9100"] = 0.9      # prometheus.ask("test_load")
"""

from __future__ import annotations

from builders.loopback import Loopback, Reply

METRIC = "test_load"


class Load(Loopback):
    """Serves from its ``with`` on; ``values`` are by instance."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, float] = {}

    def reply(self, path: str, form: str) -> Reply:
        """The values in Prometheus' format."""
        lines = [f'{METRIC}{{instance="{name}"}} {value}\n' for name, value in self.values.copy().items()]
        return Reply("".join(lines).encode(), media="text/plain; version=0.0.4")
