"""The server as flags ask for it."""

from __future__ import annotations

import socket
import ssl

import pytest

from restow.running.flags import Flags
from restow.running.https import https
from restow.serving.health import Health
from serving.scraping import HERE, get

pytestmark = pytest.mark.asyncio


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind((HERE, 0))
        return free.getsockname()[1]


def serving(warn=lambda _: None, **flags):
    return https(Flags(bind_address=HERE, **flags), Health(), lambda: "metric 1\n", warn)


async def test_a_certificate_is_made_where_none_is_given(port):
    async with serving(secure_port=port) as bound:
        assert bound == port
        first = await get(port, "/metrics")
    assert first.text == "metric 1\n"
    async with serving(secure_port=port):
        assert (await get(port, "/healthz")).certificate != first.certificate


async def test_port_0_serves_nothing():
    async with serving(secure_port=0) as bound:
        assert bound is None


async def test_metrics_can_be_switched_off(port):
    async with serving(secure_port=port, disable_metrics=True):
        assert (await get(port, "/metrics")).status == 404
        assert (await get(port, "/healthz")).status == 200


async def test_files_are_used(port, tmp_path):
    trustme = pytest.importorskip("trustme")
    authority = trustme.CA()
    issued = authority.issue_cert(HERE)
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    issued.cert_chain_pems[0].write_to_path(certificate)
    issued.private_key_pem.write_to_path(key)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    warnings = []
    flags = {"tls_cert_file": str(certificate), "tls_private_key_file": str(key)}
    async with serving(warnings.append, secure_port=port, **flags):
        assert (await get(port, "/healthz", tls=trusting)).status == 200
        key.write_text("damaged")
        assert (await get(port, "/healthz", tls=trusting)).status == 200
    assert len(warnings) == 1
