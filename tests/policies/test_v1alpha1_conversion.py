"""descheduler/v1alpha1: the conversion of every strategy and parameter."""

from __future__ import annotations

import pytest

from builders.policies import PLUGINS, an_old_policy, as_yaml
from restow.documents.yaml_text import write_yaml
from restow.policies.load import load_policy, read_policy_document
from restow.policies.v1alpha1 import convert
from restow.policies.v1alpha1_strategies import STRATEGIES

LABELS = {"matchLabels": {"a": "b"}}
BOTH = {"namespaces": {"include": ["x"]}, "labelSelector": LABELS}
CPU_LOW, CPU_HIGH = {"cpu": 20, "memory": 20.5}, {"cpu": 50, "memory": 60}


def converted(policy):
    return convert(read_policy_document(as_yaml(policy), "old.yaml"))


def profile_of(name, params=None, **settings):
    (profile,) = converted(an_old_policy({name: {"enabled": True, "params": params or {}}}, **settings))["profiles"]
    return profile


def args_of(name, params):
    """The arguments of the strategy's plugin, the second entry; the first is the evictor's."""
    return profile_of(name, params)["pluginConfig"][1].get("args", {})


@pytest.mark.parametrize(
    ("name", "params", "args"),
    [
        pytest.param("RemoveDuplicates", {}, {}, id="RemoveDuplicates"),
        pytest.param(
            "RemoveDuplicates",
            {"namespaces": {"exclude": ["x"]}, "removeDuplicates": {"excludeOwnerKinds": ["ReplicaSet"]}},
            {"namespaces": {"exclude": ["x"]}, "excludeOwnerKinds": ["ReplicaSet"]},
            id="RemoveDuplicates all",
        ),
        pytest.param("RemoveDuplicates", {"labelSelector": LABELS}, {}, id="RemoveDuplicates drops labels"),
        pytest.param(
            "LowNodeUtilization",
            {"nodeResourceUtilizationThresholds": {"thresholds": CPU_LOW, "targetThresholds": CPU_HIGH}},
            {"thresholds": CPU_LOW, "targetThresholds": CPU_HIGH},
            id="LowNodeUtilization",
        ),
        pytest.param(
            "LowNodeUtilization",
            {
                "namespaces": {"exclude": ["x"]},
                "labelSelector": LABELS,
                "nodeResourceUtilizationThresholds": {
                    "thresholds": CPU_LOW,
                    "targetThresholds": CPU_HIGH,
                    "useDeviationThresholds": True,
                    "numberOfNodes": 3,
                },
            },
            {
                "evictableNamespaces": {"exclude": ["x"]},
                "thresholds": CPU_LOW,
                "targetThresholds": CPU_HIGH,
                "useDeviationThresholds": True,
                "numberOfNodes": 3,
            },
            id="LowNodeUtilization all",
        ),
        pytest.param(
            "HighNodeUtilization",
            {
                "namespaces": {"exclude": ["x"]},
                "nodeResourceUtilizationThresholds": {
                    "thresholds": CPU_LOW,
                    "targetThresholds": CPU_HIGH,
                    "useDeviationThresholds": True,
                    "numberOfNodes": 3,
                },
            },
            {"evictableNamespaces": {"exclude": ["x"]}, "thresholds": CPU_LOW, "numberOfNodes": 3},
            id="HighNodeUtilization all, targets are dropped",
        ),
        pytest.param(
            "PodLifeTime",
            BOTH | {"podLifeTime": {"maxPodLifeTimeSeconds": 5, "states": ["b"], "podStatusPhases": ["a"]}},
            BOTH | {"maxPodLifeTimeSeconds": 5, "states": ["a", "b"]},
            id="PodLifeTime all, phases before states",
        ),
        pytest.param(
            "PodLifeTime",
            {"podLifeTime": {"maxPodLifeTimeSeconds": 0}},
            {"maxPodLifeTimeSeconds": 0},
            id="PodLifeTime 0",
        ),
        pytest.param(
            "PodLifeTime", {"maxPodLifeTimeSeconds": 5}, {"maxPodLifeTimeSeconds": 5}, id="PodLifeTime of v0.18"
        ),
        pytest.param(
            "PodLifeTime",
            {"maxPodLifeTimeSeconds": 5, "podLifeTime": {"maxPodLifeTimeSeconds": 6}},
            {"maxPodLifeTimeSeconds": 6},
            id="PodLifeTime of v0.18 and v0.20",
        ),
        pytest.param(
            "RemoveFailedPods",
            BOTH
            | {
                "failedPods": {
                    "excludeOwnerKinds": ["Job"],
                    "minPodLifetimeSeconds": 0,
                    "reasons": ["NodeAffinity"],
                    "includingInitContainers": True,
                }
            },
            BOTH
            | {
                "excludeOwnerKinds": ["Job"],
                "minPodLifetimeSeconds": 0,
                "reasons": ["NodeAffinity"],
                "includingInitContainers": True,
            },
            id="RemoveFailedPods all",
        ),
        pytest.param(
            "RemovePodsHavingTooManyRestarts",
            BOTH | {"podsHavingTooManyRestarts": {"podRestartThreshold": 100, "includingInitContainers": True}},
            BOTH | {"podRestartThreshold": 100, "includingInitContainers": True},
            id="RemovePodsHavingTooManyRestarts all",
        ),
        pytest.param("RemovePodsViolatingInterPodAntiAffinity", BOTH, BOTH, id="InterPodAntiAffinity all"),
        pytest.param(
            "RemovePodsViolatingNodeAffinity",
            BOTH | {"nodeAffinityType": ["requiredDuringSchedulingIgnoredDuringExecution"]},
            BOTH | {"nodeAffinityType": ["requiredDuringSchedulingIgnoredDuringExecution"]},
            id="NodeAffinity all",
        ),
        pytest.param(
            "RemovePodsViolatingNodeTaints",
            BOTH | {"includePreferNoSchedule": True, "excludedTaints": ["a=b"], "includedTaints": ["c"]},
            BOTH | {"includePreferNoSchedule": True, "excludedTaints": ["a=b"]},
            id="NodeTaints all, includedTaints are dropped",
        ),
        pytest.param(
            "RemovePodsViolatingTopologySpreadConstraint",
            BOTH,
            BOTH | {"constraints": ["DoNotSchedule"], "topologyBalanceNodeFit": True},
            id="TopologySpread hard",
        ),
        pytest.param(
            "RemovePodsViolatingTopologySpreadConstraint",
            {"includeSoftConstraints": True},
            {"constraints": ["DoNotSchedule", "ScheduleAnyway"], "topologyBalanceNodeFit": True},
            id="TopologySpread soft",
        ),
    ],
)
def test_parameters_become_arguments(name, params, args):
    assert args_of(name, params) == args


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_becomes_a_profile_of_its_own(name):
    profile = profile_of(name, {"maxPodLifeTimeSeconds": 1})

    assert profile["name"] == f"strategy-{name}-profile"
    assert [config["name"] for config in profile["pluginConfig"]] == ["DefaultEvictor", name]
    (point,) = PLUGINS[name].extension_points
    assert profile["plugins"] == {point: {"enabled": [name]}}


