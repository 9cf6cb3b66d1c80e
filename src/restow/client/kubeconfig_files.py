"""The files of a kubeconfig: read once, checked and merged. If several files have an entry of a name, the first counts.

A file is read only once, so it may be a pipe. It is checked before anything of it is used, so any fault in it becomes a
sentence for people: like kubectl, restow refuses a file with a field of a wrong type in any of its contexts. Its entries
are then nodes of the official package, which knows what to do with them.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from restow.client.official import config_modules
from restow.documents.decoding import decode
from restow.documents.document import Document, DocumentKind, read_document
from restow.documents.findings import Issue, refusal
from restow.documents.findings import Path as FieldPath
from restow.documents.writing import write_yaml
from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.small_files import read_small_file

_KUBECONFIG: Final = DocumentKind("a kubeconfig", "apiVersion: v1 and kind: Config")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
#: Fields whose text may have lines: base64, and the arguments and variables of a program.
_WITH_LINES: Final = ("-data", "exec")


@dataclass(slots=True)
class _File:
    path: str
    #: Changed where tokens are.
    config: dict[str, Any]
    saved: dict[str, Any]


@dataclass(slots=True, frozen=True)
class KubeconfigFiles:
    """All files as one; entries by name, as nodes of the official package that know their file."""

    files: Sequence[_File]
    clusters: Mapping[str, Any]
    contexts: Mapping[str, Any]
    users: Mapping[str, Any]
    #: That of the first file that names one.
    current_context: str | None

    def save(self) -> None:
        """Write back the files whose settings have changed; OSError where one may not be written."""
        for file in self.files:
            if file.config != file.saved:
                Path(file.path).write_text(write_yaml(file.config), encoding="utf-8")
                file.saved = copy.deepcopy(file.config)


# The fields that are read, here or by the official package. Source: clientcmd/api/v1, client-go 0.36.


class _ClusterSettings(Struct, frozen=True, rename="kebab"):
    server: str | None = None
    tls_server_name: str | None = None
    insecure_skip_tls_verify: bool | None = None
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    proxy_url: str | None = None


class _Cluster(Struct, frozen=True):
    name: str
    cluster: _ClusterSettings | None = None


class _ContextSettings(Struct, frozen=True):
    cluster: str | None = None
    user: str | None = None
    namespace: str | None = None


class _Context(Struct, frozen=True):
    name: str
    context: _ContextSettings | None = None


class _Variable(Struct, frozen=True):
    name: str
    value: str


class _Exec(Struct, frozen=True, rename="camel"):
    command: str
    api_version: str
    args: list[str] | None = None
    env: list[_Variable] | None = None
    install_hint: str | None = None
    interactive_mode: str | None = None
    provide_cluster_info: bool | None = None


class _Provider(Struct, frozen=True):
    name: str | None = None
    config: dict[str, str] | None = None


class _UserSettings(Struct, frozen=True, rename="kebab"):
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    token: str | None = None
    token_file: str | None = field(default=None, name="tokenFile")
    act_as: str | None = field(default=None, name="as")
    as_uid: str | None = None
    as_groups: list[str] | None = None
    as_user_extra: dict[str, list[str]] | None = None
    username: str | None = None
    password: str | None = None
    auth_provider: _Provider | None = None
    exec: _Exec | None = None


class _User(Struct, frozen=True):
    name: str
    user: _UserSettings | None = None


class _Kubeconfig(Struct, frozen=True, rename="kebab"):
    current_context: str | None = None
    clusters: list[_Cluster] | None = None
    contexts: list[_Context] | None = None
    users: list[_User] | None = None


def read_kubeconfig_files(paths: str) -> KubeconfigFiles:
    """The files of a list as in KUBECONFIG, of which some may be missing; InputError in a sentence with file and field."""
    each = [os.path.expanduser(path) for path in paths.split(os.pathsep) if path]  # noqa: PTH111
    try:
        present = [path for path in each if Path(path).exists()]
    except OSError as error:
        raise InputError(f"{paths}: the kubeconfig cannot be read: {error.strerror or error}") from error
    if not present:
        raise InputError(f"{paths}: no such kubeconfig; name one with --kubeconfig or KUBECONFIG")
    configs = [(path, _read(path)) for path in present]
    return KubeconfigFiles(
        files=[_File(path, config, copy.deepcopy(config)) for path, config in configs],
        clusters=_by_name(configs, "clusters"),
        contexts=_by_name(configs, "contexts"),
        users=_by_name(configs, "users"),
        current_context=next(filter(None, (config.get("current-context") for _, config in configs)), None),
    )


def _read(path: str) -> dict[str, Any]:
    try:
        text = read_small_file(path)
    except OSError as error:
        raise InputError(f"{path}: the kubeconfig cannot be read: {error.strerror or error}") from error
    document = read_document(text, path, _KUBECONFIG)
    _check_shape(document)
    return document.data


def _by_name(configs: Sequence[tuple[str, dict[str, Any]]], kind: str) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    node = config_modules().kube_config.ConfigNode
    for path, config in configs:
        for entry in config.get(kind) or ():
            entries.setdefault(entry["name"], node(f"{kind}[name={excerpt(entry['name'])}]", entry, path))
    return entries


def _check_shape(document: Document) -> None:
    """Raise InputError, with file, line and field, for a kubeconfig with a value that its field cannot have."""
    if not document.data:
        raise refusal(document, [Issue((), "an empty file", hint=f"start with {_KUBECONFIG.start}")])
    problems = decode(document.data, _Kubeconfig, ()).errors or [*_unusable(document.data)]
    if problems:
        raise refusal(document, problems)


def _unusable(config: dict[str, Any]) -> Iterator[Issue]:
    for place, value in _texts(config):
        if value is None:
            yield Issue(place, "must not be empty")
        elif _CONTROL.search(value) and not any(str(step).endswith(_WITH_LINES) for step in place):
            yield Issue(place, "contains a line break or another control character")


def _texts(config: dict[str, Any]) -> Iterator[tuple[FieldPath, str | None]]:
    """Each text, with its field; None for an empty item of a list."""
    for key in ("current-context", "clusters", "contexts", "users"):
        yield from _inside(config.get(key), (key,))


def _inside(value: Any, place: FieldPath) -> Iterator[tuple[FieldPath, str | None]]:
    if isinstance(value, str) or (value is None and isinstance(place[-1], int)):
        yield place, value
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from _inside(each, (*place, at))
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _inside(each, (*place, key))
