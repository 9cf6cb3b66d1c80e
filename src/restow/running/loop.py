"""The loop of cycles, and the policy of each, which may change between two.

A cycle that fails does not end the loop, for whatever is wrong may pass - unless it is that no news come any more, or a
decision without an end: only a new process can go on then. The one of a Job ends it. The policy is looked at before each
cycle and every few seconds in between, so that a broken one is told of when it is written.
Source of the interval: Descheduler 0.36, wait.NonSlidingUntil.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Final

from restow.descheduling.registry import plugins
from restow.descheduling.usage_sources import usage_schemas
from restow.errors import InputError, problem_lines
from restow.executing.deciding import CycleRules
from restow.in_thread import EndlessError
from restow.kube.excerpts import excerpt
from restow.live.cluster import WatchEndedError
from restow.policies.enclosed import read_policy_document
from restow.policies.fallbacks import Fallbacks, with_fallbacks
from restow.policies.load import LoadedPolicy, load_document
from restow.policies.policy import Policy
from restow.running.cycles import Cycles
from restow.running.logs import Log
from restow.serving.health import Health
from restow.serving.metrics import Metrics
from restow.small_files import read_small_file

#: Seconds between two looks at the policy file.
_LOOK: Final = 5.0


@dataclass(slots=True)
class Loop:
    """Ends when ``stopping`` is set, after the cycle that is under way has come to its end."""

    cycles: Cycles
    policies: PolicySource
    #: All but the policy, which is taken anew for each cycle.
    rules: CycleRules
    #: Seconds; 0 for one cycle.
    interval: float
    stopping: asyncio.Event
    health: Health
    log: Log

    async def run(self) -> None:
        """Perform cycles; raises whatever a single one fails with."""
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
            except Exception as error:  # noqa: BLE001 - the next cycle may fare better, whatever it was
                why = str(error) or type(error).__name__
                self.log.error("Descheduling cycle failed", why)
                self.health.not_ready(f"the last cycle failed: {why}")
            while not self.stopping.is_set() and (left := due - clock()) > 0:
                await self._pause(min(left, _LOOK))
                self.policies.refresh()

    async def _perform(self) -> None:
        self.policies.refresh()
        await self.cycles.perform(replace(self.rules, policy=self.policies.current))

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self.stopping.wait()
        except TimeoutError:
            return


# What is compared is the text: a ConfigMap's files are links that are exchanged as a whole, and their times tell
# nothing. A new text that cannot be used is said once; the policy before it stays in force.
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
    #: What was said last of a file that cannot be read.
    _unreadable: str = field(init=False, default="")

    @staticmethod
    def open(path: str, fallbacks: Fallbacks, log: Log, metrics: Metrics) -> PolicySource:
        """Read a policy for the first time; InputError in a sentence where it cannot be used."""
        if not path:
            raise InputError("--policy-config-file is missing: nothing is evicted without a policy")
        source = PolicySource(path, fallbacks, log, metrics)
        source._take(_text(path))
        return source

    def refresh(self) -> None:
        """Read the file again if its text is another; whatever is wrong with it is logged."""
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
        except Exception as error:  # noqa: BLE001 - whatever a policy does to its readers, the one before it is good
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
