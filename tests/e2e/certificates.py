"""The keys and certificates of a control plane, made with openssl in a fraction of a second."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_DAYS = "30"
_EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
_AUTHORITY = ("basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign")
_NAMES = "subjectAltName=IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes.default.svc"


@dataclass(slots=True, frozen=True)
class Pair:
    """A certificate and its key."""

    certificate: Path
    key: Path


@dataclass(slots=True, frozen=True)
class Certificates:
    """Everything that proves who is who. ``front_proxy`` is the API server's identity towards aggregated APIs."""

    authority: Pair
    serving: Pair
    front_proxy_authority: Pair
    front_proxy: Pair
    #: Signs the tokens of service accounts; the certificate is the bare public key.
    accounts: Pair


def make_certificates(directory: Path) -> Certificates:
    """Writes all of them there."""
    authority = self_signed(directory, "ca")
    front_proxy_authority = self_signed(directory, "front-proxy-ca")
    return Certificates(
        authority=authority,
        serving=sign_serving(directory, authority),
        front_proxy_authority=front_proxy_authority,
        front_proxy=sign(directory, "front-proxy-client", front_proxy_authority),
        accounts=_account_keys(directory),
    )


def sign(directory: Path, name: str, authority: Pair, *, subject: str = "", extensions: tuple[str, ...] = ()) -> Pair:
    """A certificate of an authority, such as that of a user: ``subject="/O=team/CN=jane"``; without one, of ``name``."""
    pair = Pair(directory / f"{name}.crt", directory / f"{name}.key")
    request = directory / f"{name}.csr"
    added = directory / f"{name}.ext"
    added.write_text("\n".join(("basicConstraints=CA:FALSE", *extensions)) + "\n")
    _openssl("req", "-new", *_EC, "-subj", subject or f"/CN={name}", "-keyout", pair.key, "-out", request)
    signing = ("-CA", authority.certificate, "-CAkey", authority.key, "-CAcreateserial", "-days", _DAYS)
    _openssl("x509", "-req", "-in", request, *signing, "-extfile", added, "-out", pair.certificate)
    return pair


def sign_serving(directory: Path, authority: Pair) -> Pair:
    """The certificate of the API server."""
    return sign(directory, "serving", authority, extensions=(_NAMES,))


def self_signed(directory: Path, name: str) -> Pair:
    """An authority of a name."""
    pair = Pair(directory / f"{name}.crt", directory / f"{name}.key")
    extensions = [word for each in _AUTHORITY for word in ("-addext", each)]
    made = ("-subj", f"/CN={name}", "-keyout", pair.key, "-out", pair.certificate)
    _openssl("req", "-x509", *_EC, "-days", _DAYS, *made, *extensions)
    return pair


def _account_keys(directory: Path) -> Pair:
    pair = Pair(directory / "sa.pub", directory / "sa.key")
    _openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", pair.key)
    _openssl("pkey", "-in", pair.key, "-pubout", "-out", pair.certificate)
    return pair


def _openssl(*arguments: str | Path) -> None:
    if shutil.which("openssl") is None:
        raise FileNotFoundError("the control plane needs certificates: install openssl")
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        raise RuntimeError(f"openssl {' '.join(map(str, arguments))}: {done.stderr}")
