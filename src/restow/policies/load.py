"""Reads policy files of any version, and policies inside other files, and converts them to the newest.

A file without ``apiVersion``, and an empty one, is a policy that does nothing: upstream starts happily with it. It
loads here too, with a warning that says so; read strictly, it is refused.

People keep policies where they deploy them from: the ``policy.yaml`` of a ConfigMap, the ``deschedulerPolicy`` of Helm
values. Such a file is read as the policy that it holds; lines and fields stay those of the file. What holds none, such
as the Deployment that mounts it, says where to look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from restow.documents.document import Document, further_documents, read_document, refusal, to_findings
from restow.documents.findings import Issue, errors_in, path_text
from restow.documents.shapes import json_kind
from restow.documents.yaml_text import write_yaml
from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.policies import v1alpha1, v1alpha2
from restow.policies.policy import Policy
from restow.policies.schema import DEFAULT_EVICTOR
from restow.policies.v1alpha2 import API_VERSION, KIND, POLICY_FILE, Reading
from restow.usage.sources import NO_SOURCES, UsageSources

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from restow.documents.findings import Finding, Path
    from restow.policies.schema import Plugins


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
            if _is_file(key, value):
                yield place
        else:
            yield from _places(value, place)


def _is_file(key: object, value: str) -> bool:
    """Whether a text is that of a policy file."""
    return key == _FILE_KEY or f"kind: {KIND}" in value


def policies_in(data: Mapping[str, str]) -> dict[str, str]:
    """Return the texts in the data of a ConfigMap that are policies, by key."""
    return {key: value for key, value in data.items() if _is_file(key, value)}


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
    return structs.replace(inner, lines={(): line} | inner.lines, inside=path_text(place))


def _of_values(outer: Document, place: Path) -> Document:
    """Return the policy that the Helm chart creates from its values."""
    around, written = _at(outer.data, place[:-1]), _at(outer.data, place)
    version = around.get(_VALUES_VERSION_KEY) or API_VERSION
    depth = len(place)
    lines = {path[depth:]: line for path, line in outer.lines.items() if path[:depth] == place}
    return structs.replace(
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


_VERSIONS = {v1alpha2.API_VERSION: v1alpha2.read, v1alpha1.API_VERSION: v1alpha1.read}


class LoadedPolicy(Struct, frozen=True):
    """A policy, the ``apiVersion`` it was written in ("" if none), and the warnings about it."""

    policy: Policy
    version: str
    warnings: tuple[Finding, ...] = ()


def load_policy(text: bytes, filename: str, plugins: Plugins, sources: UsageSources = NO_SOURCES) -> LoadedPolicy:
    """Return the policy of a file.

    ``plugins`` and ``sources`` of usage are those that a policy may name. Raises InputError with every reason why upstream
    would refuse the policy, one a line, with file, line and field.
    """
    return load_document(read_policy_document(text, filename), plugins, sources)


def load_document(document: Document, plugins: Plugins, sources: UsageSources = NO_SOURCES) -> LoadedPolicy:
    """Return the policy of a document as upstream reads it; raises InputError as `load_policy` does."""
    return _loaded(document, read_policy(document, plugins, sources))


def load_strictly(document: Document, plugins: Plugins, sources: UsageSources = NO_SOURCES) -> LoadedPolicy:
    """Return the policy of a document of which nothing may be left out in silence.

    Raises InputError as `load_policy` does, and for a policy that does nothing, a misspelled key and a section that is
    written twice, which upstream reads without a word.
    """
    reading = read_policy(document, plugins, sources)
    issues = strict_issues(document, reading, plugins)
    return _loaded(document, Reading(None if errors_in(issues) else reading.policy, issues))


def _loaded(document: Document, reading: Reading) -> LoadedPolicy:
    if reading.policy is None:
        raise refusal(document, errors_in(reading.issues))
    return LoadedPolicy(reading.policy, _version(document), tuple(to_findings(document, reading.issues)))


def validate_policy(text: bytes, filename: str, plugins: Plugins, sources: UsageSources = NO_SOURCES) -> list[Finding]:
    """Return every reason why upstream would refuse the policy, in the order in which it would find them.

    A file without a version, with which upstream does nothing, is no error but the warning that says so. Raises
    InputError if the file is not even YAML or JSON.
    """
    document = read_policy_document(text, filename)
    reading = read_policy(document, plugins, sources)
    found = errors_in(reading.issues)
    return to_findings(document, found if found or _version(document) else reading.issues)


def validate_strictly(
    text: bytes, filename: str, plugins: Plugins, sources: UsageSources = NO_SOURCES
) -> list[Finding]:
    """Return every reason why `load_strictly` would refuse the policy. Raises InputError as `validate_policy` does."""
    document = read_policy_document(text, filename)
    reading = read_policy(document, plugins, sources)
    return to_findings(document, errors_in(strict_issues(document, reading, plugins)))


def strict_issues(document: Document, reading: Reading, plugins: Plugins) -> tuple[Issue, ...]:
    """Return the issues of a reading, as errors where upstream would leave out a part of the policy in silence."""
    return tuple(issue.strict() for issue in (*reading.issues, *_idle(document, reading.policy, plugins)))


def _idle(document: Document, policy: Policy | None, plugins: Plugins) -> Iterator[Issue]:
    """Yield the issue of a policy that enables no strategy; for one without a version it is reported already."""
    if policy is None or policy.enables_strategies or not _version(document):
        return
    path = "strategies" if _version(document) == v1alpha1.API_VERSION else "profiles"
    configured = {name: None for profile in policy.profiles for name in profile.args if name != DEFAULT_EVICTOR}
    hint = "".join(f"add {name} to plugins.{plugins[name].extension_points[0]}.enabled" for name in [*configured][:1])
    what = "enables no strategy" if policy.profiles or path == "strategies" else "has no profiles"
    yield Issue((path,), f"the policy {what}, so it does nothing", "warning", hint, misleads=True)


def read_policy(document: Document, plugins: Plugins, sources: UsageSources = NO_SOURCES) -> Reading:
    """Return what a document of any version says."""
    for key in ("apiVersion", "kind"):
        value = document.data.get(key)
        if value is not None and not isinstance(value, str):
            return Reading(None, (_not_text(key, value),))
    version, kind = _version(document), document.data.get("kind") or KIND
    if not version and kind == KIND:
        return Reading(Policy(), (_without_version(document),))
    if version not in _VERSIONS or kind != KIND:
        return Reading(None, (_not_registered(version, kind, document),))
    reading = _VERSIONS[version](document, plugins, sources)
    return Reading(reading.policy, (*_enclosed(document), *reading.issues, *further_documents(document)))


def _enclosed(document: Document) -> list[Issue]:
    text = "this file is not itself a policy; the policy inside it is read"
    return [Issue((), text, "note")] if document.inside else []


def _version(document: Document) -> str:
    return str(document.data.get("apiVersion") or "")


def _not_text(key: str, value: Any) -> Issue:
    text = f"json: cannot unmarshal {json_kind(value)} into Go struct field .{key} of type string"
    return Issue((key,), f"must be text (couldn't get version/kind; json parse error: {text})")


def _not_registered(version: str, kind: str, document: Document) -> Issue:
    if version.count("/") > 1:
        return Issue(("apiVersion",), f"unexpected GroupVersion string: {excerpt(version)}")
    wanted = f'version "{excerpt(version)}"' if version else 'the internal version of group "descheduler"'
    known = " and ".join(_VERSIONS)
    text = f'no kind "{excerpt(kind)}" is registered for {wanted} in scheme; restow reads the {KIND} of {known}'
    return Issue(("apiVersion",) if version else ("kind",), text, hint=where_to_look(document))


def _without_version(document: Document) -> Issue:
    what = "no apiVersion" if document.data else "an empty file"
    version = v1alpha1.API_VERSION if "strategies" in document.data else v1alpha2.API_VERSION
    return Issue(
        (),
        f"{what}: upstream runs nothing with it and says nothing",
        "warning",
        f"add apiVersion: {version}",
        misleads=True,
    )


def convert_policy(
    text: bytes, filename: str, plugins: Plugins, sources: UsageSources = NO_SOURCES
) -> tuple[str, list[Finding]]:
    """Return the policy as descheduler/v1alpha2 YAML, and what of the file had no effect and is not in it.

    A file that is v1alpha2 already comes back as it is, without its comments. Raises InputError if upstream would
    refuse the policy, and if it has no version.
    """
    loaded = load_policy(text, filename, plugins, sources)
    if not loaded.version:
        raise InputError(f"{loaded.warnings[0]}")
    document = read_policy_document(text, filename)
    if loaded.version != v1alpha1.API_VERSION:
        return write_yaml(document.data), list(loaded.warnings)
    # That the format is old is why it is being converted.
    warnings = [finding for finding in loaded.warnings if finding.path != "apiVersion"]
    return write_yaml(v1alpha1.convert(document)), warnings
