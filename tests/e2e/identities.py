"""Who calls the API server: the users of the token file, and kubeconfigs for them and for service accounts."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path

from builders import Object

#: All of them are in system:masters: no RBAC rules are needed, and priority and fairness lets them through.
USERS = ("admin", "kube-controller-manager", "kube-scheduler", "kwok")


def write_tokens(file: Path) -> Mapping[str, str]:
    """The token of each user, as written to the API server's token file."""
    tokens = {user: secrets.token_hex(16) for user in USERS}
    file.write_text("".join(f'{token},{user},{user},"system:masters"\n' for user, token in tokens.items()))
    return tokens


def write_kubeconfig(file: Path, server: str, authority: Path, user: Object, namespace: str = "default") -> Path:
    """A kubeconfig, as JSON, whose only context is ``test``; ``user`` holds a token, certificates, an exec plugin..."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority": str(authority)}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": namespace}}],
        "users": [{"name": "test", "user": user}],
    }
    file.write_text(json.dumps(config, indent=1))
    file.chmod(0o600)
    return file
