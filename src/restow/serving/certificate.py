"""A program that writes a new key and a certificate that it signs: PEM on standard output, run by ``serving.tls``.

    python certificate.py COMMON_NAME HOST...

It is run by its path and imports nothing of restow. Source: RFC 5280.
"""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

#: As long as the Descheduler's own.
_VALIDITY = timedelta(days=3 * 365)
#: Clocks differ.
_HEAD_START = timedelta(hours=1)


def certificate(key: ec.EllipticCurvePrivateKey, common_name: str, hosts: Sequence[str]) -> x509.Certificate:
    """Return a certificate of a server with these names and addresses, valid from now on."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _HEAD_START)
        .not_valid_after(now + _VALIDITY)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_SIGNING_ONLY, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_alternative_name(host) for host in hosts]), critical=False)
        .sign(key, hashes.SHA256())
    )


_SIGNING_ONLY = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=False,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host.encode("idna").decode())


def main(common_name: str, *hosts: str) -> None:
    """Write a self-signed certificate and its key to stdout."""
    key = ec.generate_private_key(ec.SECP256R1())
    pem = certificate(key, common_name, hosts).public_bytes(serialization.Encoding.PEM)
    sys.stdout.buffer.write(
        pem
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
