"""Kubeconfigs, hand-picked: each is read by kubectl and by restow, and what comes of it is compared.

Texts hold ``$NAMES`` of what is known only when the test runs (``kubeconfig_site``): ports, certificates, directories. A
case that ends in ``differs`` names its row of docs/reference/differences.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

EXEC = "client.authentication.k8s.io/v1"
BETA = "client.authentication.k8s.io/v1beta1"

# Rows of docs/reference/differences.md, by their first column.
NO_CREDENTIALS = "A user without credentials"
NO_USER = "A context without a user"
SOCKS = "`proxy-url` with `socks5://`"
LONELY_KEY = "`client-key` without `client-certificate`"
INTERACTIVE = "`exec.interactiveMode` that is missing or unknown"
EXEC_VERSION = "`exec.apiVersion` other than `v1` and `v1beta1` of client.authentication.k8s.io"
FRESH = "`oidc` without `idp-issuer-url` or `client-id` while the token is fresh"
UNUSED_PROVIDER = "An `auth-provider` that is removed, beside a token"
BEYOND_ASCII = "A token with characters beyond ASCII"
ELSEWHERE = "Broken base64 in a section that the context does not name"
TWICE = "A name that one file uses twice"
NAMELESS = "An entry without a name"
KIND = "`apiVersion` and `kind` of the file"
BINARY = "A value with the tag `!!binary`"


@dataclass(frozen=True)
class Kubeconfigs:
    """Files in the order of KUBECONFIG, and how they are used."""

    #: By name below the directory of the test: an object, or text. A null is a file that is missing.
    files: Mapping[str, Any]
    context: str | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    #: The row of the documentation; empty where both programs must do the same.
    differs: str = ""


def an_entry(kind: str, name: str, value: Any) -> dict[str, Any]:
    """An item of ``clusters``, ``users`` or ``contexts``."""
    return {"name": name, kind: value}


def a_context(name: str = "test", **more: Any) -> dict[str, Any]:
    """The context NAME of the cluster and the user of that name."""
    return an_entry("context", name, {"cluster": name, "user": name} | more)


def a_file(user: Any, cluster: Mapping[str, Any] | None = None, name: str = "test", **more: Any) -> dict[str, Any]:
    """A kubeconfig with one context, which is the current one."""
    server = {"server": f"$SERVER/{name}", "certificate-authority-data": "$CA"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [an_entry("cluster", name, server if cluster is None else cluster)],
        "users": [an_entry("user", name, user)],
        "contexts": [a_context(name)],
    } | more


def a_program(answer: str = "token", *, version: str = EXEC, mode: str | None = "Never", **more: Any) -> dict[str, Any]:
    """A user of a program that prints the file ANSWER.json of the site."""
    section = {"apiVersion": version, "command": "./plugin", "args": [answer]} | more
    return {"exec": section | ({} if mode is None else {"interactiveMode": mode})}


def a_provider(**more: str | None) -> dict[str, Any]:
    """A user of the OpenID provider of the site; None takes a field away."""
    known = {"idp-issuer-url": "$ISSUER", "client-id": "me", "client-secret": "s p", "refresh-token": "r1"}
    known |= {"idp-certificate-authority-data": "$CA", "id-token": "$FRESH"}
    changed = {**known, **{name.replace("_", "-"): value for name, value in more.items()}}
    return {"auth-provider": {"name": "oidc", "config": {k: v for k, v in changed.items() if v is not None}}}


_DATA = {"client-certificate-data": "$CHAIN", "client-key-data": "$KEY"}
_FILES = {"client-certificate": "client.pem", "client-key": "client.key"}
_TOKEN = {"token": "t"}
_AS = {"as": "other", "as-uid": "7", "as-groups": ["g", "h i"], "as-user-extra": {"sco/pe": ["x", "y"], "plain": ["z"]}}
_ASKS = {"provideClusterInfo": True}

USERS: dict[str, Any] = {
    "a token": _TOKEN,
    "a token file": {"tokenFile": "token"},
    "a token file by its whole path": {"tokenFile": "$DIRECTORY/token"},
    "a token file before a token": {"token": "t", "tokenFile": "token"},
    "a token instead of a missing file": {"token": "t", "tokenFile": "missing"},
    "a token instead of an empty file": {"token": "t", "tokenFile": "empty"},
    "a missing token file": {"tokenFile": "missing"},
    "an empty token file": {"tokenFile": "empty"},
    "a password": {"username": "u", "password": "p"},
    "a name without a password": {"username": "u"},
    "a password without a name": ({"password": "p"}, NO_CREDENTIALS),
    "a token and a password": {"token": "t", "username": "u", "password": "p"},
    "a token file and a password": {"tokenFile": "token", "username": "u", "password": "p"},
    "certificate data": _DATA,
    "certificate files": _FILES,
    "certificate data with a key file": {"client-certificate-data": "$CHAIN", "client-key": "client.key"},
    "a certificate file with key data": {"client-certificate": "client.pem", "client-key-data": "$KEY"},
    "a certificate without a key": {"client-certificate-data": "$CHAIN"},
    "a key without a certificate": ({"client-key-data": "$KEY", "token": "t"}, LONELY_KEY),
    "a certificate twice": _DATA | {"client-certificate": "client.pem"},
    "a key twice": _DATA | {"client-key": "client.key"},
    "a certificate that is no base64": _DATA | {"client-certificate-data": "@@"},
    "a certificate that is no PEM": _DATA | {"client-certificate-data": "eA=="},
    "a certificate in lines": _DATA | {"client-certificate-data": "$LINES"},
    "a key of another certificate": _DATA | {"client-key-data": "$OTHER_KEY"},
    "a missing key file": _FILES | {"client-key": "missing"},
    "a certificate and a token": _DATA | _TOKEN,
    "a certificate and a password": _DATA | {"username": "u", "password": "p"},
    "a certificate and a program": _DATA | a_program(),
    "a certificate and a provider": _DATA | a_provider(),
    "a program": a_program(),
    "a program of v1beta1": a_program("beta", version=BETA),
    "a program of v1beta1 without a mode": a_program("beta", version=BETA, mode=None),
    "a program of v1 without a mode": (a_program(mode=None), INTERACTIVE),
    "a program in an unknown mode": (a_program(mode="Sometimes"), INTERACTIVE),
    "a program if available": a_program(mode="IfAvailable"),
    "a program that needs a terminal": a_program(mode="Always"),
    "a program of an unknown version": (a_program("core", version="v1"), EXEC_VERSION),
    "a program with arguments": a_program(args=["token", "a b", "", "$$x"]),
    "a program with variables": a_program(env=[{"name": "GIVEN", "value": "x y"}, {"name": "HOME", "value": "/h"}]),
    "a program with a variable twice": a_program(env=[{"name": "GIVEN", "value": v} for v in "ab"]),
    "a program that asks for the cluster": a_program(**_ASKS),
    "a program of v1beta1 that asks": a_program("beta", version=BETA, **_ASKS),
    "a program by its whole path": a_program(command="$DIRECTORY/plugin"),
    "a program in the path": a_program(command="plugin-in-path"),
    "a program in a directory beside": a_program(command="bin/plugin-in-path"),
    "a missing program": a_program(command="./missing"),
    "a missing program in the path": a_program(command="no-such-plugin", installHint="install it"),
    "a program without a command": a_program(command=""),
    "a program that fails": a_program("no-such-answer"),
    "a program that prints no JSON": a_program("garbage"),
    "a program that answers in another version": a_program("beta"),
    "a program that answers another kind": a_program("kind"),
    "a program without a status": a_program("no-status"),
    "a program with an empty token": a_program("empty-token"),
    "a program with a certificate": a_program("certificate"),
    "a program with a certificate and a token": a_program("both"),
    "a program with a certificate without a key": a_program("half"),
    "a program with a bad certificate": a_program("bad-certificate"),
    "a program with an old token": a_program("expired"),
    "a program with a token for long": a_program("fresh"),
    "a program with a time that is none": a_program("bad-time"),
    "a program with more than is known": a_program("unknown-fields"),
    "a program and a token": a_program() | _TOKEN,
    "a program and a token file": a_program() | {"tokenFile": "token"},
    "a program and a password": a_program() | {"username": "u", "password": "p"},
    "a program and a provider": a_program() | a_provider(),
    "a provider with a fresh token": a_provider(),
    "a provider with an old token": a_provider(id_token="$OLD"),
    "a provider without a token": a_provider(id_token=None),
    "a provider with a token without end": a_provider(id_token="$ENDLESS"),
    "a provider without a refresh token": a_provider(id_token="$OLD", refresh_token=None),
    "a provider without an issuer": a_provider(id_token="$OLD", idp_issuer_url=None),
    "a provider without an issuer that is not asked": (a_provider(idp_issuer_url=None), FRESH),
    "a provider without a client": a_provider(id_token="$OLD", client_id=None),
    "a provider without a client that is not asked": (a_provider(client_id=None), FRESH),
    "a provider without a secret": a_provider(id_token="$OLD", client_secret=None),
    "a provider that nobody trusts": a_provider(id_token="$OLD", idp_certificate_authority_data=None),
    "a provider with an authority in a file": a_provider(
        id_token="$OLD", idp_certificate_authority_data=None, idp_certificate_authority="$DIRECTORY/ca.pem"
    ),
    "a provider whose authority is no base64": a_provider(id_token="$OLD", idp_certificate_authority_data="@"),
    "a provider with a token that is none": a_provider(id_token="opaque"),
    "a provider and a token": a_provider() | _TOKEN,
    "a provider and a password": a_provider() | {"username": "u", "password": "p"},
    "a provider without settings": {"auth-provider": {"name": "oidc"}},
    "a provider without a name": {"auth-provider": {"config": {}}},
    "a removed provider": {"auth-provider": {"name": "gcp"}},
    "a removed provider beside a token": ({"auth-provider": {"name": "gcp"}} | _TOKEN, UNUSED_PROVIDER),
    "another user": _TOKEN | {"as": "other"},
    "another user in full": _TOKEN | _AS,
    "another user by certificate": _DATA | _AS,
    "groups without a user": _TOKEN | {"as-groups": ["g"]},
    "a uid without a user": _TOKEN | {"as-uid": "7"},
    "more without a user": _TOKEN | {"as-user-extra": {"a": ["b"]}},
    "nothing": ({}, NO_CREDENTIALS),
    "null": (None, NO_CREDENTIALS),
    "an empty token": ({"token": ""}, NO_CREDENTIALS),
    "a null token beside a password": {"token": None, "username": "u", "password": "p"},
    "unknown fields": _TOKEN | {"tokne": "x", "extensions": [{"name": "a", "extension": {}}]},
    "a number as a token": {"token": 7},
    "a list as a token": {"token": ["t"]},
    "a token in two lines": {"token": "a\nb"},
    "a token beyond ASCII": ({"token": "tést"}, BEYOND_ASCII),
    "text as a user": "t",
}

_CA = {"certificate-authority-data": "$CA"}
_SERVER = {"server": "$SERVER/c"} | _CA
_BY_NAME = {"server": "https://api.test.invalid:6443/c"} | _CA

CLUSTERS: dict[str, Any] = {
    "authority data": _SERVER,
    "authority data in lines": _SERVER | {"certificate-authority-data": "$CA_LINES"},
    "an authority file": {"server": "$SERVER", "certificate-authority": "ca.pem"},
    "an authority file by its whole path": {"server": "$SERVER", "certificate-authority": "$DIRECTORY/ca.pem"},
    "an authority file with empty data": _SERVER
    | {"certificate-authority": "ca.pem", "certificate-authority-data": ""},
    "an authority twice": _SERVER | {"certificate-authority": "ca.pem"},
    "a missing authority": {"server": "$SERVER", "certificate-authority": "missing"},
    "an empty authority": {"server": "$SERVER", "certificate-authority": "empty"},
    "an authority that is no base64": _SERVER | {"certificate-authority-data": "@@"},
    "an authority that is no PEM": _SERVER | {"certificate-authority-data": "eA=="},
    "another authority": _SERVER | {"certificate-authority-data": "$OTHER_CA"},
    "the authorities of the system": {"server": "$SERVER"},
    "no verification": {"server": "$SERVER", "insecure-skip-tls-verify": True},
    "no verification with an authority": _SERVER | {"insecure-skip-tls-verify": True},
    "no verification in text": {"server": "$SERVER", "insecure-skip-tls-verify": "true"},
    "another name": _SERVER | {"tls-server-name": "inner.test.invalid"},
    "another name that is not in the certificate": _SERVER | {"tls-server-name": "outer.test.invalid"},
    "a path with a slash": _SERVER | {"server": "$SERVER/k8s/clusters/c-1/"},
    "a slash": _SERVER | {"server": "$SERVER/"},
    "a query": _SERVER | {"server": "$SERVER/c?a=b#c"},
    "capital letters": _SERVER | {"server": "HTTPS://127.0.0.1:$SECURE/c"},
    "a password in the URL": _SERVER | {"server": "https://me:p%40s@127.0.0.1:$SECURE/c"},
    "a name in the URL": _SERVER | {"server": "https://me@127.0.0.1:$SECURE/c"},
    "no scheme": _SERVER | {"server": "127.0.0.1:$SECURE"},
    "no TLS": {"server": "http://127.0.0.1:$PLAIN/c"},
    "no TLS and a password in the URL": {"server": "http://me:p%40s@127.0.0.1:$PLAIN/c"},
    "no server": _CA,
    "an empty server": _SERVER | {"server": ""},
    "a number as a server": _SERVER | {"server": 7},
    "another scheme": _SERVER | {"server": "ftp://127.0.0.1:$SECURE"},
    "a port that is none": _SERVER | {"server": "https://127.0.0.1:port"},
    "nothing": {},
    "null": None,
    "a proxy": _BY_NAME | {"proxy-url": "http://127.0.0.1:$PLAIN"},
    "a proxy with a password": _BY_NAME | {"proxy-url": "http://u:p%40@127.0.0.1:$PLAIN"},
    "a proxy to this machine": _SERVER | {"proxy-url": "http://127.0.0.1:$PLAIN"},
    "a proxy with TLS": _BY_NAME | {"proxy-url": "https://127.0.0.1:$PROXY"},
    "a proxy and another name": _BY_NAME
    | {"proxy-url": "http://127.0.0.1:$PLAIN", "tls-server-name": "inner.test.invalid"},
    "a SOCKS proxy": (_BY_NAME | {"proxy-url": "socks5://127.0.0.1:$SOCKS"}, SOCKS),
    "a proxy of no kind": _BY_NAME | {"proxy-url": "ftp://127.0.0.1:1"},
    "a proxy that is none": _BY_NAME | {"proxy-url": "127.0.0.1"},
    "a proxy that is not there": _BY_NAME | {"proxy-url": "http://127.0.0.1:1"},
    "no compression": _SERVER | {"disable-compression": True},
    "unknown fields": _SERVER | {"sever": "x", "extensions": [{"name": "a", "extension": {"b": 1}}]},
}

ENVIRONMENTS: dict[str, Mapping[str, str]] = {
    "a proxy": {"HTTPS_PROXY": "http://127.0.0.1:$PLAIN"},
    "a proxy in small letters": {"https_proxy": "http://127.0.0.1:$PLAIN"},
    "a proxy without a scheme": {"HTTPS_PROXY": "127.0.0.1:$PLAIN"},
    "a proxy with a password": {"HTTPS_PROXY": "http://u:p@127.0.0.1:$PLAIN"},
    "a proxy that does not count": {"HTTPS_PROXY": "http://127.0.0.1:$PLAIN", "NO_PROXY": "10.0.0.0/8,.test.invalid"},
    "a proxy that counts": {"HTTPS_PROXY": "http://127.0.0.1:$PLAIN", "NO_PROXY": "example.org,10.0.0.0/8"},
    "a proxy for HTTP": {"HTTP_PROXY": "http://127.0.0.1:$PLAIN"},
}
