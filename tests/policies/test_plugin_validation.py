"""Upstream's validation tables of the ten strategies, through the policy loader.

Ids are the rows of upstream's ``validation_test.go`` files; an empty list of texts means that the policy is accepted.
"""

from __future__ import annotations

import pytest

from builders.policies import PLUGINS, a_config, a_policy, a_profile, as_yaml, strategy_policy
from restow.policies.load import load_policy, validate_policy

BOTH_NAMESPACES = {"include": ["default"], "exclude": ["kube-system"]}
ONE_OF_NAMESPACES = "only one of Include/Exclude namespaces can be set"
BAD_SELECTOR = {"matchExpressions": [{"key": "", "operator": "In", "values": []}]}
BAD_SELECTOR_TEXT = "failed to get label selectors from strategy's params: "
STATES = (
    "states must be one of [Completed ContainerCannotRun ContainerCreating CrashLoopBackOff "
    "CreateContainerConfigError CreateContainerError DeadlineExceeded ErrImagePull Error Evicted Failed "
    "ImagePullBackOff InvalidImageName NodeAffinity NodeLost OOMKilled Pending PodInitializing Running Shutdown "
    "StartError Succeeded UnexpectedAdmissionError Unknown]"
)
NO_CRITERION = (
    "at least one filtering criterion must be specified (maxPodLifeTimeSeconds, states, conditions, or exitCodes)"
)
WITH_NAMESPACES = {
    "RemoveDuplicates": {},
    "PodLifeTime": {"maxPodLifeTimeSeconds": 1},
    "RemoveFailedPods": {},
    "RemovePodsHavingTooManyRestarts": {"podRestartThreshold": 1},
    "RemovePodsViolatingInterPodAntiAffinity": {},
    "RemovePodsViolatingNodeAffinity": {"nodeAffinityType": ["requiredDuringSchedulingIgnoredDuringExecution"]},
    "RemovePodsViolatingNodeTaints": {},
    "RemovePodsViolatingTopologySpreadConstraint": {},
}
WITH_LABELS = {name: args for name, args in WITH_NAMESPACES.items() if name != "RemoveDuplicates"}


def texts(plugin, args):
    """The errors about a policy that runs the plugin with these arguments, without the prefix every one has."""
    found = validate_policy(as_yaml(strategy_policy(plugin, args)), "p.yaml", PLUGINS)
    return [finding.message.removeprefix("in profile P: ") for finding in found]


@pytest.mark.parametrize("plugin", WITH_NAMESPACES)
class TestNamespaces:
    def test_included_names_are_accepted(self, plugin):
        assert texts(plugin, WITH_NAMESPACES[plugin] | {"namespaces": {"include": ["default"]}}) == []

    def test_included_and_excluded_names_are_refused(self, plugin):
        assert texts(plugin, WITH_NAMESPACES[plugin] | {"namespaces": BOTH_NAMESPACES}) == [ONE_OF_NAMESPACES]


@pytest.mark.parametrize("plugin", WITH_LABELS)
class TestLabelSelector:
    def test_a_label_is_accepted(self, plugin):
        selector = {"matchLabels": {"role.kubernetes.io/node": ""}}
        assert texts(plugin, WITH_LABELS[plugin] | {"labelSelector": selector}) == []

    def test_an_unusable_requirement_is_refused(self, plugin):
        (text,) = texts(plugin, WITH_LABELS[plugin] | {"labelSelector": BAD_SELECTOR})
        assert text.startswith(BAD_SELECTOR_TEXT)


def test_rd_v1_excluded_owner_kinds_go_with_namespaces():
    assert texts("RemoveDuplicates", {"excludeOwnerKinds": ["Job"], "namespaces": {"include": ["default"]}}) == []


def low(thresholds, targets, **more):
    return {"thresholds": thresholds, "targetThresholds": targets} | more


def metrics(**utilisation):
    return low({"cpu": 20}, {"cpu": 80}, metricsUtilization=utilisation)


