"""Ready pods of workloads, as the audit log tells them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bench.live.history import fewest_ready
from e2e.audit import AuditLog

_START = datetime(2026, 1, 1, tzinfo=UTC)


def a_call(at: int, verb: str, pod: str, part: str, *, user: str = "restow", code: int = 200) -> str:
    when = (_START + timedelta(seconds=at)).isoformat()
    return json.dumps(
        {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "verb": verb,
            "requestURI": "",
            "user": {"username": user},
            "stage": "ResponseComplete",
            "requestReceivedTimestamp": when,
            "stageTimestamp": when,
            "objectRef": {"resource": "pods", "subresource": part, "name": pod},
            "responseStatus": {"code": code},
        },
        separators=(",", ":"),
    )


def evicted(at: int, pod: str, code: int = 201) -> str:
    return a_call(at, "create", pod, "eviction", code=code)


def ready(at: int, pod: str, user: str = "kwok") -> str:
    return a_call(at, "patch", pod, "status", user=user)


@pytest.mark.parametrize(
    ("calls", "fewest"),
    [
        pytest.param([], 3, id="nothing happened"),
        pytest.param([evicted(1, "a-0"), ready(2, "a-x"), evicted(3, "a-1"), ready(4, "a-y")], 2, id="one by one"),
        pytest.param([evicted(1, "a-0"), evicted(2, "a-1"), ready(3, "a-x")], 1, id="the second too early"),
        pytest.param([evicted(1, "a-0"), evicted(2, "b-0")], 2, id="two workloads"),
        pytest.param([evicted(1, "a-0"), evicted(2, "a-1", code=429)], 2, id="refused"),
        pytest.param([evicted(1, "a-0"), ready(2, "a-x", user="kube-scheduler"), evicted(3, "a-1")], 1, id="not kwok"),
        pytest.param([evicted(3, "a-1"), evicted(1, "a-0"), ready(2, "a-x")], 2, id="written out of order"),
    ],
)
def test_the_fewest_ready_pods_of_any_workload(calls: list[str], fewest: int, tmp_path: Path) -> None:
    file = tmp_path / "audit.log"
    log = AuditLog(file)
    file.write_text("".join(f"{each}\n" for each in calls))
    assert fewest_ready(log, replicas=3) == fewest
