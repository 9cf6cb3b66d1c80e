"""Kubeconfigs for tests: one cluster, one user, one context, as small as can be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def a_kubeconfig(
    file: Path,
    user: dict[str, Any] | None = None,
    *,
    context: str = "test",
    server: str = "https://api.example.com:6443",
    current: str | None = "test",
    **cluster: Any,
) -> str:
    """Written to a file; ``cluster`` are further fields of the cluster, with underscores for hyphens."""
    fields = {name.replace("_", "-"): value for name, value in cluster.items()}
    config = {
        "clusters": [{"name": f"{context}-cluster", "cluster": {"server": server} | fields}],
        "users": [{"name": f"{context}-user", "user": user}],
        "contexts": [{"name": context, "context": {"cluster": f"{context}-cluster", "user": f"{context}-user"}}],
    }
    if current is not None:
        config |= {"current-context": current}  # type: ignore[dict-item]
    file.write_text(json.dumps(config))
    return str(file)
