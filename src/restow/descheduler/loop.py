"""The loop of cycles, which reads the policy again before each one.

A failed cycle does not end the loop, because the cause may pass. Two failures do end it: a watch that ended and a decision
that does not end, which need a new process. A single cycle, as of a Job, always ends it. The policy is also read every few
seconds between cycles, so that the log reports a broken policy soon after it is written.
Source of the interval: Descheduler 0.36, wait.NonSlidingUntil.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from msgspec import structs

from restow.configuration_files import read_small_file
from restow.daemon.logs import Log
from restow.descheduler.cycles import Cycles
from restow.descheduling.registry import plugins
from restow.errors import InputError, problem_lines
from restow.executing.deciding import CycleRules
from restow.in_thread import EndlessError
from restow.kube.excerpts import excerpt
from restow.live.cluster import WatchEndedError
from restow.policies.fallbacks import Fallbacks, with_fallbacks
from restow.policies.load import LoadedPolicy, load_document, read_policy_document
from restow.policies.policy import Policy
from restow.serving.health import Health
from restow.serving.metrics import Metrics
from restow.usage.sources import usage_schemas

#: Seconds between two looks at the policy file.
_LOOK: Final = 5.0


@dataclass(slots=True)
class Loop:
    """Performs cycles until ``stopping`` is set; completes the cycle in progress."""

    cycles: Cycles
    policies: PolicySource
    #: The rules of each cycle, except for the policy, which ``policies`` provides.
    rules: CycleRules
    #: Seconds; 0 for one cycle.
    interval: float
    stopping: asyncio.Event
    health: Health
    log: Log

    async def run(self) -> None:
        """Perform cycles; with interval 0 perform one, and raise its error."""
        if not self.interval:
            await self._perform()
            return
        clock = asyncio.get_running_loop().time
        while not self.stopping.is_set():
            due = clock() + self.interval
            try:
                await self._perform()
                self.health.ready()
            except (WatchEndedError, EndlessError):
                raise
            except Exception as error:  # noqa: BLE001 - the next cycle may succeed
                why = str(error) or type(error).__name__
                self.log.error("Descheduling cycle failed", why)
                self.health.not_ready(f"the last cycle failed: {why}")
            while not self.stopping.is_set() and (left := due - clock()) > 0:
                await self._pause(min(left, _LOOK))
                self.policies.refresh()

    async def _perform(self) -> None:
        self.policies.refresh()
        await self.cycles.perform(structs.replace(self.rules, policy=self.policies.current))

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self.stopping.wait()
        except TimeoutError:
            return


# Compares the text and not the file's time: a ConfigMap's files are symbolic links that the kubelet replaces. A new text
# that cannot be used is logged once; the previous policy stays in force.
@dataclass(slots=True)
class PolicySource:
    """The policy of a file, read again when its text changes; made by ``open``."""

    path: str
    fallbacks: Fallbacks
    log: Log
    metrics: Metrics
    #: The policy in force.
    current: Policy = field(init=False, default_factory=Policy)
    #: What was read last, be it usable or not.
    _text: bytes = field(init=False, default=b"")
    #: The last logged reason why the file cannot be read.
    _unreadable: str = field(init=False, default="")

    @staticmethod
    def open(path: str, fallbacks: Fallbacks, log: Log, metrics: Metrics) -> PolicySource:
        """Read a policy for the first time; InputError if it cannot be used."""
        if not path:
            raise InputError("--policy-config-file is missing: nothing is evicted without a policy")
        source = PolicySource(path, fallbacks, log, metrics)
        source._take(_text(path))
        return source

    def refresh(self) -> None:
        """Load the file again if its text has changed; log its problems."""
        try:
            text = _text(self.path)
        except InputError as error:
            if str(error) != self._unreadable:
                self._unreadable = str(error)
                self.log.error("the previous policy stays in force", error)
            return
        self._unreadable = ""
        if text == self._text:
            return
        try:
            self._take(text)
            self.log.info(f"{self.path} has changed: the new policy is in force")
        except Exception as error:  # noqa: BLE001 - the previous policy stays usable even if the new one breaks the reader
            self.metrics.policy_read("broken")
            why = error if isinstance(error, InputError) else f"{self.path}: {type(error).__name__}: {excerpt(error)}"
            self.log.error("the changed policy cannot be used; the previous policy stays in force", why)

    def _take(self, text: bytes) -> None:
        self._text = text
        loaded = self._loaded(text)
        self.current = loaded.policy
        self.metrics.policy_read("loaded")
        for warning in problem_lines(loaded.warnings):
            self.log.warning(warning)
        if not loaded.policy.enables_strategies:
            self.log.warning(f"{self.path}: the policy enables no strategy, so no pod is ever evicted")

    def _loaded(self, text: bytes) -> LoadedPolicy:
        return load_document(
            with_fallbacks(read_policy_document(text, self.path), self.fallbacks), plugins(), usage_schemas()
        )


def _text(path: str) -> bytes:
    try:
        return read_small_file(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error} (--policy-config-file)") from error
