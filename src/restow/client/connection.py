"""From ``--kubeconfig`` and ``--context`` to an ``Api``: where the server is, and what the kubeconfig says of it and of us.

Order of search, as for kubectl: the file that is named, KUBECONFIG, ``~/.kube/config``, the pod's service account. A
context of a kubeconfig becomes an ``Endpoint``: server, trust, proxy and credentials. Every complaint names the file,
the context or user, and the field.
"""

from __future__ import annotations

import base64
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from msgspec import Struct

from restow.client.credentials import (
    Certificate,
    Credentials,
    Endpoint,
    Fixed,
    Identity,
    OverTls,
    TokenFile,
    Trust,
    WithHeaders,
    basic,
    bearer,
)
from restow.client.errors import NoCredentials
from restow.client.exec_plugin import exec_plugin
from restow.client.flow_control import rate_limit
from restow.client.kubeconfig_files import Cluster, KubeconfigFiles, Provider, Section, User, read_kubeconfig_files
from restow.client.oidc import OpenID
from restow.client.proxies import checked_proxy, is_host_name, is_http, proxy_for, split_user
from restow.client.sessions import open_session
from restow.client.transport import Api
from restow.configuration_files import ReloadingFile, read_small_file
from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.plain_text import without_password

#: Fields of which a cluster or a user may have only one. Source: clientcmd/validation.go, client-go v0.36.
_EITHER_OR: Final = (
    ("certificate-authority", "certificate-authority-data"),
    ("insecure-skip-tls-verify", "certificate-authority"),
    ("insecure-skip-tls-verify", "certificate-authority-data"),
    ("client-certificate", "client-certificate-data"),
    ("client-key", "client-key-data"),
    ("token", "username"),
    ("token", "password"),
    ("tokenFile", "username"),
    ("exec", "auth-provider"),
)
#: Fields that mean nothing without ``as``.
_WITH_AS: Final = ("as-uid", "as-groups", "as-user-extra")
#: Where the kubelet puts the files of a pod's service account.
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
#: The kubelet sets these variables to the address of the API server.
_SERVICE = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")


class _Context(Struct, frozen=True):
    """What a context names, and where that stands."""

    cluster: Section[Cluster]
    #: None for an anonymous context.
    user: Section[User] | None
    origin: str


def kubeconfig_endpoint(paths: str, context: str | None, environ: Mapping[str, str]) -> Endpoint:
    """The endpoint of a context (the current one for None) of files, separated as in KUBECONFIG."""
    chosen = _context(read_kubeconfig_files(paths), context, paths)
    _check_combinations(chosen)
    trust = ReloadingFile(_files_of(chosen.cluster, "certificate-authority"), lambda: _trust(chosen))
    server, password = split_user(_server(chosen))
    try:
        credentials = _credentials(chosen, password, trust if server.startswith("https://") else None)
    except NoCredentials as error:
        raise InputError(str(error)) from error
    return Endpoint(
        server=server,
        credentials=credentials,
        server_name=trust.current().server_name,
        proxy=_proxy(chosen, server, environ),
        encoding="identity" if chosen.cluster.settings.disable_compression else "gzip",
        origin=chosen.origin,
        warnings=_warnings(chosen, trust.current()),
    )


def _context(files: KubeconfigFiles, name: str | None, paths: str) -> _Context:
    wanted = name or files.current_context
    if not wanted and not (files.contexts or files.clusters or files.users):
        raise InputError(f"{paths}: is no kubeconfig: it has neither contexts nor clusters nor users")
    if not wanted:
        raise InputError(f"{paths}: has no current-context; choose one with --context: {_names(files)}")
    context = files.contexts.get(wanted)
    if context is None:
        raise InputError(f"{paths}: has no context {excerpt(wanted)}; it has {_names(files)}")
    origin = f"{context.document.filename}, context {excerpt(wanted)}"
    named, user = context.settings.cluster, context.settings.user or ""
    if not named:
        raise InputError(f"{origin}: names no cluster")
    cluster = files.clusters.get(named)
    if cluster is None or not cluster.plain:
        raise InputError(f"{origin}: names cluster {excerpt(named)}, which is not under clusters")
    if user and user not in files.users:
        raise InputError(f"{origin}: names user {excerpt(user)}, which is not under users")
    return _Context(cluster, files.users.get(user), origin)


def _names(files: KubeconfigFiles) -> str:
    return ", ".join(map(excerpt, files.contexts)) or "no contexts"


