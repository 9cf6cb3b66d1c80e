"""Selectors, affinity terms, tolerations and spread constraints.

A requirement is a tuple ``(key, operator, *values)``: ``("zone", "In", "a", "b")``. The two halves of an affinity are
joined with ``|``: ``affinity=node_affinity(...) | pod_anti_affinity(...)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from builders.metadata import Object, present

if TYPE_CHECKING:
    from collections.abc import Iterable

Requirement = tuple[str, ...]
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def requirement(key: str, operator: str, *values: str) -> Object:
    """One ``matchExpressions`` entry."""
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def selector(*requirements: Requirement, labels: Object | None = None) -> Object:
    """A label selector; without arguments ``{}``, which matches everything."""
    return present(
        matchLabels=labels,
        matchExpressions=[requirement(*parts) for parts in requirements] or None,
    )


def node_term(*requirements: Requirement, fields: Iterable[Requirement] = ()) -> Object:
    """One node selector term; without arguments the empty term, which matches nothing."""
    return present(
        matchExpressions=[requirement(*parts) for parts in requirements] or None,
        matchFields=[requirement(*parts) for parts in fields] or None,
    )


def node_affinity(required: list[Object] | None = None, preferred: list[tuple[int, Object]] | None = None) -> Object:
    """``affinity`` with node affinity: ORed required terms, and preferred terms with weights."""
    return {
        "nodeAffinity": present(
            requiredDuringSchedulingIgnoredDuringExecution=(
                None if required is None else {"nodeSelectorTerms": required}
            ),
            preferredDuringSchedulingIgnoredDuringExecution=(
                None if preferred is None else [{"weight": weight, "preference": term} for weight, term in preferred]
            ),
        )
    }


def pod_term(
    label_selector: Object | None,
    *,
    topology: str = HOSTNAME,
    namespaces: list[str] | None = None,
    namespace_selector: Object | None = None,
    match_label_keys: list[str] | None = None,
    mismatch_label_keys: list[str] | None = None,
) -> Object:
    """One term of pod affinity or anti-affinity."""
    return present(
        labelSelector=label_selector,
        topologyKey=topology,
        namespaces=namespaces,
        namespaceSelector=namespace_selector,
        matchLabelKeys=match_label_keys,
        mismatchLabelKeys=mismatch_label_keys,
    )


def pod_affinity(required: list[Object] | None = None, preferred: list[tuple[int, Object]] | None = None) -> Object:
    """``affinity`` with pod affinity."""
    return {"podAffinity": _pod_terms(required, preferred)}


def pod_anti_affinity(
    required: list[Object] | None = None, preferred: list[tuple[int, Object]] | None = None
) -> Object:
    """``affinity`` with pod anti-affinity."""
    return {"podAntiAffinity": _pod_terms(required, preferred)}


def _pod_terms(required: list[Object] | None, preferred: list[tuple[int, Object]] | None) -> Object:
    return present(
        requiredDuringSchedulingIgnoredDuringExecution=required,
        preferredDuringSchedulingIgnoredDuringExecution=(
            None if preferred is None else [{"weight": weight, "podAffinityTerm": term} for weight, term in preferred]
        ),
    )


def a_toleration(text: str | Object) -> Object:
    """A toleration from text; a dict is taken as it is.

    ``key=value:Effect`` has no operator (which means Equal), ``key:Effect`` tolerates every value, ``key=value`` and
    ``key`` every effect, ``""`` everything.
    """
    if isinstance(text, dict):
        return text
    head, _, effect = text.partition(":")
    key, equal, value = head.partition("=")
    fields: dict[str, Any] = {"value": value} if equal else {"operator": "Exists"}
    return present(key=key or None, effect=effect or None) | fields


def spread(
    max_skew: int = 1,
    topology: str = ZONE,
    label_selector: Object | None = None,
    *,
    when: str = "DoNotSchedule",
    min_domains: int | None = None,
    node_affinity_policy: str | None = None,
    node_taints_policy: str | None = None,
    match_label_keys: list[str] | None = None,
) -> Object:
    """One topology spread constraint; ``label_selector`` None is left out, so it matches nothing."""
    return present(
        maxSkew=max_skew,
        topologyKey=topology,
        whenUnsatisfiable=when,
        labelSelector=label_selector,
        minDomains=min_domains,
        nodeAffinityPolicy=node_affinity_policy,
        nodeTaintsPolicy=node_taints_policy,
        matchLabelKeys=match_label_keys,
    )
