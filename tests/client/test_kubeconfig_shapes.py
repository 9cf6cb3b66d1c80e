"""Kubeconfigs that are misshapen, in every field and way: an endpoint, or one sentence with the file and the field."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from builders.long_values import quotes_too_much
from restow.client.connection import kubeconfig_endpoint
from restow.client.errors import NoCredentials
from restow.errors import InputError

_PROVIDER = {"name": "oidc", "config": {"id-token": "a.b.c", "client-id": "c", "idp-issuer-url": "https://i"}}
_EXEC = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "command": "true",
    "args": ["a"],
    "env": [{"name": "A", "value": "b"}],
    "installHint": "install it",
    "interactiveMode": "Never",
    "provideClusterInfo": False,
}
_AS = {"as": "other", "as-uid": "7", "as-groups": ["g"], "as-user-extra": {"scope": ["x"]}}
#: One user for each way to prove who one is.
USERS = {
    "token": {"token": "t"} | _AS,
    "token file": {"tokenFile": "token"},
    "password": {"username": "u", "password": "p"},
    "certificate": {"client-certificate": "chain.pem", "client-key": "key.pem"},
    "certificate data": {"client-certificate-data": "QUJD", "client-key-data": "QUJD"},
    "program": {"exec": _EXEC},
    "provider": {"auth-provider": _PROVIDER},
}
_CLUSTER = {
    "server": "https://127.0.0.1:1",
    "tls-server-name": "inner",
    "insecure-skip-tls-verify": False,
    "proxy-url": "http://127.0.0.1:2",
    # Those of the system take long to read.
    "certificate-authority-data": base64.b64encode(trustme.CA().cert_pem.bytes()).decode(),
}
WRONG: dict[str, Any] = {
    "nothing": None,
    "no text": "",
    "text": "x",
    "true": True,
    "number": 7,
    "fraction": 1.5,
    "large number": 10**400,
    "date": yaml.safe_load("2026-11-22"),
    "list": [],
    "list of numbers": [7],
    "list of nothing": [None],
    "list of lists": [[["x"]]],
    "mapping": {},
    "mapping of a list": {"name": ["x"]},
    "mapping of a number": {7: 7},
    "names": [{"name": "x"}],
    "NUL": "a\0b",
    "line break": "a\nb",
    "escape": "\x1b[2J",
    "no ASCII": "\u00e9\u4e16\u202e",
    "long": "7" * 5000,
    "brackets": "http://[::1",
    "port": "https://a:99999",
    "directory": "/",
    "binary": b"\xff\xfe",
}


def a_config(user: Any, **cluster: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "k", "cluster": _CLUSTER | cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "shop"}}],
    }


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    steps = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [each for step, value in steps for each in [(*path, step), *places(value, (*path, step))]]


def changed(config: Any, place: tuple[Any, ...], value: Any) -> Any:
    result = copy.deepcopy(config)
    inner = result
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    return result


def outcome(file: Path, text: bytes) -> str | None:
    """The sentence that refuses a kubeconfig; None if it can be used, or is refused when it is."""
    file.write_bytes(text)
    try:
        endpoint = kubeconfig_endpoint(str(file), None, {})
    except InputError as error:
        return str(error)
    if "exec" not in text.decode():
        with contextlib.suppress(NoCredentials):
            asyncio.run(endpoint.credentials.identity())
    return None


@pytest.mark.parametrize("wrong", WRONG)
def test_every_field_with_every_wrong_value_is_used_or_refused_in_a_sentence(tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "config"
    files = a_config(USERS["certificate"], **{"certificate-authority-data": None, "certificate-authority": "ca.pem"})
    configs = [a_config(user) for user in USERS.values()] + [files]
    tried = 0
    for config in configs:
        for place in places(config):
            if config is not configs[0] and len(place) < 4:
                continue
            text = yaml.safe_dump(changed(config, place, WRONG[wrong])).encode()
            said = outcome(file, text)
            tried += 1
            if said is not None:
                assert said.startswith(str(file)), (place, said)
                assert all(line.startswith(str(file)) for line in said.splitlines()), (place, said)
                assert not quotes_too_much(said), (place, said[:300])
                assert "Invalid kube-config" not in said, (place, said)
    assert tried > 60


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        pytest.param(("contexts", 0, "context"), "x", "contexts[0].context: must be a mapping, not text", id="context"),
        pytest.param(
            ("contexts", 0, "name"), 7, "contexts[0].name: must be text, not a number; put it in quotes", id="n"
        ),
        pytest.param(("contexts", 0), {"context": {}}, "contexts[0]: has no name; add it", id="no name"),
        pytest.param(("contexts",), {"c": {}}, "contexts: must be a list, not a mapping", id="contexts"),
        pytest.param(("users", 0, "user"), "x", "users[0].user: must be a mapping, not text", id="user"),
        pytest.param(("users", 0), None, "users[0]: has no name; add it", id="empty item"),
        pytest.param(("users", 0, "user", "token"), 7, "users[0].user.token: must be text, not a number", id="token"),
        pytest.param(("users", 0, "user", "exec"), [], "users[0].user.exec: must be a mapping, not a list", id="exec"),
        pytest.param(
            ("users", 0, "user", "exec"),
            {"command": True},
            "users[0].user.exec.command: must be text, not true or",
            id="cmd",
        ),
        pytest.param(
            ("users", 0, "user", "exec"), {"args": "x"}, "users[0].user.exec.args: must be a list, not text", id="args"
        ),
        pytest.param(
            ("users", 0, "user", "exec"),
            {"env": [{"name": "A"}]},
            "users[0].user.exec.env[0]: has no value; add it",
            id="env",
        ),
        pytest.param(
            ("users", 0, "user", "as-groups"), "g", "users[0].user.as-groups: must be a list, not text", id="as"
        ),
        pytest.param(
            ("users", 0, "user", "token"), "a\nb", "users[0].user.token: contains a line break or", id="lines"
        ),
        pytest.param(("clusters", 0, "cluster", "server"), 7, "clusters[0].cluster.server: must be text", id="server"),
        pytest.param(
            ("clusters", 0, "cluster", "insecure-skip-tls-verify"),
            "yes",
            "clusters[0].cluster.insecure-skip-tls-verify: must be true or false, not text",
            id="bool",
        ),
        pytest.param(
            ("clusters", 0, "cluster", "extensions"), 7, "clusters[0].cluster.extensions: must be a list", id="more"
        ),
        pytest.param(
            ("clusters", 0, "cluster", "server"),
            "http://[::1",
            "context c: cluster.server 'http://[::1' is not an",
            id="url",
        ),
        pytest.param(
            ("clusters", 0, "cluster", "proxy-url"),
            "http://p:99999",
            "context c: proxy-url: http://p:99999 is not",
            id="proxy",
        ),
        pytest.param(
            ("clusters", 0, "cluster", "tls-server-name"),
            ".a",
            "context c: tls-server-name '.a' is not a host name",
            id="sni",
        ),
        pytest.param(("contexts", 0, "context", "cluster"), None, "context c: names no cluster", id="no cluster"),
        pytest.param(
            ("contexts", 0, "context", "cluster"), "z", "context c: names cluster z, which is not", id="cluster"
        ),
        pytest.param(("contexts", 0, "context", "user"), "z", "context c: names user z, which is not under", id="who"),
    ],
)
def test_the_sentence_names_the_field(tmp_path: Path, place: tuple[Any, ...], value: Any, sentence: str) -> None:
    said = outcome(tmp_path / "config", json.dumps(changed(a_config(USERS["token"]), place, value)).encode())
    assert said is not None
    assert sentence in said


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("[" * 30_000, ":1: nested more than 64 levels deep; this is not a kubeconfig", id="nested"),
        pytest.param("users: " + "7" * 5000, ":1: users: must be a list, not text", id="digits"),
        pytest.param("users: 2026-99-99", ":1: users: must be a list, not text", id="no date"),
        pytest.param("a: .nan", ":1: a: must be a finite number", id="no number"),
        pytest.param("users: !" + "7" * 500, ":1: users: must be a list, not text", id="unknown tag"),
        pytest.param("users: &a [*a]", ':1: the value anchored as "a" contains itself', id="in a circle"),
        pytest.param(
            "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
            + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)),
            ":7: excessive aliasing: more than 16 MiB; this is not a kubeconfig",
            id="bomb",
        ),
        pytest.param("7", ":1: a single value, not a kubeconfig; start with apiVersion: v1", id="number"),
        pytest.param("- a", ":1: a list, not a kubeconfig; start with apiVersion: v1", id="list"),
        pytest.param("", ":1: an empty file; start with apiVersion: v1 and kind: Config", id="empty"),
        pytest.param("#" * (11 << 20), ": larger than 10 MiB", id="huge"),
    ],
)
def test_what_is_no_kubeconfig_at_all(tmp_path: Path, text: str, sentence: str) -> None:
    said = outcome(tmp_path / "config", text.encode())
    assert said is not None
    assert re.match(re.escape(f"{tmp_path}/config{sentence}"), said)
    assert not quotes_too_much(said)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "config").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="config:1: not UTF-8 text"):
        kubeconfig_endpoint(str(tmp_path / "config"), None, {})


def test_a_shared_value_is_no_bomb(tmp_path: Path) -> None:
    """People share settings between contexts by aliases."""
    text = yaml.safe_dump(a_config({"token": base64.b64encode(b"t").decode()})).replace("user: u", "user: &u u")
    assert outcome(tmp_path / "config", (text + "extensions: [*u, *u]\n").encode()) is None
