"""Network requests for who is not asynchronous: in an event loop of their own, also where one runs already (a notebook)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Wait for a coroutine; its errors are raised here."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="restow") as thread:
        return thread.submit(asyncio.run, work).result()
