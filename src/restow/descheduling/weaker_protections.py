"""What a policy protects less than the default: shown before the question to a user who applies someone else's plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from restow.descheduling.certainty import least_probability
from restow.descheduling.evictor_args import DEFAULT_PROTECTIONS, DefaultEvictorArgs
from restow.descheduling.protections import effective_protections
from restow.kube.excerpts import excerpt
from restow.policies.codes import Certainty, Placement
from restow.policies.policy import Policy, RestowSettings
from restow.policies.schema import DEFAULT_EVICTOR

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
#: The default of ``restow.certainty`` as a probability.
_LIKELY: Final = least_probability(Certainty.LIKELY)


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
    elif isinstance(settings.certainty, float) and settings.certainty < _LIKELY:
        yield f"restow.certainty: {settings.certainty:g}: moves are made that may well gain nothing"
    if settings.groups == "alone":
        yield "restow.groups: alone: a pod of a group may be moved without the others, which may then stand still"
    vetoes = msgspec.to_builtins(settings.vetoes)
    for name, what in _VETOES.items():
        if not vetoes[name]:
            yield f"restow.vetoes.{name}: false: {what}"
    if settings.per_workload != 1:
        yield f"restow.perWorkload: {settings.per_workload}: several pods of a workload are moved at a time"
