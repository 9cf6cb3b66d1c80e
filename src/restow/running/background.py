"""Work beside the event loop's: tasks, threads, and how all of it ends."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from threading import Thread, Timer
from typing import Any, Final, TypeVar

from restow.running.logs import Log

T = TypeVar("T")

#: What a decision may take (seconds): many times what the largest plan takes, so that it will never end.
LONGEST_DECISION: Final = 1800.0

#: Seconds from SIGTERM to the end, whatever the API server does; less than the manifests' grace period.
ENDS_WITHIN: Final = 55.0
_FAILED: Final = 1


# The threads of ``asyncio.to_thread`` are waited for when the loop ends. This one is not: a descheduler that is told
# to stop while it decides has nothing to lose, and the kubelet waits for half a minute only. Nor can it be ended: one
# that goes on for ever takes half of the computing time of its process for as long as that lives.
class EndlessError(Exception):
    """A computation has not come to its end in time, and only a new process can go on."""


@asynccontextmanager
async def background(work: Coroutine[Any, Any, None], name: str) -> AsyncIterator[None]:
    """Do something in a task of this name while the block runs, and end it with the block."""
    task = asyncio.create_task(work, name=name)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def off_loop(compute: Callable[[], T], seconds: float) -> T:
    """What a function returns or raises, computed in a thread of its own; if cancelled, nobody waits for the thread.

    EndlessError after so many seconds; what comes later is dropped.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def tell(result: Callable[[], None]) -> None:
        # The loop may have ended meanwhile, and the future been cancelled.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if answer.done() else result())

    def work() -> None:
        try:
            result = compute()
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            raised = error
            tell(lambda: answer.set_exception(raised))
        else:
            tell(lambda: answer.set_result(result))

    Thread(target=work, name="deciding", daemon=True).start()
    try:
        done, _ = await asyncio.wait((answer,), timeout=seconds)
    finally:
        # Nobody asks any more for an answer that comes later.
        answer.cancel()
    if not done:
        raise EndlessError(f"a decision did not finish within {seconds:.0f} s")
    return answer.result()


# Everything that the end waits for has a deadline of its own: answers to evictions, events, the lease, connections.
# This one is for what nobody foresaw, such as a thread of the system's resolver, which Python waits for. Whoever
# started the process kills it a little later (``terminationGracePeriodSeconds`` in ``deploy/``); until then it could
# say why.
def told_to_stop(log: Log) -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set; the process has ended some time after that, whatever happens."""
    stopping = asyncio.Event()
    heed_signals(stopping, log)
    return stopping


def heed_signals(stopping: asyncio.Event, log: Log) -> None:
    """Have SIGTERM and SIGINT set an event, also where somebody else has taken them."""

    def stop() -> None:
        if not stopping.is_set():
            stopping.set()
            end_at_last(log)

    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop)


def end_at_last(log: Log, seconds: float = ENDS_WITHIN) -> None:
    """End the process that much later, unless it has ended by then; with exit status 1 and a line in the log."""

    def end() -> None:
        log.failure("restow is forced to exit", f"it did not stop within {seconds:.0f} s of being told to")
        os._exit(_FAILED)

    timer = Timer(seconds, end)
    timer.daemon = True
    timer.start()
