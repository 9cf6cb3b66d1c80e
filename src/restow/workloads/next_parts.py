"""The parts of the next pod, from a running pod, the template that it was made of, and the template of the next one.

All three are brought into one form, so that they can be compared: each part a mapping of named values, such as labels
by key and containers by name. ``merge`` compares the running pod with its own template, and applies the difference to
the template of the next pod: what the pod has beyond its own template was added when it was created, and will be added
again. Where pod and template disagree the template counts, and the caller learns about what.

The API server writes into a pod what its template leaves open; what follows from the template alone is written into the
template's parts here too: limits are requests where nothing is requested, and terms with keys of labels to match select by the
values of the pod's labels. A container requests what its template says, or what a VerticalPodAutoscaler recommends; one
that admission has added comes again as it is. Any other request of the running pod was changed by a resize if its spec
has been changed since it was created; otherwise nothing explains it. Images count for the scheduler's preference only,
and admission often rewrites them, so a pod keeps its own until its template has another one. Source: defaults of v1 and
the strategy of pods, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import structs

from restow.cluster import pod_parts, pod_reading
from restow.cluster.pod_parts import ContainerKey, ResourcesKey
from restow.cluster.pod_values import PodOrigin
from restow.kube.objects import (
    Affinity,
    Container,
    LabelSelectorRequirement,
    NodeAffinity,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    ResourceRequirements,
    TopologySpreadConstraint,
    VerticalPodAutoscaler,
    WeightedPodAffinityTerm,
    decode_part,
)
from restow.kube.quantity import Quantity, parse_quantity
from restow.workloads.autoscaling import scaled

#: Name of a container; and which of several with that name it is, in files that leave names out.
ContainerName = tuple[str, int]
Labels = Mapping[str, str]

#: The parts of an affinity, by where they stand.
_AFFINITIES: Final = (
    ("node_affinity", "required"),
    ("node_affinity", "preferred"),
    ("pod_affinity", "required"),
    ("pod_affinity", "preferred"),
    ("pod_anti_affinity", "required"),
    ("pod_anti_affinity", "preferred"),
)
_TYPES: Final[Mapping[str, Any]] = {
    "node_affinity": NodeAffinity,
    "pod_affinity": PodAffinity,
    "pod_anti_affinity": PodAffinity,
}
#: What is set for each pod of a DaemonSet.
PINNED: Final = _AFFINITIES[0]


class ContainerParts(NamedTuple):
    """One container."""

    requests: Mapping[str, Quantity]
    limits: Mapping[str, Quantity]
    restart_policy: str | None
    image: str


Containers = Mapping[ContainerName, ContainerParts]


def containers_of_pod(names: Sequence[str], keys: Sequence[ContainerKey], images: Sequence[str]) -> Containers:
    """The containers of a pod by name, in their order; ValueError for a text that is no quantity."""
    found = zip(numbered(names), keys, images, strict=True)
    return {name: _container(raw, restart, image) for name, (raw, restart), image in found}


def containers_of_template(containers: Iterable[Container]) -> Containers:
    """The containers of a template by name, in their order; ValueError for a text that is no quantity."""
    listed = tuple(containers)
    named = zip(numbered([each.name for each in listed]), listed, strict=True)
    return {name: _with_defaults(bytes(each.resources), each) for name, each in named}


def numbered(names: Iterable[str]) -> list[ContainerName]:
    """The names of containers, numbered so that they are unique even if empty."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        found.append((name, seen[name]))
        seen[name] += 1
    return found


def _with_defaults(raw: bytes, container: Container) -> ContainerParts:
    made = _container(raw, container.restart_policy, container.image)
    return made._replace(requests={**made.limits, **made.requests})


def _container(raw: bytes, restart: str | None, image: str) -> ContainerParts:
    wire = pod_parts.decode_requirements(raw, "spec.containers[]")
    return ContainerParts(quantities(wire.requests), quantities(wire.limits), restart, image)


def quantities(wire: Mapping[str, Any] | None) -> dict[str, Quantity]:
    """Exact amounts; ValueError for a text that is none."""
    return {name: parse_quantity(amount) for name, amount in (wire or {}).items()}


def requirements(requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]) -> ResourceRequirements:
    """Amounts as objects have them."""
    return ResourceRequirements(
        requests={name: str(amount) for name, amount in requests.items()},
        limits={name: str(amount) for name, amount in limits.items()},
    )


