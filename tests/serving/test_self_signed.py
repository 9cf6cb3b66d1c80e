"""The certificate that is made at start, judged by OpenSSL."""

from __future__ import annotations

import os
import random
import secrets
import ssl
import tempfile
import time

import pytest

from restow.serving.cipher_suites import ciphers
from restow.serving.health import Health
from restow.serving.pages import pages
from restow.serving.self_signed import self_signed
from restow.serving.tls import TlsSettings, context_of_pem
from serving.scraping import HERE, get, served

MODERN = TlsSettings(ssl.TLSVersion.TLSv1_2, ciphers(()))


@pytest.mark.asyncio
@pytest.mark.parametrize("name", [HERE, "restow.kube-system.svc"])
async def test_openssl_verifies_signature_validity_and_names(name):
    pem = self_signed("restow@1", [HERE, "restow.kube-system.svc"], time.time_ns(), secrets.randbelow)
    trusting = ssl.create_default_context(cadata=pem)

    async with served(pages(Health(), None), context_of_pem(pem, MODERN)) as port:
        assert (await get(port, "/healthz", tls=trusting, name=name)).text == "ok"
        with pytest.raises(ssl.SSLCertVerificationError):
            await get(port, "/healthz", tls=trusting, name="another.name")


def test_where_memory_has_no_path_a_file_is_used_and_removed(monkeypatch, tmp_path):
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    context_of_pem(self_signed("restow@1", [HERE], time.time_ns(), secrets.randbelow), MODERN)
    assert list(tmp_path.iterdir()) == []


def test_the_same_chances_give_the_same_certificate():
    made = [self_signed("restow@1", [HERE], 0, random.Random(7).randrange) for _ in range(2)]
    assert made[0] == made[1]


def test_another_start_another_key():
    made = [self_signed("restow@1", [HERE], 0, secrets.randbelow) for _ in range(2)]
    assert made[0] != made[1]
