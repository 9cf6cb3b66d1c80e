"""Random selectors, affinities, tolerations, taints and spread constraints.

Keys and values come from small vocabularies that nodes and pods share, so that rules match about as often as not.
"""

from __future__ import annotations

from builders import HOSTNAME, ZONE, node_affinity, node_term, pod_anti_affinity, pod_term, requirement, spread
from builders.metadata import Object, present
from oracle.chance import Chance

POD_LABELS = {"app": ("web", "api", "db"), "tier": ("front", "back"), "version": ("v1", "v2", "v3")}
NODE_LABELS = {"pool": ("a", "b"), "disk": ("ssd", "hdd"), "gen": ("1", "5", "09", "x")}
ZONES = ("z1", "z2", "z3")
TAINT_KEYS = {"gpu": ("yes", "no"), "dedicated": ("web", "db"), "sla": ("100", "950", "0950", "high")}
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
NAMESPACES = ("default", "shop", "infra")
NODE_NAMES = tuple(f"n{index}" for index in range(8))


def some_labels(chance: Chance, vocabulary: dict[str, tuple[str, ...]], share: float) -> dict[str, str]:
    """Labels with some of the keys."""
    return {key: chance.choice(values) for key, values in vocabulary.items() if chance.maybe(share)}


def label_selector(chance: Chance, labels: dict[str, str] | None = None) -> Object | None:
    """A selector over pod labels; with ``labels`` one that mostly matches them."""
    shape = chance.weighted({"nothing": 4, "everything": 6, "labels": 50, "expressions": 30, "both": 10})
    if shape == "nothing":
        return None
    selector: Object = {}
    if shape in {"labels", "both"}:
        known = {key: value for key, value in (labels or {}).items() if chance.maybe(0.6)}
        selector["matchLabels"] = known or {"app": chance.choice(POD_LABELS["app"])}
    if shape in {"expressions", "both"}:
        selector["matchExpressions"] = [label_requirement(chance) for _ in range(chance.randint(1, 2))]
    return selector


def label_requirement(chance: Chance) -> Object:
    """One expression with any operator; with the trait malformed sometimes none that can be compiled."""
    key = chance.choice([*POD_LABELS, "absent"])
    values = list(POD_LABELS.get(key, ("x", "y")))
    if chance.has("malformed", 0.1):
        broken = [
            ("app", "In"),
            ("app", "Exists", "web"),
            ("app", "Like", "web"),
            ("a b", "Exists"),
            ("app", "In", "-"),
        ]
        return requirement(*chance.choice(broken))
    operator = chance.weighted({"In": 5, "NotIn": 3, "Exists": 2, "DoesNotExist": 1})
    chosen = chance.some(values) if operator in {"In", "NotIn"} else []
    return requirement(key, operator, *chosen)


def node_requirement(chance: Chance) -> tuple[str, ...]:
    """One expression over node labels with any operator; sometimes malformed."""
    if chance.has("malformed", 0.1):
        if chance.maybe(0.5):
            return ("gen", chance.choice(["Gt", "Lt"]), chance.choice(["+4", "04", " 4", "4_0", "4.0", "\u0664"]))
        broken = [
            ("gen", "Gt", "x"),
            ("gen", "Lt", "1", "5"),
            ("pool", "In"),
            ("pool", "Exists", "a"),
            ("pool", "Like", "a"),
        ]
        return chance.choice(broken)
    operator = chance.weighted({"In": 6, "NotIn": 3, "Exists": 2, "DoesNotExist": 1, "Gt": 2, "Lt": 2})
    if operator in {"Gt", "Lt"}:
        return ("gen", operator, chance.choice(["0", "1", "4", "5", "-3"]))
    vocabulary = NODE_LABELS | {ZONE: ZONES, HOSTNAME: NODE_NAMES}
    key = chance.choice([*vocabulary, "absent"])
    values = chance.some(vocabulary.get(key, ("x",)), most=3) if operator in {"In", "NotIn"} else []
    return (key, operator, *values)


def some_node_term(chance: Chance) -> Object:
    """One node selector term: expressions, fields, both, or the empty term."""
    requirements = [node_requirement(chance) for _ in range(chance.weighted({0: 1, 1: 6, 2: 3}))]
    fields = []
    if chance.maybe(0.12):
        values = chance.some(NODE_NAMES, most=2 if chance.has("malformed", 0.2) else 1)
        name = "metadata.namespace" if chance.has("malformed", 0.1) else "metadata.name"
        fields.append((name, chance.choice(["In", "NotIn"]), *values))
    return node_term(*requirements, fields=fields)


