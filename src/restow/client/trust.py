"""Whom to trust, and how to prove who we are, in TLS.

Verification is always on, unless the kubeconfig itself says ``insecure-skip-tls-verify``.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field

from restow.errors import InputError
from restow.memory_files import memory_file


@dataclass(slots=True, frozen=True)
class Certificate:
    """A client certificate with its key, both PEM."""

    chain: bytes = field(repr=False)
    key: bytes = field(repr=False)
    #: File and field, for errors.
    origin: str


@dataclass(slots=True, frozen=True)
class Trust:
    """What a server's certificate is checked against."""

    #: PEM certificates; None for those of the system.
    authorities: bytes | None = None
    #: The name to look for in the certificate instead of the server's own.
    server_name: str | None = None
    skip_verification: bool = False
    #: File and field of the authorities, for errors.
    origin: str = ""

    def context(self, certificate: Certificate | None = None) -> ssl.SSLContext:
        """A TLS context; InputError names the file and field of a certificate that cannot be read."""
        context = self._verifying()
        # Python 3.13 adds checks of extensions that many clusters' own authorities lack; Go does not ask for them.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if self.skip_verification:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate is not None:
            _present(context, certificate)
        return context

    def _verifying(self) -> ssl.SSLContext:
        if self.authorities is None:
            return ssl.create_default_context()
        try:
            # What is around the certificates may be in any encoding.
            return _trusting(self.authorities.decode("ascii", errors="ignore"))
        except (ssl.SSLError, ValueError) as error:
            raise InputError(f"{self.origin}: contains no PEM certificate of an authority ({_why(error)})") from error


def _trusting(authorities: str) -> ssl.SSLContext:
    if not authorities.strip():
        # Python would take nothing for the authorities of the system.
        raise ValueError("the file is empty")
    return ssl.create_default_context(cadata=authorities)


def _present(context: ssl.SSLContext, certificate: Certificate) -> None:
    """Prove who we are by a certificate."""
    try:
        with memory_file(certificate.chain + b"\n" + certificate.key) as file:
            context.load_cert_chain(file, password=_no_password)
    except ssl.SSLError as error:
        raise InputError(
            f"{certificate.origin}: not a PEM certificate with its unencrypted key ({_why(error)})"
        ) from error
    except OSError as error:
        raise InputError(
            f"{certificate.origin}: cannot be passed to OpenSSL: there is neither /proc nor a temporary directory ({error})"
        ) from error


def _no_password() -> str:
    """OpenSSL would ask the terminal for the password of an encrypted key."""
    return ""


def _why(error: Exception) -> str:
    return (error.reason if isinstance(error, ssl.SSLError) and error.reason else str(error)).lower()
