"""What a kubeconfig says of one context: server, trust, proxy and credentials.

This turns what a context names into an ``Endpoint``. Every complaint names the file, the context or user, and the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from restow.client.endpoint import Endpoint
from restow.client.errors import NoCredentials
from restow.client.kubeconfig_files import KubeconfigFiles, read_kubeconfig_files
from restow.client.kubeconfig_user import User, credentials_of, files_of, pem
from restow.client.official import config_modules
from restow.client.proxies import checked_proxy, proxy_for
from restow.client.trust import Trust
from restow.client.urls import is_host_name, is_http, split_user
from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.redaction import without_password
from restow.renewed import Renewed


@dataclass(slots=True, frozen=True)
class _Context:
    """A context's parts, as the official package's nodes, and where they stand."""

    cluster: Any
    user: Any
    origin: str
    save: Any


def kubeconfig(paths: str, context: str | None, environ: Mapping[str, str]) -> Endpoint:
    """The endpoint of a context (the current one for None) of files, separated as in KUBECONFIG."""
    try:
        chosen = _context(read_kubeconfig_files(paths), context, paths)
        trust = Renewed(files_of(chosen.cluster, "certificate-authority"), lambda: _trust(chosen))
        server, password = split_user(_server(chosen))
        user = User(chosen.user, chosen.cluster, chosen.origin, chosen.save, password)
        return Endpoint(
            server=server,
            credentials=credentials_of(user, trust if server.startswith("https://") else None),
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
        authorities=pem(cluster, "certificate-authority", context.origin),
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
