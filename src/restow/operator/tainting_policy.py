"""What of a policy soft taints go by: the utilization strategy of its profile for virtual machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from restow.descheduling.plugins.low_node_utilization import LowNodeUtilizationArgs
from restow.errors import InputError
from restow.operator.rules import KUBEVIRT_PROFILES
from restow.policies.policy import Policy

_STRATEGY: Final = "LowNodeUtilization"


@dataclass(slots=True, frozen=True)
class TaintingPolicy:
    """The thresholds, and the query that they are about."""

    args: LowNodeUtilizationArgs
    query: str


def tainting_policy(policy: Policy) -> TaintingPolicy | None:
    """Return what the policy says; None if it moves no virtual machines, InputError if its usage comes from elsewhere."""
    for profile in policy.profiles:
        if profile.name in KUBEVIRT_PROFILES and _STRATEGY in profile.balance:
            args: LowNodeUtilizationArgs = profile.args[_STRATEGY]
            prometheus = args.metrics_utilization.prometheus if args.metrics_utilization is not None else None
            if prometheus is None:
                raise InputError(
                    f"profile {profile.name}: soft taints go by Prometheus; set metricsUtilization of {_STRATEGY}, with a "
                    "query"
                )
            return TaintingPolicy(args, prometheus.query)
    return None
