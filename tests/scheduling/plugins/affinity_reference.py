"""InterPodAffinity in plain loops, straight from the rules: slow, and obviously right."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scheduling.plugins.world import labels_of, namespace_of, selects

if TYPE_CHECKING:
    from collections.abc import Callable

    from builders import Object
    from scheduling.plugins.world import World

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _required(pod: Object, kind: str) -> list[Object]:
    return pod["spec"].get("affinity", {}).get(kind, {}).get(REQUIRED) or []


def _preferred(pod: Object) -> list[tuple[int, Object]]:
    """Weight and term of each preference; anti-affinity is negative."""
    signs = {"podAffinity": 1, "podAntiAffinity": -1}
    return [
        (sign * each["weight"], each["podAffinityTerm"])
        for kind, sign in signs.items()
        for each in pod["spec"].get("affinity", {}).get(kind, {}).get(PREFERRED) or []
    ]


def _listed(term: Object, owner: Object) -> set[str]:
    if not term.get("namespaces") and term.get("namespaceSelector") is None:
        return {namespace_of(owner)}
    return set(term.get("namespaces") or [])


def _means_existing(world: World, term: Object, owner: Object, other: Object) -> bool:
    """Whether a term of an incoming pod means an existing one (or itself)."""
    selector = term.get("namespaceSelector")
    names = _listed(term, owner)
    names |= {n["metadata"]["name"] for n in world.kind("Namespace") if selects(selector, labels_of(n))}
    if namespace_of(other) not in names and not selects(selector, {}):
        return False
    return selects(term.get("labelSelector"), labels_of(other))


def _means_incoming(world: World, term: Object, owner: Object, pod: Object) -> bool:
    """Whether a term of an existing pod means an incoming one."""
    labels = world.namespace_labels(namespace_of(pod))
    if namespace_of(pod) not in _listed(term, owner) and not selects(term.get("namespaceSelector"), labels):
        return False
    return selects(term.get("labelSelector"), labels_of(pod))


def _note(found: Counter, node: Object, term: Object, amount: int = 1) -> None:
    key = term["topologyKey"]
    if key in labels_of(node):
        found[key, labels_of(node)[key]] += amount


def _tally(world: World, matching: Callable[[Object], list[Object]]) -> Counter:
    """How many matching terms the existing pods have or are meant by, by topology pair."""
    found: Counter = Counter()
    for node in world.nodes:
        for pod in world.pods_on(node):
            for term in matching(world.pods[pod]):
                _note(found, node, term)
    return found


def affinity_codes(world: World, pod: int) -> dict[str, tuple[str, str] | tuple[str]]:
    """(code, reason) by name of the node."""
    incoming = world.pods[pod]
    wanted, unwanted = _required(incoming, "podAffinity"), _required(incoming, "podAntiAffinity")
    near = _tally(
        world, lambda other: wanted if all(_means_existing(world, t, incoming, other) for t in wanted) else []
    )
    repelled = _tally(world, lambda other: [t for t in unwanted if _means_existing(world, t, incoming, other)])
    repelling = _tally(
        world,
        lambda other: [t for t in _required(other, "podAntiAffinity") if _means_incoming(world, t, other, incoming)],
    )
    first = not near and all(_means_existing(world, term, incoming, incoming) for term in wanted)

    def code(labels: dict[str, str]) -> tuple[str, str] | tuple[str]:
        keys = [term["topologyKey"] for term in wanted]
        if any(key not in labels for key in keys) or not (first or all(near[key, labels[key]] for key in keys)):
            return "UAU", "node(s) didn't match pod affinity rules"
        if any(repelled[term["topologyKey"], labels.get(term["topologyKey"])] for term in unwanted):
            return "U", "node(s) didn't match pod anti-affinity rules"
        if any(repelling[pair] for pair in labels.items()):
            return "U", "node(s) didn't satisfy existing pods anti-affinity rules"
        return ("OK",)

    return {node["metadata"]["name"]: code(labels_of(node)) for node in world.nodes}


def affinity_scores(
    world: World, pod: int, feasible: list[str], hard_weight: int = 1, *, ignore_existing: bool = False
) -> list[int] | str:
    """0..100 for each feasible node, or SKIP."""
    incoming = world.pods[pod]
    own = _preferred(incoming)
    if ignore_existing and not own:
        return "SKIP"
    pull: Counter = Counter()
    for node in world.nodes:
        for other in (world.pods[each] for each in world.pods_on(node)):
            for weight, term in own:
                if _means_existing(world, term, incoming, other):
                    _note(pull, node, term, weight)
            theirs = [(hard_weight, term) for term in _required(other, "podAffinity") if hard_weight > 0]
            for weight, term in [*theirs, *_preferred(other)]:
                if _means_incoming(world, term, other, incoming):
                    _note(pull, node, term, weight)
    if not pull or not feasible:
        return "SKIP"
    nodes = [node for node in world.nodes if node["metadata"]["name"] in feasible]
    raw = [sum(pull[pair] for pair in labels_of(node).items()) for node in nodes]
    low, high = min(raw), max(raw)
    return [int(100.0 * ((each - low) / (high - low))) if high > low else 0 for each in raw]