def encoded(requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]) -> bytes:
    """Amounts as the text of ``resources``."""
    return msgspec.json.encode(requirements(requests, limits)) if requests or limits else b""


def resources_key(regular: Sequence[ContainerKey], init: Sequence[ContainerKey], old: ResourcesKey) -> ResourcesKey:
    """The key of what containers request, in a pod with the overhead of another one."""
    return tuple(regular), tuple(init), old[2], old[3]


def affinity_of(raw: bytes) -> Affinity:
    """``spec.affinity``; ValueError where it cannot be read."""
    return decode_part(raw, Affinity, Affinity())


def terms_of(affinity: Affinity) -> dict[tuple[str, str], Any]:
    """The parts of an affinity that are there."""
    found = {}
    for kind, name in _AFFINITIES:
        part = getattr(affinity, kind)
        value = None if part is None else getattr(part, name)
        if value:
            found[kind, name] = value
    return found


def affinity_with(terms: Mapping[tuple[str, str], Any], like: Affinity) -> Affinity:
    """The affinity that consists of these parts; node affinity that is empty in another one is there, too."""
    parts: dict[str, dict[str, Any]] = {}
    for (kind, name), value in terms.items():
        parts.setdefault(kind, {})[name] = value
    if like.node_affinity is not None:
        parts.setdefault("node_affinity", {})
    return Affinity(**{kind: _TYPES[kind](**values) for kind, values in parts.items()})


def terms_with_label_keys(terms: Mapping[tuple[str, str], Any], labels: Labels) -> dict[tuple[str, str], Any]:
    """Terms about other pods as the API server writes them into a pod with these labels."""
    return {
        place: tuple(_selecting(each, labels) for each in value) if place[0] != "node_affinity" else value
        for place, value in terms.items()
    }


def _selecting(term: Any, labels: Labels) -> Any:
    if isinstance(term, WeightedPodAffinityTerm):
        return structs.replace(term, pod_affinity_term=_selecting(term.pod_affinity_term, labels))
    assert isinstance(term, PodAffinityTerm)
    added = [*_required(term.match_label_keys, "In", labels), *_required(term.mismatch_label_keys, "NotIn", labels)]
    return _with_expressions(term, added)


def spread_with_label_keys(
    constraints: Mapping[tuple[str, str], TopologySpreadConstraint], labels: Labels
) -> dict[tuple[str, str], TopologySpreadConstraint]:
    """Spread constraints as the API server writes them into a pod with these labels."""
    return {
        key: _with_expressions(each, _required(each.match_label_keys, "In", labels))
        for key, each in constraints.items()
    }


def by_topology(
    constraints: Iterable[TopologySpreadConstraint],
) -> dict[tuple[str, str], TopologySpreadConstraint]:
    """Spread constraints by the key that makes them unique for the API server."""
    return {(each.topology_key, each.when_unsatisfiable): each for each in constraints}


def _required(keys: Iterable[str] | None, operator: str, labels: Labels) -> list[LabelSelectorRequirement]:
    return [LabelSelectorRequirement(key, operator, (labels[key],)) for key in keys or () if key in labels]


def _with_expressions(term: Any, added: Sequence[LabelSelectorRequirement]) -> Any:
    if not added or term.label_selector is None:
        return term
    expressions = (*(term.label_selector.match_expressions or ()), *added)
    return structs.replace(term, label_selector=structs.replace(term.label_selector, match_expressions=expressions))


def is_verbatim(spec: PodSpec, resources: ResourcesKey, images: Sequence[str], init_images: Sequence[str]) -> bool:
    """Whether the containers of a pod request what a template says, in the same bytes: then nothing has to be compared."""
    init = spec.init_containers or ()
    return (
        pod_reading.resources_key(spec)[:3] == resources[:3]
        and tuple([each.image for each in spec.containers]) == images
        and tuple([each.image for each in init]) == init_images
    )


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Merged(NamedTuple, Generic[K, V]):
    """The values of the next pod, and the keys about which the running pod and its own template disagree."""

    values: dict[K, V]
    disputed: tuple[K, ...]


