"""The contents of a cluster as plain values that can be compared."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from restow.cluster.snapshot import ClusterSnapshot


def contents_of(cluster: ClusterSnapshot) -> Any:
    """Nodes, pods and other objects, without identifiers that say nothing."""
    return {"nodes": _columns(cluster.nodes), "pods": _columns(cluster.pods), "others": cluster.others}


def _columns(columns: Any) -> dict[str, Any]:
    named = {field.name: getattr(columns, field.name) for field in fields(columns)}
    return {name: each.tolist() if isinstance(each, np.ndarray) else each for name, each in named.items()}
