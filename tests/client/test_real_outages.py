"""What a real API server does to those who list and watch while it dies, comes back and forgets."""

from __future__ import annotations

import asyncio
import base64
import json
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import trustme

from client.configurations import a_kubeconfig
from client.double import a_double, an_answer
from client.test_real_identities import seen_as
from client.test_real_objects import CLASSES, a_class
from e2e.components import Settings
from e2e.control_plane import ControlPlane
from e2e.ports import HOST
from restow.client.connection import connect
from restow.client.errors import Gone, Unauthorized
from restow.client.leader_election import Election, Leadership, LeaseLock, Timing, lead
from restow.client.listing import pages
from restow.client.resources import RESOURCES
from restow.client.transport import Api
from restow.client.watching import Changed, Interrupted, Listed, follow, watch

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio]


@pytest_asyncio.fixture
async def own_api(own_plane: ControlPlane) -> AsyncIterator[Api]:
    async with connect(str(own_plane.kubeconfig), qps=-1) as made:
        yield made


def forget(plane: ControlPlane, version: str) -> None:
    """etcd compacts its history, and the API server loses what it remembers of it."""
    url = f"http://{HOST}:{plane.layout.ports.etcd}/v3/kv/compaction"
    body = json.dumps({"revision": version, "physical": True}).encode()
    with urllib.request.urlopen(urllib.request.Request(url, body, method="POST")) as answer:
        assert answer.status == 200
    plane.restart("kube-apiserver")


class TestOutages:
    async def test_a_watch_survives_the_death_and_return_of_the_server(
        self, own_plane: ControlPlane, own_api: Api
    ) -> None:
        own_plane.admin.create(a_class("before"))
        async with aclosing(follow(own_api, CLASSES)) as events, asyncio.timeout(120):
            assert isinstance(await anext(events), Listed)
            own_plane.kill("kube-apiserver")
            assert isinstance(await anext(events), Interrupted)
            own_plane.restart("kube-apiserver")
            own_plane.admin.create(a_class("after"))
            async for each in events:
                if _contains(each, "after"):
                    break

    async def test_a_list_that_is_forgotten_half_way_begins_again(self, own_plane: ControlPlane, own_api: Api) -> None:
        own_plane.admin.create_all([a_class(f"page-{number}") for number in range(520)])
        found = []
        async for page in pages(own_api, CLASSES):
            found.append((page.first, page.last))
            if len(found) == 1:
                own_plane.admin.create(a_class("one-more"))
                forget(own_plane, str(int(page.resource_version) + 1))

        assert found == [(True, False), (True, False), (False, True)]

    async def test_a_watch_from_a_forgotten_version(self, own_plane: ControlPlane, own_api: Api) -> None:
        (version,) = [page.resource_version async for page in pages(own_api, RESOURCES["Node"])]
        own_plane.admin.create(a_class("newer"))
        forget(own_plane, str(int(version) + 1))

        with pytest.raises(Gone):
            await drained(watch(own_api, CLASSES, version))

    async def test_an_election_outlives_a_restart_of_the_server(self, own_plane: ControlPlane, own_api: Api) -> None:
        election = Election(LeaseLock(own_api, "default", "restow"), "a", Timing(90, 60, 1))

        async def work(leadership: Leadership) -> float:
            own_plane.kill("kube-apiserver")
            await asyncio.sleep(1.5)
            own_plane.restart("kube-apiserver")
            before = leadership.deadline
            for _ in range(600):
                if leadership.deadline != before:
                    break
                await asyncio.sleep(0.1)
            return leadership.remaining()

        remaining = await lead(election, work)
        assert remaining is not None
        assert 50 < remaining <= 60


async def drained(events: AsyncIterator[Any]) -> None:
    async for _ in events:
        pass


def _contains(event: Any, name: str) -> bool:
    if isinstance(event, Listed):
        return name in {each.metadata.name for each in event.objects}
    return isinstance(event, Changed) and event.object.metadata.name == name


# OpenID


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Issuer:
    """Signs web tokens."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.asymmetric import rsa

        self._key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)

    def keys(self) -> dict[str, Any]:
        numbers = self._key.public_key().public_numbers()
        as_bytes = {"n": numbers.n.to_bytes(256, "big"), "e": numbers.e.to_bytes(3, "big")}
        fields = {name: _encoded(value) for name, value in as_bytes.items()}
        return {"keys": [{"kty": "RSA", "kid": "k", "use": "sig", "alg": "RS256"} | fields]}

    def token(self, issuer: str, seconds: float) -> str:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import padding

        claims = {"iss": issuer, "aud": "restow", "sub": "jane", "exp": time.time() + seconds}
        head = {"alg": "RS256", "kid": "k"}
        text = ".".join(_encoded(json.dumps(part).encode()) for part in (head, claims))
        return f"{text}.{_encoded(self._key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


async def test_a_user_of_an_openid_provider(built: Path, tmp_path: Path) -> None:
    """The server checks the token with the provider's keys; an expired one is traded for a new one first."""
    import ssl

    authority, issuer = trustme.CA(), Issuer()
    authority.cert_pem.write_to_path(tmp_path / "issuer.pem")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    async with a_double(tls) as provider:
        flags = (
            f"--oidc-issuer-url={provider.url}",
            "--oidc-client-id=restow",
            f"--oidc-ca-file={tmp_path / 'issuer.pem'}",
        )
        places = {"issuer": provider.url, "token_endpoint": f"{provider.url}/token", "jwks_uri": f"{provider.url}/keys"}
        provider.answers("GET", "/.well-known/openid-configuration", an_answer(places))
        provider.answers("GET", "/keys", an_answer(issuer.keys()))
        provider.answers("POST", "/token", an_answer({"id_token": issuer.token(provider.url, 600)}))
        settings = {
            "idp-issuer-url": provider.url,
            "client-id": "restow",
            "idp-certificate-authority": str(tmp_path / "issuer.pem"),
            "id-token": issuer.token(provider.url, -600),
            "refresh-token": "r1",
        }
        user = {"auth-provider": {"name": "oidc", "config": settings}}
        (tmp_path / "plane").mkdir()
        with ControlPlane(tmp_path / "plane", Settings(apiserver=flags)) as plane:
            file = a_kubeconfig(
                tmp_path / "config",
                user,
                server=plane.layout.server,
                certificate_authority=str(plane.layout.certificates.authority.certificate),
            )
            assert await _patiently(file) == f"{provider.url}#jane"
    assert "/token" in {asked.path for asked in provider.asked}


async def _patiently(file: str) -> str:
    """The API server asks the provider for its keys every ten seconds until it gets them."""
    for _ in range(40):
        try:
            return await seen_as(file)
        except Unauthorized:
            await asyncio.sleep(1)
    raise AssertionError
