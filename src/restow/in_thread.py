"""Computations in threads of their own, so that the event loop stays responsive; and requests in a loop of their own.

``asyncio.to_thread`` waits for its threads when the loop ends; this does not. A descheduler that is stopped while it
decides loses nothing, and the kubelet grants only half a minute. A thread cannot be ended, though: one that never
finishes costs half of its process's CPU time until the process exits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


class EndlessError(Exception):
    """A computation did not finish in time; only a new process helps."""


async def in_thread(compute: Callable[[], T], seconds: float) -> T:
    """Return or raise what a function does in a thread of its own; cancelling does not wait for the thread.

    EndlessError after ``seconds``; a later result is dropped.
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
        # A later answer is dropped.
        answer.cancel()
    if not done:
        raise EndlessError(f"a decision did not finish within {seconds:.0f} s")
    return answer.result()


def in_own_loop(work: Coroutine[Any, Any, T]) -> T:
    """Return or raise what a coroutine does, for callers that are not asynchronous, also where a loop runs (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="restow") as thread:
        return thread.submit(asyncio.run, work).result()
