"""A policy with one thing changed."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from restow.descheduling.evictor_args import DEFAULT_PROTECTIONS, EXTRA_PROTECTIONS, DefaultEvictorArgs
from restow.descheduling.placement import PluginRef
from restow.descheduling.protections import effective_protections
from restow.policies.policy import Policy, Profile
from restow.policies.schema import DEFAULT_EVICTOR


def with_evictor(policy: Policy, profile: str, **changed: Any) -> Policy:
    """A policy whose evictor has other arguments in one profile."""
    return _with_args(policy, profile, DEFAULT_EVICTOR, changed)


def without_protection(policy: Policy, profile: str, name: str) -> Policy:
    """A policy whose evictor lacks one of the named protections in one profile."""
    args: DefaultEvictorArgs = next(each for each in policy.profiles if each.name == profile).args[DEFAULT_EVICTOR]
    holding = effective_protections(args) - {name}
    protections = structs.replace(
        args.pod_protections,
        default_disabled=tuple(each for each in DEFAULT_PROTECTIONS if each not in holding),
        extra_enabled=tuple(each for each in EXTRA_PROTECTIONS if each in holding),
    )
    return with_evictor(
        policy,
        profile,
        pod_protections=protections,
        evict_local_storage_pods=False,
        evict_daemon_set_pods=False,
        evict_system_critical_pods=False,
        evict_failed_bare_pods=False,
        ignore_pvc_pods=False,
        ignore_pods_without_pdb=False,
    )


def with_own_limit(policy: Policy, ref: PluginRef, limit: int) -> Policy:
    """A policy with which a strategy may take so many pods off a node."""
    profile = next(each for each in policy.profiles if each.name == ref.profile)
    own = structs.replace(profile.args[ref.plugin].eviction_limits, node=limit)
    return _with_args(policy, ref.profile, ref.plugin, {"eviction_limits": own})


def _with_args(policy: Policy, name: str, plugin: str, changed: dict[str, Any]) -> Policy:
    return structs.replace(
        policy,
        profiles=tuple(
            _changed(profile, plugin, changed) if profile.name == name else profile for profile in policy.profiles
        ),
    )


def _changed(profile: Profile, plugin: str, changed: dict[str, Any]) -> Profile:
    return structs.replace(profile, args=profile.args | {plugin: structs.replace(profile.args[plugin], **changed)})
