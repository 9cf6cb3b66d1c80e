"""What people should know of a policy before it is used: names that match nothing, and protections that it weakens.

A strategy that is held to a namespace that does not exist finds nothing to do, and a protection for one protects nothing.
Neither is an error: a policy may be older, or newer, than what it names. What a policy protects less than the default is
shown to a user who applies someone else's plan, before the question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

import msgspec
from msgspec import Struct, structs

from restow.cluster.pod_classes import LabelGroups
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.evictor_args import DEFAULT_PROTECTIONS, DefaultEvictorArgs
from restow.descheduling.node_utilization.usage import METRIC_RESOURCE
from restow.descheduling.placement import LIKELY
from restow.descheduling.plan import Remark
from restow.descheduling.protections import effective_protections
from restow.kube.excerpts import did_you_mean, excerpt
from restow.kube.labels import Selector, parse_selector, selector_from
from restow.kube.objects import LabelSelector
from restow.policies.arguments import Namespaces
from restow.policies.codes import Certainty, Placement
from restow.policies.policy import Policy, RestowSettings
from restow.policies.schema import DEFAULT_EVICTOR

#: How much alike a misspelled name and the right one are, of 1.
_NEARLY_THE_SAME: Final = 0.85
#: Arguments that hold percentages by resource.
_BY_RESOURCE: Final = ("thresholds", "target_thresholds")


def unmatched(cluster: ClusterSnapshot, policy: Policy, labels: LabelGroups) -> tuple[Remark, ...]:
    """Remarks on what DefaultEvictor and the enabled strategies name and the cluster does not have.

    ``labels`` finds the pods that a selector matches.
    """
    found = _Matching(cluster, labels)
    return tuple(
        Remark(profile.name, plugin, message)
        for profile in policy.profiles
        for plugin in dict.fromkeys((DEFAULT_EVICTOR, *profile.deschedule, *profile.balance))
        for message in found.messages(profile.args[plugin])
    )


class _Matching:
    """What there is to match."""

    def __init__(self, cluster: ClusterSnapshot, labels: LabelGroups) -> None:
        self._labels = labels
        self._node_labels = cluster.nodes.labels
        self._namespace_labels = cluster.namespace_labels() if cluster.has_list("Namespace") else None
        self._namespaces = {*cluster.pods.tables.namespaces, *(self._namespace_labels or ())}
        nodes = cluster.nodes
        self._resources = {name for row, name in enumerate(nodes.resources) if nodes.lists_allocatable[row].any()}

    def messages(self, args: Struct) -> Iterator[str]:
        """Yield a sentence for each value of arguments that matches nothing."""
        for field in structs.fields(args):
            value = getattr(args, field.name)
            if value:
                yield from self._of(field.name, field.encode_name, value)

    def _of(self, name: str, written: str, value: Any) -> Iterator[str]:
        match value:
            case Namespaces():
                yield from self._missing(f"{written}.include", value.include)
                yield from self._misspelled(f"{written}.exclude", value.exclude)
            case LabelSelector() if name == "label_selector":
                if not len(self._labels.matching(selector_from(value), None)):
                    yield f"{written} matches no pod in the input"
            case LabelSelector() if name == "namespace_label_selector" and self._namespace_labels is not None:
                if not _matches_any(selector_from(value), self._namespace_labels.values()):
                    yield f"{written} matches no namespace in the input"
            case str() if name == "node_selector":
                if not _matches_any(parse_selector(value), self._node_labels):
                    yield f"{written} matches no node in the input"
            case dict() if name in _BY_RESOURCE:
                yield from self._unlisted(written, value)

    def _missing(self, where: str, names: Iterable[str]) -> Iterator[str]:
        for name in names:
            if name not in self._namespaces:
                yield _with_hint(f'{where}: the input has no namespace "{excerpt(name)}"', name, self._namespaces)

    def _misspelled(self, where: str, names: Iterable[str]) -> Iterator[str]:
        """Only what resembles another namespace: policies leave out many that not every cluster has."""
        others = sorted(self._namespaces.difference(names))
        for name in names:
            near = get_close_matches(name, others, n=1, cutoff=_NEARLY_THE_SAME)
            if name not in self._namespaces and near:
                yield f'{where}: the input has no namespace "{excerpt(name)}"; did you mean "{excerpt(near[0])}"?'

    def _unlisted(self, where: str, values: Mapping[str, float]) -> Iterator[str]:
        for name in values:
            if name != METRIC_RESOURCE and self._resources and name not in self._resources:
                yield _with_hint(
                    f'{where}: no node in the input has the resource "{excerpt(name)}"', name, self._resources
                )


def _matches_any(selector: Selector, labels: Iterable[Mapping[str, str]]) -> bool:
    return any(selector.matches(each) for each in labels)


def _with_hint(sentence: str, word: str, known: Iterable[str]) -> str:
    hint = did_you_mean(word, sorted(known))
    return f"{sentence}; {hint}" if hint else sentence


#: Whose pods may go where a default protection is off. Source: Descheduler 0.36, DefaultEvictor.
_WITHOUT: Final = {
    "PodsWithLocalStorage": "pods with local storage, which is lost",
    "SystemCriticalPods": "system-critical pods, and pods of any priority",
    "FailedBarePods": "failed pods that no controller recreates",
    "DaemonSetPods": "pods of DaemonSets, which come back to the same node",
}

#: What happens where a veto of another controller is switched off, by its name in ``restow.vetoes``.
_VETOES: Final = {
    "karpenter": "pods that Karpenter must not disrupt may be evicted",
    "clusterAutoscaler": "pods that the cluster autoscaler must not evict may be evicted",
    "kubeVirt": "virtual machines may be evicted in the middle of a migration",
    "leavingNodes": "pods may land on nodes that are about to be removed",
    "virtualNodes": "pods may land on virtual nodes",
}


def weaker_protections(policy: Policy) -> tuple[str, ...]:
    """One sentence for each thing that the policy protects less than the default, in the order of the policy."""
    profiles = ((profile.name, profile.args[DEFAULT_EVICTOR]) for profile in policy.profiles)
    found = [sentence for name, args in profiles for sentence in _unprotected(name, args)]
    if policy.grace_period_seconds == 0:
        found.append("gracePeriodSeconds: 0: pods are killed at once, without time to end")
    return (*found, *_unproven(policy.restow))


def _unprotected(profile: str, args: DefaultEvictorArgs) -> Iterator[str]:
    holding = effective_protections(args)
    for name in DEFAULT_PROTECTIONS:
        if name not in holding:
            yield f"profile {excerpt(profile)} evicts {_WITHOUT[name]} (the protection {name} is off)"


def _unproven(settings: RestowSettings) -> Iterator[str]:
    if settings.placement == Placement.UPSTREAM:
        yield "restow.placement: upstream: pods are evicted wherever their replacements land, or if they land nowhere"
    if settings.certainty == Certainty.POSSIBLE:
        yield "restow.certainty: possible: moves are made that may well gain nothing"
    elif isinstance(settings.certainty, float) and settings.certainty < LIKELY:
        yield f"restow.certainty: {settings.certainty:g}: moves are made that may well gain nothing"
    if settings.groups == "alone":
        yield "restow.groups: alone: a pod of a group may be moved without the others, which may then stand still"
    vetoes = msgspec.to_builtins(settings.vetoes)
    for name, what in _VETOES.items():
        if not vetoes[name]:
            yield f"restow.vetoes.{name}: false: {what}"
    if settings.per_workload != 1:
        yield f"restow.perWorkload: {settings.per_workload}: several pods of a workload are moved at a time"
