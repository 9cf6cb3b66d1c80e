"""Credentials from a program that the kubeconfig names, kept until they expire.

It decides what the program learns about the cluster, how long it may run, and how its answer is used. The program's
output is limited in seconds and bytes, and no process of it survives.
Source: client.authentication.k8s.io/v1.
"""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from restow.client.credentials import Certificate, Identity, Trust, bearer
from restow.client.errors import NoCredentials
from restow.client.kubeconfig_files import Cluster, Exec, Section, User
from restow.configuration_files import ReloadingFile
from restow.errors import InputError
from restow.kube.excerpts import LONGEST, excerpt

#: Bytes of an answer; certificates with their chains are some thousands.
_LONGEST_ANSWER: Final = 1 << 20
#: Bytes of what was said on stderr last, which is where programs say why they end.
_LAST_WORDS: Final = LONGEST
#: Seconds in which the answer has to be complete after the end of the program, for its children may hold it open.
_AFTERMATH: Final = 1.0
_STDERR: Final = 2
#: Seconds before their end in which credentials are no longer used.
_MARGIN = 30.0
#: Seconds for the program, and for one that may ask a person to log in.
PATIENCE = 60.0
_PATIENCE_WITH_PEOPLE = 300.0
#: Fields of a cluster that are not passed to a program as they are. Source: client.authentication.k8s.io/v1 Cluster.
_NOT_PASSED: Final = {"certificate-authority", "certificate-authority-data", "extensions"}
#: The name of the extension of a cluster that is meant for programs.
_EXTENSION = "client.authentication.k8s.io/exec"
#: A point in time of any century.
_Time = Annotated[datetime, Meta(tz=True)]


class Ended(Struct, frozen=True):
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


class _Status(Struct, frozen=True, rename="camel"):
    """What the program grants."""

    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: str | None = None


class _Answer(Struct, frozen=True, rename="camel"):
    """An ExecCredential."""

    api_version: str
    kind: Literal["ExecCredential"]
    status: _Status


@dataclass(slots=True)
class ExecPlugin:
    """Runs the program when there is nothing, or nothing fresh, to show."""

    #: Program and arguments.
    command: Sequence[str] = field(repr=False)
    #: Of the program, without the variable that describes the cluster.
    environment: Mapping[str, str] = field(repr=False)
    api_version: str
    interactive: bool
    #: Describes the cluster as it is now; None if the program does not ask for it.
    cluster: Callable[[], dict[str, Any]] | None
    #: What the server's certificate is checked against, for the context that presents the program's own.
    trust: ReloadingFile[Trust]
    #: File and user, for errors.
    origin: str
    _known: _Status | None = field(init=False, default=None, repr=False)
    #: The certificate in ``_known``, presented to a server of these authorities.
    _tls: tuple[Trust, ssl.SSLContext] | None = field(init=False, default=None)
    #: Seconds since the epoch.
    _until: float = field(init=False, default=float("inf"))
    _running: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    async def identity(self) -> Identity:
        """What the program said last, or says now; NoCredentials where it fails."""
        async with self._running:
            if self._known is None or time.time() >= self._until - _MARGIN:
                status = await self._run()
                self._until, self._tls = self._end(status), None
                identity, self._known = self._identity(status), status
                return identity
            return self._identity(self._known)

    def rejected(self) -> None:
        """Run the program again before the next request."""
        self._known = None

    async def _run(self) -> _Status:
        name, seconds = excerpt(self.command[0]), _PATIENCE_WITH_PEOPLE if self.interactive else PATIENCE
        environment = {**self.environment, "KUBERNETES_EXEC_INFO": self._info()}
        try:
            ended = await run_program(self.command, environment, seconds, interactive=self.interactive)
        except FileNotFoundError as error:
            raise NoCredentials(f"{self.origin}: the credential plugin {name} is not installed") from error
        except TimeoutError as error:
            raise NoCredentials(
                f"{self.origin}: {name} did not answer within {seconds:.0f} s and was killed"
            ) from error
        except (OSError, ValueError) as error:
            # The text of an OSError repeats the command.
            why = (error.strerror if isinstance(error, OSError) else None) or excerpt(error)
            raise NoCredentials(f"{self.origin}: the credential plugin {name} failed: {why}") from error
        if ended.status != 0:
            words = f": {ended.last_words}" if ended.last_words else ""
            raise NoCredentials(f"{self.origin}: the credential plugin {name} failed with status {ended.status}{words}")
        return self._status(ended.answer)

    def _info(self) -> str:
        spec: dict[str, Any] = {"interactive": self.interactive}
        if self.cluster is not None:
            spec["cluster"] = self.cluster()
        info = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        return msgspec.json.encode(info).decode()

    def _status(self, answer: bytes) -> _Status:
        try:
            said = msgspec.json.decode(answer, type=_Answer)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise self._useless(f"is not an ExecCredential: {excerpt(error)}") from error
        if said.api_version != self.api_version:
            raise self._useless(f"has apiVersion {excerpt(said.api_version)}, not {excerpt(self.api_version)}")
        chain, key = said.status.client_certificate_data, said.status.client_key_data
        if (not said.status.token and not (chain and key)) or bool(chain) != bool(key):
            raise self._useless("has neither a token nor a certificate with a key")
        return said.status

    def _useless(self, why: str) -> NoCredentials:
        return NoCredentials(f"{self.origin}: the output of the credential plugin {excerpt(self.command[0])} {why}")

    def _identity(self, status: _Status) -> Identity:
        headers = (bearer(status.token, f"{self.origin}: {excerpt(self.command[0])}"),) if status.token else ()
        try:
            return Identity(headers, self._context(status))
        except InputError as error:
            raise NoCredentials(str(error)) from error

    def _context(self, status: _Status) -> ssl.SSLContext | None:
        """The context that presents the program's certificate; None where it gave none."""
        chain, key = status.client_certificate_data, status.client_key_data
        if not (chain and key):
            return None
        trust = self.trust.current()
        if self._tls is None or self._tls[0] is not trust:
            self._tls = (trust, trust.context(Certificate(chain.encode(), key.encode(), self.origin)))
        return self._tls[1]

    def _end(self, status: _Status) -> float:
        if not status.expiration_timestamp:
            return float("inf")
        try:
            return msgspec.convert(status.expiration_timestamp, _Time).timestamp()
        except msgspec.ValidationError as error:
            raise self._useless(f"has an invalid expirationTimestamp: {excerpt(error)}") from error