def _check_combinations(context: _Context) -> None:
    """InputError for fields that contradict each other, which kubectl refuses too."""
    user = context.user.plain if context.user is not None else {}
    for plain in (context.cluster.plain, user):
        for one, other in _EITHER_OR:
            if plain.get(one) and plain.get(other):
                raise InputError(f"{context.origin}: {one} and {other} are both set; remove one of them")
    lonely = [name for name in _WITH_AS if user.get(name)]
    if lonely and not user.get("as"):
        raise InputError(f"{context.origin}: {lonely[0]} needs as, the name of a user; add it")


def _server(context: _Context) -> str:
    server = (context.cluster.settings.server or "").rstrip("/")
    if not is_http(server):
        raise InputError(
            f"{context.origin}: cluster.server {excerpt(repr(without_password(server)))} is not an http:// or https:// URL"
        )
    return urlsplit(server)._replace(query="", fragment="").geturl().rstrip("/")


def _trust(context: _Context) -> Trust:
    cluster = context.cluster.settings
    name = cluster.tls_server_name or None
    if name is not None and not is_host_name(name):
        raise InputError(f"{context.origin}: tls-server-name {excerpt(repr(name))} is not a host name")
    return Trust(
        authorities=_pem(context.cluster, "certificate-authority", context.origin),
        server_name=name,
        skip_verification=cluster.insecure_skip_tls_verify is True,
        origin=f"{context.origin}: certificate-authority",
    )


def _proxy(context: _Context, server: str, environ: Mapping[str, str]) -> str | None:
    own = context.cluster.settings.proxy_url
    return checked_proxy(own, f"{context.origin}: proxy-url") if own else proxy_for(server, environ)


def _warnings(context: _Context, trust: Trust) -> tuple[str, ...]:
    if not trust.skip_verification:
        return ()
    return (
        f"{context.origin}: insecure-skip-tls-verify is set, so anyone on the network path can read the traffic; set certificate-authority instead",
    )


def _pem(section: Section[Any] | None, field: str, origin: str) -> bytes | None:
    """PEM text from ``FIELD-data`` or the file of ``FIELD``, None where there is neither; a null is as good as nothing."""
    if section is None:
        return None
    try:
        if encoded := section.plain.get(f"{field}-data"):
            # Lines may be broken anywhere, as for Go.
            return base64.b64decode(encoded.replace("\r", "").replace("\n", ""), validate=True)
        if file := section.plain.get(field):
            return read_small_file(str(section.path(file)))
    except OSError as error:
        raise InputError(f"{origin}: {field}: {excerpt(file)}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{origin}: {field}-data is not valid base64") from error
    return None


def _files_of(section: Section[Any] | None, *fields: str) -> list[Path]:
    """The files that ``_pem`` reads for some fields."""
    plain = section.plain if section is not None else {}
    read = [plain[name] for name in fields if plain.get(name) and not plain.get(f"{name}-data")]
    return [section.path(file) for file in read] if section is not None else []


def _credentials(context: _Context, in_url: tuple[str, str] | None, trust: ReloadingFile[Trust] | None) -> Credentials:
    """The credentials of a context, ``trust`` being None for a server without TLS; InputError names the bad field.

    Such a server gets nothing of the user but ``as``: a token in plain text is everybody's. Source: client-go v0.36.
    """
    own: Credentials = Fixed(Identity())
    if in_url is not None:
        own = _basic(*in_url)
    elif trust is not None:
        own = _credentials_of(context, trust)
    if trust is not None:
        files = _files_of(context.cluster, "certificate-authority")
        files += _files_of(context.user, "client-certificate", "client-key")
        own = OverTls(own, files, lambda: trust.make().context(_certificate(context)))
    headers = tuple(_impersonation(context.user.settings)) if context.user is not None else ()
    return WithHeaders(own, headers) if headers else own


# Precedence as in client-go v0.36: user and password in the URL of the server count before all else; a token file goes
# before a token; then a password; then a program, unless there is a certificate; then an OpenID provider.
def _credentials_of(context: _Context, trust: ReloadingFile[Trust]) -> Credentials:
    if context.user is None:
        return Fixed(Identity())
    user, origin = context.user.settings, context.origin
    if user.token or user.token_file:
        return _token(context.user, origin)
    if user.username:
        return _basic(user.username, user.password or "")
    if user.exec is not None and not (user.client_certificate or user.client_certificate_data):
        return exec_plugin(user.exec, context.user, context.cluster.settings, trust, origin)
    return Fixed(Identity()) if user.auth_provider is None else _provider(context.user, user.auth_provider, origin)


def _token(user: Section[User], origin: str) -> Credentials:
    token, file = user.settings.token, user.settings.token_file
    header = bearer(token, f"{origin}: token") if token else None
    if file:
        return TokenFile(user.path(file), header)
    return Fixed(Identity((header,) if header else ()))


