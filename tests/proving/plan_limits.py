"""The limits of a policy, checked over a whole plan."""

from __future__ import annotations

from collections import Counter

from restow.descheduling.cycle import Cycle
from restow.policies.policy import Policy


def beyond_limits(cycle: Cycle, policy: Policy) -> str:
    """Which limit is exceeded over the whole plan; empty if none is."""
    pods, moves = cycle.state.cluster.pods, cycle.record.evictions
    counts = (
        (policy.max_no_of_pods_to_evict_total, [len(moves)]),
        (policy.max_no_of_pods_to_evict_per_node, Counter(each.node for each in moves).values()),
        (policy.max_no_of_pods_to_evict_per_namespace, Counter(int(pods.namespace[e.pod]) for e in moves).values()),
    )
    exceeded = [limit for limit, found in counts if limit is not None and max(found, default=0) > limit]
    return f"exceeds limits of {exceeded}" if exceeded else ""
