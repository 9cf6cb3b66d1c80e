"""Every way to say who we are, to a real API server, which tells whom it takes us for."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from client.configurations import a_kubeconfig
from e2e.certificates import sign
from e2e.control_plane import ControlPlane
from restow.client import connection
from restow.client.connection import connect, in_cluster
from restow.client.credentials import bearer
from restow.client.errors import Forbidden, NoCredentials, Unauthorized, Unreachable, Untrusted
from restow.client.transport import Api, Call

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio]

REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ADMINISTRATORS = "system:masters"


async def whoami(api: Api) -> str:
    """The user that the server takes us for."""
    body = msgspec.json.encode({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
    answer = msgspec.json.decode(await api.send(Call("POST", REVIEWS, body=body)))
    return str(answer["status"]["userInfo"]["username"])


@pytest.fixture
def account(plane: ControlPlane, namespace: str) -> str:
    """A token of a service account of the test's own."""
    return plane.service_account("restow", namespace)


def configured(plane: ControlPlane, file: Path, user: dict[str, Any], **cluster: Any) -> str:
    authority = {"certificate_authority": str(plane.layout.certificates.authority.certificate)}
    return a_kubeconfig(file, user, **({"server": plane.layout.server} | authority | cluster))


async def seen_as(kubeconfig: str, context: str | None = None) -> str:
    async with connect(kubeconfig, context, qps=-1) as api:
        return await whoami(api)


async def test_a_token(plane: ControlPlane, account: str, namespace: str, tmp_path: Path) -> None:
    assert await seen_as(configured(plane, tmp_path / "c", {"token": account})) == (
        f"system:serviceaccount:{namespace}:restow"
    )


async def test_a_certificate_in_the_file_and_beside_it(plane: ControlPlane, tmp_path: Path) -> None:
    pair = sign(tmp_path, "jane", plane.layout.certificates.authority, subject=f"/O={ADMINISTRATORS}/CN=jane")
    beside = {"client-certificate": "jane.crt", "client-key": "jane.key"}
    inside = {
        "client-certificate-data": base64.b64encode(pair.certificate.read_bytes()).decode(),
        "client-key-data": base64.b64encode(pair.key.read_bytes()).decode(),
    }

    assert await seen_as(configured(plane, tmp_path / "c", beside)) == "jane"
    assert await seen_as(configured(plane, tmp_path / "c", inside)) == "jane"


async def test_contexts_of_several_files(
    plane: ControlPlane, account: str, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = configured(plane, tmp_path / "1", {"token": account}, context="robot", current="robot")
    sign(tmp_path, "jane", plane.layout.certificates.authority)
    user = {"client-certificate": "jane.crt", "client-key": "jane.key"}
    other = configured(plane, tmp_path / "2", user, context="person", current="person")
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join([one, other]))

    async with connect() as api:
        assert await whoami(api) == f"system:serviceaccount:{namespace}:restow"
    async with connect(context="person") as api:
        assert await whoami(api) == "jane"


def with_token(api: Api, token: str) -> None:
    """As if the file had held this token when it was read last."""
    api.endpoint.credentials.own._header = bearer(token, "the test")  # type: ignore[attr-defined]


async def test_a_token_file_whose_token_was_rotated(plane: ControlPlane, account: str, tmp_path: Path) -> None:
    """A token that the server no longer takes is read again before anybody hears of it."""
    file = tmp_path / "token"
    file.write_text(account)
    async with connect(configured(plane, tmp_path / "c", {"tokenFile": "token"}), qps=-1) as api:
        before = await whoami(api)
        with_token(api, "expired")
        assert await whoami(api) == before
        file.write_text("expired too")
        api.endpoint.credentials.rejected()
        with pytest.raises(Unauthorized):
            await whoami(api)
        file.write_text(account)
        assert await whoami(api) == before


async def test_the_service_account_of_a_pod(
    plane: ControlPlane, account: str, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ca.crt").write_bytes(plane.layout.certificates.authority.certificate.read_bytes())
    (tmp_path / "token").write_text(account)
    address = urlsplit(plane.layout.server)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", str(address.hostname))
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(address.port))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setattr(connection, "in_cluster", lambda environ: in_cluster(environ, tmp_path))

    async with connect() as api:
        assert await whoami(api) == f"system:serviceaccount:{namespace}:restow"
        # The kubelet has replaced it, and the old one has been revoked.
        (tmp_path / "token").write_text(plane.token_of("restow", namespace))
        with_token(api, "revoked")
        assert await whoami(api) == f"system:serviceaccount:{namespace}:restow"


async def test_a_revoked_token_is_refused(plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    token = plane.service_account("short", namespace)
    plane.admin.delete("ServiceAccount", "short", namespace)

    async def refused() -> None:
        """The server believes a token for some seconds after it has checked it."""
        for _ in range(100):
            await seen_as(configured(plane, tmp_path / "c", {"token": token}))
            await asyncio.sleep(0.2)

    with pytest.raises(Unauthorized):
        await refused()


def a_program(file: Path, status: dict[str, Any]) -> dict[str, Any]:
    version = "client.authentication.k8s.io/v1"
    said = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})
    file.write_text(f"#!{sys.executable}\nprint({said!r})\n")
    file.chmod(0o700)
    return {"exec": {"apiVersion": version, "command": f"./{file.name}", "interactiveMode": "Never"}}


