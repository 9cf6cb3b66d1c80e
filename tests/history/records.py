"""Records of a history."""

from __future__ import annotations

from typing import Any

from restow.history.records import CycleRecord, MoveRecord


def a_move(pod: str, at: float, result: str = "evicted", **more: Any) -> MoveRecord:
    """A move from n1 to n2."""
    known: dict[str, Any] = {
        "namespace": "shop",
        "uid": f"uid-{pod}",
        "workload": "Deployment/web",
        "profile": "P",
        "strategy": "RemoveDuplicates",
        "reason": "2 of 3 replicas on n1",
        "source": "n1",
        "target": "n2",
        "certainty": "certain",
        "steered": False,
    }
    return MoveRecord(**known | {"at": at, "pod": pod, "result": result} | more)


def a_cycle(began: float, ended: float, **more: Any) -> CycleRecord:
    """A cycle that was done."""
    known: dict[str, Any] = {
        "result": "done",
        "dry_run": False,
        "moves": 1,
        "refusals": 2,
        "spread": {"cpu": (0.3, 0.2)},
    }
    return CycleRecord(**known | {"began": began, "ended": ended} | more)