class TestEvictor:
    @pytest.mark.parametrize(
        "key",
        [
            "evictLocalStoragePods",
            "evictSystemCriticalPods",
            "ignorePvcPods",
            "evictFailedBarePods",
            "evictDaemonSetPods",
        ],
    )
    def test_global_switches_move_into_every_profile(self, key):
        strategies = {name: {"enabled": True} for name in ("RemoveDuplicates", "RemoveFailedPods")}
        for value, expected in ((True, {"args": {key: True}}), (False, {})):
            document = converted(an_old_policy(strategies, **{key: value}))
            evictors = [profile["pluginConfig"][0] for profile in document["profiles"]]
            assert evictors == [{"name": "DefaultEvictor"} | expected] * 2

    def test_node_fit_moves_there_too(self):
        assert profile_of("RemoveDuplicates", {"nodeFit": True})["pluginConfig"][0]["args"] == {"nodeFit": True}

    def test_pod_life_time_never_had_node_fit(self):
        assert "args" not in profile_of("PodLifeTime", {"nodeFit": True, "maxPodLifeTimeSeconds": 1})["pluginConfig"][0]

    @pytest.mark.parametrize(
        ("params", "threshold"),
        [
            ({"thresholdPriority": 0}, {"value": 0}),
            ({"thresholdPriorityClassName": "high"}, {"name": "high"}),
        ],
        ids=["value", "class"],
    )
    def test_the_priority_threshold_moves_there_too(self, params, threshold):
        (evictor, _) = profile_of("RemoveDuplicates", params)["pluginConfig"]
        assert evictor["args"] == {"priorityThreshold": threshold}


