"""Kubeconfigs of one file or several, hand-picked: which entry counts, and what makes a file unusable."""

from __future__ import annotations

import json
from typing import Any

from e2e.kubeconfig_cases import (
    BINARY,
    ELSEWHERE,
    KIND,
    NAMELESS,
    NO_CREDENTIALS,
    NO_USER,
    TWICE,
    Kubeconfigs,
    a_context,
    a_file,
    an_entry,
)

ONE, TWO = a_file({"token": "one"}, name="one"), a_file({"token": "two"}, name="two")
_SAME = a_file({"token": "other"}, {"server": "$SERVER/other"}, name="one")
_EMPTY: dict[str, Any] = {"apiVersion": "v1", "kind": "Config"}


def _two(first: Any, second: Any, **more: Any) -> Kubeconfigs:
    return Kubeconfigs({"1": first, "2": second}, **more)


def _one(text: Any, **more: Any) -> Kubeconfigs:
    return Kubeconfigs({"1": text}, **more)


def _without(key: str) -> dict[str, Any]:
    return {name: value for name, value in ONE.items() if name != key}


def _with(key: str, kind: str, name: str | None, value: Any) -> dict[str, Any]:
    """``ONE`` with one more entry."""
    entry = {kind: value} | ({} if name is None else {"name": name})
    return ONE | {key: [*ONE[key], entry]}


def _context(**more: Any) -> dict[str, Any]:
    return ONE | {"contexts": [a_context("one", **more)]}


_FILE_USER = {"client-certificate": "client.pem", "client-key": "client.key"}
_BESIDE = a_file(_FILE_USER, {"server": "$SERVER/b", "certificate-authority": "ca.pem"}, name="one")

