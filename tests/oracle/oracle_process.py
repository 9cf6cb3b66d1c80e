"""The real Descheduler, asked in process: a client of the Go program in ``descheduler/``.

    with OracleProcess(oracle_binary()) as oracle:
        answer = oracle.ask(cluster=[*nodes, *pods], policy=policy_text, now=NOW)
        answer.runs[0].pods()

One process answers thousands of questions, a line of JSON each way, so that a property test pays no start-up.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).resolve().parents[2]


class OracleError(Exception):
    """The program broke off or took too long."""


class Eviction(msgspec.Struct, frozen=True):
    """One call of Evict by a plugin, in order; ``refused`` is the error text when the pod stayed."""

    namespace: str
    name: str
    node: str
    profile: str
    plugin: str
    refused: str = ""


class PluginError(msgspec.Struct, frozen=True):
    """The error status that a plugin returned; the cycle went on."""

    profile: str
    plugin: str
    error: str


class Outcome(msgspec.Struct, frozen=True):
    """One result of a cycle: ``count`` of the repeated cycles evicted these pods, in ``orders`` different orders."""

    count: int
    orders: int
    evictions: tuple[Eviction, ...]
    errors: tuple[PluginError, ...]

    def pods(self) -> list[str]:
        """The evicted pods as ``namespace/name``, in eviction order."""
        return [f"{eviction.namespace}/{eviction.name}" for eviction in self.evictions if not eviction.refused]


class PluginSeconds(msgspec.Struct, frozen=True):
    """What the calls of one plugin took, one figure a cycle."""

    profile: str
    plugin: str
    seconds: tuple[float, ...]


class Seconds(msgspec.Struct, frozen=True):
    """Where the time went: decoding the cluster, setting the cycles up, the plugins."""

    load: float
    setup: float
    plugins: tuple[PluginSeconds, ...]


class Answer(msgspec.Struct, frozen=True):
    """The distinct outcomes of a question, or the error that kept the policy or the cluster from loading."""

    runs: tuple[Outcome, ...]
    error: str = ""
    seconds: Seconds | None = None


def oracle_binary() -> Path:
    """The built program: RESTOW_ORACLE, or where build.py puts it. Raises FileNotFoundError with what to do."""
    binary = Path(os.environ.get("RESTOW_ORACLE") or ROOT / "build" / "oracle" / "descheduler")
    if not binary.exists():
        raise FileNotFoundError(f"{binary} is not built: run `make oracle`")
    return binary


class OracleProcess:
    """One running program. Not for several threads; a context manager, or ``close`` it."""

    def __init__(self, binary: Path) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self._process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)
        self._received = b""

    def ask(
        self,
        cluster: Iterable[Mapping[str, Any]] = (),
        policy: str = "",
        *,
        files: Iterable[Path] = (),
        now: str = "",
        repeat: int = 1,
        order: Literal["canonical", "random", "first", "last", "upstream"] = "canonical",
        favoured: Iterable[str] = (),
        apart: bool = False,
        timeout: float = 60.0,
    ) -> Answer:
        """What ``repeat`` independent cycles evict from ``cluster`` and the dumps in ``files``, judged at ``now``.

        The orders ``first`` and ``last`` are random but for the ``favoured`` pods (namespace/name), which come first, or
        backwards at the end.
        ``apart`` makes each cycle an outcome of its own instead of counting those that evict the same pods.
        Raises OracleError when no answer comes within ``timeout`` seconds; the process is over then.
        """
        request = {
            "cluster": list(cluster),
            "files": [str(path) for path in files],
            "policy": policy,
            "now": now,
            "repeat": repeat,
            "order": order,
            "favoured": list(favoured),
            "apart": apart,
        }
        return msgspec.json.decode(self.exchange(request, timeout), type=Answer)

    def exchange(self, request: Mapping[str, Any], timeout: float) -> bytes:
        """The line that answers a request, as JSON text. Raises OracleError like ``ask``."""
        self._send(msgspec.json.encode(request) + b"\n")
        return self._line(time.monotonic() + timeout)

    def close(self) -> None:
        """Ends the process: politely by the end of its input, so that it clears up, else by force."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._broken_off() from None

    def _line(self, deadline: float) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        parts = [self._received]
        while b"\n" not in parts[-1]:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self._process.kill()
                raise OracleError("no answer in time; the process is killed")
            part = os.read(descriptor, 1 << 20)
            if not part:
                raise self._broken_off()
            parts.append(part)
        line, _, self._received = b"".join(parts).partition(b"\n")
        return line

    def _broken_off(self) -> OracleError:
        self._process.wait()
        self._errors.seek(0)
        return OracleError(f"the process ended: {self._errors.read().decode(errors='replace')[:2000]}")
