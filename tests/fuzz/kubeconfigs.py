"""Kubeconfigs with everything that one can hold, and hostile changes of them. Nothing in them leads off this machine."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import strategies as st

from fuzz.cases import PORT, Case
from fuzz.mutations import Draw, mutated
from fuzz.writing import one_file, words

_SERVER = f"http://127.0.0.1:{PORT.decode()}"
_CERTIFICATE = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n").decode()
_EXEC = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "command": "true",
    "args": ["-n", "token"],
    "env": [{"name": "A", "value": "b"}],
    "interactiveMode": "Never",
    "provideClusterInfo": True,
    "installHint": "install it",
}
_TOKEN = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t"}}'
_USERS: dict[str, Any] = {
    "token": {"token": "secret"},
    "file": {
        "tokenFile": "token",
        "as": "somebody",
        "as-uid": "1",
        "as-groups": ["a"],
        "as-user-extra": {"scopes": ["x"]},
    },
    "certificate": {"client-certificate-data": _CERTIFICATE, "client-key-data": _CERTIFICATE},
    "files": {"client-certificate": "token", "client-key": "missing"},
    "plugin": {"exec": _EXEC},
    "speaking-plugin": {"exec": _EXEC | {"command": "/bin/echo", "args": [_TOKEN]}},
    "noisy-plugin": {"exec": _EXEC | {"command": "/bin/sh", "args": ["-c", "yes | head -c 1000000 >&2; exit 3"]}},
    "password": {"username": "u", "password": "p"},
    "oidc": {
        "auth-provider": {
            "name": "oidc",
            "config": {"idp-issuer-url": _SERVER, "client-id": "c", "refresh-token": "r", "id-token": "a.b.c"},
        }
    },
    "nobody": None,
}
_CLUSTERS: dict[str, Any] = {
    "plain": {"server": _SERVER},
    "tls": {
        "server": f"https://127.0.0.1:{PORT.decode()}",
        "certificate-authority-data": _CERTIFICATE,
        "tls-server-name": "x",
    },
    "trusting": {"server": f"https://127.0.0.1:{PORT.decode()}", "insecure-skip-tls-verify": True},
    "proxied": {"server": _SERVER, "proxy-url": f"http://user:secret@127.0.0.1:{PORT.decode()}"},
    "path": {
        "server": f"{_SERVER}/k8s/clusters/c-1/",
        "certificate-authority": "token",
        "extensions": [{"name": "x", "extension": {}}],
    },
}


def kubeconfig(cluster: Any, user: Any) -> dict[str, Any]:
    """One context, ``test``, of this cluster and this user."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "current-context": "test",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "test", "context": {"cluster": "c", "user": "u", "namespace": "default"}},
            {"name": "other", "context": {}},
        ],
    }


#: Leads to the worker's own API server, without credentials.
PLAIN = kubeconfig({"server": _SERVER}, {})


@st.composite
def hostile_kubeconfigs(draw: Draw) -> Case:
    """A kubeconfig after a few changes, or two that are merged."""
    cluster, user = draw(st.sampled_from(sorted(_CLUSTERS))), draw(st.sampled_from(sorted(_USERS)))
    document = draw(mutated(kubeconfig(_CLUSTERS[cluster], _USERS[user])))
    files = draw(one_file(document, "config"))
    name = next(iter(files))
    command = draw(st.sampled_from(["plan", "snapshot", "schedule", "plan --context other", "plan --context test"]))
    return Case(
        kind="kubeconfig",
        commands=tuple(words(f"{command} --kubeconfig {name}")),
        files={**files, "token": b"secret\n"},
    )