OUT_OF_RANGE = "thresholds config is not valid: memory threshold not in [0, 100] range"
DIFFERENT = "thresholds and targetThresholds configured different resources"


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param(low({"cpu": 20, "memory": 120}, {"cpu": 80, "memory": 80}), [OUT_OF_RANGE], id="LV-01"),
        pytest.param(low({"cpu": 20, "memory": 20}, {"cpu": 80, "memory": 80, "pods": 80}), [DIFFERENT], id="LV-02"),
        pytest.param(low({"cpu": 20, "memory": 20}, {"cpu": 80, "pods": 80}), [DIFFERENT], id="LV other resource"),
        pytest.param(
            low({"cpu": 90}, {"cpu": 80}),
            ["thresholds' cpu percentage is greater than targetThresholds'"],
            id="LV-04",
        ),
        pytest.param(low({"cpu": 90}, {"cpu": 80}, useDeviationThresholds=True), [], id="LV-04 as deviation"),
        pytest.param(
            {},
            [
                "thresholds config is not valid: no resource threshold is configured",
                "targetThresholds config is not valid: no resource threshold is configured",
            ],
            id="LV no thresholds",
        ),
        pytest.param(
            {"thresholds": {"cpu": 20}},
            ["targetThresholds config is not valid: no resource threshold is configured"],
            id="LV no targets",
        ),
        pytest.param(
            low({"cpu": 20}, {"cpu": 101}),
            ["targetThresholds config is not valid: cpu threshold not in [0, 100] range"],
            id="LV target out of range",
        ),
        pytest.param(low({"cpu": 20, "memory": 20}, {"cpu": 80, "memory": 80}), [], id="LV-09"),
        pytest.param(
            low({"cpu": 20, "memory": 20, "example.com/foo": 20}, {"cpu": 80, "memory": 80, "example.com/foo": 80}),
            [],
            id="LV-10",
        ),
        pytest.param(low({"cpu": 20.5}, {"cpu": 50.25}), [], id="X-81"),
        pytest.param(
            metrics(source="KubernetesMetrics", metricsServer=True),
            ['it is not allowed to set both "KubernetesMetrics" source and metricsServer'],
            id="LV source and metricsServer",
        ),
        pytest.param(
            metrics(source="Prometheus"),
            ['prometheus query is required when metrics source is set to "Prometheus"'],
            id="LV-12",
        ),
        pytest.param(
            metrics(source="KubernetesMetrics", prometheus={}),
            ['prometheus configuration is not allowed to set when source is set to "KubernetesMetrics"'],
            id="LV-13",
        ),
        pytest.param(metrics(metricsServer=True), [], id="LV metrics server"),
        pytest.param(metrics(source="Unheard"), [], id="LV unknown source"),
        pytest.param(
            low({"cpu": 20}, {"cpu": 80}, evictableNamespaces={"include": ["a"]}),
            ["only Exclude namespaces can be set, inclusion is not supported"],
            id="LV included namespaces",
        ),
        pytest.param(low({"cpu": 20}, {"cpu": 80}, evictableNamespaces={"exclude": ["a"]}), [], id="LV excluded"),
        pytest.param(
            low({"memory": 101}, {"cpu": 80}, evictableNamespaces={"include": ["a"]}),
            ["only Exclude namespaces can be set, inclusion is not supported", OUT_OF_RANGE],
            id="LV every failure is told",
        ),
    ],
)
def test_low_node_utilization(args, expected):
    assert texts("LowNodeUtilization", args) == expected


