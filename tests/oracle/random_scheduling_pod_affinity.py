"""Pods that want to be beside others or apart from them: required and preferred terms with every field."""

from __future__ import annotations

from builders import HOSTNAME, ZONE, Object, pod_affinity, pod_anti_affinity, pod_term, selector
from oracle.chance import Chance
from oracle.random_rules import NAMESPACES, POD_LABELS, label_selector, some_labels
from oracle.random_scheduling import TEAMS, Subject


def racked_node(chance: Chance) -> Object:
    """A node that may have a rack."""
    return {"labels": {"rack": chance.choice(["r1", "r2", "r3"])} if chance.maybe(0.7) else {}}


def sociable_pod(chance: Chance, waits: bool) -> Object:
    """A pod with any of the four kinds of terms, mostly about pods like itself."""
    labels = some_labels(chance, POD_LABELS, 0.8)
    affinity: Object = {}
    share = 0.35 if waits else 0.2
    if chance.maybe(share * 2):
        affinity |= pod_affinity(_required(chance, labels, share), _preferred(chance, labels))
    if chance.maybe(share * 2):
        affinity |= pod_anti_affinity(_required(chance, labels, share), _preferred(chance, labels))
    return {"labels": labels, "affinity": affinity or None, "cpu": "10m"}


def _required(chance: Chance, labels: Object, share: float) -> list[Object] | None:
    if not chance.maybe(share):
        return None
    return [_term(chance, labels) for _ in range(chance.weighted({0: 0.2, 1: 6, 2: 2}))]


def _preferred(chance: Chance, labels: Object) -> list[tuple[int, Object]] | None:
    if not chance.maybe(0.6):
        return None
    return [(chance.choice([1, 2, 10, 37, 100]), _term(chance, labels)) for _ in range(chance.randint(1, 3))]


def _term(chance: Chance, labels: Object) -> Object:
    meant = label_selector(chance, labels)
    return pod_term(
        meant,
        topology=chance.weighted({HOSTNAME: 4, ZONE: 4, "rack": 2, "absent": 0.3}),
        namespaces=chance.some([*NAMESPACES, "nowhere"]) if chance.maybe(0.2) else None,
        namespace_selector=_of_namespaces(chance) if chance.maybe(0.25) else None,
        match_label_keys=["version"] if chance.maybe(0.1) else None,
        mismatch_label_keys=["tier"] if chance.maybe(0.1) else None,
    )


def _of_namespaces(chance: Chance) -> Object:
    """Selectors of namespaces; some of them match one without labels."""
    team = chance.choice(TEAMS)
    return chance.choice(
        [
            selector(),
            selector(labels={"team": team}),
            selector(("team", "In", team)),
            selector(("team", "NotIn", team)),
            selector(("team", "Exists")),
            selector(("team", "DoesNotExist")),
            selector(labels={"team": "nobody"}),
        ]
    )


POD_AFFINITY = Subject(racked_node, sociable_pod, most_waiting=12)
