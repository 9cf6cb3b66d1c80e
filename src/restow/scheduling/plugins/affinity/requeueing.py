"""What helps a pod that InterPodAffinity rejected: partners that come, repelled pods that leave, nodes elsewhere.

A partner has to match all required terms of the pod, and so has a pod that it keeps away from: with several terms of
anti-affinity, a pod that matches only some of them wakes no one. Source: Kubernetes 1.36.

The labels of namespaces are not known here, so a selector of namespaces may match any of them: a pod is tried once too
often rather than left for minutes. Upstream's hint takes namespaces to have no labels, and leaves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from restow.kube.labels import NOTHING
from restow.scheduling.framework.cluster_events import Action, ClusterEvent, Resource
from restow.scheduling.framework.facts import NodeFacts, PodFacts
from restow.scheduling.framework.requeueing import Interest
from restow.scheduling.plugins.affinity.terms import AffinityTerm, PodTerms, compile_terms


def _has_partner(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: a partner came, a pod in the way left or changed, or the pod's own labels did."""
    old: PodFacts | None = event.old
    new: PodFacts | None = event.new
    if old is not None and new is not None and new.uid == pod.uid:
        return True
    if any(each is not None and not each.counts_somewhere for each in (old, new)):
        return False
    terms = pod.kept(_terms)
    if terms.problem is not None:
        return True
    became_partner = _all_mean(terms.affinity, new) and not _all_mean(terms.affinity, old)
    if old is None:
        return became_partner
    stood_in_the_way = _all_mean(terms.anti_affinity, old)
    if new is None:
        return stood_in_the_way or _all_mean(old.kept(_terms).anti_affinity, pod)
    return became_partner or (stood_in_the_way and not _all_mean(terms.anti_affinity, new))


def _has_place(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: the node belongs to another domain than before, of a topology that the pod's terms are about."""
    old: NodeFacts | None = event.old
    new: NodeFacts = event.new
    terms = pod.kept(_terms)
    if terms.problem is not None:
        return True
    if old is None:
        return bool(terms.anti_affinity) or any(term.topology_key in new.labels for term in terms.affinity)
    joins = (term.topology_key for term in terms.affinity)
    leaves = (term.topology_key for term in terms.anti_affinity)
    return any(key in new.labels and old.labels.get(key) != new.labels[key] for key in joins) or any(
        key in old.labels and new.labels.get(key) != old.labels[key] for key in leaves
    )


def _all_mean(terms: Sequence[AffinityTerm], pod: PodFacts | None) -> bool:
    """Whether there are terms, and all of them mean a pod."""
    if pod is None or not terms:
        return False
    return all(_may_admit(term, pod.namespace) and term.selector.matches(pod.labels) for term in terms)


def _may_admit(term: AffinityTerm, namespace: str) -> bool:
    return namespace in term.namespaces or term.namespace_selector != NOTHING


def _terms(pod: PodFacts) -> PodTerms:
    return compile_terms(pod.rules, pod.namespace)


INTERESTS: Final = (
    Interest(
        Resource.POD,
        Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE,
        _has_partner,
        "a pod comes that it wants to be near, or one goes that it must not be near",
    ),
    Interest(
        Resource.NODE,
        Action.ADD | Action.UPDATE_NODE_LABEL,
        _has_place,
        "a node is added to, or moved between, the domains that its pod affinity is about",
    ),
)
