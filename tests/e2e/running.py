"""A descheduler that runs against a control plane: restow, or any program with the Descheduler's flags.

    with Descheduler(tmp_path, kubeconfig=plane.kubeconfig, policy=strategy_policy("PodLifeTime")) as restow:
        restow.wait_for_line("Evicted pod")
        assert restow.samples().total("descheduler_pods_evicted_total") == 1
        restow.send(signal.SIGTERM)
        assert restow.wait() == 0

Another program: ``program=["/usr/bin/descheduler"]``. It is a child process that dies with the test, however that
ends. What it says, on both streams, is in ``NAME.log`` below the directory.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import ssl
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from prometheus_client.parser import text_string_to_metric_families

from builders.policies import Policy, as_yaml
from e2e.child import Child
from e2e.ports import HOST, free_ports
from e2e.waiting import wait_until

#: The command ``restow run`` of these sources.
RESTOW = (sys.executable, "-c", "from restow.cli.main import main; main()", "run")
_SCALE = Path(__file__).resolve().parent / "scale.py"
#: Seconds for whatever a descheduler is waited for, on busy cores.
_PATIENCE = 90.0
_KIB = 1024


class Samples(dict[tuple[str, frozenset[tuple[str, str]]], float]):
    """A scrape: the value of each name and set of labels."""

    def total(self, name: str, **labels: str) -> float:
        """The sum of all samples of a name that have these labels, and any others."""
        wanted = labels.items()
        return sum(value for (each, its), value in self.items() if each == name and wanted <= set(its))

    def names(self) -> set[str]:
        """Of all samples."""
        return {name for name, _ in self}


@dataclass(slots=True, frozen=True)
class Ended:
    """How a program ended, and what it needed."""

    #: The exit status; negative for the signal that ended it.
    status: int
    #: The most memory that it had at a time, in bytes.
    peak_rss: int
    #: Seconds of user and system time.
    cpu: float
    #: Seconds from its start to its end.
    wall: float


def page(port: int, path: str, token: str = "") -> tuple[int, str]:
    """Status and body of a page of an HTTPS server; OSError where nobody answers. Certificates are not looked at."""
    connection = http.client.HTTPSConnection(HOST, port, context=_ANY, timeout=10)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def scraped(port: int) -> Samples:
    """The metrics that an HTTPS server has now."""
    status, text = page(port, "/metrics")
    assert status == 200, text
    families = text_string_to_metric_families(text)
    told = (sample for family in families for sample in family.samples)
    return Samples({(each.name, frozenset(each.labels.items())): each.value for each in told})


class Descheduler:
    """Not started before ``start``, or the ``with`` block; ``start`` again after its end starts it anew.

    ``policy`` is a dict or a file; without ``kubeconfig`` it has to find its configuration in ``environment``.
    """

    def __init__(
        self,
        directory: Path,
        *,
        policy: Policy | Path,
        kubeconfig: Path | None = None,
        program: Sequence[str | Path] = RESTOW,
        flags: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        name: str = "descheduler",
    ) -> None:
        #: Of its HTTPS server.
        self.port = free_ports(1)[0]
        self.policy = policy if isinstance(policy, Path) else write_yaml(directory / f"{name}-policy.yaml", policy)
        self.log = directory / f"{name}.log"
        self._record = directory / f"{name}.record"
        given = [] if kubeconfig is None else [f"--kubeconfig={kubeconfig}"]
        served = [f"--bind-address={HOST}", f"--secure-port={self.port}"]
        command = [*map(str, program), f"--policy-config-file={self.policy}", *given, *served, *flags]
        measured = [sys.executable, "-I", "-S", str(_SCALE), str(self._record), *command]
        sources = {"PYTHONPATH": os.pathsep.join(sys.path)}
        self._child = Child(measured, self.log, environment={**os.environ, **sources, **(environment or {})})

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Returns when the process is there; the log goes on."""
        self._record.unlink(missing_ok=True)
        self._child.start()
        wait_until("the descheduler is started", self._told, _PATIENCE)

    @property
    def pid(self) -> int:
        """Of the program itself."""
        pid: int = self._told()["pid"]
        return pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return "status" not in self._told()

    def send(self, number: signal.Signals) -> None:
        """SIGTERM, SIGSTOP, SIGCONT...; RuntimeError if it has ended."""
        self.check()
        os.kill(self.pid, number)

    def kill(self) -> None:
        """At once, and waits for its end; nothing if it has ended or never began."""
        if self._record.exists() and self.is_running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.ended()
        self._child.kill()

    def wait(self, timeout: float = _PATIENCE) -> int:
        """The exit status, once it has ended."""
        return self.ended(timeout).status

    def ended(self, timeout: float = _PATIENCE) -> Ended:
        """How it ended, once it has."""
        try:
            wait_until("the descheduler has ended", lambda: not self.is_running, timeout)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self._child.tail()}") from None
        told = self._told()
        return Ended(told["status"], told["peak_rss"], told["cpu"], told["wall"])

    def check(self) -> None:
        """RuntimeError with the end of its log if it has ended."""
        if not self.is_running:
            raise RuntimeError(f"the descheduler ended with status {self._told()['status']}:\n{self._child.tail()}")

    def lines(self, text: str | re.Pattern[str] = "") -> list[str]:
        """The whole lines that it has logged and that contain a text, or match an expression anywhere."""
        if not self.log.exists():
            return []
        found = self.log.read_text(errors="replace").splitlines(keepends=True)
        return [line.rstrip("\n") for line in found if line.endswith("\n") and _contains(line, text)]

    def wait_for_line(self, text: str | re.Pattern[str], *, times: int = 1, timeout: float = _PATIENCE) -> str:
        """The line that is the first, or so manieth, with it; RuntimeError if the program ends before."""

        def seen() -> list[str]:
            running = self.is_running
            found = self.lines(text)
            if len(found) < times and not running:
                self.check()
            return found[times - 1 :]

        try:
            return wait_until(f"the descheduler logs {text} ({times})", seen, timeout)[0]
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self._child.tail()}") from None

    def entries(self, message: str = "") -> list[dict[str, Any]]:
        """The lines of JSON (``--logging-format=json``), or those with this message."""
        read = [json.loads(line) for line in self.lines() if line.startswith("{")]
        return [entry for entry in read if message in ("", entry.get("msg"))]

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of a page of its HTTPS server; OSError where nobody answers. Certificates are not looked at."""
        return page(self.port, path)

    def samples(self) -> Samples:
        """Its metrics as they are now, or once it serves them; RuntimeError if it ends before."""

        def served() -> Samples | None:
            self.check()
            try:
                return scraped(self.port)
            except OSError:
                return None

        return wait_until("the descheduler serves its metrics", served, _PATIENCE)

    def is_ready(self) -> bool:
        """Whether ``/readyz`` says so; not while nobody answers."""
        try:
            return self.get("/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def wait_ready(self, timeout: float = _PATIENCE) -> None:
        """Until ``/readyz`` says so; RuntimeError if it ends before."""

        def ready() -> bool:
            self.check()
            return self.is_ready()

        wait_until("the descheduler is ready", ready, timeout)

    def rss(self) -> int:
        """The memory that it has now, in bytes (Linux only)."""
        return self._memory("VmRSS")

    def peak_rss(self) -> int:
        """The most memory that it had until now, in bytes (Linux only)."""
        return self._memory("VmHWM")

    def _memory(self, figure: str) -> int:
        told = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(rf"^{figure}:\s+(\d+) kB$", told, re.MULTILINE)
        assert found is not None, told
        return int(found[1]) * _KIB

    def _told(self) -> dict[str, Any]:
        # A start removes it, and others look meanwhile.
        with suppress(FileNotFoundError):
            told: dict[str, Any] = json.loads(self._record.read_text())
            return told
        return {}


def write_yaml(file: Path, policy: Policy) -> Path:
    """A policy file, replaced as a whole, as a mounted ConfigMap is."""
    new = file.with_name(f"{file.name}.new")
    new.write_bytes(as_yaml(policy))
    return new.replace(file)


def _contains(line: str, text: str | re.Pattern[str]) -> bool:
    return text in line if isinstance(text, str) else text.search(line) is not None


_ANY = ssl.create_default_context()
_ANY.check_hostname = False
_ANY.verify_mode = ssl.CERT_NONE
