"""What the plugins of profiles say of waiting pods, gathered."""

from __future__ import annotations

from typing import get_args

import pytest

from builders.entry_points import entry_points, offering
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile, default_points, queueing_rules
from restow.scheduling.configuration.registry import IN_TREE
from restow.scheduling.framework.declaration import Point, SchedulerPlugin
from restow.scheduling.framework.requeueing import Action, ClusterEvent, NodeFacts, PodFacts, Resource
from restow.scheduling.queueing.queued_pods import QueuedPod
from scheduling.configurations import a_configuration, a_profile, a_set, loaded, the_profile

#: Where kube-scheduler's plugins can reject pods.
REJECTING = ("preEnqueue", "preFilter", "filter")


def rejected(plugin, scheduler="default-scheduler"):
    return QueuedPod(PodFacts(uid="p", scheduler=scheduler), 0, added=0, since=0, rejected_by=frozenset({plugin}))


@pytest.mark.parametrize("name", IN_TREE)
def test_every_plugin_that_can_reject_a_pod_says_what_helps(name):
    """With words for each, but for what upstream adds."""
    plugin = IN_TREE[name]
    if plugin.not_modelled or not set(REJECTING) & set(plugin.points):
        return
    assert plugin.interests is not None
    for interest in plugin.interests:
        assert interest.words


def test_a_plugin_of_a_package_that_does_not_say_what_helps_is_helped_by_anything():
    own = SchedulerPlugin("Own", ("filter",), lambda _context, _args: None)
    with entry_points(offering("Own", own)):
        rules = queueing_rules([the_profile(multiPoint=a_set("Own"))])
        for resource in Resource:
            assert rules.helps(ClusterEvent(resource, Action.UPDATE), rejected("Own"))


def test_hints_get_what_the_profile_sets_their_plugin_to():
    added = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
        }
    }
    (profile,) = loaded(a_configuration(a_profile("mine", args={"NodeAffinity": {"addedAffinity": added}}))).profiles
    rules = queueing_rules([DEFAULT_PROFILE, profile])
    event = ClusterEvent(Resource.NODE, Action.ADD, new=NodeFacts(name="n"))
    assert rules.helps(event, rejected("NodeAffinity"))
    assert not rules.helps(event, rejected("NodeAffinity", "mine"))


@pytest.mark.parametrize("point", get_args(Point))
def test_only_plugins_at_pre_enqueue_hold_pods(point):
    points = dict.fromkeys(default_points(), ()) | {point: ("SchedulingGates",)}
    rules = queueing_rules([SchedulerProfile(plugins=points)])
    gated = QueuedPod(PodFacts(uid="p", gates=("g",)), 0, added=0, since=0)
    assert rules.gate(gated) == ("SchedulingGates" if point == "preEnqueue" else "")