def some_node_affinity(chance: Chance) -> Object:
    """Required terms, preferred terms, or both, as the traits affinity and preferred have it."""
    required = preferred = None
    if chance.has("affinity", 0.8):
        required = [some_node_term(chance) for _ in range(chance.weighted({0: 0.3, 1: 6, 2: 3}))]
    if chance.has("preferred", 0.8):
        weights = [chance.weighted({1: 3, 10: 3, 100: 2, 0: 0.3, -5: 0.3}) for _ in range(chance.randint(1, 3))]
        preferred = [(weight, some_node_term(chance)) for weight in weights]
    if required is None and preferred is None and not chance.has("affinity", 0.3):
        return {}
    return node_affinity(required, preferred)


def some_anti_affinity(chance: Chance, labels: dict[str, str]) -> Object:
    """Required (and sometimes preferred) terms, mostly against pods like itself."""
    required = [_anti_term(chance, labels) for _ in range(chance.weighted({0: 1, 1: 6, 2: 3}))]
    preferred = [(10, _anti_term(chance, labels))] if chance.maybe(0.2) else None
    return pod_anti_affinity(required, preferred)


def _anti_term(chance: Chance, labels: dict[str, str]) -> Object:
    return pod_term(
        label_selector(chance, labels),
        topology=chance.weighted({HOSTNAME: 5, ZONE: 3, "pool": 2, "absent": 1}),
        namespaces=chance.some(NAMESPACES) if chance.maybe(0.2) else None,
        namespace_selector={} if chance.maybe(0.1) else None,
        match_label_keys=["version"] if chance.maybe(0.1) else None,
    )


def some_tolerations(chance: Chance) -> list[Object]:
    """Tolerations with every operator, with and without effects and keys."""
    return [_toleration(chance) for _ in range(chance.weighted({0: 2, 1: 4, 2: 3, 3: 2}))]


def _toleration(chance: Chance) -> Object:
    operator = chance.weighted({"": 3, "Equal": 2, "Exists": 4, "Gt": 1, "Lt": 1, "Like": 0.1})
    key = "sla" if operator in {"Gt", "Lt"} else chance.choice(list(TAINT_KEYS))
    if chance.maybe(0.1):
        key = "node.kubernetes.io/unschedulable" if chance.maybe(0.5) else ""
    if chance.has("malformed", 0.3) and operator in {"Gt", "Lt"}:
        return {
            "key": key,
            "operator": operator,
            "value": chance.choice(["+90", "0900", " 90", "9_0", "9e1", "\u0669"]),
        }
    values = {"Gt": ("90", "900", "950", "x"), "Lt": ("90", "960", "950", "")}.get(operator, TAINT_KEYS.get(key, ("",)))
    return present(
        key=key or None,
        operator=operator or None,
        value=None if operator == "Exists" else chance.choice(values),
        effect=chance.weighted({None: 4, "NoSchedule": 4, "PreferNoSchedule": 1, "NoExecute": 2}),
        tolerationSeconds=300 if chance.maybe(0.1) else None,
    )


def some_taints(chance: Chance) -> list[Object]:
    """One to three taints with every effect, with and without values."""
    taints = []
    for _ in range(chance.weighted({1: 6, 2: 3, 3: 1})):
        key = chance.choice(list(TAINT_KEYS))
        value = None if chance.maybe(0.2) else chance.choice(TAINT_KEYS[key])
        taints.append(present(key=key, value=value, effect=chance.weighted(dict(zip(EFFECTS, (6, 2, 2), strict=True)))))
    return taints


def some_spread(chance: Chance, labels: dict[str, str]) -> list[Object]:
    """One or two spread constraints with every field."""
    return [
        spread(
            chance.weighted({1: 7, 2: 3, 5: 1}),
            chance.weighted({ZONE: 5, HOSTNAME: 4, "pool": 2, "absent": 0.5}),
            label_selector(chance, labels),
            when=chance.weighted({"DoNotSchedule": 7, "ScheduleAnyway": 3}),
            min_domains=chance.randint(1, 5) if chance.maybe(0.1) else None,
            node_affinity_policy=chance.weighted({None: 6, "Honor": 2, "Ignore": 2}),
            node_taints_policy=chance.weighted({None: 6, "Honor": 2, "Ignore": 1}),
            match_label_keys=chance.some(["version", "absent", "tier"]) if chance.maybe(0.2) else None,
        )
        for _ in range(chance.weighted({1: 7, 2: 3}))
    ]
