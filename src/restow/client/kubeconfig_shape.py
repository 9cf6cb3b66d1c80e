"""What a kubeconfig may look like: the type of every field that is read, here or by the official package.

kubectl refuses a file with a field of another type, whichever context is asked for, and so does this.
Source: clientcmd/api/v1, client-go 0.36.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct, field

from restow.documents.decoding import decode
from restow.documents.document import Document, DocumentKind
from restow.documents.findings import Issue, Path, refusal

KUBECONFIG: Final = DocumentKind("a kubeconfig", "apiVersion: v1 and kind: Config")


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


_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
#: Fields whose text may have lines: base64, and the arguments and variables of a program.
_WITH_LINES: Final = ("-data", "exec")


def check_shape(document: Document) -> None:
    """Raise InputError, with file, line and field, for a kubeconfig with a value that its field cannot have."""
    if not document.data:
        raise refusal(document, [Issue((), "an empty file", hint=f"start with {KUBECONFIG.start}")])
    problems = decode(document.data, _Kubeconfig, ()).errors or [*_unusable(document.data)]
    if problems:
        raise refusal(document, problems)


def _unusable(config: dict[str, Any]) -> Iterator[Issue]:
    for place, value in _texts(config):
        if value is None:
            yield Issue(place, "must not be empty")
        elif _CONTROL.search(value) and not any(str(step).endswith(_WITH_LINES) for step in place):
            yield Issue(place, "contains a line break or another control character")


def _texts(config: dict[str, Any]) -> Iterator[tuple[Path, str | None]]:
    """Each text, with its field; None for an empty item of a list."""
    for key in ("current-context", "clusters", "contexts", "users"):
        yield from _inside(config.get(key), (key,))


def _inside(value: Any, place: Path) -> Iterator[tuple[Path, str | None]]:
    if isinstance(value, str) or (value is None and isinstance(place[-1], int)):
        yield place, value
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from _inside(each, (*place, at))
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _inside(each, (*place, key))
