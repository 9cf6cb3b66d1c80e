"""Writes the files of a case into a directory, and asks with kubectl and with restow for the version of the server."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any
from unittest.mock import patch

import trustme

from e2e.binaries import tool
from e2e.kubeconfig_cases import BETA, EXEC, Kubeconfigs
from e2e.recorder import AUTHORITY, Recorder, Seen
from restow.client.connection import find_endpoint
from restow.client.sessions import open_session
from restow.client.transport import Api, Call
from restow.errors import ClientError, InputError

_CLIENT, _OTHER = AUTHORITY.issue_cert("me-1", common_name="me-1"), trustme.CA()
_CHAIN, _KEY = _CLIENT.cert_chain_pems[0].bytes(), _CLIENT.private_key_pem.bytes()
_CA = AUTHORITY.cert_pem.bytes()
#: Prints an answer, and writes down what it is told.
_PLUGIN = """#!/bin/sh
cd "$(dirname "$0")"; [ -e plugin ] || cd ..
printf '%s\\n' "$KUBERNETES_EXEC_INFO" > info
printf '%s|' "$GIVEN" "$@" > given
exec cat "$1.json"
"""
_PEM = {"clientCertificateData": _CHAIN.decode(), "clientKeyData": _KEY.decode()}


def _an_answer(status: Any, version: str = EXEC, kind: str = "ExecCredential", **more: Any) -> str:
    return json.dumps({"apiVersion": version, "kind": kind, "status": status} | more)


_ANSWERS = {
    "token": _an_answer({"token": "mine"}),
    "beta": _an_answer({"token": "mine"}, BETA),
    "core": _an_answer({"token": "mine"}, "v1"),
    "kind": _an_answer({"token": "mine"}, kind="Pod"),
    "garbage": "no json",
    "no-status": json.dumps({"apiVersion": EXEC, "kind": "ExecCredential"}),
    "empty-token": _an_answer({"token": ""}),
    "certificate": _an_answer(_PEM),
    "both": _an_answer(_PEM | {"token": "mine"}),
    "half": _an_answer({"token": "mine", "clientCertificateData": _PEM["clientCertificateData"]}),
    "bad-certificate": _an_answer({"clientCertificateData": "x", "clientKeyData": "y"}),
    "expired": _an_answer({"token": "mine", "expirationTimestamp": "2020-01-01T00:00:00Z"}),
    "fresh": _an_answer({"token": "mine", "expirationTimestamp": "2999-01-01T00:00:00+02:00"}),
    "bad-time": _an_answer({"token": "mine", "expirationTimestamp": "soon"}),
    "unknown-fields": _an_answer({"token": "mine", "more": 1}, spec={"interactive": True}, other=2),
}


@dataclass(frozen=True)
class Outcome:
    """What came of a kubeconfig."""

    #: What the API servers and the provider were asked; nothing where the kubeconfig is refused.
    seen: tuple[Seen, ...] = ()
    proxied: tuple[tuple[str, str], ...] = ()
    #: What a program was told of the cluster, and its arguments and a variable.
    info: Any = None
    given: str = ""
    #: The tokens that the kubeconfig has afterwards.
    kept: tuple[str, ...] = ()


def a_web_token(end: float | None) -> str:
    """A token of the provider that ends at a time."""
    claims = json.dumps({"sub": "me"} | ({} if end is None else {"exp": int(end)})).encode()
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (b"{}", claims, b"s"))


@dataclass(frozen=True)
class Site:
    """A recorder, and the directory with everything that a case needs."""

    recorder: Recorder
    directory: Path

    def outcomes(self, case: Kubeconfigs) -> tuple[Outcome, str, Outcome, str]:
        """What comes of it with kubectl and with restow, each with what the program said."""
        kubectl = self._with(self.directory / "a", case, _asked_by_kubectl)
        restow = self._with(self.directory / "a", case, _asked_by_restow)
        return *kubectl, *restow

    def _with(self, directory: Path, case: Kubeconfigs, ask: Any) -> tuple[Outcome, str]:
        environ = self._write(directory, case)
        self.recorder.taken()
        refused = ask(environ, case.context)
        seen, proxied = self.recorder.taken()
        if refused:
            return Outcome(), refused
        info, given = directory / "info", directory / "given"
        return Outcome(
            tuple(seen),
            tuple(proxied),
            # A null is as good as nothing.
            json.loads(info.read_text().replace('"config":null,', "").replace(',"config":null', ""))
            if info.exists()
            else None,
            given.read_text() if given.exists() else "",
            _kept(directory, case),
        ), ""

    def _write(self, directory: Path, case: Kubeconfigs) -> dict[str, str]:
        """Everything as it is at first; returns the environment of the program."""
        known = self._known(directory)
        for name, content in self._contents(case).items():
            file = directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            text = content if isinstance(content, str | bytes) else json.dumps(content)
            file.write_bytes(text if isinstance(text, bytes) else Template(text).substitute(known).encode())
            file.chmod(0o755)
        for name in ("info", "given"):
            (directory / name).unlink(missing_ok=True)
        self.recorder.granted = {"id_token": known["FRESH"], "refresh_token": "r2"}
        environ = {
            "HOME": str(directory / "home"),
            "PATH": f"{directory / 'bin'}:{os.environ['PATH']}",
            "KUBECONFIG": ":".join(str(directory / name) for name in case.files),
        }
        return environ | {name: Template(text).substitute(known) for name, text in case.environ.items()}

    def _contents(self, case: Kubeconfigs) -> dict[str, Any]:
        files = {name: content for name, content in case.files.items() if content is not None}
        pem = {"client.pem": _CHAIN, "client.key": _KEY, "ca.pem": _CA}
        beside = {f"sub/{name}": content for name, content in pem.items()}
        program = _PLUGIN.encode()
        programs = {"plugin": program, "bin/plugin-in-path": program}
        answers = {f"{name}.json": text.encode() for name, text in _ANSWERS.items()}
        return {"token": b"from-file\n", "empty": b"", **pem, **beside, **programs, **answers, **files}

    def _known(self, directory: Path) -> Mapping[str, str]:
        def encoded(data: bytes) -> str:
            return base64.b64encode(data).decode()

        ports, now = self.recorder, time.time() // 60 * 60
        return {
            "DIRECTORY": str(directory),
            "SERVER": f"https://127.0.0.1:{ports.secure}",
            "ISSUER": f"https://127.0.0.1:{ports.secure}/issuer",
            "SECURE": str(ports.secure),
            "PLAIN": str(ports.plain),
            "PROXY": str(ports.secure_proxy),
            "SOCKS": str(ports.socks),
            "CA": encoded(_CA),
            "CHAIN": encoded(_CHAIN),
            "KEY": encoded(_KEY),
            "OTHER_CA": encoded(_OTHER.cert_pem.bytes()),
            "OTHER_KEY": encoded(_OTHER.issue_cert("me-2").private_key_pem.bytes()),
            "LINES": "\\n".join(encoded(_CHAIN)[at : at + 64] for at in range(0, len(encoded(_CHAIN)), 64)),
            "CA_LINES": "\\n".join(encoded(_CA)[at : at + 64] for at in range(0, len(encoded(_CA)), 64)),
            "OLD": a_web_token(1_000),
            "FRESH": a_web_token(now + 86_400),
            "ENDLESS": a_web_token(4e9),
        }


def _kept(directory: Path, case: Kubeconfigs) -> tuple[str, ...]:
    texts = [(directory / name).read_text() for name, content in case.files.items() if isinstance(content, dict)]
    return tuple(token for token in ("r1", "r2", a_web_token(1_000)) if any(token in text for text in texts))


def _asked_by_kubectl(environ: Mapping[str, str], context: str | None) -> str:
    command = [tool("kubectl"), "get", "--raw", "/version"]
    command += [f"--context={context}"] if context is not None else []
    done = subprocess.run(
        command, env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60
    )
    return (done.stderr or "failed") if done.returncode else ""


def _asked_by_restow(environ: Mapping[str, str], context: str | None) -> str:
    async def ask() -> bytes:
        async with open_session() as session:
            return await Api(find_endpoint(None, context, environ), session, None).send(Call("GET", "/version"))

    try:
        with patch.dict(os.environ, environ, clear=True):
            asyncio.run(ask())
    except (InputError, ClientError) as error:
        return str(error)
    return ""
