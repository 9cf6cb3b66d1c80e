"""Engines as a command names them, and what a pod of ``--engine kubernetes`` does."""

from __future__ import annotations

import os
from pathlib import Path

from restow import garbage
from restow.application.files import file_bytes, file_name
from restow.engines.registry import ChosenEngine, choose_engine
from restow.errors import InputError

#: Set by the Job controller in the pods of an Indexed Job.
_INDEX = "JOB_COMPLETION_INDEX"


def read_engine(name: str, workers: int | None, config: str | None) -> ChosenEngine:
    """Return an engine with what its file says; InputError where one of them cannot be used."""
    content, named = (b"", "--engine-config") if config is None else (file_bytes(config), file_name(config))
    return choose_engine(name, workers, content, named)


def make_index_of_job(parcel: str, digest: str, version: str, output: str) -> None:
    """Make the pieces of an index of a Job, and write what came of them; InputError outside of such a pod."""
    from restow.engines.parcel import make_index

    index = os.environ.get(_INDEX, "")
    if not index.isdecimal():
        raise InputError(f"{_INDEX} is not set: this command is for the pods of restow simulate --engine kubernetes")
    garbage.collect()
    try:
        Path(output).write_bytes(make_index(Path(parcel), digest, version, int(index)))
    except OSError as error:
        raise InputError(f"{error.filename or output}: {error.strerror or error}") from error
