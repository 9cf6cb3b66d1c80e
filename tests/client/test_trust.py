"""TLS: whom we trust, and how we prove who we are."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
import trustme

from client.double import Double, a_double, an_answer, an_api
from restow.client.credentials import Certificate, Fixed, Identity, Trust
from restow.client.errors import Unreachable, Untrusted
from restow.client.transport import Call
from restow.errors import InputError

pytestmark = pytest.mark.asyncio

AUTHORITY = trustme.CA()
OURS = Trust(AUTHORITY.cert_pem.bytes(), origin="the test")
CLIENT = AUTHORITY.issue_cert("client")
CERTIFICATE = Certificate(CLIENT.cert_chain_pems[0].bytes(), CLIENT.private_key_pem.bytes(), "the test")


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Double]:
    """It wants a certificate of the authority."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    AUTHORITY.issue_cert("127.0.0.1").configure_cert(tls)
    AUTHORITY.configure_trust(tls)
    tls.verify_mode = ssl.CERT_REQUIRED
    async with a_double(tls) as double:
        double.answers("GET", "/", an_answer({}))
        yield double


async def ask(server: Double, tls: ssl.SSLContext) -> bytes:
    async with an_api(server.url, Fixed(Identity(tls=tls))) as api:
        return await api.send(Call("GET", "/"))


async def test_both_sides_prove_who_they_are(server: Double) -> None:
    assert await ask(server, OURS.context(CERTIFICATE)) == b"{}"


async def test_a_server_of_another_authority_is_not_trusted(server: Double) -> None:
    with pytest.raises(Untrusted, match=r"^https://127.0.0.1:\d+ \(the test\): the server's certificate cannot be"):
        await ask(server, Trust(trustme.CA().cert_pem.bytes()).context(CERTIFICATE))
    with pytest.raises(Untrusted):
        await ask(server, Trust().context(CERTIFICATE))


async def test_without_a_certificate_the_server_hangs_up(server: Double) -> None:
    with pytest.raises((Unreachable, Untrusted)):
        await ask(server, OURS.context())


async def test_verification_can_be_switched_off(server: Double) -> None:
    assert await ask(server, Trust(skip_verification=True).context(CERTIFICATE)) == b"{}"


@pytest.mark.parametrize(
    "certificate",
    [
        pytest.param(Certificate(CERTIFICATE.chain, b"", "the test"), id="no key"),
        pytest.param(Certificate(b"", CERTIFICATE.key, "the test"), id="no certificate"),
        pytest.param(Certificate(CERTIFICATE.chain, trustme.CA().private_key_pem.bytes(), "the test"), id="wrong key"),
    ],
)
async def test_a_certificate_without_its_key(certificate: Certificate) -> None:
    with pytest.raises(InputError, match="the test: not a PEM certificate with its unencrypted key"):
        OURS.context(certificate)


@pytest.mark.parametrize("authorities", [b"", b"\n", b"\xff\xfe\x00", "ä".encode()])
async def test_what_holds_no_authority_never_means_those_of_the_system(authorities: bytes) -> None:
    with pytest.raises(InputError, match="file: contains no PEM certificate of an authority"):
        Trust(authorities, origin="file").context()
