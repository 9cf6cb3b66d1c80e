"""Nodes for tests of pressure, as the API writes them."""

from __future__ import annotations

from typing import Any

import msgspec

from restow.pressure.nodes import MarkedNode

MANAGER = "restow-pressure"


def a_marked_node(
    name: str, *addresses: tuple[str, str], labels: dict[str, str] | None = None, **metadata: Any
) -> dict[str, Any]:
    """A Node with addresses (type, address)."""
    listed = [{"type": kind, "address": address} for kind, address in addresses]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}} | metadata,
        "status": {"addresses": listed},
    }


def owner(manager: str, key: str) -> dict[str, Any]:
    """An entry of ``managedFields`` that owns a label."""
    return {"manager": manager, "operation": "Apply", "fieldsV1": {"f:metadata": {"f:labels": {f"f:{key}": {}}}}}


def read(node: dict[str, Any]) -> MarkedNode:
    return msgspec.convert(node, MarkedNode)
