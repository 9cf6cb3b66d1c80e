"""What helps a pod that PodTopologySpread rejected: pods that its hard constraints count, and nodes that they are about.

Which pods the default constraints of a profile count depends on Services and controllers, which are not known here; every pod
of the namespace may. Source: Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final, Protocol

from restow.kube.labels import EVERYTHING
from restow.kube.objects import TopologySpreadConstraint
from restow.scheduling.framework.cluster_events import Action, ClusterEvent, Resource
from restow.scheduling.framework.facts import NodeFacts, PodFacts
from restow.scheduling.framework.requeueing import Interest
from restow.scheduling.plugins.spreading.terms import SpreadTerms, default_terms, own_terms


class _Args(Protocol):
    """What is looked at of the plugin's arguments."""

    @property
    def default_constraints(self) -> tuple[TopologySpreadConstraint, ...]: ...


def _changes_counts(pod: PodFacts, event: ClusterEvent, args: _Args) -> bool:
    """Hint: a pod that a constraint counts came or went, or one is counted that was not; or the pod itself tolerates more."""
    old: PodFacts | None = event.old
    new: PodFacts | None = event.new
    if not all(_is_involved(each, pod) for each in (old, new) if each is not None):
        return False
    terms = _terms(pod, args)
    if not pod.spread or terms.hard_problem is not None:
        return True
    if old is None or new is None:
        labels = (new or old or pod).labels
        return any(term.selector.matches(labels) for term in terms.hard)
    if new.uid == pod.uid and new.tolerations != old.tolerations and any(term.honors_taints for term in terms.hard):
        return True
    return any(term.selector.matches(old.labels) != term.selector.matches(new.labels) for term in terms.hard)


def _changes_domains(pod: PodFacts, event: ClusterEvent, args: _Args) -> bool:
    """Hint: a node that has all topology keys came, went, or has other taints or domains; or one has them all that had not."""
    old: NodeFacts | None = event.old
    new: NodeFacts | None = event.new
    terms = _terms(pod, args)
    if terms.hard_problem is not None:
        return True
    keys = [term.topology_key for term in terms.hard]
    had, has = (node is not None and all(key in node.labels for key in keys) for node in (old, new))
    if old is None or new is None or had != has:
        return had or has
    return has and (old.taints != new.taints or any(old.labels[key] != new.labels[key] for key in keys))


def _is_involved(other: PodFacts, pod: PodFacts) -> bool:
    """Whether a pod is the pod itself, or one that its constraints may count."""
    return other.uid == pod.uid or (other.counts_somewhere and other.namespace == pod.namespace)


def _terms(pod: PodFacts, args: _Args) -> SpreadTerms:
    return pod.kept(_own) if pod.spread else default_terms(args.default_constraints, EVERYTHING)


def _own(pod: PodFacts) -> SpreadTerms:
    return own_terms(pod.spread, pod.labels)


INTERESTS: Final = (
    Interest(
        Resource.POD,
        Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION,
        _changes_counts,
        "pods that its spread constraints count come, go or get other labels",
    ),
    Interest(
        Resource.NODE,
        Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT,
        _changes_domains,
        "a node with its topology keys comes, goes, or gets other labels or taints",
    ),
)
