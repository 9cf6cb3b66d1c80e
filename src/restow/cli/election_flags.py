"""The flags of leader election, which all daemons have, and what they cannot ask for.

Source: Descheduler 0.36 and Kubernetes 1.36, component-base/config/options.
"""

# No postponed annotations: cyclopts evaluates those of an inherited field in the module that inherits it.
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

from restow.cli import options as option
from restow.cli.flag_values import duration
from restow.cli.options import ELECTION
from restow.kube.duration import SECOND

#: How much later than agreed a retry may come; the elector spreads them.
_JITTER: Final = 1.2
_REMOVED_LOCKS: Final = ("endpoints", "configmaps", "endpointsleases", "configmapsleases")


LeaseDuration = Annotated[
    int,
    option.time_span(
        ELECTION, "How long other replicas wait after the leader's last renewal before they take over.", duration
    ),
]
RenewDeadline = Annotated[
    int, option.time_span(ELECTION, "How long the leader keeps trying to renew the lease before it stops.", duration)
]
RetryPeriod = Annotated[
    int, option.time_span(ELECTION, "Time between attempts to acquire or renew the lease.", duration)
]
LeaseName = Annotated[str, option.value(ELECTION, "NAME", "Name of the lease.")]


@dataclass(frozen=True, kw_only=True)
class ElectionFlags:
    """Names are the flags', with underscores; durations are nanoseconds."""

    leader_elect: Annotated[
        bool, option.switch(ELECTION, "Act only while holding a lease, so that several replicas can run.")
    ] = False
    leader_elect_lease_duration: LeaseDuration = 137 * SECOND
    leader_elect_renew_deadline: RenewDeadline = 107 * SECOND
    leader_elect_retry_period: RetryPeriod = 26 * SECOND
    leader_elect_resource_lock: Annotated[str, option.value(ELECTION, "KIND", "Kind of the lock object.")] = "leases"
    leader_elect_resource_name: LeaseName = "descheduler"
    leader_elect_resource_namespace: Annotated[str, option.value(ELECTION, "NAMESPACE", "Namespace of the lease.")] = (
        "kube-system"
    )


def election_problems(flags: ElectionFlags) -> Iterator[str]:
    """Yield what the flags ask for and cannot be."""
    yield from _lock(flags)
    durations = {
        "leaseDuration": flags.leader_elect_lease_duration,
        "renewDeadline": flags.leader_elect_renew_deadline,
        "retryPeriod": flags.leader_elect_retry_period,
    }
    for name, nanoseconds in durations.items():
        if nanoseconds <= 0:
            yield f"--leader-elect: {name} must be greater than zero"
    lease, renew, retry = durations.values()
    if lease <= renew:
        yield "--leader-elect: leaseDuration must be greater than renewDeadline"
    if renew <= retry * _JITTER:
        yield f"--leader-elect: renewDeadline must be greater than retryPeriod*JitterFactor ({_JITTER})"


def _lock(flags: ElectionFlags) -> Iterator[str]:
    lock = flags.leader_elect_resource_lock
    if lock in _REMOVED_LOCKS:
        yield (
            "leaderElection: unable to create leader election lock: "
            f"{lock} lock is removed, migrate to leases (--leader-elect-resource-lock)"
        )
    elif lock != "leases":
        yield f"leaderElection: Invalid lock-type {lock} (--leader-elect-resource-lock); it must be leases"
    if not flags.leader_elect_resource_namespace:
        yield "leaderElection: namespace may not be empty (--leader-elect-resource-namespace)"
    if not flags.leader_elect_resource_name:
        yield "leaderElection: name may not be empty (--leader-elect-resource-name)"
