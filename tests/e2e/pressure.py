"""``restow pressure`` as a child process.

with Pressure(tmp_path, plane.kubeconfig, prometheus.url, rules) as pressure:
    pressure.wait_for_line("Marked node")
    assert pressure.get("/nodes")[1] == ...
"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from prometheus_client.parser import text_string_to_metric_families

from e2e.child import Child
from e2e.ports import HOST, free_ports
from e2e.running import Samples
from e2e.waiting import wait_until

COMMAND = (sys.executable, "-c", "from restow.cli.main import main; main()", "pressure")
#: Seconds for whatever it is waited for, on busy cores.
PATIENCE = 120.0
#: Seconds between two rounds of queries.
INTERVAL = 0.3

Rules = Mapping[str, Mapping[str, Any]]


class Pressure:
    """One process in its ``with`` block; ``flags`` are more of them."""

    def __init__(
        self, directory: Path, kubeconfig: Path, prometheus: str, rules: Rules, *flags: str, name: str = "pressure"
    ) -> None:
        self.log = directory / f"{name}.log"
        self.port = free_ports(1)[0]
        file = directory / f"{name}.yaml"
        file.write_text(json.dumps({"PromJob": {"Name": "node"}, "Rulename": rules}))
        given = ("-kubeconfig", kubeconfig, "-prom", prometheus, "-r", file, "-s", INTERVAL)
        served = ("-webaddr", f"{HOST}:{self.port}")
        self._child = Child([*COMMAND, *map(str, (*given, *served)), *flags], self.log)

    def __enter__(self) -> Self:
        self._child.start()
        wait_until("restow pressure serves its pages", self._is_there, PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()

    def kill(self) -> None:
        """At once."""
        self._child.kill()

    def terminate(self) -> None:
        """Politely."""
        self._child.terminate()

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of a page."""
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self.port}{path}", timeout=10) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def nodes(self) -> list[str]:
        """The labelled ones, as ``/nodes`` tells."""
        names: list[str] = json.loads(self.get("/nodes")[1])["node_names"]
        return names

    def samples(self) -> Samples:
        """Its metrics as they are now."""
        families = text_string_to_metric_families(self.get("/metrics")[1])
        told = (sample for family in families for sample in family.samples)
        return Samples({(each.name, frozenset(each.labels.items())): each.value for each in told})

    def rounds(self) -> float:
        """How many it has made."""
        return self.samples().total("restow_pressure_round_duration_seconds_count")

    def wait_for_rounds(self, more: int) -> None:
        """Until it has made so many more."""
        until = self.rounds() + more
        wait_until(f"{more} more rounds", lambda: self.rounds() >= until, PATIENCE)

    def lines(self, text: str = "") -> list[str]:
        """The lines that it has logged and that contain a text."""
        return [line for line in self.log.read_text(errors="replace").splitlines() if text in line]

    def wait_for_line(self, text: str, *, times: int = 1) -> str:
        """The line that is the first, or so manieth, with it."""
        found = wait_until(f"restow pressure logs {text} ({times})", lambda: self.lines(text)[times - 1 :], PATIENCE)
        return found[0]

    def _is_there(self) -> bool:
        self._child.check()
        try:
            return self.get("/healthz")[0] == 200
        except OSError:
            return False
