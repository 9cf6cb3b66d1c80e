"""Selectors over labels, and over nodes, as they are written."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct


class LabelSelectorRequirement(Struct, frozen=True, gc=False):
    """One ``matchExpressions`` entry of a label selector, a node selector term or a policy."""

    key: str = ""
    operator: Annotated[str, Meta(extra={"go": "v1.LabelSelectorOperator"})] = ""
    values: tuple[str, ...] | None = None


class LabelSelector(Struct, frozen=True, gc=False, rename="camel"):
    """metav1.LabelSelector: absent matches nothing, empty matches everything (by convention of its users)."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelSelectorRequirement, ...] | None = None


class NodeSelectorTerm(Struct, frozen=True, gc=False, rename="camel"):
    """Expressions and fields of one term are ANDed; an empty term matches nothing."""

    match_expressions: tuple[LabelSelectorRequirement, ...] | None = None
    match_fields: tuple[LabelSelectorRequirement, ...] | None = None


class NodeSelector(Struct, frozen=True, gc=False, rename="camel"):
    """Terms are ORed; no term matches nothing."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None
