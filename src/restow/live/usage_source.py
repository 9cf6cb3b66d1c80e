"""Where usage comes from that no object of the cluster tells: whoever answers the queries of a policy.

The results go into ``Cluster.usage``, so that what decides asks nobody. ``prometheus`` is one source; a dump may bring
results along as well.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from restow.cluster.usage_samples import QueryResult
from restow.policies.policy import Policy

#: What each query of a policy comes to at the moment; it never fails, a result says what is wrong.
UsageSource = Callable[[Policy], Coroutine[Any, Any, Mapping[str, QueryResult]]]


async def no_usage(_: Policy) -> Mapping[str, QueryResult]:
    """Nobody answers."""
    return {}
