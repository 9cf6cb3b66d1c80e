"""Pieces of work as tasks of a Dask cluster (``restow[dask]``), which gives those of a lost worker to others.

The work is sent to the workers once. One process makes one piece at a time, however many threads it has: the pieces are
Python, so two of them at once are no faster.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from threading import Lock
from typing import Any, Final

from msgspec import Struct

from restow.engines.work import EngineTask, ResultListener, Work, outcome
from restow.errors import ClientError, InputError
from restow.version import __version__

#: In a worker: held by the piece that is made.
_BUSY: Final = Lock()
#: Workers that may end while they make the same piece, before that piece is to blame.
_DEATHS: Final = 5


class DaskArgs(Struct, frozen=True, rename="camel"):
    """Which cluster."""

    #: Of the scheduler, such as tcp://scheduler:8786; empty: DASK_SCHEDULER_ADDRESS, or what Dask's own files say.
    address: str = ""


def make_on_dask(args: DaskArgs, task: EngineTask, listener: ResultListener) -> None:
    """Make pieces on the workers of a Dask cluster; InputError without the extra, ClientError where it does not answer."""
    try:
        dask, distributed = import_module("dask"), import_module("distributed")
    except ImportError as error:
        raise InputError("--engine dask needs the package distributed: pip install 'restow[dask]'") from error
    if task.workers is not None:
        raise InputError("--workers does not go with --engine dask: the Dask cluster says how many workers there are")
    address = args.address or dask.config.get("scheduler-address", "")
    if not address:
        raise InputError(
            "say which Dask cluster: write address: tcp://<host>:8786 into --engine-config, or set DASK_SCHEDULER_ADDRESS"
        )
    try:
        with (
            distributed.Client(address) as client,
            dask.config.set({"distributed.scheduler.allowed-failures": _DEATHS}),
        ):
            _follow(client, task, listener, distributed.as_completed)
    except ImportError as error:
        raise InputError(
            f"a worker of the Dask cluster at {address} cannot import restow {__version__}: {error}"
        ) from error
    except (OSError, distributed.KilledWorker, distributed.CancelledError) as error:
        raise ClientError(f"the Dask cluster at {address}: {error or type(error).__name__}") from error


def _follow(client: Any, task: EngineTask, listener: ResultListener, as_completed: Callable[..., Any]) -> None:
    (packed,) = client.scatter([pickle.dumps(task.work)])
    futures = [client.submit(make_piece, packed, each, __version__, pure=False) for each in task.numbers]
    numbers = dict(zip(futures, task.numbers, strict=True))
    for future, made in as_completed(futures, with_results=True):
        if isinstance(made, Exception):
            raise made
        listener.finished(numbers[future], made)


def make_piece(packed: bytes, number: int, version: str) -> Any:
    """Return the result of a piece, or the error; in a worker."""
    if version != __version__:
        return InputError(
            f"a worker has restow {__version__} and the command restow {version}: install {version} there"
        )
    with _BUSY:
        return outcome(_unpacked(packed), number, lambda _: None)


@lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> Work:
    work: Work = pickle.loads(packed)  # noqa: S301 - a Dask cluster runs any code of its clients
    return work
