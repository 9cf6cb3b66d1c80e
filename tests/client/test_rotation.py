"""Certificates and authorities that are replaced while restow runs: new connections use the new files, without a restart."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio
import trustme

from client.configurations import a_kubeconfig, a_plugin
from client.double import Double, a_double, a_list, an_answer
from restow.client.connection import in_cluster, kubeconfig_endpoint
from restow.client.credentials import Endpoint, Identity
from restow.client.errors import Unreachable, Untrusted
from restow.client.resources import RESOURCES
from restow.client.sessions import open_session
from restow.client.transport import Api, Call
from restow.client.watching import Interrupted, Listed, follow

pytestmark = pytest.mark.asyncio

OLD, NEW = trustme.CA(), trustme.CA()
FILES = {"certificate_authority": "ca.pem"}
USER = {"client-certificate": "client.pem", "client-key": "client.key"}


def serving(authority: trustme.CA, *, clients: bool) -> ssl.SSLContext:
    """What a server shows; with ``clients`` it wants a certificate of the same authority."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    # The client's certificate is refused within the handshake.
    tls.maximum_version = ssl.TLSVersion.TLSv1_2
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    if clients:
        authority.configure_trust(tls)
        tls.verify_mode = ssl.CERT_REQUIRED
    return tls


class Rotating:
    """A server whose certificate and authority can be exchanged."""

    def __init__(self, double: Double) -> None:
        self.url = double.url
        self.shown = serving(OLD, clients=False)

    def rotate(self, authority: trustme.CA, *, clients: bool = False) -> None:
        self.shown = serving(authority, clients=clients)


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Rotating]:
    listening = serving(OLD, clients=False)

    def choose(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = rotating.shown

    listening.sni_callback = choose  # type: ignore[assignment]
    async with a_double(listening) as double:
        double.answers("GET", "/", an_answer({}))
        double.answers("GET", "/api/v1/pods", a_list("web-1"))
        rotating = Rotating(double)
        yield rotating


def write(directory: Path, authority: trustme.CA) -> None:
    """The files as they are after a rotation."""
    authority.cert_pem.write_to_path(directory / "ca.pem")
    issued = authority.issue_cert("client")
    issued.cert_chain_pems[0].write_to_path(directory / "client.pem")
    issued.private_key_pem.write_to_path(directory / "client.key")


async def ask(endpoint: Endpoint) -> bytes:
    """On a connection of its own."""
    async with open_session() as session:
        return await Api(endpoint, session, None).send(Call("GET", "/"))


async def test_a_new_authority_is_read_by_whoever_keeps_its_connections(server: Rotating, tmp_path: Path) -> None:
    write(tmp_path, OLD)
    endpoint = kubeconfig_endpoint(a_kubeconfig(tmp_path / "config", server=server.url, **FILES), None, {})
    async with open_session() as session:
        api = Api(endpoint, session, None)
        assert await api.send(Call("GET", "/")) == b"{}"

        server.rotate(NEW)
        write(tmp_path, NEW)

        assert await api.send(Call("GET", "/")) == b"{}"
    assert await ask(endpoint) == b"{}"


async def test_a_new_client_certificate_is_presented(server: Rotating, tmp_path: Path) -> None:
    write(tmp_path, OLD)
    server.rotate(OLD, clients=True)
    endpoint = kubeconfig_endpoint(a_kubeconfig(tmp_path / "config", USER, server=server.url, **FILES), None, {})
    assert await ask(endpoint) == b"{}"

    server.rotate(NEW, clients=True)
    with pytest.raises((Untrusted, Unreachable)):
        await ask(endpoint)
    write(tmp_path, NEW)

    assert await ask(endpoint) == b"{}"


async def test_the_authority_of_a_service_account_is_read_again(server: Rotating, tmp_path: Path) -> None:
    """The kubelet exchanges a link to a directory."""
    for name, authority in {"old": OLD, "new": NEW}.items():
        (tmp_path / name).mkdir()
        authority.cert_pem.write_to_path(tmp_path / name / "ca.crt")
        (tmp_path / name / "token").write_text("mine")
    data = tmp_path / "..data"
    data.symlink_to("old")
    for file in ("ca.crt", "token"):
        (tmp_path / file).symlink_to(f"..data/{file}")
    host, _, port = server.url.removeprefix("https://").rpartition(":")
    endpoint = in_cluster({"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}, tmp_path)
    assert await ask(endpoint) == b"{}"

    server.rotate(NEW)
    with pytest.raises(Untrusted):
        await ask(endpoint)
    (tmp_path / "..data.new").symlink_to("new")
    (tmp_path / "..data.new").rename(data)

    assert await ask(endpoint) == b"{}"


async def test_files_that_are_being_written_leave_what_was_there_and_are_told_of(
    server: Rotating, tmp_path: Path
) -> None:
    write(tmp_path, OLD)
    endpoint = kubeconfig_endpoint(a_kubeconfig(tmp_path / "config", USER, server=server.url, **FILES), None, {})
    (tmp_path / "ca.pem").write_text("half")
    assert await ask(endpoint) == b"{}"
    (tmp_path / "client.key").unlink()
    assert await ask(endpoint) == b"{}"

    write(tmp_path, OLD)
    (tmp_path / "ca.pem").write_text("half")
    server.rotate(NEW)
    with pytest.raises(Untrusted, match=r"cannot be verified.*; newer files cannot be used: .*certificate-authority"):
        await ask(endpoint)


async def test_a_certificate_that_is_replaced_during_the_handshake_is_tried_at_once(
    server: Rotating, tmp_path: Path
) -> None:
    write(tmp_path, OLD)
    server.rotate(NEW)
    file = a_kubeconfig(tmp_path / "config", server=server.url, **FILES)
    kept = kubeconfig_endpoint(file, None, {})

    class JustBefore:
        """The files are replaced as soon as the identity is known."""

        async def identity(self) -> Identity:
            known = await kept.credentials.identity()
            write(tmp_path, NEW)
            return known

        def rejected(self) -> None:
            raise AssertionError

    assert await ask(Endpoint(server.url, JustBefore())) == b"{}"


async def test_the_certificate_of_a_program_is_presented_to_the_new_authority(server: Rotating, tmp_path: Path) -> None:
    write(tmp_path, OLD)
    issued = NEW.issue_cert("client")
    status = {
        "clientCertificateData": issued.cert_chain_pems[0].bytes().decode(),
        "clientKeyData": issued.private_key_pem.bytes().decode(),
    }
    file = a_kubeconfig(tmp_path / "config", a_plugin(tmp_path, status), server=server.url, **FILES)
    endpoint = kubeconfig_endpoint(file, None, {})
    assert await ask(endpoint) == b"{}"

    server.rotate(NEW, clients=True)
    write(tmp_path, NEW)

    assert await ask(endpoint) == b"{}"
    assert (tmp_path / "runs").read_text() == "x"


@pytest.mark.looptime
async def test_who_watches_waits_for_the_new_authority(server: Rotating, tmp_path: Path) -> None:
    """The server has its new certificate before the kubelet has written the new authority."""
    write(tmp_path, OLD)
    server.rotate(NEW)
    endpoint = kubeconfig_endpoint(a_kubeconfig(tmp_path / "config", server=server.url, **FILES), None, {})
    async with open_session() as session, aclosing(follow(Api(endpoint, session, None), RESOURCES["Pod"])) as news:
        interrupted = await anext(news)
        assert isinstance(interrupted, Interrupted)
        assert isinstance(interrupted.error, Untrusted)
        write(tmp_path, NEW)
        assert isinstance(await anext(news), Listed)
