"""Decides a cycle in either placement, and says which placement and steering are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from restow.cluster.snapshot import Cluster
from restow.descheduling.cycle import Cycle, run_cycle
from restow.descheduling.evictor import Reason
from restow.descheduling.limits import PriorEviction
from restow.descheduling.proving import prove_cycle, without_node_fit
from restow.descheduling.registry import strategies
from restow.policies.codes import Placement, SteeringMode, SteeringSetting
from restow.policies.policy import Policy
from restow.scheduling.configuration.profiles import SchedulerProfile


def placement_of(asked: Placement | None, policy: Policy) -> Placement:
    """How moves are placed: as asked for, else as the policy says, else proven."""
    return asked or policy.restow.placement or Placement.PROVE


def policy_as_asked(policy: Policy, placement: Placement) -> Policy:
    """The policy as a placement uses it: ``prove`` does without nodeFit, which the scheduler's own rules replace."""
    return without_node_fit(policy) if placement == Placement.PROVE else policy


def steering_of(asked: SteeringMode | None, policy: Policy) -> SteeringMode:
    """How replacements are brought to their targets in a plan: as asked for, else as the policy says, else not at all."""
    wanted = policy.restow.steering
    return asked or (SteeringMode.NONE if wanted == SteeringSetting.AUTO else SteeringMode(wanted))


def decided(
    cluster: Cluster,
    policy: Policy,
    placement: Placement,
    now: int,
    profiles: Iterable[SchedulerProfile],
    *,
    steering: SteeringMode = SteeringMode.NONE,
    prior_evictions: Iterable[PriorEviction] = (),
    excluded: Mapping[str, Reason] = MappingProxyType({}),
) -> Cycle:
    """Decide one cycle with a placement and all registered strategies. Errors are those of ``run_cycle``.

    ``profiles`` are those of the cluster's schedulers, and ``steering`` how replacements can be brought to their targets;
    only a proof asks for either.
    """
    if placement == Placement.PROVE:
        return prove_cycle(
            cluster,
            policy,
            strategies(),
            now,
            profiles,
            steering=steering,
            prior_evictions=prior_evictions,
            excluded=excluded,
        )
    return run_cycle(cluster, policy, strategies(), now, prior_evictions=prior_evictions, excluded=excluded)
