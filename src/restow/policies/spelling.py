"""What to say about a key of a policy that is not among the known ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from restow.documents.findings import Issue, path_text
from restow.kube.excerpts import excerpt
from restow.kube.near_words import did_you_mean
from restow.policies.schema import DEFAULT_EVICTOR

if TYPE_CHECKING:
    from restow.documents.decoding import UnknownKey
    from restow.documents.findings import Path

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

_FLATTENED: Final = "write what is inside it directly into args"
_UTILISATION: Final = {
    "namespaces": "write evictableNamespaces: {exclude: [...]}",
    "nodeResourceUtilizationThresholds": _FLATTENED,
}
#: Arguments that have another name or form than people remember, by plugin.
_RENAMED: Final = {
    DEFAULT_EVICTOR: {
        "evictableNamespaces": "it is an argument of LowNodeUtilization and HighNodeUtilization; "
        "here write namespaceLabelSelector",
        "namespaces": "it is an argument of strategies; here write namespaceLabelSelector",
        "thresholdPriority": "write priorityThreshold: {value: ...}",
        "thresholdPriorityClassName": "write priorityThreshold: {name: ...}",
    },
    "LowNodeUtilization": _UTILISATION,
    "HighNodeUtilization": _UTILISATION,
    "PodLifeTime": {"podStatusPhases": "write states: [...]", "podLifeTime": _FLATTENED},
    "RemoveDuplicates": {"removeDuplicates": _FLATTENED},
    "RemoveFailedPods": {"failedPods": _FLATTENED},
    "RemovePodsHavingTooManyRestarts": {"podsHavingTooManyRestarts": _FLATTENED},
    "RemovePodsViolatingTopologySpreadConstraint": {
        "includeSoftConstraints": "write constraints: [DoNotSchedule, ScheduleAnyway]"
    },
}


def ignored_key(key: UnknownKey) -> Issue:
    """Return the warning about a key where upstream reads past keys it does not know."""
    word = str(key.path[-1])
    hint = _ELSEWHERE.get(word) or did_you_mean(word, key.known)
    return Issue(key.path, f'unknown key "{excerpt(word)}" is ignored', "warning", hint)


def unknown_field(key: UnknownKey, owner: str) -> Issue:
    """Return the error about a key where upstream decodes strictly; contains upstream's text."""
    word = str(key.path[-1])
    reason = _renamed(word, owner) if len(key.inner) == 1 else ""
    hint = reason or did_you_mean(word, key.known)
    return Issue(key.path, f'unknown field "{path_text(key.inner)}" of {owner}', hint=hint)


def _renamed(word: str, owner: str) -> str:
    """Return what is to be written instead of an argument of a plugin; empty if nobody knows."""
    misplaced = {} if owner == DEFAULT_EVICTOR else _EVICTOR_SETTINGS
    return _RENAMED.get(owner, {}).get(word) or misplaced.get(word, "")


def duplicate_key(path: Path) -> Issue:
    """Return the warning about a key that was written before."""
    return Issue(path, f'"{path[-1]}" is written more than once; the last one counts', "warning")
