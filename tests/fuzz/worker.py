"""The process in which cases run: one after another, each in an empty folder of its own, with what it writes taken down.

It speaks with ``workers`` in frames of MessagePack over its standard input and output. It may die of a case; that is what
it is there for. Memory is limited by RLIMIT_AS, and pauses between two tries of a request are shortened.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import io
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from fuzz import command_line_memory, following
from fuzz.api_server import ScriptedServer
from fuzz.cases import LONGEST_OUTPUT, PORT, Case, Ran
from restow.cli import main
from restow.cli.terminal import degrade_gracefully
from restow.client.flow_control import BackOff

_HEADER = 4
#: Says that the first case may come.
READY = b"ready"
#: Pauses are this much shorter.
_FASTER = 200.0
#: Characters of a traceback's beginning and of its end.
_HALF = 4_000
#: A folder in memory, where there is one: files on a disk take longer than most commands.
_IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
#: Inputs between two looks for garbage; the commands switch the collector off.
_GARBAGE_EVERY = 40


def serve(memory: int) -> None:
    """Run cases until there are no more."""
    requests, replies = _channels()
    traces = _prepare()
    server = ScriptedServer()
    following.is_told = server.is_told
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    gc.freeze()
    count = 0
    write_frame(replies, READY)
    while frame := read_frame(requests):
        case = msgspec.msgpack.decode(frame, type=Case)
        write_frame(replies, msgspec.msgpack.encode(_all_of(case, server, traces)))
        count += 1
        if count % _GARBAGE_EVERY == 0:
            gc.collect()


def read_frame(stream: BinaryIO) -> bytes:
    """The next frame; empty at the end."""
    header = stream.read(_HEADER)
    return stream.read(int.from_bytes(header, "big")) if len(header) == _HEADER else b""


def write_frame(stream: BinaryIO, data: bytes) -> None:
    """Write a frame at once."""
    stream.write(len(data).to_bytes(_HEADER, "big") + data)
    stream.flush()


def _channels() -> tuple[BinaryIO, BinaryIO]:
    """The standard streams for frames alone; what else is written there is lost."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    return requests, replies


def _prepare() -> list[str]:
    """Make this process like one that a user starts, but in a hurry; returns where unforeseen exceptions are noted."""
    # The server's thread is of no interest.
    faulthandler.enable(all_threads=False)
    degrade_gracefully()
    warnings.filterwarnings("always", category=RuntimeWarning)
    os.environ["COLUMNS"] = "80"
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        os.environ.pop(name, None)
    wait, describe = BackOff.wait, main.describe
    BackOff.wait = lambda self, failures, at_least=None: wait(self, failures, at_least) / _FASTER  # type: ignore[method-assign]
    traces: list[str] = []

    def noted(error: Exception, arguments: Sequence[str]) -> str:
        traces.append(_trace_of(error))
        return describe(error, arguments)

    main.describe = noted
    command_line_memory.install()
    # The first command imports everything, which is no part of any case.
    _one_of(("generate", "--nodes", "2", "--pods", "2"), b"", main.run, [])
    return traces


def _all_of(case: Case, server: ScriptedServer, traces: list[str]) -> list[Ran]:
    server.load(case.answers)
    if case.kind == "flags":
        command_line_memory.clear()
    module, _, function = case.entry.partition(":")
    entry = getattr(importlib.import_module(module), function)
    folder = Path(tempfile.mkdtemp(prefix="restow-fuzz-", dir=_IN_MEMORY))
    os.environ["HOME"] = str(folder)
    os.chdir(folder)
    try:
        for name, data in case.files.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data.replace(PORT, b"%d" % server.port))
        return [_one_of(command, case.stdin, entry, traces) for command in case.commands]
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)


def _one_of(arguments: Sequence[str], stdin: bytes, entry: object, traces: list[str]) -> Ran:
    out, err = io.BytesIO(), io.BytesIO()
    standard = sys.stdin, sys.stdout, sys.stderr
    # A text stream that nobody holds any more closes what is below it.
    streams = (
        io.TextIOWrapper(io.BytesIO(stdin)),
        io.TextIOWrapper(out, "utf-8", "plain", write_through=True),
        io.TextIOWrapper(err, "utf-8", "plain", write_through=True),
    )
    sys.stdin, sys.stdout, sys.stderr = streams
    traces.clear()
    start = time.process_time()
    try:
        status, trace = _status_of(entry, arguments)
        for stream in streams[1:]:
            stream.flush()
    finally:
        sys.stdin, sys.stdout, sys.stderr = standard
    gc.enable()
    shown = err.getvalue()[:LONGEST_OUTPUT].decode(errors="replace")
    return Ran(status, out.getvalue()[:LONGEST_OUTPUT], shown, time.process_time() - start, trace or "".join(traces))


def _status_of(entry: object, arguments: Sequence[str]) -> tuple[int, str]:
    """The exit status, and the traceback of what only an entry other than the command line lets through."""
    assert callable(entry)
    try:
        return entry(list(arguments)), ""
    except main.InputError as error:
        sys.stderr.write(f"{error}\n")
        return main.UNUSABLE, ""
    except Exception as error:  # noqa: BLE001 - every exception is a finding
        return main.FAILED, _trace_of(error)


def _trace_of(error: Exception) -> str:
    """Beginning and end of a traceback; recursion makes long ones."""
    text = "".join(traceback.format_exception(error))
    return text if len(text) < 2 * _HALF else f"{text[:_HALF]}\n...\n{text[-_HALF:]}"


if __name__ == "__main__":
    serve(int(sys.argv[1]))
