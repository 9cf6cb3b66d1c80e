"""What all pods of the operator have in common: unprivileged, high priority, a mounted policy."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from restow.operator.facts import Facts
from restow.operator.objects import Object
from restow.operator.policy import POLICY_FILE
from restow.operator.resource import LogLevel

#: Where the policy is.
CONFIG_MAP: Final = "cluster"
_POLICY_AT: Final = "/policy-dir"
POLICY_PATH: Final = f"{_POLICY_AT}/{POLICY_FILE}"
#: Of each level, as ``-v``: for the descheduler, the soft tainter and the operator.
VERBOSITY: Final[dict[LogLevel, int]] = {"Normal": 2, "Debug": 4, "Trace": 6, "TraceAll": 8}


@dataclass(slots=True, frozen=True)
class Program:
    """The one container of a pod."""

    name: str
    image: str
    command: Sequence[str]
    args: Sequence[str]
    cpu: str
    memory: str
    #: Its secrets by the directory where they are mounted.
    secrets: tuple[tuple[str, str], ...] = ()


def pod_metadata(program: Program, labels: Object, policy: str, facts: Facts) -> Object:
    """Return the metadata of a pod that runs a policy."""
    annotations = {
        "kubectl.kubernetes.io/default-container": program.name,
        # Pods with a new policy are new pods, so that it holds from then on and not when the kubelet comes round.
        "restow.dev/policy-hash": hashlib.sha256(policy.encode()).hexdigest(),
    }
    if facts.is_openshift:
        annotations["openshift.io/required-scc"] = "restricted-v2"
    return {"labels": labels, "annotations": annotations}


def pod_spec(program: Program, account: str, more: Object) -> Object:
    """Return a pod of a service account; ``more`` is added to its container."""
    volumes: list[Object] = [{"name": "policy-volume", "configMap": {"name": CONFIG_MAP}}]
    volumes += [{"name": _volume(path), "secret": {"secretName": secret}} for path, secret in program.secrets]
    return {
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": account,
        # restow ends within 55 s of SIGTERM, even if no server answers.
        "terminationGracePeriodSeconds": 60,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(program) | more],
        "volumes": volumes,
    }


def probe(path: str, **times: int) -> Object:
    """Return a probe of the port named https."""
    return {"httpGet": {"scheme": "HTTPS", "port": "https", "path": path}, "timeoutSeconds": 5, **times}


def lasting(labels: Object, template: Object) -> Object:
    """Return the spec of a Deployment of one pod. Never two at a time: neither would know what the other one does."""
    return {
        "replicas": 1,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": labels},
        "template": template,
    }


def _container(program: Program) -> Object:
    mounts: list[dict[str, Any]] = [{"name": "policy-volume", "mountPath": _POLICY_AT, "readOnly": True}]
    mounts += [{"name": _volume(path), "mountPath": path, "readOnly": True} for path, _ in program.secrets]
    return {
        "name": program.name,
        "image": program.image,
        "command": [*program.command],
        "args": [*program.args],
        # Memory use grows with the cluster; there is no limit, because a killed cycle is worse than a larger one.
        "resources": {"requests": {"cpu": program.cpu, "memory": program.memory}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }


def _volume(path: str) -> str:
    return path.strip("/")
