"""Computations beside the event loop, each in a thread of its own.

The threads of ``asyncio.to_thread`` are waited for when the loop ends. These are not: a descheduler that is told to stop
while it decides has nothing to lose, and the kubelet waits for half a minute only. Nor can they be ended: one that goes on
for ever takes half of the computing time of its process for as long as that lives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


class EndlessError(Exception):
    """A computation has not come to its end in time, and only a new process can go on."""


async def in_thread(compute: Callable[[], T], seconds: float) -> T:
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

    Thread(target=work, name="computing", daemon=True).start()
    try:
        done, _ = await asyncio.wait((answer,), timeout=seconds)
    finally:
        # Nobody asks any more for an answer that comes later.
        answer.cancel()
    if not done:
        raise EndlessError(f"a decision did not finish within {seconds:.0f} s")
    return answer.result()