def test_global_settings_keep_their_names():
    settings = {"nodeSelector": "a=b", "maxNoOfPodsToEvictPerNode": 0, "maxNoOfPodsToEvictPerNamespace": 2}
    document = converted(an_old_policy({}, **settings, maxNoOfPodsToEvictTotal=5, restow={"placement": "prove"}))
    header = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}
    assert document == header | settings | {"profiles": [], "restow": {"placement": "prove"}}


def test_profiles_are_sorted_and_disabled_strategies_vanish():
    document = converted(
        an_old_policy(
            {
                "RemoveFailedPods": {"enabled": True},
                "PodLifeTime": {
                    "enabled": False,
                    "params": {"thresholdPriority": 1, "thresholdPriorityClassName": "a"},
                },
                "RemoveDuplicates": {"enabled": True},
                "LowNodeUtilization": {"params": {}},
            }
        )
    )
    names = [profile["name"] for profile in document["profiles"]]
    assert names == ["strategy-RemoveDuplicates-profile", "strategy-RemoveFailedPods-profile"]


@pytest.mark.parametrize("absent", [None, {}], ids=["null", "empty"])
def test_no_strategies_are_no_profiles(absent):
    assert converted(an_old_policy(absent))["profiles"] == []


def test_the_policy_of_february_2020():
    """The example of v0.10: five strategies, thresholds, one affinity type."""
    text = b"""
apiVersion: "descheduler/v1alpha1"
kind: "DeschedulerPolicy"
strategies:
  "RemoveDuplicates":
     enabled: true
  "LowNodeUtilization":
     enabled: true
     params:
       nodeResourceUtilizationThresholds:
         thresholds:
           "cpu" : 20
           "memory": 20
           "pods": 20
         targetThresholds:
           "cpu" : 50
           "memory": 50
           "pods": 50
         numberOfNodes: 1
  "RemovePodsViolatingInterPodAntiAffinity":
     enabled: true
  "RemovePodsViolatingNodeAffinity":
    enabled: true
    params:
      nodeAffinityType:
      - "requiredDuringSchedulingIgnoredDuringExecution"
  "RemovePodsViolatingNodeTaints":
    enabled: false
"""

    policy = load_policy(text, "old.yaml", PLUGINS).policy

    assert [profile.deschedule + profile.balance for profile in policy.profiles] == [
        ("LowNodeUtilization",),
        ("RemoveDuplicates",),
        ("RemovePodsViolatingInterPodAntiAffinity",),
        ("RemovePodsViolatingNodeAffinity",),
    ]
    assert policy.profiles[0].args["LowNodeUtilization"].number_of_nodes == 1


def test_what_is_converted_and_written_loads_as_the_same_policy():
    old = an_old_policy(
        {
            "RemoveFailedPods": {"enabled": True, "params": BOTH | {"thresholdPriorityClassName": "yes"}},
            "RemovePodsViolatingTopologySpreadConstraint": {"enabled": True, "params": {"nodeFit": True}},
        },
        nodeSelector="a in (y, n)",
        evictLocalStoragePods=True,
    )

    written = write_yaml(converted(old)).encode()

    new = load_policy(written, "new.yaml", PLUGINS)
    assert new.policy == load_policy(as_yaml(old), "old.yaml", PLUGINS).policy
    assert new.version == "descheduler/v1alpha2"
    assert new.warnings == ()
