"""Queueing rules of profiles, gathered from the declarations of their plugins."""

from __future__ import annotations

from collections.abc import Container, Iterable

from restow.scheduling.configuration.profile_plugins import arguments_of
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.scheduling.configuration.registry import plugin
from restow.scheduling.framework.requeueing import registered
from restow.scheduling.queueing.rules import ProfileRules, QueueingRules


def queueing_rules(profiles: Iterable[SchedulerProfile], preempting: Container[str] = ()) -> QueueingRules:
    """The rules of a queue that serves these profiles; ``preempting`` has the uids of the pods whose victims are being deleted."""
    return QueueingRules({profile.name: _rules(profile) for profile in profiles}, preempting)


def _rules(profile: SchedulerProfile) -> ProfileRules:
    names = dict.fromkeys(name for names in profile.plugins.values() for name in names)
    gates = ((name, plugin(name).pre_enqueue) for name in profile.plugins["preEnqueue"])
    return ProfileRules(
        interests={name: registered(plugin(name).interests) for name in names},
        arguments={name: arguments_of(profile, plugin(name)) for name in names},
        pre_enqueue={name: gate for name, gate in gates if gate is not None},
    )
