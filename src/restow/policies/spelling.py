"""Warnings and errors about keys that are unknown or written twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from restow.documents.findings import Issue, path_text
from restow.kube.excerpts import did_you_mean, excerpt
from restow.policies.schema import DEFAULT_EVICTOR

if TYPE_CHECKING:
    from restow.documents.decoding import UnknownKey
    from restow.documents.findings import Path
    from restow.policies.schema import PluginSchema

#: Settings of DefaultEvictor that people write beside it or into strategies, and where they belong.
_EVICTOR_SETTINGS: Final = {
    "evictLocalStoragePods": "it is an argument of DefaultEvictor: podProtections.defaultDisabled: [PodsWithLocalStorage]",
    "evictSystemCriticalPods": "it is an argument of DefaultEvictor: podProtections.defaultDisabled: [SystemCriticalPods]",
    "evictFailedBarePods": "it is an argument of DefaultEvictor: podProtections.defaultDisabled: [FailedBarePods]",
    "evictDaemonSetPods": "it is an argument of DefaultEvictor: podProtections.defaultDisabled: [DaemonSetPods]",
    "ignorePvcPods": "it is an argument of DefaultEvictor: podProtections.extraEnabled: [PodsWithPVC]",
    "nodeFit": "it is an argument of DefaultEvictor",
    "minReplicas": "it is an argument of DefaultEvictor",
    "minPodAge": "it is an argument of DefaultEvictor",
    "priorityThreshold": "it is an argument of DefaultEvictor",
    "thresholdPriority": "write priorityThreshold: {value: ...} into the arguments of DefaultEvictor",
    "thresholdPriorityClassName": "write priorityThreshold: {name: ...} into the arguments of DefaultEvictor",
}
#: Other keys that people write where they once belonged, or where they expect them.
_ELSEWHERE: Final = {
    "strategies": "it belongs to descheduler/v1alpha1: with that apiVersion it is read, "
    "and restow policy convert makes profiles of it",
    "tracing": "tracing is set by the --otel-* flags",
    "evictor": "upstream has no such extension point; DefaultEvictor is always on",
    "namespaces": "it is an argument of strategies; restow: {namespaces: annotated} asks namespaces to opt in",
} | _EVICTOR_SETTINGS


def ignored_key(key: UnknownKey) -> Issue:
    """Return the warning about an unknown key in a place where upstream ignores those."""
    word = str(key.path[-1])
    hint = _ELSEWHERE.get(word) or did_you_mean(word, key.known)
    return Issue(key.path, f'unknown key "{excerpt(word)}" is ignored', "warning", hint)


def unknown_field(key: UnknownKey, owner: str, meant: str = "") -> Issue:
    """Return the error about an unknown key in a place where upstream decodes strictly. It contains upstream's text.

    ``meant`` is what to do instead; without it the nearest known key is named.
    """
    word = str(key.path[-1])
    hint = meant or did_you_mean(word, key.known)
    return Issue(key.path, f'unknown field "{path_text(key.inner)}" of {owner}', hint=hint)


def unknown_argument(key: UnknownKey, schema: PluginSchema) -> Issue:
    """Return the error about a key that is no argument of a plugin."""
    misplaced = {} if schema.name == DEFAULT_EVICTOR else _EVICTOR_SETTINGS
    word = str(key.path[-1])
    known = schema.renamed.get(word) or misplaced.get(word, "")
    return unknown_field(key, schema.name, known if len(key.inner) == 1 else "")


def duplicate_key(path: Path) -> Issue:
    """Return the warning about a key that was written before."""
    return Issue(path, f'"{path[-1]}" is written more than once; the last one counts', "warning")
