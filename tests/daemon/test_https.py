"""The server of a descheduler."""

from __future__ import annotations

import socket
import ssl

import pytest

from descheduler.hearing import Heard
from restow.daemon.connecting import HttpsSettings, https
from restow.serving.health import Health
from restow.serving.server import ListenAddress
from restow.serving.tls import KeyPair, TlsSettings, ciphers, tls_version
from serving.scraping import HERE, get

pytestmark = pytest.mark.asyncio


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind((HERE, 0))
        return free.getsockname()[1]


def serving(port, log=None, **settings):
    tls = TlsSettings(tls_version(""), ciphers(()))
    served = HttpsSettings(endpoint=ListenAddress(HERE, port), tls=tls, **settings)
    return https(served, Health(), lambda: "metric 1\n", {"/ask": bytes.upper}, log or Heard().log)


async def test_a_certificate_is_made_where_none_is_given(port):
    async with serving(port) as bound:
        assert bound == port
        first = await get(port, "/metrics")
    assert first.text == "metric 1\n"
    async with serving(port):
        assert (await get(port, "/healthz")).certificate != first.certificate


async def test_there_may_be_no_server():
    async with https(None, Health(), str, {}, Heard().log) as bound:
        assert bound is None


async def test_webhooks_are_served(port):
    async with serving(port, metrics=False):
        answer = await get(port, "/ask", method="POST", body=b"what")
    assert (answer.status, answer.text) == (200, "WHAT")


async def test_metrics_can_be_switched_off(port):
    async with serving(port, metrics=False):
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
    heard = Heard()
    async with serving(port, heard.log, certificates=[KeyPair(certificate, key)]):
        assert (await get(port, "/healthz", tls=trusting)).status == 200
        key.write_text("damaged")
        assert (await get(port, "/healthz", tls=trusting)).status == 200
    first, *warnings = heard.messages
    assert first == f"Serving securely on {HERE}:{port}"
    assert len(warnings) == 1
