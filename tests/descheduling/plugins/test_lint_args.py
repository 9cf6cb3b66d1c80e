"""Lint of plugin arguments: DefaultEvictor and the strategies that do not measure utilisation."""

from __future__ import annotations

import pytest

from builders.policies import PLUGINS, a_config, a_policy, a_profile, as_yaml, strategy_policy
from restow.policies.lint import lint_policy


def of_args(plugin, args, **settings):
    """Findings about the arguments of the only plugin, with paths from there on."""
    start = "profiles[0].pluginConfig[0].args."
    found = lint_policy(as_yaml(strategy_policy(plugin, args, **settings)), "p.yaml", PLUGINS)
    return [
        f"{finding.severity}: {finding.path.removeprefix(start)}: {finding.advice}"
        for finding in found
        if finding.path.startswith(start)
    ]


def of_evictor(args):
    profile = a_profile(a_config("DefaultEvictor", args), a_config("RemoveDuplicates"), balance=["RemoveDuplicates"])
    found = lint_policy(as_yaml(a_policy(profile)), "p.yaml", PLUGINS)
    start = "profiles[0].pluginConfig[0].args."
    return [f"{finding.severity}: {finding.path.removeprefix(start)}: {finding.advice}" for finding in found]


class TestDefaultEvictor:
    @pytest.mark.parametrize(
        ("key", "replacement"),
        [
            ("evictLocalStoragePods", "defaultDisabled: [PodsWithLocalStorage]"),
            ("evictDaemonSetPods", "defaultDisabled: [DaemonSetPods]"),
            ("evictSystemCriticalPods", "defaultDisabled: [SystemCriticalPods]"),
            ("evictFailedBarePods", "defaultDisabled: [FailedBarePods]"),
            ("ignorePvcPods", "extraEnabled: [PodsWithPVC]"),
            ("ignorePodsWithoutPDB", "extraEnabled: [PodsWithoutPDB]"),
        ],
    )
    def test_deprecated_switches(self, key, replacement):
        assert of_evictor({key: True}) == [f"note: {key}: {key} is deprecated; write podProtections: {replacement}"]

    @pytest.mark.parametrize(
        "args", [{"podProtections": {"defaultDisabled": ["SystemCriticalPods"]}}, {"evictSystemCriticalPods": True}]
    )
    def test_a_threshold_without_its_protection(self, args):
        assert of_evictor(args | {"priorityThreshold": {"value": 5}})[-1] == (
            "warning: priorityThreshold: priorityThreshold is ignored: "
            "it is part of the protection SystemCriticalPods, which is disabled"
        )

    def test_storage_classes_without_their_protection(self):
        config = {"config": {"PodsWithPVC": {"protectedStorageClasses": [{"name": "gold"}]}}}
        assert of_evictor({"podProtections": config}) == [
            "warning: podProtections.config: config has no effect: PodsWithPVC is not in extraEnabled"
        ]
        assert of_evictor({"podProtections": config | {"extraEnabled": ["PodsWithPVC"]}}) == []

    def test_one_replica(self):
        assert of_evictor({"minReplicas": 1}) == [
            "warning: minReplicas: minReplicas: 1 checks nothing; it works from 2 on"
        ]

    def test_no_age(self):
        assert of_evictor({"minPodAge": "-5m"}) == [
            "note: minPodAge: minPodAge protects nothing unless it is more than 0"
        ]

    def test_a_node_selector_without_node_fit(self):
        assert of_evictor({"nodeSelector": "a=b"}) == [
            (
                "warning: nodeSelector: nodeSelector only restricts where nodeFit looks, and nodeFit is off; "
                "the policy's own nodeSelector chooses the nodes to work on"
            )
        ]

    def test_a_node_selector_that_cannot_be_read(self):
        (text,) = of_evictor({"nodeSelector": "a in b", "nodeFit": True})
        assert text.startswith("warning: nodeSelector: with nodeFit no pod is ever evicted: unable to parse")


@pytest.mark.parametrize(
    ("plugin", "args", "expected"),
    [
        pytest.param(
            "PodLifeTime",
            {"maxPodLifeTimeSeconds": 0},
            ["note: maxPodLifeTimeSeconds: 0 seconds: every pod is too old after one second"],
            id="no life time",
        ),
        pytest.param(
            "PodLifeTime",
            {"maxPodLifeTimeSeconds": 5, "includingInitContainers": True, "includingEphemeralContainers": True},
            [
                "note: includingInitContainers: includingInitContainers has no effect without states or exitCodes",
                "note: includingEphemeralContainers: includingEphemeralContainers has no effect without states",
            ],
            id="containers of no state",
        ),
        pytest.param("PodLifeTime", {"exitCodes": [1], "includingInitContainers": True}, [], id="containers"),
        pytest.param(
            "RemoveFailedPods",
            {"includingInitContainers": True},
            ["note: includingInitContainers: includingInitContainers has no effect without reasons or exitCodes"],
            id="containers of no reason",
        ),
        pytest.param(
            "RemovePodsViolatingNodeAffinity",
            {"nodeAffinityType": ["requiredDuringSchedulingIgnoredDuringExecutio"]},
            [
                (
                    'warning: nodeAffinityType[0]: "requiredDuringSchedulingIgnoredDuringExecutio" is skipped in every '
                    'cycle: invalid nodeAffinityType; did you mean "requiredDuringSchedulingIgnoredDuringExecution"?'
                )
            ],
            id="unknown affinity type",
        ),
        pytest.param(
            "RemovePodsViolatingNodeTaints",
            {"includedTaints": []},
            [
                (
                    "warning: includedTaints: an empty includedTaints includes no taint: the strategy does nothing; "
                    "leave the key out for all taints"
                )
            ],
            id="no taint included",
        ),
        pytest.param("RemovePodsViolatingNodeTaints", {"excludedTaints": []}, [], id="no taint excluded"),
    ],
)
def test_arguments_of_other_strategies(plugin, args, expected):
    assert of_args(plugin, args) == expected
