"""Runs a program for its output, with a limit on seconds and bytes; no process of it survives."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from restow.kube.excerpts import LONGEST

#: Bytes of an answer; certificates with their chains are some thousands.
_LONGEST_ANSWER: Final = 1 << 20
#: Bytes of what was said on stderr last, which is where programs say why they end.
_LAST_WORDS: Final = LONGEST
#: Seconds in which the answer has to be complete after the end of the program, for its children may hold it open.
_AFTERMATH: Final = 1.0
_STDERR: Final = 2


@dataclass(slots=True, frozen=True)
class Ended:
    """How a program ended."""

    #: The exit status, or the signal that ended it as a negative number.
    status: int
    answer: bytes
    #: What it said last on stderr.
    last_words: str


class _Listening(asyncio.SubprocessProtocol):
    def __init__(self) -> None:
        self.answer = bytearray()
        self.words = b""
        #: Done when the process is gone.
        self.gone = asyncio.get_running_loop().create_future()
        #: Done when the program has no more output.
        self.ended = asyncio.get_running_loop().create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == _STDERR:
            self.words = (self.words + data)[-_LAST_WORDS:]
        elif len(self.answer) + len(data) > _LONGEST_ANSWER:
            self._end(ValueError(f"its output is longer than {_LONGEST_ANSWER:,} bytes"))
        else:
            self.answer += data

    def process_exited(self) -> None:
        self.gone.set_result(None)
        asyncio.get_running_loop().call_later(_AFTERMATH, self._end)

    def connection_lost(self, _error: Exception | None) -> None:
        self._end()

    def _end(self, error: Exception | None = None) -> None:
        if self.ended.done():
            return
        if error is not None:
            self.ended.set_exception(error)
        else:
            self.ended.set_result(None)


async def run_program(
    command: Sequence[str], environment: Mapping[str, str], seconds: float, *, interactive: bool
) -> Ended:
    """Run a program; TimeoutError, OSError where it cannot be started, ValueError for an answer without end.

    An interactive one shares the terminal, and with it Ctrl-C. Any other has a session of its own and no input, and where
    it has to be ended its children end too.
    """
    starting = asyncio.ensure_future(_start(command, environment, interactive=interactive))
    try:
        async with asyncio.timeout(seconds):
            _, reader = await asyncio.shield(starting)
            await reader.ended
    finally:
        # A program that is cancelled while it starts may have children already.
        transport, reader = await starting
        if transport.get_returncode() is None:
            _kill(transport, interactive=interactive)
            await asyncio.wait([reader.gone], timeout=_AFTERMATH)
        transport.close()
    return Ended(transport.get_returncode() or 0, bytes(reader.answer), reader.words.decode(errors="replace").strip())


async def _start(
    command: Sequence[str], environment: Mapping[str, str], *, interactive: bool
) -> tuple[asyncio.SubprocessTransport, _Listening]:
    return await asyncio.get_running_loop().subprocess_exec(
        _Listening,
        *command,
        env=environment,
        stdin=None if interactive else subprocess.DEVNULL,
        stderr=None if interactive else subprocess.PIPE,
        start_new_session=not interactive,
    )


def _kill(transport: asyncio.SubprocessTransport, *, interactive: bool) -> None:
    with suppress(ProcessLookupError):
        if interactive:
            transport.kill()
        else:
            # Its session is named by its own number.
            os.killpg(transport.get_pid(), signal.SIGKILL)
