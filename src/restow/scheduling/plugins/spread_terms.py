"""``topologySpreadConstraints``, compiled: which pods each constraint counts, how it spreads them, and which events help.

A pod with constraints of its own has those; any other gets ``defaultConstraints`` of the profile, with the selector of
the Service or workload that selects it, or none if there is none. A constraint has ``maxSkew``, ``topologyKey``,
``whenUnsatisfiable``, ``labelSelector``, ``matchLabelKeys``, ``minDomains``, ``nodeAffinityPolicy`` and
``nodeTaintsPolicy``. Source: PodTopologySpread, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final, Literal, Protocol

from msgspec import Struct, structs

from restow.cluster.snapshot import ClusterSnapshot
from restow.kube.labels import EVERYTHING, Requirement, Selector, selector_from, selector_of_labels
from restow.kube.objects import ReplicationController, TopologySpreadConstraint, Workload
from restow.scheduling.framework.context import LabelledAs, ScopedSelector, SelectorIndex
from restow.scheduling.framework.requeueing import Action, ClusterEvent, Interest, NodeFacts, PodFacts, Resource

Defaulting = Literal["System", "List"]

HOSTNAME = "kubernetes.io/hostname"
_ZONE = "topology.kubernetes.io/zone"
_HARD, _SOFT = "DoNotSchedule", "ScheduleAnyway"
_SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=_SOFT),
    TopologySpreadConstraint(max_skew=5, topology_key=_ZONE, when_unsatisfiable=_SOFT),
)

#: Kinds by whose selectors pods are spread by default.
SELECTING_WORKLOADS = ("ReplicationController", "ReplicaSet", "StatefulSet")


class SpreadTerm(Struct, frozen=True):
    """One constraint with its defaults filled in."""

    topology_key: str
    max_skew: int
    #: Which pods of the namespace count.
    selector: Selector
    #: With fewer domains than this the emptiest counts as empty.
    min_domains: int
    #: Whether nodes that the pod's node selector or required affinity rules out do not count...
    honors_affinity: bool
    #: ...and nodes with a hard taint that it does not tolerate.
    honors_taints: bool


class SpreadTerms(Struct, frozen=True):
    """All constraints of a pod."""

    hard: tuple[SpreadTerm, ...] = ()
    soft: tuple[SpreadTerm, ...] = ()
    #: Whether a node without one of the soft topology keys is left out of scoring.
    requires_all_keys: bool = True
    #: Why a hard constraint cannot be read, and why a soft one.
    hard_problem: str | None = None
    soft_problem: str | None = None


class SpreadCompiler:
    """The constraints of one cluster's pods under one profile."""

    def __init__(
        self, cluster: ClusterSnapshot, defaulting: Defaulting, default_constraints: Sequence[TopologySpreadConstraint]
    ) -> None:
        self._pods = cluster.pods
        self._system = defaulting == "System"
        self._defaults = _SYSTEM_DEFAULTS if self._system else tuple(default_constraints)
        self._selectors = DefaultSelectors(cluster)
        self._own: dict[tuple[int, tuple[tuple[str, str], ...]], SpreadTerms] = {}
        self._default: dict[Selector, SpreadTerms] = {EVERYTHING: SpreadTerms()}
        #: By namespace, labels and owners of a pod: all that its default selector depends on.
        self._alike: dict[tuple[int, int, int], SpreadTerms] = {}

    def terms(self, pod: int) -> SpreadTerms:
        """What a pod has to say about spreading."""
        constraints = self._pods.tables.spread[self._pods.spread[pod]]
        return self._own_terms(pod, constraints) if constraints else self._default_terms(pod)

    def _own_terms(self, pod: int, constraints: Sequence[TopologySpreadConstraint]) -> SpreadTerms:
        labels = self._pods.tables.labels[self._pods.labels[pod]]
        merged = tuple(label for each in constraints for label in _merged_labels(each, labels))
        key = int(self._pods.spread[pod]), merged
        known = self._own.get(key)
        if known is None:
            known = self._own[key] = own_terms(constraints, labels)
        return known

    def _default_terms(self, pod: int) -> SpreadTerms:
        pods = self._pods
        key = int(pods.namespace[pod]), int(pods.labels[pod]), int(pods.owners[pod])
        found = self._alike.get(key)
        if found is None:
            found = self._alike[key] = self._selected_by(self._selectors.selector(pod))
        return found

    def _selected_by(self, selector: Selector) -> SpreadTerms:
        known = self._default.get(selector)
        if known is None:
            terms = default_terms(self._defaults, selector)
            known = self._default[selector] = structs.replace(terms, requires_all_keys=not self._system)
        return known


