"""Which certificate is shown, and what is negotiated."""

from __future__ import annotations

import os
import ssl
import tempfile
from contextlib import asynccontextmanager

import pytest
import trustme

from restow.errors import InputError
from restow.serving.certificate import self_signed
from restow.serving.health import Health
from restow.serving.pages import pages
from restow.serving.tls import KeyPair, TlsSettings, ciphers, context_of_files, context_of_pem, tls_version
from serving.scraping import HERE, get, served, unverified

CA = trustme.CA()
MODERN = TlsSettings(ssl.TLSVersion.TLSv1_2, ciphers(()))


@pytest.fixture
def pair(tmp_path):
    """Writes a certificate for names, and its key, to files of a name."""

    def write(file, *hosts):
        issued = CA.issue_cert(*hosts or (HERE,))
        certificate, key = tmp_path / f"{file}.crt", tmp_path / f"{file}.key"
        issued.cert_chain_pems[0].write_to_path(certificate)
        issued.private_key_pem.write_to_path(key)
        return KeyPair(certificate, key)

    return write


def shown(pair):
    return ssl.PEM_cert_to_DER_cert(pair.certificate.read_text())


@asynccontextmanager
async def serving(*pairs, settings=MODERN, warn=lambda _: None):
    async with served(pages(Health(), None), context_of_files(pairs, settings, warn)) as port:
        yield port


async def certificate(port, **options):
    return (await get(port, "/healthz", **options)).certificate


@pytest.mark.asyncio
async def test_a_client_that_knows_the_authority_trusts_the_server(pair):
    trusting = ssl.create_default_context()
    CA.configure_trust(trusting)
    async with serving(pair("serving")) as port:
        assert (await get(port, "/healthz", tls=trusting)).status == 200


@pytest.mark.asyncio
async def test_a_renewed_certificate_is_shown_from_the_next_connection_on(pair):
    async with serving(files := pair("serving")) as port:
        before = await certificate(port)
        pair("serving")
        assert await certificate(port) == shown(files) != before


@pytest.mark.asyncio
async def test_files_that_do_not_go_together_leave_the_old_pair_and_are_told_of_once(pair):
    told = []
    async with serving(files := pair("serving"), warn=told.append) as port:
        before = await certificate(port)
        key = files.key.read_bytes()
        pair("serving")
        files.key.write_bytes(key)
        assert [await certificate(port), await certificate(port)] == [before, before]
        assert len(told) == 1
        assert str(files.certificate) in told[0]


@pytest.mark.asyncio
async def test_files_that_are_gone_leave_the_old_pair(pair):
    async with serving(files := pair("serving")) as port:
        before = await certificate(port)
        files.certificate.unlink()
        assert await certificate(port) == before


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("metrics.example", "other"),
        ("a.wild.example", "other"),
        ("a.b.wild.example", "first"),
        ("wild.example", "first"),
        ("unknown.example", "first"),
    ],
)
async def test_a_name_has_its_own_certificate(pair, asked, expected):
    pairs = {"first": pair("first"), "other": pair("other")}
    named = KeyPair(pairs["other"].certificate, pairs["other"].key, ("metrics.example", "*.wild.example"))
    async with serving(pairs["first"], named) as port:
        assert await certificate(port, name=asked) == shown(pairs[expected])


@pytest.mark.asyncio
async def test_older_versions_than_asked_for_are_refused(pair):
    old = unverified()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    settings = TlsSettings(tls_version("VersionTLS13"), ciphers(()))
    async with serving(pair("serving"), settings=settings) as port:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await get(port, "/healthz", tls=old)
        assert (await get(port, "/healthz")).status == 200


@pytest.mark.asyncio
async def test_only_the_named_suites_are_offered(pair):
    settings = TlsSettings(ssl.TLSVersion.TLSv1_2, ciphers(["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"]))
    client = unverified()
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    async with serving(pair("serving"), settings=settings) as port:
        assert (await get(port, "/healthz", tls=client)).status == 200
        client.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await get(port, "/healthz", tls=client)


def test_unusable_files_are_named(pair, tmp_path):
    with pytest.raises(InputError, match=r"gone\.crt with the key .*serving\.key cannot be used: No such file"):
        context_of_files([KeyPair(tmp_path / "gone.crt", pair("serving").key)], MODERN)
    with pytest.raises(InputError, match="cannot be used"):
        context_of_files([KeyPair(pair("one").certificate, pair("two").key)], MODERN)


def test_every_suite_that_kubernetes_knows_is_a_name_that_openssl_reads():
    """OpenSSL 3 is built without RC4 and triple DES, and ignores names that it does not know where it knows one."""
    from restow.serving.tls import _SUITES

    def is_read(name):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_ciphers(f"{ciphers([name])}:AES128-SHA:@SECLEVEL=0")
        return ciphers([name]) in {each["name"] for each in context.get_ciphers()}

    assert [name for name in _SUITES if "RC4" not in name and "3DES" not in name and not is_read(name)] == []


def test_suites_of_tls_1_3_change_nothing():
    assert ciphers(["TLS_AES_128_GCM_SHA256"]) == ciphers(())


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        (lambda: tls_version("VersionTLS14"), 'unknown tls version "VersionTLS14"'),
        (lambda: ciphers(["TLS_NONE"]), "Cipher suite TLS_NONE not supported or doesn't exist"),
    ],
    ids=["version", "suite"],
)
def test_unknown_names(reading, message):
    with pytest.raises(ValueError, match=message):
        reading()


def test_where_memory_has_no_path_a_file_is_used_and_removed(monkeypatch, tmp_path):
    pem = self_signed("restow@1", [HERE])
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    context_of_pem(pem, MODERN)
    assert list(tmp_path.iterdir()) == []