async def test_programs_that_give_tokens_and_certificates(
    plane: ControlPlane, account: str, namespace: str, tmp_path: Path
) -> None:
    pair = sign(tmp_path, "jane", plane.layout.certificates.authority)
    token = a_program(tmp_path / "token-plugin", {"token": account, "expirationTimestamp": "2100-01-01T00:00:00Z"})
    status = {"clientCertificateData": pair.certificate.read_text(), "clientKeyData": pair.key.read_text()}
    certificate = a_program(tmp_path / "certificate-plugin", status)

    assert await seen_as(configured(plane, tmp_path / "c", token)) == f"system:serviceaccount:{namespace}:restow"
    assert await seen_as(configured(plane, tmp_path / "c", certificate)) == "jane"


async def test_a_program_whose_token_is_bad(plane: ControlPlane, tmp_path: Path) -> None:
    with pytest.raises(Unauthorized):
        await seen_as(configured(plane, tmp_path / "c", a_program(tmp_path / "plugin", {"token": "bad"})))
    with pytest.raises(NoCredentials):
        await seen_as(configured(plane, tmp_path / "c", a_program(tmp_path / "plugin", {})))


async def test_acting_for_another_user(plane: ControlPlane, account: str, tmp_path: Path) -> None:
    pair = sign(tmp_path, "root", plane.layout.certificates.authority, subject=f"/O={ADMINISTRATORS}/CN=root")
    user = {"client-certificate": str(pair.certificate), "client-key": str(pair.key), "as": "somebody"}

    assert await seen_as(configured(plane, tmp_path / "c", user)) == "somebody"
    with pytest.raises(Forbidden, match="cannot impersonate"):
        await seen_as(configured(plane, tmp_path / "c", {"token": account, "as": "somebody"}))


async def test_nobody(plane: ControlPlane, tmp_path: Path) -> None:
    with pytest.raises((Unauthorized, Forbidden)):
        await seen_as(configured(plane, tmp_path / "c", {}))


# TLS


async def test_a_server_of_an_unknown_authority_is_not_trusted(
    plane: ControlPlane, account: str, tmp_path: Path
) -> None:
    other = str(plane.layout.certificates.front_proxy_authority.certificate)

    with pytest.raises(
        Untrusted, match=r"context test\): the server's certificate cannot be verified: .*unable to get"
    ):
        await seen_as(configured(plane, tmp_path / "c", {"token": account}, certificate_authority=other))
    with pytest.raises(Untrusted, match="cannot be verified"):
        await seen_as(a_kubeconfig(tmp_path / "c", {"token": account}, server=plane.layout.server))


async def test_the_name_in_the_certificate_counts(plane: ControlPlane, account: str, tmp_path: Path) -> None:
    with pytest.raises(Untrusted, match=r"cannot be verified: .*other.example"):
        await seen_as(configured(plane, tmp_path / "c", {"token": account}, tls_server_name="other.example"))
    inner = configured(plane, tmp_path / "c", {"token": account}, tls_server_name="kubernetes.default.svc")
    assert (await seen_as(inner)).endswith(":restow")


async def test_no_verification_where_the_kubeconfig_says_so(plane: ControlPlane, account: str, tmp_path: Path) -> None:
    file = a_kubeconfig(tmp_path / "c", {"token": account}, server=plane.layout.server, insecure_skip_tls_verify=True)
    async with connect(file) as api:
        assert (await whoami(api)).endswith(":restow")
        assert len(api.endpoint.warnings) == 1


# Proxies


@asynccontextmanager
async def a_proxy() -> AsyncIterator[tuple[str, list[str]]]:
    """An HTTP proxy that knows CONNECT, and what it was asked for."""
    asked: list[str] = []

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        target = head.split()[1].decode()
        asked.append(target)
        host, _, port = target.rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(pipe(reader, far_writer), pipe(far_reader, writer), return_exceptions=True)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked
    finally:
        server.close()


async def test_through_a_proxy(plane: ControlPlane, account: str, tmp_path: Path) -> None:
    async with a_proxy() as (url, asked):
        file = configured(plane, tmp_path / "c", {"token": account}, proxy_url=url)
        assert (await seen_as(file)).endswith(":restow")
    assert asked == [urlsplit(plane.layout.server).netloc]


async def test_a_proxy_that_is_not_there(plane: ControlPlane, account: str, tmp_path: Path) -> None:
    file = configured(plane, tmp_path / "c", {"token": account}, proxy_url="http://127.0.0.1:1")

    with pytest.raises(Unreachable, match="cannot be reached: connection refused"):
        await seen_as(file)
