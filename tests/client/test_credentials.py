"""Credentials that change: token files, programs, OpenID providers."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import trustme
import yaml

from client.configurations import a_kubeconfig, a_plugin
from client.double import Double, a_double, a_status, an_answer, packed
from restow.client.connection import in_cluster, kubeconfig_endpoint
from restow.client.credentials import Credentials, TokenFile
from restow.client.errors import NoCredentials
from restow.errors import InputError

pytestmark = pytest.mark.asyncio


async def token(credentials: Credentials) -> str:
    return dict((await credentials.identity()).headers)["Authorization"].removeprefix("Bearer ")


# Token files


@pytest.mark.looptime
async def test_a_token_file_is_read_again_every_minute(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one\n")
    credentials = TokenFile(file)
    assert await token(credentials) == "one"

    file.write_text("two")
    await asyncio.sleep(59)
    assert await token(credentials) == "one"
    await asyncio.sleep(1)
    assert await token(credentials) == "two"


@pytest.mark.looptime
async def test_a_refused_token_is_read_again_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    credentials = TokenFile(file)
    assert await token(credentials) == "one"

    file.write_text("two")
    credentials.rejected()
    assert await token(credentials) == "two"


@pytest.mark.looptime
@pytest.mark.parametrize("content", [None, ""], ids=["absent", "empty"])
async def test_the_last_token_counts_while_the_file_is_being_replaced(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    credentials = TokenFile(file)
    assert await token(credentials) == "one"

    file.unlink() if content is None else file.write_text(content)
    await asyncio.sleep(61)
    assert await token(credentials) == "one"


async def test_the_service_account_of_a_pod(tmp_path: Path) -> None:
    trustme.CA().cert_pem.write_to_path(tmp_path / "ca.crt")
    (tmp_path / "token").write_text("mine")
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}

    endpoint = in_cluster(environ, tmp_path)

    assert endpoint.server == "https://[fd00::1]:443"
    assert await token(endpoint.credentials) == "mine"
    tls = (await endpoint.credentials.identity()).tls
    assert tls is not None
    assert tls.check_hostname


@pytest.mark.parametrize("missing", ["token", "ca.crt"])
async def test_a_service_account_without_its_files(tmp_path: Path, missing: str) -> None:
    trustme.CA().cert_pem.write_to_path(tmp_path / "ca.crt")
    (tmp_path / "token").write_text("mine")
    (tmp_path / missing).unlink()

    with pytest.raises(InputError, match=r"the service account in .* cannot be used: .* does not exist"):
        in_cluster({"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "443"}, tmp_path)


@pytest.mark.parametrize(
    ("environ", "token", "message"),
    [
        pytest.param({"KUBERNETES_SERVICE_HOST": "h"}, "mine", "KUBERNETES_SERVICE_PORT is not set", id="no port"),
        pytest.param(
            {"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "443"}, "", "token is empty", id="no token"
        ),
    ],
)
async def test_a_service_account_that_is_unfinished(
    tmp_path: Path, environ: dict[str, str], token: str, message: str
) -> None:
    trustme.CA().cert_pem.write_to_path(tmp_path / "ca.crt")
    (tmp_path / "token").write_text(token)

    with pytest.raises(InputError, match=f"the service account in {tmp_path} cannot be used: {message}"):
        in_cluster(environ, tmp_path)


# Programs


def runs(directory: Path) -> int:
    return len((directory / "runs").read_text())


def credentials_with(directory: Path, user: dict[str, Any]) -> Credentials:
    return kubeconfig_endpoint(a_kubeconfig(directory / "config", user), None, {}).credentials


def in_seconds(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


async def test_a_program_runs_once_for_a_token_without_end(tmp_path: Path) -> None:
    credentials = credentials_with(tmp_path, a_plugin(tmp_path, {"token": "run-<RUN>"}))

    assert [await token(credentials) for _ in range(3)] == ["run-1"] * 3


async def test_requests_side_by_side_run_it_once(tmp_path: Path) -> None:
    credentials = credentials_with(tmp_path, a_plugin(tmp_path, {"token": "run-<RUN>"}))

    assert await asyncio.gather(*(token(credentials) for _ in range(5))) == ["run-1"] * 5


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [pytest.param(3_600, ["run-1", "run-1"], id="fresh"), pytest.param(5, ["run-1", "run-2"], id="about to expire")],
)
async def test_it_runs_again_before_the_token_expires(tmp_path: Path, seconds: float, expected: list[str]) -> None:
    status = {"token": "run-<RUN>", "expirationTimestamp": in_seconds(seconds)}
    credentials = credentials_with(tmp_path, a_plugin(tmp_path, status))

    assert [await token(credentials) for _ in range(2)] == expected


async def test_a_token_may_last_for_ever(tmp_path: Path) -> None:
    status = {"token": "run-<RUN>", "expirationTimestamp": "9999-12-31T23:59:59Z"}
    credentials = credentials_with(tmp_path, a_plugin(tmp_path, status))

    assert [await token(credentials) for _ in range(2)] == ["run-1", "run-1"]


async def test_it_runs_again_when_its_token_is_refused(tmp_path: Path) -> None:
    credentials = credentials_with(tmp_path, a_plugin(tmp_path, {"token": "run-<RUN>"}))
    await token(credentials)
    credentials.rejected()

    assert await token(credentials) == "run-2"


async def test_a_program_may_give_a_certificate(tmp_path: Path) -> None:
    certificate = trustme.CA().issue_cert("client")
    status = {
        "clientCertificateData": certificate.cert_chain_pems[0].bytes().decode(),
        "clientKeyData": certificate.private_key_pem.bytes().decode(),
    }

    identity = await credentials_with(tmp_path, a_plugin(tmp_path, status)).identity()

    assert identity.headers == ()
    assert identity.tls is not None


@pytest.mark.parametrize(
    ("status", "message"),
    [
        pytest.param({}, "has neither a token nor a certificate", id="nothing"),
        pytest.param("no json", "is not an ExecCredential", id="no JSON"),
        pytest.param('{"kind": "ExecCredential"}', "missing required field `apiVersion`", id="half an answer"),
        pytest.param(
            {"token": "t", "expirationTimestamp": "soon"}, "has an invalid expirationTimestamp", id="bad time"
        ),
        pytest.param(
            {"token": "t", "clientKeyData": "y"}, "has neither a token nor a certificate", id="key without certificate"
        ),
        pytest.param(
            '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "Pod", "status": {"token": "t"}}',
            "is not an ExecCredential: Invalid enum value 'Pod'",
            id="another kind",
        ),
        pytest.param({"clientCertificateData": "x", "clientKeyData": "y"}, "not a PEM certificate", id="bad PEM"),
    ],
)
async def test_a_program_that_answers_nonsense(tmp_path: Path, status: dict[str, Any] | str, message: str) -> None:
    with pytest.raises(NoCredentials, match=message) as raised:
        await credentials_with(tmp_path, a_plugin(tmp_path, status)).identity()
    assert str(raised.value).startswith(f"{tmp_path / 'config'}, context test")


async def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin"}}

    with pytest.raises(NoCredentials, match="the credential plugin no-such-plugin is not installed"):
        await credentials_with(tmp_path, user).identity()


async def test_a_program_that_fails_is_told_with_its_own_words(tmp_path: Path) -> None:
    user = {"exec": {"apiVersion": "v1", "command": "sh", "args": ["-c", "echo log in first >&2; exit 3"]}}

    with pytest.raises(NoCredentials, match=r"the credential plugin sh failed with status 3: log in first"):
        await credentials_with(tmp_path, user).identity()


# OpenID providers


def a_web_token(name: str, end: float | None) -> str:
    claims = {"sub": name} | ({} if end is None else {"exp": end})
    return ".".join(
        base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (b"{}", json.dumps(claims).encode(), b"s")
    )


AUTHORITY = trustme.CA()


@pytest_asyncio.fixture
async def provider() -> AsyncIterator[Double]:
    import ssl

    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    AUTHORITY.issue_cert("127.0.0.1").configure_cert(tls)
    async with a_double(tls) as double:
        double.answers("GET", "/.well-known/openid-configuration", an_answer({"token_endpoint": f"{double.url}/token"}))
        yield double


def an_openid_user(issuer: str, id_token: str | None, authority: bytes | None = None, **more: str) -> dict[str, Any]:
    settings = {"idp-issuer-url": issuer, "client-id": "me", "refresh-token": "r1"} | more
    if id_token is not None:
        settings["id-token"] = id_token
    if authority is not None:
        settings["idp-certificate-authority-data"] = base64.b64encode(authority).decode()
    return {"auth-provider": {"name": "oidc", "config": settings}}


CA_PEM = AUTHORITY.cert_pem.bytes()


async def test_a_fresh_web_token_is_used_as_it_is(tmp_path: Path) -> None:
    fresh = a_web_token("me", time.time() + 3_600)

    assert await token(credentials_with(tmp_path, an_openid_user("https://127.0.0.1:1", fresh))) == fresh


@pytest.mark.parametrize("old", [None, a_web_token("me", 1_000)], ids=["absent", "expired"])
async def test_an_expired_web_token_is_traded_and_both_tokens_are_written_back(
    tmp_path: Path, provider: Double, old: str | None
) -> None:
    fresh = a_web_token("me", time.time() + 3_600)
    provider.answers("POST", "/token", an_answer({"id_token": fresh, "refresh_token": "r2"}))
    credentials = credentials_with(tmp_path, an_openid_user(provider.url, old, CA_PEM, **{"client-id": "y"}))

    assert [await token(credentials) for _ in range(2)] == [fresh, fresh]
    assert b"refresh_token=r1" in provider.asked[1].body
    assert ["Authorization" in asked.headers for asked in provider.asked] == [False, True]
    assert len(provider.asked) == 2
    saved = yaml.safe_load((tmp_path / "config").read_text())
    assert saved["users"][0]["user"]["auth-provider"]["config"]["id-token"] == fresh
    assert saved["users"][0]["user"]["auth-provider"]["config"]["refresh-token"] == "r2"
    assert 'client-id: "y"' in (tmp_path / "config").read_text(), "kubectl takes a bare y for true"


async def test_a_provider_whose_answer_is_too_large_is_named(tmp_path: Path, provider: Double) -> None:
    provider.answers("POST", "/token", packed(b'{"id_token": "' + b"0" * (2 << 20) + b'"}'))

    with pytest.raises(NoCredentials, match=r"no new token: https://.*/token answered with more than 1 MiB"):
        await credentials_with(tmp_path, an_openid_user(provider.url, None, CA_PEM)).identity()


async def test_a_provider_may_compress_its_answers(tmp_path: Path, provider: Double) -> None:
    fresh = a_web_token("me", time.time() + 3_600)
    provider.answers("POST", "/token", packed(json.dumps({"id_token": fresh}).encode()))

    assert await token(credentials_with(tmp_path, an_openid_user(provider.url, None, CA_PEM))) == fresh


async def test_a_provider_that_keeps_its_refresh_token(tmp_path: Path, provider: Double) -> None:
    fresh = a_web_token("me", time.time() + 3_600)
    provider.answers("POST", "/token", an_answer({"id_token": fresh}))

    assert await token(credentials_with(tmp_path, an_openid_user(provider.url, None, CA_PEM))) == fresh


async def test_a_refused_web_token_is_traded_before_its_end(tmp_path: Path, provider: Double) -> None:
    provider.answers("POST", "/token", an_answer({"id_token": a_web_token("new", None)}))
    old = a_web_token("old", time.time() + 3_600)
    credentials = credentials_with(tmp_path, an_openid_user(provider.url, old, CA_PEM))
    assert await token(credentials) == old
    credentials.rejected()

    assert await token(credentials) == a_web_token("new", None)


async def test_the_provider_is_verified_even_without_an_authority_of_its_own(tmp_path: Path, provider: Double) -> None:
    """The authorities of the system count then."""
    with pytest.raises(NoCredentials, match=r"did not issue a new token .*; log in again"):
        await token(credentials_with(tmp_path, an_openid_user(provider.url, None)))
    assert not provider.asked


async def test_a_provider_that_refuses(tmp_path: Path, provider: Double) -> None:
    provider.answers("POST", "/token", a_status(400))

    with pytest.raises(
        NoCredentials, match=r"did not issue a new token .*failed to refresh access token.*; log in again"
    ):
        await token(credentials_with(tmp_path, an_openid_user(provider.url, None, CA_PEM)))


async def test_an_expired_web_token_without_refresh_token(tmp_path: Path) -> None:
    user = an_openid_user("https://127.0.0.1:1", a_web_token("me", 1_000), **{"refresh-token": ""})

    with pytest.raises(NoCredentials, match="the token has expired and refresh-token is missing; log in again"):
        await token(credentials_with(tmp_path, user))


async def test_a_token_that_is_no_web_token(tmp_path: Path) -> None:
    with pytest.raises(NoCredentials, match="id-token is not a JSON web token"):
        await token(credentials_with(tmp_path, an_openid_user("https://127.0.0.1:1", "opaque")))


# Secrets


async def test_no_secret_is_in_the_text_of_an_endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tracebacks and logs show it."""
    monkeypatch.setenv("ANYTHING", "s3cret")
    (tmp_path / "token").write_text("s3cret")
    web_token = a_web_token("s3cret", time.time() + 3_600)
    users: list[dict[str, Any]] = [
        {"token": "s3cret"},
        {"tokenFile": "token"},
        {"username": "u", "password": "s3cret"},
        a_plugin(tmp_path, {"token": "s3cret"}),
        an_openid_user("https://127.0.0.1:1", web_token),
    ]

    for user in users:
        endpoint = kubeconfig_endpoint(a_kubeconfig(tmp_path / "config", user), None, {})
        identity = await endpoint.credentials.identity()
        assert (
            "s3cret" in str(identity.headers) or web_token in str(identity.headers) or "Basic" in str(identity.headers)
        )
        shown = repr((endpoint, identity))
        assert "s3cret" not in shown
        assert web_token not in shown