def _basic(name: str, password: str) -> Fixed:
    return Fixed(Identity((basic(name, password),)))


def _certificate(context: _Context) -> Certificate | None:
    chain = _pem(context.user, "client-certificate", context.origin)
    key = _pem(context.user, "client-key", context.origin)
    if chain is None and key is None:
        return None
    if chain is None or key is None:
        missing = "client-certificate" if chain is None else "client-key"
        raise InputError(f"{context.origin}: a client certificate needs its key, but {missing} is missing")
    return Certificate(chain, key, f"{context.origin}: client-certificate and client-key")


def _provider(user: Section[User], provider: Provider, origin: str) -> Credentials:
    if provider.name != "oidc":
        raise InputError(
            f"{origin}: auth-provider {excerpt(provider.name)} is no longer supported by Kubernetes; use exec"
        )
    if provider.config is None:
        raise InputError(f"{origin}: auth-provider oidc has no config")
    return OpenID(user.plain["auth-provider"]["config"], user.save, origin)


def _impersonation(user: User) -> Iterator[tuple[str, str]]:
    """The headers of ``as``, ``as-uid``, ``as-groups`` and ``as-user-extra``."""
    if not user.act_as:
        return
    yield "Impersonate-User", user.act_as
    if user.as_uid:
        yield "Impersonate-Uid", user.as_uid
    for group in user.as_groups:
        yield "Impersonate-Group", group
    for key, values in user.as_user_extra.items():
        for value in values:
            yield f"Impersonate-Extra-{quote(key, safe='')}", value


@asynccontextmanager
async def connect(
    kubeconfig: str | None = None, context: str | None = None, *, qps: float = 0.0, burst: int = 0
) -> AsyncIterator[Api]:
    """The API server that the configuration names; nothing is asked yet, and no socket of it is open afterwards.

    ``qps`` and ``burst`` as in ``rate_limit``. InputError says in one sentence what is wrong with the configuration.
    """
    endpoint = find_endpoint(kubeconfig, context, os.environ)
    async with open_session() as session:
        yield Api(endpoint, session, rate_limit(qps, burst))


def context_names(kubeconfig: str | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The contexts of the first kubeconfig that there is, by name; InputError if there is none, or it cannot be read."""
    paths = kubeconfig or environ.get("KUBECONFIG") or str(_home_file(environ))
    return tuple(sorted(read_kubeconfig_files(paths).contexts))


def find_endpoint(kubeconfig: str | None, context: str | None, environ: Mapping[str, str]) -> Endpoint:
    """The endpoint of the first configuration that there is; InputError if there is none, or it cannot be used."""
    paths = kubeconfig or environ.get("KUBECONFIG")
    if paths:
        return kubeconfig_endpoint(paths, context, environ)
    own = _home_file(environ)
    if own.is_file() or context:
        return kubeconfig_endpoint(str(own), context, environ)
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster(environ)
    raise InputError(
        f"no cluster: {own} does not exist, and restow does not run in a pod; name a file with --kubeconfig"
    )


def _home_file(environ: Mapping[str, str]) -> Path:
    """The user's own configuration; a container's user may have no home and no name."""
    try:
        home = Path(environ.get("HOME") or "~").expanduser()
    except RuntimeError:
        home = Path("/")
    return home / ".kube" / "config"


def in_cluster(environ: Mapping[str, str], directory: Path = SERVICE_ACCOUNT) -> Endpoint:
    """The API server of the cluster that this pod runs in; InputError where this is no pod or its files are missing."""
    token, authorities = directory / "token", directory / "ca.crt"
    host, port = (environ.get(name) or "" for name in _SERVICE)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        _check_pod(environ, token, authorities)
        credentials = OverTls(
            TokenFile(token),
            [authorities],
            lambda: Trust(read_small_file(str(authorities)), origin=str(authorities)).context(),
        )
    except (InputError, OSError) as error:
        raise InputError(f"the service account in {directory} cannot be used: {error}") from error
    return Endpoint(
        server=f"https://{address}",
        credentials=credentials,
        proxy=proxy_for(f"https://{address}", environ),
        origin=f"service account in {directory}, server {address}",
    )


def _check_pod(environ: Mapping[str, str], *files: Path) -> None:
    """InputError where this is no pod with a service account."""
    problems = [f"{name} is not set" for name in _SERVICE if not environ.get(name)]
    for file in files:
        if not file.is_file():
            problems.append(f"{file.name} does not exist")
        elif not file.stat().st_size:
            problems.append(f"{file.name} is empty")
    if problems:
        raise InputError(problems[0])
