"""How many pods of each workload were ready at a time, told from the audit log without disturbing anybody.

A pod becomes ready with kwok's patch of its status, for the pods of these clusters are ready as soon as they run, and is
lost with its eviction.
"""

from __future__ import annotations

from collections import defaultdict

from e2e.audit import AuditLog, Call

_DONE = "ResponseComplete"


def fewest_ready(audit: AuditLog, replicas: int) -> int:
    """The fewest ready pods that any workload had, all of which had ``replicas`` at first."""
    ready: defaultdict[str, int] = defaultdict(lambda: replicas)
    fewest = replicas
    for call in sorted(audit.calls(resource="pods"), key=lambda each: each.stage_timestamp):
        workload = call.object_ref.name.rpartition("-")[0]
        ready[workload] += _change(call)
        fewest = min(fewest, ready[workload])
    return fewest


def _change(call: Call) -> int:
    part, status = (call.verb, call.object_ref.subresource), call.response_status.code
    if call.stage != _DONE:
        return 0
    if part == ("patch", "status") and call.user.username == "kwok" and status == 200:
        return 1
    return -1 if part == ("create", "eviction") and status == 201 else 0
