"""The contents of a cluster as plain values that can be compared."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from restow.cluster.snapshot import ClusterSnapshot


def contents_of(cluster: ClusterSnapshot) -> Any:
    """Nodes, pods and other objects, without identifiers that say nothing."""
    return {"nodes": columns_of(cluster.nodes), "pods": columns_of(cluster.pods), "others": cluster.others}


def columns_of(columns: Any) -> dict[str, Any]:
    """Nodes or pods, column by column."""
    named = {field.name: getattr(columns, field.name) for field in fields(columns)}
    return {name: each.tolist() if isinstance(each, np.ndarray) else each for name, each in named.items()}
