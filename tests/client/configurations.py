"""Kubeconfigs for tests: one cluster, one user, one context, as small as can be; and programs that give credentials."""

from __future__ import annotations

import json
import stat
import sys
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


def a_plugin(directory: Path, status: dict[str, Any] | str, *, name: str = "plugin") -> dict[str, Any]:
    """The ``exec`` section for a program that counts its runs and prints a status, or a text as it is."""
    kind = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
    said = status if isinstance(status, str) else json.dumps(kind | {"status": status})
    program = directory / name
    program.write_text(
        f"#!{sys.executable}\nopen({str(directory / 'runs')!r}, 'a').write('x')\nprint({said!r}.replace('<RUN>', "
        f"str(len(open({str(directory / 'runs')!r}).read()))))\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": kind["apiVersion"], "command": f"./{name}", "args": ["get"]}}