MODE = ["OnlyThresholdingResources"]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param({"thresholds": {"cpu": 80, "memory": 90}, "evictionModes": MODE}, [], id="HV-01"),
        pytest.param({"thresholds": {"cpu": 85, "example.com/foo": 95}}, [], id="HV-02"),
        pytest.param({"thresholds": {}}, ["no resource threshold is configured"], id="HV-03"),
        pytest.param({"thresholds": {"cpu": -1}}, ["cpu threshold not in [0, 100] range"], id="HV-04"),
        pytest.param({"thresholds": {"memory": 101}}, ["memory threshold not in [0, 100] range"], id="HV-05"),
        pytest.param(
            {"thresholds": {"cpu": 50, "memory": 150}}, ["memory threshold not in [0, 100] range"], id="HV-06"
        ),
        pytest.param({"thresholds": {"cpu": 80}, "evictableNamespaces": {"exclude": ["a"]}}, [], id="HV-07"),
        pytest.param(
            {"thresholds": {"cpu": 80}, "evictionModes": ["InvalidMode"]},
            ["invalid eviction mode InvalidMode"],
            id="HV-08",
        ),
        pytest.param({"thresholds": {"cpu": 80}, "evictionModes": None}, [], id="HV-09"),
        pytest.param({"thresholds": {"cpu": 80}, "evictionModes": []}, [], id="HV-10"),
        pytest.param(
            {"thresholds": {"cpu": 80}, "evictableNamespaces": {"include": ["a"]}},
            ["only Exclude namespaces can be set, inclusion is not supported"],
            id="HV included namespaces",
        ),
    ],
)
def test_high_node_utilization(args, expected):
    assert texts("HighNodeUtilization", args) == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param({"states": ["Running"]}, [], id="PL states only"),
        pytest.param({"conditions": [{"type": "Ready"}]}, [], id="PL conditions only"),
        pytest.param({"maxPodLifeTimeSeconds": 1}, [], id="PL max only"),
        pytest.param({"maxPodLifeTimeSeconds": 0}, [], id="PL max 0"),
        pytest.param({"maxPodLifeTimeSeconds": 1, "states": ["Running"]}, [], id="PL states and max"),
        pytest.param({"states": ["Running"], "conditions": [{"reason": "x"}]}, [], id="PL states and conditions"),
        pytest.param({"exitCodes": [1]}, [], id="PL exit codes only"),
        pytest.param(
            {"conditions": [{"type": "Ready", "minTimeSinceLastTransitionSeconds": 60}]}, [], id="PL condition with min"
        ),
        pytest.param({"conditions": [{"minTimeSinceLastTransitionSeconds": 0}]}, [], id="PL condition with only min"),
        pytest.param({"states": ["Succeeded", "Failed"]}, [], id="PL phases"),
        pytest.param({"states": ["CrashLoopBackOff"]}, [], id="PL reason"),
        pytest.param({}, [NO_CRITERION], id="PL nothing"),
        pytest.param({"ownerKinds": {"include": ["Job"]}}, [NO_CRITERION], id="PL owner kinds are no criterion"),
        pytest.param(
            {"maxPodLifeTimeSeconds": 1, "ownerKinds": {"include": ["Job"], "exclude": ["Pod"]}},
            ["only one of Include/Exclude ownerKinds can be set"],
            id="PL owner kinds",
        ),
        pytest.param({"states": ["NotAState"]}, [STATES], id="PL unknown state"),
        pytest.param({"maxPodLifeTimeSeconds": 1, "states": ["InvalidState"]}, [STATES], id="PL unknown state and max"),
        pytest.param(
            {"conditions": [{}, {"type": "Ready"}]},
            [
                "conditions[0]: at least one of type, status, reason, or minTimeSinceLastTransitionSeconds must be set",
            ],
            id="PL empty condition",
        ),
        pytest.param(
            {"namespaces": BOTH_NAMESPACES, "states": ["x"], "conditions": [{}]},
            [
                ONE_OF_NAMESPACES,
                STATES,
                "conditions[0]: at least one of type, status, reason, or minTimeSinceLastTransitionSeconds must be set",
            ],
            id="PL several, in order",
        ),
    ],
)
def test_pod_life_time(args, expected):
    assert texts("PodLifeTime", args) == expected


THRESHOLD = "invalid PodsHavingTooManyRestarts threshold"
RESTART_STATES = "states must be one of [CrashLoopBackOff Running]"


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param({"podRestartThreshold": 1, "states": ["Running"]}, [], id="TR running"),
        pytest.param({"podRestartThreshold": 1, "states": ["CrashLoopBackOff"]}, [], id="TR crash loop"),
        pytest.param({"podRestartThreshold": 0}, [THRESHOLD], id="TR threshold"),
        pytest.param({"podRestartThreshold": 1, "states": ["Failed"]}, [RESTART_STATES], id="TR state"),
        pytest.param({"podRestartThreshold": 0, "states": ["Failed"]}, [THRESHOLD, RESTART_STATES], id="TR both"),
        pytest.param(None, [THRESHOLD], id="X-79"),
    ],
)
def test_too_many_restarts(args, expected):
    assert texts("RemovePodsHavingTooManyRestarts", args) == expected


