"""What a kubeconfig may look like: the type of every field that is read, here or by the official package.

kubectl refuses a file with a field of another type, whichever context is asked for, and so does this.
Source: clientcmd/api/v1, client-go 0.36.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from restow.errors import InputError
from restow.kube.excerpts import excerpt


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


_EXPECTED: Final = re.compile(r"Expected `([a-z]+)(?: \| null)?`, got `([a-z]+)`")
_WORDS: Final = {
    "str": "text",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "empty",
    "date": "a date",
    "datetime": "a time",
    "bytes": "binary",
    "set": "a set",
}
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
#: Fields whose text may have lines: base64, and the arguments and variables of a program.
_WITH_LINES: Final = ("-data", "exec")


def check_shape(config: Any, path: str) -> None:
    """Raise InputError, with the file and the field, for a kubeconfig with a value that its field cannot have."""
    try:
        msgspec.convert(config, type=_Kubeconfig)
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: {_sentence(str(error))}") from error
    for place, text in _texts(config):
        if _CONTROL.search(text):
            raise InputError(f"{path}: {place}: holds a line break or another control character")


def _sentence(message: str) -> str:
    what, _, place = message.partition(" - at `$")
    place = place.rstrip("`").lstrip(".")
    expected = _EXPECTED.fullmatch(what)
    if expected is None:
        return f"not a kubeconfig: {excerpt(place)}: {excerpt(what[:1].lower() + what[1:])}"
    wanted, got = (_WORDS.get(each, each) for each in expected.groups())
    hint = "; put it in quotes" if wanted == "text" and got not in {"a list", "a mapping", "empty"} else ""
    return f"not a kubeconfig: {f'{excerpt(place)} ' if place else ''}must be {wanted}, not {got}{hint}"


def _texts(config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each text that becomes a header, a path or a name, with its field."""
    yield from _inside(config.get("current-context"), "current-context")
    for kind in ("clusters", "contexts", "users"):
        yield from _inside(config.get(kind), kind)


def _inside(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from _inside(each, f"{place}[{at}]")
    elif isinstance(value, dict):
        for key, each in value.items():
            if not str(key).endswith(_WITH_LINES):
                yield from _inside(each, f"{place}.{excerpt(key)}")
