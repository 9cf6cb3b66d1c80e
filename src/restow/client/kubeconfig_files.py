"""The files of a kubeconfig: read once, checked and merged. If several files have an entry of a name, the first counts.

A file is read only once, so it may be a pipe. It is checked before anything of it is used, so any fault in it becomes a
sentence for people: like kubectl, restow refuses a file with a field of a wrong type in any of its contexts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct, field

from restow.configuration_files import read_small_file
from restow.documents.decoding import decode
from restow.documents.document import Document, DocumentKind, read_document, refusal
from restow.documents.findings import Issue
from restow.documents.findings import Path as FieldPath
from restow.documents.yaml_text import write_yaml
from restow.errors import InputError

S = TypeVar("S", bound=Struct)

_KUBECONFIG: Final = DocumentKind("a kubeconfig", "apiVersion: v1 and kind: Config")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
#: Fields whose text may have lines: base64, and the arguments and variables of a program.
_WITH_LINES: Final = ("-data", "exec")

# The fields that are read. Source: clientcmd/api/v1, client-go 0.36.


class Cluster(Struct, frozen=True, rename="kebab"):
    """The ``cluster`` of an entry of ``clusters``."""

    server: str | None = None
    tls_server_name: str | None = None
    insecure_skip_tls_verify: bool | None = None
    proxy_url: str | None = None
    disable_compression: bool | None = None
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    #: Settings for programs, of any form.
    extensions: list[Any] = []


class Context(Struct, frozen=True):
    """The ``context`` of an entry of ``contexts``."""

    cluster: str | None = None
    user: str | None = None
    namespace: str | None = None


class Variable(Struct, frozen=True):
    """A variable in the environment of a program."""

    name: str
    value: str


class Exec(Struct, frozen=True, rename="camel"):
    """The program that gives a user's credentials."""

    command: str
    api_version: str
    args: list[str] = []
    env: list[Variable] = []
    install_hint: str | None = None
    interactive_mode: str | None = None
    provide_cluster_info: bool | None = None


class Provider(Struct, frozen=True):
    """The ``auth-provider`` of a user."""

    name: str | None = None
    config: dict[str, str] | None = None


class User(Struct, frozen=True, rename="kebab"):
    """The ``user`` of an entry of ``users``."""

    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    token: str | None = None
    token_file: str | None = field(default=None, name="tokenFile")
    act_as: str | None = field(default=None, name="as")
    as_uid: str | None = None
    as_groups: list[str] = []
    as_user_extra: dict[str, list[str]] = {}
    username: str | None = None
    password: str | None = None
    auth_provider: Provider | None = None
    exec: Exec | None = None


class _NamedCluster(Struct, frozen=True):
    name: str
    cluster: Cluster = Cluster()


class _NamedContext(Struct, frozen=True):
    name: str
    context: Context = Context()


class _NamedUser(Struct, frozen=True):
    name: str
    user: User = User()


class _Kubeconfig(Struct, frozen=True, rename="kebab"):
    current_context: str | None = None
    clusters: list[_NamedCluster] = []
    contexts: list[_NamedContext] = []
    users: list[_NamedUser] = []


class Section(Struct, Generic[S], frozen=True):
    """The settings of a cluster, a context or a user, and where they are written."""

    name: str
    settings: S
    #: The same as plain data, a part of ``document``.
    plain: dict[str, Any]
    document: Document

    def path(self, file: str) -> Path:
        """Return the path of a file that a field names, which begins at the kubeconfig."""
        return Path(self.document.filename).absolute().parent / file

    def save(self) -> None:
        """Write the file again after a change in ``plain``; OSError where it may not be written."""
        Path(self.document.filename).write_text(write_yaml(self.document.data), encoding="utf-8")


class KubeconfigFiles(Struct, frozen=True):
    """All files as one, each kind of section by name."""

    clusters: Mapping[str, Section[Cluster]]
    contexts: Mapping[str, Section[Context]]
    users: Mapping[str, Section[User]]
    #: That of the first file that names one.
    current_context: str | None


def read_kubeconfig_files(paths: str) -> KubeconfigFiles:
    """The files of a list as in KUBECONFIG, of which some may be missing; InputError in a sentence with file and field."""
    each = [os.path.expanduser(path) for path in paths.split(os.pathsep) if path]  # noqa: PTH111
    try:
        present = [path for path in each if Path(path).exists()]
    except OSError as error:
        raise InputError(f"{paths}: the kubeconfig cannot be read: {error.strerror or error}") from error
    if not present:
        raise InputError(f"{paths}: no such kubeconfig; name one with --kubeconfig or KUBECONFIG")
    read = [*map(_read, present)]
    # An empty file is an error only if all of them are empty.
    files = [(document, _checked(document)) for document in [each for each in read if each.data] or read]
    return KubeconfigFiles(
        clusters=_by_name(files, "cluster"),
        contexts=_by_name(files, "context"),
        users=_by_name(files, "user"),
        current_context=next((config.current_context for _, config in files if config.current_context), None),
    )


def _read(path: str) -> Document:
    try:
        return read_document(read_small_file(path), path, _KUBECONFIG)
    except OSError as error:
        raise InputError(f"{path}: the kubeconfig cannot be read: {error.strerror or error}") from error


def _by_name(files: Sequence[tuple[Document, _Kubeconfig]], kind: str) -> dict[str, Section[Any]]:
    sections: dict[str, Section[Any]] = {}
    for document, config in files:
        for at, entry in enumerate(getattr(config, f"{kind}s")):
            plain = document.data[f"{kind}s"][at].get(kind) or {}
            sections.setdefault(entry.name, Section(entry.name, getattr(entry, kind), plain, document))
    return sections


def _checked(document: Document) -> _Kubeconfig:
    """What a file says; InputError, with file, line and field, if it has a value that its field cannot have."""
    if not document.data:
        raise refusal(document, [Issue((), "an empty file", hint=f"start with {_KUBECONFIG.start}")])
    decoded = decode(document.data, _Kubeconfig, ())
    problems = decoded.errors or [*_unusable(document.data)]
    if problems or decoded.value is None:
        raise refusal(document, problems)
    return decoded.value


def _unusable(config: dict[str, Any]) -> Iterator[Issue]:
    for key in ("current-context", "clusters", "contexts", "users"):
        for place, value in _texts(config.get(key), (key,)):
            if value is None:
                yield Issue(place, "must not be empty")
            elif _CONTROL.search(value) and not any(str(step).endswith(_WITH_LINES) for step in place):
                yield Issue(place, "contains a line break or another control character")


def _texts(value: Any, place: FieldPath) -> Iterator[tuple[FieldPath, str | None]]:
    """Each text, with its field; None for an empty item of a list."""
    if isinstance(value, str) or (value is None and isinstance(place[-1], int)):
        yield place, value
    elif isinstance(value, list | dict):
        for step, each in enumerate(value) if isinstance(value, list) else value.items():
            yield from _texts(each, (*place, step))
