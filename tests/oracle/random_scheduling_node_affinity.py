"""Node selectors and node affinity: every operator, fields, terms that name nodes, and texts that cannot be compared."""

from __future__ import annotations

from builders import Object, node_affinity, node_term
from oracle.chance import Chance
from oracle.random_rules import NODE_LABELS, NODE_NAMES, some_labels, some_node_term
from oracle.random_scheduling import Subject


def labelled_node(chance: Chance) -> Object:
    """A node with some of the labels that pods ask for."""
    labels = some_labels(chance, NODE_LABELS, 0.75)
    if chance.maybe(0.1):
        labels["gen"] = chance.choice(["-3", "", "9223372036854775808", "9223372036854775807", "+4", "1e3"])
    return {"labels": labels}


def choosy_pod(chance: Chance, waits: bool) -> Object:
    """A pod that asks for labels, for nodes by name, or prefers some."""
    if not waits and chance.maybe(0.7):
        return {}
    affinity: Object = {}
    shape = chance.weighted({"terms": 5, "names": 3, "none": 2, "no-terms": 0.2, "empty": 0.2})
    required = _required(chance, shape)
    preferred = None
    if chance.maybe(0.6):
        weights = [chance.choice([0, 1, 1, 7, 10, 33, 100]) for _ in range(chance.randint(0, 3))]
        preferred = [(weight, _preference(chance)) for weight in weights]
    if required is not None or preferred is not None or shape == "empty":
        affinity = node_affinity(required, preferred)
    return {
        "affinity": affinity or None,
        "node_selector": some_labels(chance, NODE_LABELS, 0.3) if chance.maybe(0.2) else None,
    }


def _required(chance: Chance, shape: str) -> list[Object] | None:
    if shape == "terms":
        return [some_node_term(chance) for _ in range(chance.randint(1, 3))]
    if shape == "names":
        return [_naming(chance) for _ in range(chance.randint(1, 3))]
    return [] if shape == "no-terms" else None


def _naming(chance: Chance) -> Object:
    """A term that names nodes, now and then two different ones at once."""
    names = [
        ("metadata.name", "In", chance.choice([*NODE_NAMES[:5], "gone"])) for _ in range(chance.choice([1, 1, 1, 2]))
    ]
    if chance.maybe(0.2):
        names.append(("metadata.name", "NotIn", chance.choice(NODE_NAMES)))
    expressions = [("pool", "In", "a", "b")] if chance.maybe(0.3) else []
    return node_term(*expressions, fields=names)


def _preference(chance: Chance) -> Object:
    """A term that can be read: one that cannot ends the whole cycle."""
    traits, chance.traits = chance.traits, chance.traits - {"malformed"}
    term = some_node_term(chance)
    chance.traits = traits
    return term


NODE_AFFINITY = Subject(labelled_node, choosy_pod, most_waiting=12)
