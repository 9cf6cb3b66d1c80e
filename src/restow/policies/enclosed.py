"""A policy inside another file: the ``policy.yaml`` of a ConfigMap, the ``deschedulerPolicy`` of Helm values.

People keep policies where they deploy them from. Such a file is read as the policy that it holds; lines and fields
stay those of the file. What holds none, such as the Deployment that mounts it, says where to look.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from restow.documents.document import Document, read_document
from restow.documents.findings import path_text
from restow.errors import InputError
from restow.policies.v1alpha2 import API_VERSION, KIND, POLICY_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from restow.documents.findings import Path

_GROUP = "descheduler/"
#: The key of a ConfigMap that the Descheduler's own manifests mount, and those of the values of its Helm chart.
_FILE_KEY = "policy.yaml"
_VALUES_KEY = "deschedulerPolicy"
_VALUES_VERSION_KEY = "deschedulerPolicyAPIVersion"
#: Among them is what kubectl applied last, which holds a copy of everything.
_ANNOTATED_KEY = "metadata"


def read_policy_document(text: bytes, filename: str) -> Document:
    """Return the policy that a file is, or the only one that it holds; any other file as it is.

    Raises InputError as ``read_document`` does, and for a file that holds several policies.
    """
    outer = read_document(text, filename, POLICY_FILE)
    if _is_policy(outer.data):
        return outer
    places = list(_places(outer.data, ()))
    if len(places) > 1:
        listed = " and ".join(map(path_text, places))
        raise InputError(f"{filename}: policies in {listed}; put the one that is meant into a file of its own")
    if not places:
        return outer
    value = _at(outer.data, places[0])
    if isinstance(value, str):
        return _of_text(outer, places[0], value, text)
    return _of_values(outer, places[0])


def where_to_look(document: Document) -> str:
    """Return a hint about a file of another kind; empty if there is none."""
    if document.has_more:
        return "only the first YAML document of a file is read: put the policy into a file of its own"
    mounted = sorted(set(_mounted(document.data)))
    if mounted:
        metadata = document.data.get("metadata")
        namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
        kubectl = f"kubectl -n {namespace} get" if namespace else "kubectl get"
        return f"what this {document.data['kind']} mounts: {kubectl} configmap {' '.join(mounted)} -o yaml"
    if not document.data.get("apiVersion"):
        return f"if these are Helm values, their policy belongs under {_VALUES_KEY}"
    return ""


def _is_policy(data: dict[str, Any]) -> bool:
    version = data.get("apiVersion")
    return data.get("kind") == KIND or (isinstance(version, str) and version.startswith(_GROUP))


def _places(data: Any, path: Path) -> Iterator[Path]:
    """Yield the places below a path that contain a policy, as a mapping or as the text of a file."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        place = (*path, key)
        if isinstance(value, dict) and key == _VALUES_KEY:
            yield place
        elif key == _ANNOTATED_KEY:
            continue
        elif isinstance(value, str):
            if key == _FILE_KEY or f"kind: {KIND}" in value:
                yield place
        else:
            yield from _places(value, place)


def _at(data: Any, path: Path) -> Any:
    for step in path:
        data = data[step]
    return data


def _of_text(outer: Document, place: Path, value: str, text: bytes) -> Document:
    """Return the policy in a text. Empty lines are put before it, so that its line numbers are those of the file."""
    line = outer.line(place)
    following = text.decode("utf-8-sig").splitlines()[line : line + 1]
    first = value.splitlines()[:1]
    is_block = [each.strip() for each in following] == [each.strip() for each in first]
    padding = "\n" * (line if is_block else line - 1)
    inner = read_document(f"{padding}{value}".encode(), outer.filename, POLICY_FILE)
    return replace(inner, lines={(): line} | inner.lines, inside=path_text(place))


def _of_values(outer: Document, place: Path) -> Document:
    """Return the policy that the Helm chart creates from its values."""
    around, written = _at(outer.data, place[:-1]), _at(outer.data, place)
    version = around.get(_VALUES_VERSION_KEY) or API_VERSION
    depth = len(place)
    lines = {path[depth:]: line for path, line in outer.lines.items() if path[:depth] == place}
    return replace(
        outer,
        data={"apiVersion": version, "kind": KIND} | written,
        lines=lines,
        duplicates=tuple(path[depth:] for path in outer.duplicates if path[:depth] == place),
        inside=path_text(place),
    )


def _mounted(data: Any) -> Iterator[str]:
    """Yield the names of the ConfigMaps that are mounted somewhere inside an object."""
    if isinstance(data, list):
        for item in data:
            yield from _mounted(item)
    elif isinstance(data, dict):
        for key, value in data.items():
            name = value.get("name") if key == "configMap" and isinstance(value, dict) else None
            if isinstance(name, str):
                yield name
            else:
                yield from _mounted(value)
