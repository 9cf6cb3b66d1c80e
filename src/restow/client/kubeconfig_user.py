"""The user of a kubeconfig's context as credentials.

Precedence as in client-go v0.36: a certificate is presented with whatever else there is; a token file goes before a
token; then an exec plugin, an OpenID provider, a password.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from restow.client.credentials import Credentials, Fixed, Identity, OverTls, TokenFile, WithHeaders, basic, bearer
from restow.client.exec_plugin import exec_plugin
from restow.client.oidc import OpenID
from restow.client.trust import Certificate, Trust
from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.renewed import Renewed
from restow.small_files import read_small_file


@dataclass(slots=True, frozen=True)
class User:
    """The ``user`` section that a context names."""

    #: The official node; None for an anonymous context.
    section: Any
    #: The official node of the cluster.
    cluster: Any
    origin: str
    #: Writes changed tokens back.
    save: Callable[[], None]
    #: User and password in the URL of the server, which count before all else. Source: net/http, Go 1.26.
    in_url: tuple[str, str] | None = field(default=None, repr=False)

    def get(self, name: str) -> Any:
        """A field, or None."""
        return None if self.section is None else self.section.safe_get(name)


def credentials_of(user: User, trust: Renewed[Trust] | None) -> Credentials:
    """The credentials of a user, ``trust`` being None for a server without TLS; InputError names the bad field."""
    own = _own(user, trust)
    if trust is not None:
        files = [
            *files_of(user.cluster, "certificate-authority"),
            *files_of(user.section, "client-certificate"),
            *files_of(user.section, "client-key"),
        ]
        own = OverTls(own, files, lambda: trust.make().context(_certificate(user)))
    headers = tuple(_impersonation(user))
    return WithHeaders(own, headers) if headers else own


def pem(section: Any, field: str, origin: str) -> bytes | None:
    """PEM text from ``FIELD-data`` or the file of ``FIELD``, None where there is neither; a null is as good as nothing."""
    if section is None:
        return None
    try:
        if encoded := section.safe_get(f"{field}-data"):
            return base64.b64decode(encoded, validate=True)
        if file := section.safe_get(field):
            return read_small_file(str(Path(section.path).absolute().parent / file))
    except OSError as error:
        raise InputError(f"{origin}: {field}: {excerpt(file)}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{origin}: {field}-data is not valid base64") from error
    return None


def files_of(section: Any, field: str) -> tuple[Path, ...]:
    """The file that ``pem`` reads for a field, if it reads one."""
    if section is None or section.safe_get(f"{field}-data") or not section.safe_get(field):
        return ()
    return (Path(section.path).absolute().parent / section.safe_get(field),)


def _own(user: User, trust: Renewed[Trust] | None) -> Credentials:
    if user.in_url is not None:
        return _basic(*user.in_url)
    if file := user.get("tokenFile"):
        return TokenFile(Path(user.section.path).absolute().parent / file)
    if token := user.get("token"):
        return Fixed(Identity((bearer(str(token), f"{user.origin}: token"),)))
    if user.get("exec"):
        return exec_plugin(user.section["exec"], user.cluster, trust, user.origin)
    if provider := user.get("auth-provider"):
        return _provider(user, provider)
    return _basic(user.get("username") or "", user.get("password") or "")


def _basic(name: object, password: object) -> Fixed:
    if not name or not password:
        return Fixed(Identity())
    return Fixed(Identity((basic(str(name), str(password)),)))


def _certificate(user: User) -> Certificate | None:
    chain = pem(user.section, "client-certificate", user.origin)
    key = pem(user.section, "client-key", user.origin)
    if chain is None and key is None:
        return None
    if chain is None or key is None:
        missing = "client-certificate" if chain is None else "client-key"
        raise InputError(f"{user.origin}: a client certificate needs its key, but {missing} is missing")
    return Certificate(chain, key, f"{user.origin}: client-certificate and client-key")


def _provider(user: User, provider: dict[str, Any]) -> Credentials:
    if provider.get("name") != "oidc":
        raise InputError(
            f"{user.origin}: auth-provider {excerpt(provider.get('name'))} is no longer supported by Kubernetes; use exec"
        )
    settings = provider.get("config")
    if not isinstance(settings, dict):
        raise InputError(f"{user.origin}: auth-provider oidc has no config")
    return OpenID(settings, lambda: _saved(user.save), user.origin)


def _saved(save: Callable[[], None]) -> None:
    """Write the file, if it may be written."""
    try:
        save()
    except OSError:
        # A mounted kubeconfig cannot be changed; the tokens stay in memory.
        return


def _impersonation(user: User) -> Iterator[tuple[str, str]]:
    """The headers of ``as``, ``as-uid``, ``as-groups`` and ``as-user-extra``."""
    if not user.get("as"):
        return
    yield "Impersonate-User", str(user.get("as"))
    if user.get("as-uid"):
        yield "Impersonate-Uid", str(user.get("as-uid"))
    for group in user.get("as-groups") or ():
        yield "Impersonate-Group", str(group)
    for key, values in (user.get("as-user-extra") or {}).items():
        for value in values or ():
            yield f"Impersonate-Extra-{quote(key, safe='')}", str(value)
