"""The certificate that is made at start, judged by OpenSSL."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import tempfile

import pytest

from restow.errors import InputError
from restow.serving import self_signed as making
from restow.serving.cipher_suites import ciphers
from restow.serving.health import Health
from restow.serving.pages import pages
from restow.serving.self_signed import self_signed
from restow.serving.tls import TlsSettings, context_of_pem
from serving.scraping import HERE, get, served

MODERN = TlsSettings(ssl.TLSVersion.TLSv1_2, ciphers(()))


@pytest.mark.asyncio
@pytest.mark.parametrize("name", [HERE, "restow.kube-system.svc", "xn--bcher-kva.example"])
async def test_openssl_verifies_signature_validity_and_names(name):
    pem = self_signed("restow@1", [HERE, "restow.kube-system.svc", "bücher.example"])
    trusting = ssl.create_default_context(cadata=pem)

    async with served(pages(Health(), None), context_of_pem(pem, MODERN)) as port:
        assert (await get(port, "/healthz", tls=trusting, name=name)).text == "ok"
        with pytest.raises(ssl.SSLCertVerificationError):
            await get(port, "/healthz", tls=trusting, name="another.name")


def test_where_memory_has_no_path_a_file_is_used_and_removed(monkeypatch, tmp_path):
    pem = self_signed("restow@1", [HERE])
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    context_of_pem(pem, MODERN)
    assert list(tmp_path.iterdir()) == []


def test_another_start_another_key():
    assert self_signed("restow@1", [HERE]) != self_signed("restow@1", [HERE])


def test_the_library_is_not_loaded_into_the_process_that_asks():
    asking = "import sys; from restow.serving.self_signed import self_signed as make; print(make('a', ['b'])[:27])"
    told = "print([each for each in sys.modules if each.startswith('cryptography')])"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", f"{asking}; {told}"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == "-----BEGIN CERTIFICATE-----\n[]\n"


@pytest.mark.parametrize(
    ("program", "why"),
    [
        pytest.param("import no_such_library", "ModuleNotFoundError: No module named 'no_such_library'", id="import"),
        pytest.param("raise SystemExit(3)", "status 3", id="silent"),
    ],
)
def test_a_process_that_fails_is_told_in_a_sentence(program, why, monkeypatch, tmp_path):
    file = tmp_path / "failing.py"
    file.write_text(program)
    monkeypatch.setattr(making, "_PROGRAM", file)
    with pytest.raises(InputError) as told:
        self_signed("restow@1", [HERE])
    assert str(told.value) == (
        f"cannot create a serving certificate ({why}): "
        "name one with --tls-cert-file and --tls-private-key-file, or turn the server off with --secure-port=0"
    )


def test_without_an_interpreter_there_is_a_sentence_too(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(
        InputError, match=r"cannot create a serving certificate \(.*No such file or directory: '/no/such/python'\)"
    ):
        self_signed("restow@1", [HERE])