# That is every Service that selects the pod, and the ReplicationController, ReplicaSet or StatefulSet that controls
# it. Pods of Jobs, DaemonSets and other owners get nothing from their owner. Source: DefaultSelector, Kubernetes
# 1.36.
class DefaultSelectors:
    """The default selectors of one cluster's pods; EVERYTHING for a pod with nothing behind it."""

    def __init__(self, cluster: ClusterSnapshot) -> None:
        self._cluster = cluster
        self._pods = cluster.pods
        self._services = list(_service_selectors(cluster))
        self._index = SelectorIndex(self._services)
        self._known: dict[tuple[LabelledAs, int], Selector] = {}

    def selector(self, pod: int) -> Selector:
        """What the default constraints of a pod count."""
        tables = self._pods.tables
        namespace = tables.namespaces[self._pods.namespace[pod]]
        labelled_as = self._index.labelled_as(namespace, tables.labels[self._pods.labels[pod]])
        key = labelled_as, int(self._pods.owners[pod])
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._merge(*key)
        return known

    def _merge(self, pod: LabelledAs, owners: int) -> Selector:
        services = (self._services[each].selector for each in self._index.matching(pod))
        workload = self._workload(pod.namespace, owners)
        mapped = [requirement for selector in services for requirement in selector.requirements]
        if isinstance(workload, ReplicationController):
            mapped += selector_of_labels(workload.spec.selector).requirements
        # Maps are merged key by key, the last one wins; what a LabelSelector asks for comes on top.
        equal = {each.key: each for each in mapped}.values()
        return _selector([*equal, *(_requirements(workload) if isinstance(workload, Workload) else ())])

    def _workload(self, namespace: str, owners: int) -> Workload | ReplicationController | None:
        """The controller of a pod, where it is of a kind that counts and the input holds it."""
        controller = next((each for each in self._pods.tables.owners[owners] if each.controller), None)
        if controller is None or controller.kind not in SELECTING_WORKLOADS:
            return None
        found: Workload | ReplicationController | None
        found = self._cluster.kind(controller.kind).get((namespace, controller.name))
        return found


def default_terms(constraints: Sequence[TopologySpreadConstraint], selector: Selector) -> SpreadTerms:
    """The profile's constraints for a pod with this default selector."""
    return SpreadTerms(
        hard=tuple(_term(each, selector) for each in constraints if each.when_unsatisfiable == _HARD),
        soft=tuple(_term(each, selector) for each in constraints if each.when_unsatisfiable == _SOFT),
    )


def own_terms(constraints: Sequence[TopologySpreadConstraint], labels: Mapping[str, str]) -> SpreadTerms:
    """The constraints of a pod with these labels."""
    hard, hard_problem = _compile_some([each for each in constraints if each.when_unsatisfiable == _HARD], labels)
    soft, soft_problem = _compile_some([each for each in constraints if each.when_unsatisfiable == _SOFT], labels)
    return SpreadTerms(hard, soft, hard_problem=hard_problem, soft_problem=soft_problem)


def _compile_some(
    constraints: Sequence[TopologySpreadConstraint], labels: Mapping[str, str]
) -> tuple[tuple[SpreadTerm, ...], str | None]:
    """The terms, or why the first of those that cannot be read cannot."""
    try:
        return tuple(
            _term(each, _merge(selector_from(each.label_selector), each, labels)) for each in constraints
        ), None
    except ValueError as error:
        return (), str(error)


def _merge(selector: Selector, constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> Selector:
    """Add ``matchLabelKeys``: pods count only if they have the pod's own values."""
    if not selector.selectable:
        return selector
    own = (Requirement(key, "In", (value,)) for key, value in _merged_labels(constraint, labels))
    distinct = dict.fromkeys((*selector.requirements, *own))
    return Selector(tuple(sorted(distinct, key=lambda each: each.key)))


def _merged_labels(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((key, labels[key]) for key in constraint.match_label_keys or () if key in labels)


def _term(constraint: TopologySpreadConstraint, selector: Selector) -> SpreadTerm:
    return SpreadTerm(
        topology_key=constraint.topology_key,
        max_skew=constraint.max_skew,
        selector=selector,
        min_domains=1 if constraint.min_domains is None else constraint.min_domains,
        honors_affinity=constraint.node_affinity_policy in {None, "Honor"},
        honors_taints=constraint.node_taints_policy == "Honor",
    )


def _service_selectors(cluster: ClusterSnapshot) -> Iterator[ScopedSelector]:
    for (namespace, _), service in cluster.kind("Service").items():
        if service.spec.selector is not None:
            yield ScopedSelector(selector_of_labels(service.spec.selector), (namespace,))


def _requirements(workload: Workload) -> tuple[Requirement, ...]:
    """What the selector of a workload asks for; one that cannot be read counts as none."""
    try:
        return selector_from(workload.spec.selector).requirements
    except ValueError:
        return ()


def _selector(requirements: Iterable[Requirement]) -> Selector:
    """All of them; a Service and a workload often ask for the same."""
    distinct = dict.fromkeys(requirements)
    return Selector(tuple(sorted(distinct, key=attrgetter("key")))) if distinct else EVERYTHING


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


# Which pods the default constraints of a profile count depends on Services and controllers, which are not known here; every
# pod of the namespace may.
#: What helps a pod that PodTopologySpread rejected: pods that its hard constraints count, and nodes that they are about.
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
