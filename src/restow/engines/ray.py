"""Pieces of work as tasks of a Ray cluster, which gives those of a lost worker to others; for those who have Ray."""

from __future__ import annotations

import logging
import os
import pickle
import sys
from contextlib import redirect_stdout
from importlib import import_module
from typing import Any

from msgspec import Struct

from restow.engines.dask import make_piece
from restow.engines.work import EngineTask, ResultListener
from restow.errors import ClientError, InputError
from restow.version import __version__


class RayArgs(Struct, frozen=True, rename="camel"):
    """Which cluster."""

    #: Of the cluster, such as ray://head:10001, or auto for that of this machine; empty: RAY_ADDRESS.
    address: str = ""


def make_on_ray(args: RayArgs, task: EngineTask, listener: ResultListener) -> None:
    """Make pieces on the workers of a Ray cluster; InputError without Ray, ClientError where it does not answer."""
    try:
        ray = import_module("ray")
    except ImportError as error:
        raise InputError(
            "--engine ray needs the package ray, in the version of the cluster: pip install ray"
        ) from error
    address = args.address or os.environ.get("RAY_ADDRESS", "")
    if not address:
        raise InputError(
            "say which Ray cluster: write address: ray://<host>:10001 into --engine-config, or set RAY_ADDRESS"
        )
    try:
        # Ray prints what happens to its workers on stdout.
        with redirect_stdout(sys.stderr), ray.init(address, log_to_driver=False, logging_level=logging.ERROR):
            _follow(ray, task, listener)
    except (OSError, ray.exceptions.RayError) as error:
        raise ClientError(f"the Ray cluster at {address}: {error}") from error


def _follow(ray: Any, task: EngineTask, listener: ResultListener) -> None:
    """Have no more pieces under way than ``--workers``, or than there are."""
    packed = ray.put(pickle.dumps(task.work))
    make = ray.remote(make_piece).options(num_cpus=1, max_retries=5)
    waiting, under_way = list(reversed(task.numbers)), dict[Any, int]()
    while waiting or under_way:
        while waiting and len(under_way) < (task.workers or len(task.numbers)):
            number = waiting.pop()
            under_way[make.remote(packed, number, __version__)] = number
        for done in ray.wait(list(under_way))[0]:
            made = ray.get(done)
            if isinstance(made, Exception):
                raise made
            listener.finished(under_way.pop(done), made)
