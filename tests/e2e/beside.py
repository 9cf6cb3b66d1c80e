"""Something that goes on beside a block of a test, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any


@contextmanager
def beside(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run ``work`` as long as the block lasts; then the event is set, on which it ends."""
    over = threading.Event()
    thread = threading.Thread(target=work, args=(over,))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def coroutine_beside(work: Callable[[], Coroutine[Any, Any, None]], *, ending: float = 60.0) -> Iterator[None]:
    """Run a coroutine as long as the block lasts, and cancel it then; an error of it is raised at the end of the block.

    Raises TimeoutError if it takes more than ``ending`` seconds to end. Its thread keeps nothing else from ending then.
    """
    started, ended = Future[Callable[[], object]](), Future[None]()

    async def cancellable() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        started.set_result(lambda: loop.call_soon_threadsafe(task.cancel))
        await work()

    def run() -> None:
        try:
            asyncio.run(cancellable())
        except asyncio.CancelledError:
            ended.set_result(None)
        except BaseException as error:  # noqa: BLE001 - raised at the end of the block
            ended.set_exception(error)
        else:
            ended.set_result(None)

    threading.Thread(target=run, daemon=True, name="beside").start()
    cancel = started.result()
    try:
        yield
    finally:
        # The loop is closed if the work has ended with an error.
        with suppress(RuntimeError):
            cancel()
        ended.result(ending)