NO_TYPE = "nodeAffinityType needs to be set"


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param(None, [NO_TYPE], id="X-80"),
        pytest.param({"nodeAffinityType": []}, [NO_TYPE], id="NA empty"),
        pytest.param({"nodeAffinityType": ["anything"]}, [], id="NA types are not checked"),
        pytest.param({"namespaces": BOTH_NAMESPACES}, [NO_TYPE, ONE_OF_NAMESPACES], id="NA both, type first"),
    ],
)
def test_node_affinity(args, expected):
    assert texts("RemovePodsViolatingNodeAffinity", args) == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param({"excludedTaints": ["testTaint1=test1"]}, [], id="NT excluded"),
        pytest.param({"includedTaints": ["testTaint1=test1"]}, [], id="NT included"),
        pytest.param(
            {"excludedTaints": ["a"], "includedTaints": ["b"]},
            ["either includedTaints or excludedTaints can be set, but not both"],
            id="NT both",
        ),
        pytest.param({"excludedTaints": ["a"], "includedTaints": []}, [], id="NT empty list beside"),
    ],
)
def test_node_taints(args, expected):
    assert texts("RemovePodsViolatingNodeTaints", args) == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param({"constraints": ["DoNotSchedule", "ScheduleAnyway"]}, [], id="TS both"),
        pytest.param(
            {"constraints": ["foo"]},
            ["constraint foo is not one of DoNotSchedule, ScheduleAnyway"],
            id="TS unknown",
        ),
    ],
)
def test_topology_spread(args, expected):
    assert texts("RemovePodsViolatingTopologySpreadConstraint", args) == expected


def test_every_entry_is_validated_even_if_it_is_never_used():
    """Entries of plugins that are not enabled, and those after the first of a name."""
    policy = a_policy(
        a_profile(
            a_config("PodLifeTime", {"maxPodLifeTimeSeconds": 1}),
            a_config("PodLifeTime"),
            a_config("RemovePodsHavingTooManyRestarts"),
            deschedule=["PodLifeTime"],
        )
    )

    found = validate_policy(as_yaml(policy), "p.yaml", PLUGINS)

    assert [finding.message for finding in found] == [f"in profile P: {NO_CRITERION}", f"in profile P: {THRESHOLD}"]


def args_of(policy, plugin):
    return load_policy(as_yaml(policy), "p.yaml", PLUGINS).policy.profiles[0].args[plugin]


def test_x_75_failed_pods_get_an_hour_by_default():
    assert args_of(strategy_policy("RemoveFailedPods"), "RemoveFailedPods").min_pod_lifetime_seconds == 3600


def test_failed_pods_get_no_time_if_the_policy_says_so():
    policy = strategy_policy("RemoveFailedPods", {"minPodLifetimeSeconds": 0})
    assert args_of(policy, "RemoveFailedPods").min_pod_lifetime_seconds == 0


def test_x_78_an_empty_list_of_included_taints_is_not_an_absent_one():
    name = "RemovePodsViolatingNodeTaints"
    assert args_of(strategy_policy(name, {"includedTaints": []}), name).included_taints == ()
    assert args_of(strategy_policy(name, {}), name).included_taints is None


@pytest.mark.parametrize(
    ("args", "constraints", "fit"),
    [
        (None, ("DoNotSchedule",), True),
        ({"constraints": []}, ("DoNotSchedule",), True),
        ({"constraints": ["ScheduleAnyway"], "topologyBalanceNodeFit": False}, ("ScheduleAnyway",), False),
    ],
    ids=["absent", "empty", "given"],
)
def test_defaults_of_topology_spread(args, constraints, fit):
    name = "RemovePodsViolatingTopologySpreadConstraint"

    decoded = args_of(strategy_policy(name, args), name)

    assert (decoded.constraints, decoded.topology_balance_node_fit) == (constraints, fit)
