"""A new key and a certificate that it signs, for a server that was given none: the ``openssl`` command makes both.

What encrypts the connections afterwards is OpenSSL too, by Python's ``ssl``, which can make no certificate. The library
that could is a tenth of what restow needs on a disk. Nothing is written to one: the request goes to standard input, and
key and certificate come from standard output.

Source: RFC 5280; openssl-req(1) and config(5) of OpenSSL 3.
"""

from __future__ import annotations

import ipaddress
import re
import subprocess
from collections.abc import Sequence
from typing import Final

from restow.errors import InputError

#: As long as the Descheduler's own, in days.
_VALIDITY: Final = 3 * 365
#: Seconds; it takes a fraction of one.
_PATIENCE: Final = 60.0
_COMMAND: Final = (
    *("openssl", "req", "-x509", "-config", "/dev/stdin", "-sha256", "-days", str(_VALIDITY)),
    *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "-", "-out", "-"),
)
_REQUEST: Final = """\
[req]
prompt = no
utf8 = yes
string_mask = utf8only
distinguished_name = subject
x509_extensions = server
[subject]
CN = {common_name}
[server]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = @names
[names]
{names}
"""


# It encrypts and proves nothing: scrapers of a restow without a certificate of its own have to skip verification, as
# with the Descheduler.
def self_signed(common_name: str, hosts: Sequence[str]) -> str:
    """Return a certificate and its key, both as PEM, for names and addresses; InputError where none can be made."""
    try:
        names = "\n".join(_alternative_name(number, host) for number, host in enumerate(hosts))
        request = _REQUEST.format(common_name=_quoted(common_name), names=names)
        made = subprocess.run(_COMMAND, input=request, capture_output=True, text=True, timeout=_PATIENCE, check=True)  # noqa: S603
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines()
        raise _failure(lines[-1] if lines else f"status {error.returncode}") from error
    except FileNotFoundError as error:
        raise _failure("there is no openssl command") from error
    except (OSError, UnicodeError, subprocess.TimeoutExpired) as error:
        raise _failure(str(error)) from error
    key, begin, certificate = made.stdout.partition("-----BEGIN CERTIFICATE-----")
    return f"{begin}{certificate}{key}"


def _alternative_name(number: int, host: str) -> str:
    try:
        return f"IP.{number} = {ipaddress.ip_address(host)}"
    except ValueError:
        return f"DNS.{number} = {_quoted(host.encode('idna').decode())}"


def _quoted(text: str) -> str:
    """Text of which openssl takes no character for its own syntax."""
    return re.sub(r"([\\$#\"'`])", r"\\\1", " ".join(text.split()))


def _failure(why: str) -> InputError:
    return InputError(
        f"cannot create a serving certificate ({why}): "
        "name one with --tls-cert-file and --tls-private-key-file, or turn the server off with --secure-port=0"
    )
