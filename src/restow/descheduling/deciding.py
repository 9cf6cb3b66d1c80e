"""Both ways to decide a cycle, and which of them is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from restow.cluster.snapshot import Cluster
from restow.descheduling.cycle import Cycle, run_cycle
from restow.descheduling.evictor import Reason
from restow.descheduling.limits import Spent
from restow.descheduling.plan import Placement
from restow.descheduling.proving import prove_cycle, without_node_fit
from restow.descheduling.registry import strategies
from restow.policies.policy import Policy
from restow.scheduling.profiles import SchedulerProfile


def placement_of(asked: Placement | None, policy: Policy) -> Placement:
    """How moves are placed: as asked for, else as the policy says, else proven."""
    return asked or policy.restow.placement or "prove"


def policy_as_asked(policy: Policy, placement: Placement) -> Policy:
    """The policy as a placement asks it: only ``upstream`` asks nodeFit."""
    return without_node_fit(policy) if placement == "prove" else policy


def decided(
    cluster: Cluster,
    policy: Policy,
    placement: Placement,
    now: int,
    profiles: Iterable[SchedulerProfile],
    *,
    spent: Iterable[Spent] = (),
    staying: Mapping[str, Reason] = MappingProxyType({}),
) -> Cycle:
    """The cycle of a placement, with the strategies that there are; the rest and errors as for ``run_cycle``.

    ``profiles`` are those of the cluster's schedulers, which only a proof asks.
    """
    if placement == "prove":
        return prove_cycle(cluster, policy, strategies(), now, profiles, spent=spent, staying=staying)
    return run_cycle(cluster, policy, strategies(), now, spent=spent, staying=staying)