FILES: dict[str, Kubeconfigs] = {
    "two files": _two(ONE, TWO),
    "two files in the other order": _two(TWO, ONE),
    "a context of the second": _two(ONE, TWO, context="two"),
    "a context of none": _two(ONE, TWO, context="three"),
    "the same names": _two(ONE, _SAME),
    "the same names in the other order": _two(_SAME | {"clusters": [an_entry("cluster", "one", None)]}, ONE),
    "the current context of the second": _two(_without("current-context"), TWO),
    "an empty current context": _two(ONE | {"current-context": ""}, TWO),
    "a current context of the other file": _two(ONE | {"current-context": "two"}, TWO),
    "a current context of none": _two(ONE | {"current-context": "three"}, TWO),
    "a user of the other file": _two(_without("users"), {**_EMPTY, "users": ONE["users"]}),
    "a cluster of the other file": _two(_without("clusters"), {**_EMPTY, "clusters": ONE["clusters"]}),
    "paths begin at their own file": Kubeconfigs({"sub/1": _BESIDE, "2": TWO}),
    "paths that begin at the other file": Kubeconfigs({"elsewhere/1": _BESIDE, "2": TWO}),
    "a missing file": _two(None, ONE),
    "a missing file behind": _two(ONE, None),
    "an empty file": _two("", ONE),
    "a file of comments": _two("# nothing\n", ONE),
    "a file without entries": _two(_EMPTY, ONE),
    "the same file twice": Kubeconfigs({"1": ONE}, environ={"KUBECONFIG": "$DIRECTORY/1:$DIRECTORY/1"}),
    "empty names in the list": Kubeconfigs({"1": ONE}, environ={"KUBECONFIG": ":$DIRECTORY/1:"}),
    "a broken second file": _two(ONE, "a: ["),
    "a second file with a wrong type": _two(ONE, TWO | {"users": "x"}),
    "a wrong type in an unused entry": _one(_with("users", "user", "x", {"token": 7})),
    "an unused context of nothing": _one(_with("contexts", "context", "x", {"cluster": "y", "user": "z"})),
    "an unused cluster of nothing": _one(_with("clusters", "cluster", "x", None)),
    "an unused user with a missing file": _one(_with("users", "user", "x", {"client-certificate": "missing"})),
    "an unused user with broken base64": _one(
        _with("users", "user", "x", {"client-key-data": "@@"}), differs=ELSEWHERE
    ),
    "an unused cluster with broken base64": _one(
        _with("clusters", "cluster", "x", {"certificate-authority-data": "@@"}), differs=ELSEWHERE
    ),
    "a user twice": _one(_with("users", "user", "one", {"token": "second"}), differs=TWICE),
    "a cluster twice": _one(_with("clusters", "cluster", "one", {"server": "$SERVER/second"}), differs=TWICE),
    "a context twice": _one(_with("contexts", "context", "one", {"cluster": "one"}), differs=TWICE),
    "a user without a name": _one(_with("users", "user", None, {"token": "x"}), differs=NAMELESS),
    "a null in a list": _one(ONE | {"users": [*ONE["users"], None]}, differs=NAMELESS),
    "no file": Kubeconfigs({"1": None}),
    "only an empty file": _one(""),
    "only a file without entries": _one(_EMPTY),
    "no contexts": _one(_without("contexts")),
    "no current context": _one(_without("current-context")),
    "no users": _one(_without("users")),
    "no clusters": _one(_without("clusters")),
    "no version and kind": _one({name: ONE[name] for name in ONE if name not in ("apiVersion", "kind")}),
    "another version": _one(ONE | {"apiVersion": "v2"}, differs=KIND),
    "another kind": _one(ONE | {"kind": "Pod"}, differs=KIND),
    "a context without a user": _one(_context(user=""), differs=NO_USER),
    "a context without a cluster": _one(_context(cluster="")),
    "a context of a missing user": _one(_context(user="x")),
    "a context of a missing cluster": _one(_context(cluster="x")),
    "a context of nothing": _one(ONE | {"contexts": [an_entry("context", "one", None)]}),
    "a namespace": _one(_context(namespace="shop")),
    "a namespace that cannot be": _one(_context(namespace="No_Name")),
    "unknown keys": _one(ONE | {"preferences": {"colors": True}, "unknown": [1], "extensions": []}),
    "JSON": _one(json.dumps(ONE)),
    "JSON behind white space": _one(f"\n  {json.dumps(ONE, indent=1)}\n"),
    "a list": _one("- a"),
    "a text": _one("just text"),
    "broken YAML": _one("a: ["),
    "broken JSON": _one('{"a": '),
    "a tab": _one("users:\n\t- a"),
    "bytes that are no text": _one(b"\xff\xfe\x00"),
    "a mark of the byte order": _one(b"\xef\xbb\xbf" + json.dumps(ONE).encode()),
    "a key twice": _one(json.dumps(ONE)[:-1] + ', "current-context": "two"}'),
    "a user that is a list": _one(ONE | {"users": {"one": {}}}),
    "a name that is a number": _one(ONE | {"users": [{"name": 1, "user": {"token": "x"}}]}),
}

_PLAIN = """
current-context: on-call
clusters:
- name: c
  cluster: {server: $SERVER/yaml, certificate-authority-data: &ca $CA}
contexts:
- name: on-call
  context: &context
    cluster: c
    user: u
- name: merged
  context:
    <<: *context
    user: v
users:
- name: u
  user: {token: TOKEN}
- name: v
  user: {token: &t folded, username: ""}
"""


def _yaml(token: str, **more: Any) -> Kubeconfigs:
    return Kubeconfigs({"1": _PLAIN.replace("TOKEN", token)}, **more)


YAML: dict[str, Kubeconfigs] = {
    "plain": _yaml("plain"),
    "in quotes": _yaml('"7"'),
    "a merge": _yaml("plain", context="merged"),
    "an octal number": _yaml("0o17"),
    "a yes": _yaml("yes"),
    "a number of base 60": _yaml("1:20"),
    "a date": _yaml("2026-11-22"),
    "a float": _yaml("1e3"),
    "a float with underscores": _yaml("1_000"),
    "a null": _yaml("~", differs=NO_CREDENTIALS),
    "a tilde inside": _yaml("a~b"),
    "an exclamation mark": _yaml("!!str 7"),
    "binary": _yaml("!!binary dA==", differs=BINARY),
    "escapes": _yaml(r'"\x41\u0042"'),
    "two documents": Kubeconfigs({"1": _PLAIN.replace("TOKEN", "x") + "---\nusers: []\n"}),
    "an empty document before": Kubeconfigs({"1": "---\n" + _PLAIN.replace("TOKEN", "x")}),
}