def exec_plugin(
    settings: Exec, user: Section[User], cluster: Cluster, trust: ReloadingFile[Trust], origin: str
) -> ExecPlugin:
    """The plugin of the ``exec`` section of a user; InputError for one that cannot be run."""
    _check_no_nul(settings, f"{origin}: users[name={excerpt(user.name)}]/user/exec")
    # A path is relative to the kubeconfig; a bare name is looked up in PATH.
    command = str(user.path(settings.command)) if os.sep in settings.command else settings.command
    return ExecPlugin(
        command=[command, *settings.args],
        environment={**os.environ, **{each.name: each.value for each in settings.env}},
        api_version=settings.api_version,
        interactive=_interactive(settings.interactive_mode, origin),
        cluster=(lambda: _cluster_info(cluster, trust)) if settings.provide_cluster_info else None,
        trust=trust,
        origin=origin,
    )


def _check_no_nul(settings: Exec, section: str) -> None:
    """InputError for a command, an argument or a variable that no program can be given."""
    written = {"command": settings.command}
    written |= {f"args[{at}]": each for at, each in enumerate(settings.args)}
    written |= {f"env[{at}]": each.name + each.value for at, each in enumerate(settings.env)}
    for name, text in written.items():
        if "\0" in text:
            raise InputError(f"{section}/{name} holds a NUL character; remove it")


def _interactive(mode: str | None, origin: str) -> bool:
    """Whether the program may ask questions: there is a terminal, and the section does not forbid it."""
    present = sys.stdin is not None and sys.stdin.isatty()
    if mode == "Always" and not present:
        raise InputError(f"{origin}: exec.interactiveMode is Always, but standard input is not a terminal")
    return present and mode != "Never"


def _cluster_info(cluster: Cluster, trust: ReloadingFile[Trust]) -> dict[str, Any]:
    """Describe the cluster for a program: the fields of its section, the authorities as data, and its own settings."""
    authorities = trust.current().authorities
    fields: dict[str, Any] = msgspec.to_builtins(cluster)
    info = {name: value for name, value in fields.items() if value and name not in _NOT_PASSED}
    if authorities:
        info["certificate-authority-data"] = base64.b64encode(authorities).decode()
    for each in cluster.extensions:
        if isinstance(each, dict) and each.get("name") == _EXTENSION:
            info["config"] = each.get("extension")
    return info
