"""``restow scheduler`` as a child process beside a control plane.

with Scheduler(tmp_path, plane.kubeconfig, "--profile", "random") as scheduler:
    scheduler.wait_for_line("Successfully bound pod to node")
    assert scheduler.samples().total("scheduler_schedule_attempts_total", result="scheduled") == 1
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Self

from prometheus_client.parser import text_string_to_metric_families

from e2e.child import Child
from e2e.clock import WallClock
from e2e.ports import HOST, free_ports
from e2e.running import Samples, page
from e2e.waiting import wait_until

COMMAND = (sys.executable, "-c", "from restow.cli.main import main; main()", "scheduler")
#: Seconds for whatever it is waited for, on busy cores.
PATIENCE = 120.0


class Scheduler:
    """One process in its ``with`` block; ``flags`` are more of them, ``open_paths`` the pages that need no token.

    Its wall clock can be set where it is given one.
    """

    def __init__(
        self,
        directory: Path,
        kubeconfig: Path,
        *flags: str,
        name: str = "scheduler",
        open_paths: str = "/healthz,/readyz,/livez,/metrics,/configz",
        clock: WallClock | None = None,
    ) -> None:
        self.log = directory / f"{name}.log"
        self.port = free_ports(1)[0]
        opened = f"--authorization-always-allow-paths={open_paths}"
        served = (f"--bind-address={HOST}", f"--secure-port={self.port}", opened)
        program = COMMAND if clock is None else (*clock.program[:-1], "scheduler")
        self.clock = clock
        command = [*program, f"--kubeconfig={kubeconfig}", "--v=2", *served, *flags]
        sources = {"PYTHONPATH": os.pathsep.join(sys.path)}
        self._child = Child(
            command, self.log, environment={**os.environ, **sources, **(clock.environment if clock else {})}
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def start(self) -> None:
        """Until it is ready; also after it was killed."""
        self._child.start()
        wait_until("restow scheduler is ready", self._is_ready, PATIENCE)

    def __exit__(self, *_: object) -> None:
        self._child.kill()

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended since."""
        return self._child.is_running

    def kill(self) -> None:
        """At once."""
        self._child.kill()

    def stop(self) -> int:
        """Politely; its exit status."""
        self._child.send(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """Until it ends by itself; its exit status."""
        return self._child.wait(PATIENCE)

    def page(self, path: str, token: str = "") -> tuple[int, str]:
        """Status and body of a page."""
        return page(self.port, path, token)

    def samples(self) -> Samples:
        """Its metrics as they are now."""
        families = text_string_to_metric_families(self.page("/metrics")[1])
        told = (sample for family in families for sample in family.samples)
        return Samples({(each.name, frozenset(each.labels.items())): each.value for each in told})

    def lines(self, text: str = "") -> list[str]:
        """The lines that it has logged and that contain a text."""
        return [line for line in self.log.read_text(errors="replace").splitlines() if text in line]

    def wait_for_line(self, text: str, *, times: int = 1) -> str:
        """The line that is the first, or so manieth, with it."""
        found = wait_until(f"restow scheduler logs {text} ({times})", lambda: self.lines(text)[times - 1 :], PATIENCE)
        return found[0]

    def _is_ready(self) -> bool:
        self._child.check()
        try:
            return self.page("/readyz")[0] == 200
        except OSError:
            return False
