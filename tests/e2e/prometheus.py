"""A real Prometheus that scrapes, as a child process.

with Prometheus(tmp_path, targets={"restow": restow.port}, rules=[alerts]) as prometheus:
    prometheus.ask("restow_leader")   # [{"metric": {...}, "value": [time, "1"]}]

``history`` is what it has scraped already, in the format of OpenMetrics.
"""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import yaml

from e2e.binaries import tool
from e2e.child import Child
from e2e.ports import HOST, free_ports
from e2e.waiting import wait_until

#: Seconds until it answers, on busy cores.
_PATIENCE = 60.0


class Prometheus:
    """Scrapes HTTPS targets every two seconds, without looking at certificates, and ``plain`` HTTP targets five times a second.

    Raises FileNotFoundError if it is not built.
    """

    def __init__(
        self,
        directory: Path,
        *,
        targets: Mapping[str, int],
        plain: Mapping[str, int] = MappingProxyType({}),
        rules: Sequence[Path] = (),
        history: str = "",
    ) -> None:
        #: Its configuration.
        self.config = directory / "prometheus.yaml"
        self.config.write_text(yaml.safe_dump(_configuration(targets, plain, rules)))
        if history:
            _store(history, directory)
        self._address = f"{HOST}:{free_ports(1)[0]}"
        command = [
            str(tool("prometheus")),
            f"--config.file={self.config}",
            f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address={self._address}",
        ]
        self._child = Child(command, directory / "prometheus.log")

    def __enter__(self) -> Self:
        self.start()
        return self

    def start(self) -> None:
        """Starts it, again after ``kill`` with what it has stored; returns when it answers."""
        self._child.start()
        try:
            wait_until("Prometheus is ready", self._is_ready, _PATIENCE)
        except BaseException:
            self._child.kill()
            raise

    def __exit__(self, *_: object) -> None:
        self._child.kill()

    def kill(self) -> None:
        """SIGKILL, and waits for its end."""
        self._child.kill()

    def send(self, number: signal.Signals) -> None:
        """SIGSTOP makes it as slow as can be, SIGCONT ends that."""
        self._child.send(number)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://{self._address}"

    def ask(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression comes to now. Raises HTTPError, of status 400 where it cannot be evaluated."""
        result: list[dict[str, Any]] = self.get("query", query=expression)["result"]
        return result

    def get(self, page: str, **query: str) -> Any:
        """What a page of the API answers: ``rules``, ``targets``..."""
        url = f"http://{self._address}/api/v1/{page}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=10) as response:
            return json.load(response)["data"]

    def _is_ready(self) -> bool:
        self._child.check()
        try:
            with urllib.request.urlopen(f"http://{self._address}/-/ready", timeout=10) as response:
                return bool(response.status == 200)
        except OSError:
            return False


def _store(history: str, directory: Path) -> None:
    """Make blocks of samples, as if they had been scraped. Raises CalledProcessError for what is no OpenMetrics."""
    file = directory / "history.om"
    file.write_text(history)
    command = [tool("promtool"), "tsdb", "create-blocks-from", "openmetrics", "-q", file, directory / "data"]
    subprocess.run(command, check=True, capture_output=True, timeout=_PATIENCE)


def _configuration(targets: Mapping[str, int], plain: Mapping[str, int], rules: Sequence[Path]) -> dict[str, Any]:
    jobs = [
        {
            "job_name": job,
            "scheme": "https",
            "tls_config": {"insecure_skip_verify": True},
            "honor_labels": True,
            "static_configs": [{"targets": [f"{HOST}:{port}"]}],
        }
        for job, port in targets.items()
    ]
    jobs += [
        {
            "job_name": job,
            "scrape_interval": "200ms",
            "scrape_timeout": "200ms",
            "honor_labels": True,
            "static_configs": [{"targets": [f"{HOST}:{port}"]}],
        }
        for job, port in plain.items()
    ]
    every = {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "2s"}
    return {"global": every, "rule_files": [str(rule) for rule in rules], "scrape_configs": jobs}
