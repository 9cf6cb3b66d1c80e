"""What a kubelet writes into statuses of pods and nodes, as strategic merge patches: conditions of others stay."""

from __future__ import annotations

from datetime import UTC, datetime

from builders import Object

#: The address of all nodes.
_NODE = "127.0.0.1"


def timestamp() -> str:
    """The time now, as the API writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def node_ready() -> Object:
    """The change of a node whose kubelet has started."""
    return {"conditions": [_condition("Ready", True, timestamp()) | {"reason": "KubeletReady"}]}


def running(pod: Object, address: str, started: str, *, ready: bool, restarts: int) -> Object:
    """The status of a pod whose containers run since ``started``; its readiness has changed just now."""
    return {
        "phase": "Running",
        "startTime": started,
        "hostIP": _NODE,
        "hostIPs": [{"ip": _NODE}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [_condition("Initialized", True, started), *_readiness(ready, "ContainersNotReady")],
        "containerStatuses": [
            _container(each, {"running": {"startedAt": started}}, restarts) | {"ready": ready, "started": True}
            for each in pod["spec"]["containers"]
        ],
    }


def waiting(pod: Object, reason: str, message: str) -> Object:
    """The status of a pod whose containers cannot start."""
    state = {"waiting": {"reason": reason, "message": message}}
    return {
        "containerStatuses": [
            _container(each, state, 0) | {"ready": False, "started": False} for each in pod["spec"]["containers"]
        ]
    }


def not_ready() -> Object:
    """The change of a pod that accepts no more requests because it is about to end."""
    return {"conditions": _readiness(False, "ContainersNotReady")}


def ended(pod: Object, started: str, exit_code: int, *, restarts: int) -> Object:
    """The status of a pod whose processes are gone; it is deleted next."""
    over = {"exitCode": exit_code, "startedAt": started, "finishedAt": timestamp()}
    over["reason"] = "Completed" if exit_code == 0 else "Error"
    return {
        "phase": "Succeeded" if exit_code == 0 else "Failed",
        "conditions": _readiness(False, "PodCompleted" if exit_code == 0 else "PodFailed"),
        "containerStatuses": [
            _container(each, {"terminated": over}, restarts) | {"ready": False, "started": False}
            for each in pod["spec"]["containers"]
        ],
    }


def _readiness(ready: bool, why_not: str) -> list[Object]:
    # An empty reason takes the one of before away.
    reason = "" if ready else why_not
    return [_condition(kind, ready, timestamp()) | {"reason": reason} for kind in ("ContainersReady", "Ready")]


def _condition(kind: str, holds: bool, since: str) -> Object:
    return {"type": kind, "status": "True" if holds else "False", "lastTransitionTime": since}


def _container(container: Object, state: Object, restarts: int) -> Object:
    image = container["image"]
    return {"name": container["name"], "image": image, "imageID": image, "restartCount": restarts, "state": state}