def merge(pod: Mapping[K, V], own: Mapping[K, V], new: Mapping[K, V]) -> Merged[K, V]:
    """The values of the next pod, in the order of the running one and then of the template.

    ``own`` is what the template says that the pod was made of, ``new`` what the one says that the next pod is made of.
    """
    disputed = tuple(key for key, value in own.items() if key not in pod or pod[key] != value)
    kept = {key: new.get(key, value) for key, value in pod.items() if key in new or key not in own}
    return Merged({**kept, **new}, disputed)


def itself(values: Iterable[K]) -> dict[K, K]:
    """Values that have no names, each by itself."""
    return {each: each for each in values}


class NextContainers(NamedTuple):
    """The containers of the next pod, and the requests about which pod and template disagree."""

    containers: dict[ContainerName, ContainerParts]
    disputed: tuple[str, ...]

    def keys(self, known: Any, pod: Containers) -> tuple[Any, ...]:
        """The keys of containers: the texts of ``resources``, those of the running pod where the container has the same."""
        texts = dict(zip(pod, known, strict=True))
        return tuple(
            texts[name]
            if name in pod and _same_resources(pod[name], each)
            else (encoded(each.requests, each.limits), each.restart_policy)
            for name, each in self.containers.items()
        )


class ThreeContainers(NamedTuple):
    """The containers of a running pod, of its template, and of the template of the next pod."""

    pod: Containers
    own: Containers
    new: Containers

    def merged(
        self, origin: PodOrigin, autoscaler: VerticalPodAutoscaler | None, *, lacks_autoscalers: bool
    ) -> NextContainers:
        """The containers of the next pod."""
        found: dict[ContainerName, ContainerParts] = {}
        disputed: list[str] = []
        keeps = origin.by_autoscaler and lacks_autoscalers
        for name in self._names():
            made, about = self._container(name, keeps=keeps)
            found[name] = made
            disputed += [f"{name[0]}: {resource}" if name[0] else resource for resource in about]
        if origin.as_created is False and not keeps:
            disputed = []
        if autoscaler is not None:
            disputed = self._scale(found, autoscaler, disputed)
        elif origin.by_autoscaler and not lacks_autoscalers:
            disputed = ["what a VerticalPodAutoscaler gave it that is not there any more"] if self._has_more() else []
        gone = [name[0] for name in self.own if name not in self.pod]
        return NextContainers(found, (*_requests(disputed), *(f"container {each}" for each in gone)))

    def _has_more(self) -> bool:
        """Whether the pod requests what its template does not say."""
        return any(
            self.pod[name].requests.keys() - each.requests for name, each in self.own.items() if name in self.pod
        )

    def _names(self) -> list[ContainerName]:
        """The containers of the next pod: those of the template, and those that were added where they were added."""
        names = list(self.new)
        previous = -1
        for name in self.pod:
            if name in names:
                previous = names.index(name)
            elif name not in self.own:
                previous += 1
                names.insert(previous, name)
        return names

    def _container(self, name: ContainerName, *, keeps: bool) -> tuple[ContainerParts, tuple[str, ...]]:
        pod, own, new = self.pod.get(name), self.own.get(name), self.new.get(name)
        if pod is None or (own is None and new is not None):
            assert new is not None
            return new, ()
        if own is None or new is None:
            return pod, ()
        requests = merge(pod.requests, own.requests, new.requests)
        limits = merge(pod.limits, own.limits, new.limits)
        image = pod.image if own.image == new.image else new.image
        if keeps and requests.disputed:
            return pod._replace(image=image), requests.disputed
        return ContainerParts(requests.values, limits.values, new.restart_policy, image), requests.disputed

    def _scale(
        self, found: dict[ContainerName, ContainerParts], autoscaler: VerticalPodAutoscaler, disputed: list[str]
    ) -> list[str]:
        """Apply a recommendation; what it decides is not disputed any more."""
        resources = {name: requirements(each.requests, each.limits) for (name, n), each in found.items() if not n}
        for name, made in scaled(autoscaler, resources).items():
            requests, limits = quantities(made.requests), quantities(made.limits)
            found[name, 0] = found[name, 0]._replace(requests=requests, limits=limits)
            disputed = [each for each in disputed if not each.startswith(f"{name}: ")]
        return disputed


def _requests(disputed: Iterable[str]) -> list[str]:
    found = list(disputed)
    return [f"requests ({', '.join(found)})"] if found else []


def _same_resources(one: ContainerParts, other: ContainerParts) -> bool:
    return one[:3] == other[:3]
