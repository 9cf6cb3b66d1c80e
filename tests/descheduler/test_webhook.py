"""The webhook of one process: by whom it is told whom to gate, and whether the API server would trust it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme

from descheduler.hearing import sample
from executing.test_admission import AWAITED, a_review
from restow.descheduler.webhook import Webhook
from restow.serving.certificate import self_signed
from restow.serving.health import Health
from restow.serving.metrics import Metrics
from restow.serving.pages import pages
from restow.serving.tls import KeyPair, TlsSettings, ciphers, context_of_files, tls_version
from serving.scraping import HERE, served

NAME = "restow-steering.kube-system.svc"


class Knows:
    """Awaits replacements of some controllers."""

    def __init__(self, *owners: str) -> None:
        self.owners = owners

    def awaits(self, owner: str) -> bool:
        return owner in self.owners


def gates(webhook: Webhook) -> bool:
    return "patch" in json.loads(webhook.answer(json.dumps(a_review()).encode()))["response"]


def test_before_anybody_is_asked_and_after_nothing_is_gated() -> None:
    webhook = Webhook(Metrics().steering)
    assert not gates(webhook)
    with webhook.asking(Knows(AWAITED)):
        assert gates(webhook)
    assert not gates(webhook)


def test_what_is_answered_is_counted() -> None:
    metrics = Metrics()
    webhook = Webhook(metrics.steering)
    gates(webhook)
    with webhook.asking(Knows(AWAITED)):
        gates(webhook)
        gates(webhook)
    found = [sample(metrics, "restow_webhook_reviews_total", result=each) for each in ("gated", "unchanged")]
    assert found == [2, 1]


def test_it_gates_what_the_leader_has_just_announced_and_what_others_have() -> None:
    webhook = Webhook(Metrics().steering)
    with webhook.asking(Knows()):
        assert not gates(webhook)
        with webhook.asking(Knows(AWAITED)):
            assert gates(webhook)


def test_a_process_that_leads_no_more_gates_nothing_because_it_would_not_let_go() -> None:
    webhook = Webhook(Metrics().steering)
    with webhook.asking(Knows(AWAITED)):
        with webhook.asking(Knows()):
            pass
        assert not gates(webhook)


@asynccontextmanager
async def a_webhook(directory: Path, authority: trustme.CA, name: str = NAME) -> AsyncIterator[Webhook]:
    issued = authority.issue_cert(name)
    pair = KeyPair(directory / "tls.crt", directory / "tls.key")
    issued.cert_chain_pems[0].write_to_path(pair.certificate)
    issued.private_key_pem.write_to_path(pair.key)
    tls = context_of_files([pair], TlsSettings(tls_version(""), ciphers(())))
    webhook = Webhook(Metrics().steering)
    async with served(pages(Health(), None), tls) as port:
        webhook.is_served("0.0.0.0", port)
        yield webhook


def pem(authority: trustme.CA) -> bytes:
    return authority.cert_pem.bytes()


@pytest.mark.asyncio
class TestTrust:
    async def test_a_certificate_of_the_authority_and_for_the_name_is_trusted(self, tmp_path: Path) -> None:
        authority = trustme.CA()
        async with a_webhook(tmp_path, authority) as webhook:
            assert await webhook.distrust(NAME, pem(authority)) is None

    async def test_a_certificate_that_signs_itself_is_trusted_where_it_is_the_authority(self, tmp_path: Path) -> None:
        """As the API server does; it is the simplest of all certificates."""
        made = self_signed("restow", [NAME])
        (tmp_path / "both.pem").write_text(made)
        pair = KeyPair(tmp_path / "both.pem", tmp_path / "both.pem")
        tls = context_of_files([pair], TlsSettings(tls_version(""), ciphers(())))
        webhook = Webhook(Metrics().steering)
        async with served(pages(Health(), None), tls) as port:
            webhook.is_served(HERE, port)
            assert await webhook.distrust(NAME, made.partition("-----BEGIN PRIVATE KEY")[0].encode()) is None

    async def test_another_authority_is_a_reason(self, tmp_path: Path) -> None:
        async with a_webhook(tmp_path, trustme.CA()) as webhook:
            assert "unable to get local issuer certificate" in (await webhook.distrust(NAME, pem(trustme.CA())) or "")

    async def test_another_name_is_a_reason(self, tmp_path: Path) -> None:
        authority = trustme.CA()
        async with a_webhook(tmp_path, authority, "restow.tools.svc") as webhook:
            assert "Hostname mismatch" in (await webhook.distrust(NAME, pem(authority)) or "")

    @pytest.mark.parametrize("authorities", [b"", b"no PEM", b"-----BEGIN CERTIFICATE-----\nx", b"\xff"])
    async def test_an_authority_that_is_none_is_a_reason(self, tmp_path: Path, authorities: bytes) -> None:
        async with a_webhook(tmp_path, trustme.CA()) as webhook:
            assert await webhook.distrust(NAME, authorities)

    async def test_a_server_that_is_switched_off_or_gone_is_a_reason(self) -> None:
        webhook = Webhook(Metrics().steering)
        assert await webhook.distrust(NAME, pem(trustme.CA())) == "restow serves nothing (--secure-port)"
        webhook.is_served(HERE, 1)
        assert await webhook.distrust(NAME, pem(trustme.CA()))
