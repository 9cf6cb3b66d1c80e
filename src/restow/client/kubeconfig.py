"""What a kubeconfig says of one context: server, trust, proxy and credentials.

This turns what a context names into an ``Endpoint``. Every complaint names the file, the context or user, and the field.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from restow.client.credentials import (
    Credentials,
    Endpoint,
    Fixed,
    Identity,
    OverTls,
    TokenFile,
    WithHeaders,
    basic,
    bearer,
)
from restow.client.errors import NoCredentials
from restow.client.exec_plugin import exec_plugin
from restow.client.kubeconfig_files import KubeconfigFiles, read_kubeconfig_files
from restow.client.official import config_modules
from restow.client.oidc import OpenID
from restow.client.proxies import checked_proxy, is_host_name, is_http, proxy_for, split_user
from restow.client.trust import Certificate, Trust
from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.redaction import without_password
from restow.reloading_file import ReloadingFile
from restow.small_files import read_small_file


@dataclass(slots=True, frozen=True)
class _Context:
    """A context's parts, as the official package's nodes, and where they stand."""

    cluster: Any
    user: Any
    origin: str
    save: Any


# Precedence as in client-go v0.36: a certificate is presented with whatever else there is; a token file goes before a
# token; then an exec plugin, an OpenID provider, a password.
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


def kubeconfig(paths: str, context: str | None, environ: Mapping[str, str]) -> Endpoint:
    """The endpoint of a context (the current one for None) of files, separated as in KUBECONFIG."""
    try:
        chosen = _context(read_kubeconfig_files(paths), context, paths)
        trust = ReloadingFile(_files_of(chosen.cluster, "certificate-authority"), lambda: _trust(chosen))
        server, password = split_user(_server(chosen))
        user = User(chosen.user, chosen.cluster, chosen.origin, chosen.save, password)
        return Endpoint(
            server=server,
            credentials=_credentials_of(user, trust if server.startswith("https://") else None),
            server_name=trust.current().server_name,
            proxy=_proxy(chosen, server, environ),
            origin=chosen.origin,
            warnings=_warnings(chosen, trust.current()),
        )
    except config_modules().failure as error:
        raise InputError(f"{paths}: {error}") from error
    except NoCredentials as error:
        raise InputError(str(error)) from error


def _context(files: KubeconfigFiles, name: str | None, paths: str) -> _Context:
    wanted = name or files.current_context
    if not wanted and not (files.contexts or files.clusters or files.users):
        raise InputError(f"{paths}: is no kubeconfig: it has neither contexts nor clusters nor users")
    if not wanted:
        raise InputError(f"{paths}: has no current-context; choose one with --context: {_names(files)}")
    entry = files.contexts.get(wanted)
    if entry is None:
        raise InputError(f"{paths}: has no context {excerpt(wanted)}; it has {_names(files)}")
    origin = f"{entry.path}, context {excerpt(wanted)}"
    parts = entry.safe_get("context") or {}
    if not parts.get("cluster"):
        raise InputError(f"{origin}: names no cluster")
    cluster = _section(files.clusters.get(parts["cluster"]), "cluster")
    if cluster is None:
        raise InputError(f"{origin}: names cluster {excerpt(parts['cluster'])}, which is not under clusters")
    user_name = parts.get("user")
    if user_name and user_name not in files.users:
        raise InputError(f"{origin}: names user {excerpt(user_name)}, which is not under users")
    return _Context(cluster, _section(files.users.get(user_name or ""), "user"), origin, files.save)


def _section(entry: Any, name: str) -> Any:
    """The settings of a cluster or user; None where there are none."""
    return entry[name] if entry is not None and entry.safe_get(name) else None


def _names(files: KubeconfigFiles) -> str:
    return ", ".join(map(excerpt, files.contexts)) or "no contexts"


def _server(context: _Context) -> str:
    server = str(context.cluster.safe_get("server") or "").rstrip("/")
    if not is_http(server):
        raise InputError(
            f"{context.origin}: cluster.server {excerpt(repr(without_password(server)))} is not an http:// or https:// URL"
        )
    return server


def _trust(context: _Context) -> Trust:
    cluster = context.cluster
    name = cluster.safe_get("tls-server-name") or None
    if name is not None and not is_host_name(name):
        raise InputError(f"{context.origin}: tls-server-name {excerpt(repr(name))} is not a host name")
    return Trust(
        authorities=_pem(cluster, "certificate-authority", context.origin),
        server_name=name,
        skip_verification=cluster.safe_get("insecure-skip-tls-verify") is True,
        origin=f"{context.origin}: certificate-authority",
    )


def _proxy(context: _Context, server: str, environ: Mapping[str, str]) -> str | None:
    own = context.cluster.safe_get("proxy-url")
    return checked_proxy(own, f"{context.origin}: proxy-url") if own else proxy_for(server, environ)


def _warnings(context: _Context, trust: Trust) -> tuple[str, ...]:
    if not trust.skip_verification:
        return ()
    return (
        f"{context.origin}: insecure-skip-tls-verify is set, so anyone on the network path can read the traffic; set certificate-authority instead",
    )


def _credentials_of(user: User, trust: ReloadingFile[Trust] | None) -> Credentials:
    """The credentials of a user, ``trust`` being None for a server without TLS; InputError names the bad field."""
    own = _own(user, trust)
    if trust is not None:
        files = [
            *_files_of(user.cluster, "certificate-authority"),
            *_files_of(user.section, "client-certificate"),
            *_files_of(user.section, "client-key"),
        ]
        own = OverTls(own, files, lambda: trust.make().context(_certificate(user)))
    headers = tuple(_impersonation(user))
    return WithHeaders(own, headers) if headers else own


def _pem(section: Any, field: str, origin: str) -> bytes | None:
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


def _files_of(section: Any, field: str) -> tuple[Path, ...]:
    """The file that ``_pem`` reads for a field, if it reads one."""
    if section is None or section.safe_get(f"{field}-data") or not section.safe_get(field):
        return ()
    return (Path(section.path).absolute().parent / section.safe_get(field),)


def _own(user: User, trust: ReloadingFile[Trust] | None) -> Credentials:
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
    chain = _pem(user.section, "client-certificate", user.origin)
    key = _pem(user.section, "client-key", user.origin)
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
