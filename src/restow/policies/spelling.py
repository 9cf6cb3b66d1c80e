"""What to say about a key of a policy that is not among the known ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.kube.near_words import did_you_mean
from restow.policies.findings import Issue, path_text

if TYPE_CHECKING:
    from restow.policies.decode import UnknownKey
    from restow.policies.findings import Path

#: Keys that people write where they once belonged, or where they expect them.
_ELSEWHERE = {
    "strategies": "it belongs to descheduler/v1alpha1; restow policy convert makes profiles of it",
    "tracing": "tracing is set by the --otel-* flags",
    "evictor": "upstream has no such extension point; DefaultEvictor is always on",
    "evictLocalStoragePods": "it is an argument of DefaultEvictor: podProtections.defaultDisabled: [PodsWithLocalStorage]",
    "evictSystemCriticalPods": "it is an argument of DefaultEvictor: podProtections.defaultDisabled: [SystemCriticalPods]",
    "evictFailedBarePods": "it is an argument of DefaultEvictor: podProtections.defaultDisabled: [FailedBarePods]",
    "evictDaemonSetPods": "it is an argument of DefaultEvictor: podProtections.defaultDisabled: [DaemonSetPods]",
    "ignorePvcPods": "it is an argument of DefaultEvictor: podProtections.extraEnabled: [PodsWithPVC]",
    "namespaces": "it is an argument of strategies; restow: {namespaces: annotated} asks namespaces to opt in",
    "nodeFit": "it is an argument of DefaultEvictor",
    "minReplicas": "it is an argument of DefaultEvictor",
    "priorityThreshold": "it is an argument of DefaultEvictor",
}


def ignored_key(key: UnknownKey) -> Issue:
    """Return the warning about a key where upstream reads past keys it does not know."""
    word = str(key.path[-1])
    reason = f"; {_ELSEWHERE[word]}" if word in _ELSEWHERE else did_you_mean(word, key.known)
    return Issue(key.path, f'unknown key "{word}" is ignored{reason}', "warning")


def unknown_field(key: UnknownKey, owner: str) -> Issue:
    """Return the error about a key where upstream decodes strictly; contains upstream's text."""
    hint = did_you_mean(str(key.path[-1]), key.known)
    return Issue(key.path, f'unknown field "{path_text(key.inner)}" of {owner}{hint}')


def duplicate_key(path: Path) -> Issue:
    """Return the warning about a key that was written before."""
    return Issue(path, f'"{path[-1]}" is written more than once; the last one counts', "warning")
