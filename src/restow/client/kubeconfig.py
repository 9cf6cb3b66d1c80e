"""What a kubeconfig says of one context: server, trust, proxy and credentials.

The official package reads and merges the files and resolves names; this turns what a context names into an
``Endpoint``. Every complaint names the file, the context or user, and the field.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from restow.client.endpoint import Endpoint
from restow.client.errors import NoCredentials
from restow.client.kubeconfig_user import User, credentials_of, files_of, pem
from restow.client.official import config_modules
from restow.client.proxies import checked_proxy, proxy_for
from restow.client.trust import Trust
from restow.client.urls import is_http, split_user
from restow.errors import InputError
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
        chosen = _context(_merged(paths), context, paths)
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


def _merged(paths: str) -> Any:
    """The official merger of all the files that exist."""
    official = config_modules().kube_config
    each = [os.path.expanduser(path) for path in paths.split(os.pathsep) if path]  # noqa: PTH111
    present = [path for path in each if Path(path).exists()]
    if not present:
        raise InputError(f"{paths}: no such kubeconfig; name one with --kubeconfig or KUBECONFIG")
    try:
        return official.KubeConfigMerger(official.ENV_KUBECONFIG_PATH_SEPARATOR.join(present))
    except OSError as error:
        raise InputError(f"{paths}: the kubeconfig cannot be read: {error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{paths}: not a kubeconfig: not valid YAML: {' '.join(str(error).split())}") from error
    except (AttributeError, TypeError, KeyError) as error:
        raise InputError(f"{paths}: not a kubeconfig: clusters, contexts and users must be lists of names") from error


def _context(merger: Any, name: str | None, paths: str) -> _Context:
    config = merger.config
    wanted = name or _current(merger)
    if not wanted:
        raise InputError(f"{paths}: has no current-context; choose one with --context: {_names(config)}")
    entry = config["contexts"].get_with_name(wanted, safe=True)
    if entry is None:
        raise InputError(f"{paths}: has no context {wanted}; it has {_names(config)}")
    origin = f"{entry.path}, context {wanted}"
    parts = entry["context"]
    cluster = config["clusters"].get_with_name(parts["cluster"], safe=True)
    if cluster is None:
        raise InputError(f"{origin}: names cluster {parts['cluster']}, which is not under clusters")
    user_name = parts.safe_get("user")
    user = config["users"].get_with_name(user_name, safe=True) if user_name else None
    if user_name and user is None:
        raise InputError(f"{origin}: names user {user_name}, who is not under users")
    return _Context(cluster["cluster"], _section(user), origin, merger.save_changes)


def _section(user: Any) -> Any:
    """The settings of a user; None where there are none."""
    return user["user"] if user is not None and user.safe_get("user") else None


def _current(merger: Any) -> str | None:
    """The current context: the first file that names one decides, as for kubectl."""
    return next(filter(None, (merger.config_files[path].get("current-context") for path in merger.paths)), None)


def _names(config: Any) -> str:
    return ", ".join(each.value["name"] for each in config.value["contexts"]) or "no contexts"


def _server(context: _Context) -> str:
    server = str(context.cluster.safe_get("server") or "").rstrip("/")
    if not is_http(server):
        raise InputError(
            f"{context.origin}: cluster.server {without_password(server)!r} is not an http:// or https:// URL"
        )
    return server


def _trust(context: _Context) -> Trust:
    cluster = context.cluster
    return Trust(
        authorities=pem(cluster, "certificate-authority", context.origin),
        server_name=cluster.safe_get("tls-server-name") or None,
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
        f"{context.origin}: insecure-skip-tls-verify is set, so anybody on the way can read what is sent; set certificate-authority instead",
    )
