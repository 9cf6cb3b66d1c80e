"""The certificate of a server that was given none: verified by OpenSSL, and what is said where none can be made."""

from __future__ import annotations

import ssl

import pytest
from cryptography import x509

from restow.errors import InputError
from restow.serving.certificate import self_signed
from restow.serving.health import Health
from restow.serving.pages import pages
from restow.serving.tls import TlsSettings, ciphers, context_of_pem
from serving.scraping import HERE, get, served

MODERN = TlsSettings(ssl.TLSVersion.TLSv1_2, ciphers(()))


@pytest.mark.asyncio
@pytest.mark.parametrize("name", [HERE, "::1", "restow.kube-system.svc", "xn--bcher-kva.example"])
async def test_openssl_verifies_signature_validity_and_names(name):
    pem = self_signed("restow@1", [HERE, "::1", "restow.kube-system.svc", "bücher.example"])
    trusting = ssl.create_default_context(cadata=pem)

    async with served(pages(Health(), None), context_of_pem(pem, MODERN)) as port:
        assert (await get(port, "/healthz", tls=trusting, name=name)).text == "ok"
        with pytest.raises(ssl.SSLCertVerificationError):
            await get(port, "/healthz", tls=trusting, name="another.name")


def test_a_name_is_a_name_whatever_it_holds():
    """A host may be named by anything; none of it is read as a setting of the request."""
    name = "a$ENV::HOME\\#\"'`\n[server]"
    made = x509.load_pem_x509_certificate(self_signed(name, [HERE, "a$(b)#c"]).encode())
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [each.value for each in made.subject] == ["a$ENV::HOME\\#\"'` [server]"]
    assert names.get_values_for_type(x509.DNSName) == ["a$(b)#c"]


def test_another_start_another_key():
    assert self_signed("restow@1", [HERE]) != self_signed("restow@1", [HERE])


@pytest.mark.parametrize(
    ("script", "why"),
    [
        pytest.param("echo warning >&2; echo no entropy >&2; exit 1", "no entropy", id="told"),
        pytest.param("exit 3", "status 3", id="silent"),
        pytest.param("", "there is no openssl command", id="absent"),
    ],
)
def test_a_command_that_fails_is_told_in_a_sentence(script, why, monkeypatch, tmp_path):
    if script:
        command = tmp_path / "openssl"
        command.write_text(f"#!/bin/sh\n{script}\n")
        command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError) as told:
        self_signed("restow@1", [HERE])
    assert str(told.value) == (
        f"cannot create a serving certificate ({why}): "
        "name one with --tls-cert-file and --tls-private-key-file, or turn the server off with --secure-port=0"
    )


def test_what_is_no_name_is_told_in_a_sentence():
    with pytest.raises(InputError, match=r"cannot create a serving certificate .*label"):
        self_signed("restow@1", ["a..b"])
