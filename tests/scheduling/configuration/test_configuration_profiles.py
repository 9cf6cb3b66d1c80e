"""Plugin sets merged with the defaults, and arguments with theirs: what a profile runs in the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from restow.scheduling.configuration.profiles import DEFAULT_PROFILE
from scheduling.configurations import (
    HEAD,
    a_configuration,
    a_profile,
    a_set,
    fit,
    loaded,
    spreading,
    the_profile,
    with_args,
)

SCORES = (
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "VolumeBinding",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
)


def arguments(text: str) -> Mapping[str, Any]:
    return loaded(text).profiles[0].arguments


@pytest.mark.parametrize("profiles", [(), ({},), (a_profile(),)], ids=["none", "empty", "empty sets"])
def test_a_configuration_that_says_nothing_is_the_default(profiles):
    assert loaded(a_configuration(*profiles)).profiles == (DEFAULT_PROFILE,)


def test_the_default_profile_is_kube_schedulers():
    assert DEFAULT_PROFILE.plugins["score"] == SCORES
    assert [DEFAULT_PROFILE.weights[name] for name in SCORES] == [3, 2, 1, 1, 2, 2, 2, 1, 1]
    assert DEFAULT_PROFILE.plugins["postFilter"] == ("DynamicResources", "DefaultPreemption")
    assert DEFAULT_PROFILE.plugins["queueSort"] == ("PrioritySort",)
    assert DEFAULT_PROFILE.plugins["filter"][:4] == ("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity")
    assert DEFAULT_PROFILE.plugins["filter"][-1] == "NodeDeclaredFeatures"


def test_a_plugin_disabled_at_all_points_runs_nowhere():
    profile = the_profile(multiPoint=a_set(off=("NodeAffinity",)))
    assert not any("NodeAffinity" in names for names in profile.plugins.values())


def test_a_plugin_disabled_at_one_point_runs_at_the_others():
    profile = the_profile(score=a_set(off=("NodeAffinity",)))
    assert not profile.runs("NodeAffinity", "score")
    assert profile.runs("NodeAffinity", "filter")


def test_a_default_enabled_again_keeps_its_place_and_takes_the_weight():
    profile = the_profile(multiPoint=a_set("InterPodAffinity=7"))
    assert profile.plugins["score"] == SCORES
    assert profile.weights["InterPodAffinity"] == 7


@pytest.mark.parametrize("again", ["NodeAffinity", "NodeAffinity=0"])
def test_a_weight_that_is_not_given_is_1_and_not_the_default(again):
    assert the_profile(multiPoint=a_set(again)).weights["NodeAffinity"] == 1


def test_a_disabled_default_enabled_again_goes_to_the_end():
    profile = the_profile(multiPoint=a_set("TaintToleration=3", off=("TaintToleration",)))
    assert profile.plugins["score"] == (*SCORES[1:], "TaintToleration")


def test_all_disabled_leaves_what_is_enabled_in_its_order():
    enabled = ("PrioritySort", "DefaultBinder", "ImageLocality=2", "NodePorts", "NodeAffinity=5")
    profile = the_profile(multiPoint=a_set(*enabled, off=("*",)))
    assert profile.plugins["score"] == ("ImageLocality", "NodeAffinity")
    assert profile.plugins["filter"] == ("NodePorts", "NodeAffinity")
    assert profile.weights == {"ImageLocality": 2, "NodeAffinity": 5}


def test_a_points_own_list_comes_first_and_weighs():
    profile = the_profile(multiPoint=a_set("ImageLocality=4"), score=a_set("ImageLocality=9", "NodeAffinity"))
    others = tuple(name for name in SCORES if name not in ("ImageLocality", "NodeAffinity"))
    assert profile.plugins["score"] == ("ImageLocality", "NodeAffinity", *others)
    assert (profile.weights["ImageLocality"], profile.weights["NodeAffinity"]) == (9, 1)


def test_a_plugin_that_only_the_point_enables_comes_last():
    profile = the_profile(multiPoint=a_set(off=("NodePorts",)), filter=a_set("NodePorts"), preFilter=a_set("NodePorts"))
    assert profile.plugins["filter"][-1] == "NodePorts"


def test_all_disabled_at_a_point_leaves_its_own_list():
    profile = the_profile(score=a_set("ImageLocality", "NodeAffinity=2", off=("*",)))
    assert profile.plugins["score"] == ("ImageLocality", "NodeAffinity")
    assert profile.plugins["filter"] == DEFAULT_PROFILE.plugins["filter"]


def test_a_single_profile_needs_no_name_and_several_have_their_own():
    assert loaded(a_configuration(a_profile("mine"))).profiles[0].name == "mine"
    two = loaded(a_configuration(a_profile("default-scheduler"), a_profile("packing")))
    assert [profile.name for profile in two.profiles] == ["default-scheduler", "packing"]


def test_the_percentage_of_a_profile_goes_before_that_of_all():
    own = a_profile("b") | {"percentageOfNodesToScore": 0}
    profiles = loaded(a_configuration(a_profile("a"), own, percentageOfNodesToScore=70)).profiles
    assert [profile.percentage_of_nodes_to_score for profile in profiles] == [70, 0]


def test_arguments_that_are_not_given_are_defaults():
    assert arguments(with_args("NodeAffinity")) == {}
    assert arguments(fit(type="LeastAllocated")) == {}
    assert arguments(with_args("PodTopologySpread", defaultingType="")) == {}
    assert arguments(with_args("NodeResourcesBalancedAllocation", resources=[])) == {}


def test_a_resource_weight_that_is_not_given_is_1():
    args = arguments(fit(type="MostAllocated", resources=[{"name": "cpu"}, {"name": "memory", "weight": 0}]))
    assert [each.weight for each in args["NodeResourcesFit"].scoring_strategy.resources] == [1, 1]


def test_arguments_are_read():
    text = a_configuration(
        a_profile(
            args={
                "InterPodAffinity": {"hardPodAffinityWeight": 5, "ignorePreferredTermsOfExistingPods": True},
                "NodeResourcesFit": {"ignoredResources": ["example.com/a"], "ignoredResourceGroups": ["example.com"]},
                "DefaultPreemption": {"minCandidateNodesPercentage": 50},
                "VolumeBinding": {"bindTimeoutSeconds": 60},
            }
        )
    )
    args = arguments(text)
    assert args["InterPodAffinity"].hard_pod_affinity_weight == 5
    assert args["InterPodAffinity"].ignore_preferred_terms_of_existing_pods
    assert args["NodeResourcesFit"].ignored_resources == ("example.com/a",)
    assert args["NodeResourcesFit"].ignored_resource_groups == ("example.com",)
    assert arguments(spreading(maxSkew=4))["PodTopologySpread"].default_constraints[0].max_skew == 4


def test_arguments_of_a_plugin_that_does_not_run_are_not_validated():
    """As in kube-scheduler, which validates those of NodeResourcesFit when it makes the plugin."""
    profile = a_profile(args={"NodeResourcesFit": {"scoringStrategy": {}}}, multiPoint=a_set(off=("NodeResourcesFit",)))
    assert loaded(a_configuration(profile)).profiles


def test_yaml_and_json_say_the_same():
    text = "\n".join(f"{key}: {value}" for key, value in HEAD.items())
    text += "\nprofiles:\n- schedulerName: mine\n  plugins: {score: {disabled: [{name: '*'}], enabled: [&a {name: NodeAffinity}]}}\n"
    own = a_configuration(a_profile("mine", score=a_set("NodeAffinity", off=("*",))))
    assert loaded(text) == loaded(own) == loaded(own.replace("\n ", "\n\t"))


@pytest.mark.parametrize(
    "text",
    [
        a_configuration(profiles=None, parallelism=None),
        a_configuration() + "\n",
        a_configuration(profiles=[None]),
        a_configuration(leaderElection={"leaderElect": False}, clientConnection={"qps": 50, "burst": 100}),
        a_configuration(extenders=[]),
        a_configuration({"pluginConfig": [{"name": "NodeAffinity", "args": None}]}),
    ],
    ids=["nulls", "new line", "null profile", "other settings", "no extenders", "null arguments"],
)
def test_what_kube_scheduler_starts_with_is_read(text):
    assert loaded(text).profiles == (DEFAULT_PROFILE,)


@pytest.mark.parametrize(
    "configuration",
    [a_configuration(), a_configuration(a_profile("a"), a_profile("b")), a_configuration(a_profile(score=a_set()))],
    ids=["no profiles", "two profiles", "empty set"],
)
def test_what_a_configuration_does_not_mention_is_not_told(configuration):
    """Plugins that restow does not model run by default, with any configuration and with none."""
    assert loaded(configuration).warnings == ()


@pytest.mark.parametrize(
    ("profile", "warning"),
    [
        pytest.param(
            a_profile(filter=a_set(off=("NodePort",))),
            'profiles[0].plugins.filter.disabled[0]: unknown plugin "NodePort": nothing is disabled; '
            'did you mean "NodePorts"?',
            id="unknown plugin disabled",
        ),
        pytest.param(
            a_profile(args={"CapacityScheduling": {"some": 10}}),
            'profiles[0].pluginConfig[0]: unknown plugin "CapacityScheduling": its arguments are ignored; '
            "it is not one of kube-scheduler's own plugins",
            id="arguments of an unknown plugin",
        ),
        pytest.param(
            a_profile(args={"NodePorts": {"a": 1}}),
            "profiles[0].pluginConfig[0]: NodePorts takes no arguments; these are ignored",
            id="arguments without a use",
        ),
        pytest.param(
            a_profile(score=a_set("DynamicResources=3")),
            "profiles[0].plugins.score.enabled[0]: restow does not model DynamicResources: "
            "extended resources that some nodes have and a DeviceClass serves on others are not known",
            id="not modelled",
        ),
        pytest.param(
            a_profile(reserve=a_set(off=("VolumeBinding",))),
            "profiles[0].plugins.reserve: restow reserves what placed pods take even without VolumeBinding here",
            id="no reserve",
        ),
    ],
)
def test_what_kube_scheduler_passes_over_is_told(profile, warning):
    told = [str(each).partition(": ")[2] for each in loaded(a_configuration(profile)).warnings]
    assert warning in told


def test_further_documents_are_told_of():
    text = "\n".join(f"{key}: {value}" for key, value in HEAD.items()) + "\n---\nfoo: bar\n"
    assert "config.yaml:1: only the first YAML document of a file is read" in map(str, loaded(text).warnings)


BY_LOAD = "LoadVariationRiskBalancing"


@pytest.mark.parametrize("point", ["score", "multiPoint"])
def test_a_plugin_of_another_scheduler_runs_where_it_is_enabled_and_comes_last(point):
    assert BY_LOAD not in DEFAULT_PROFILE.plugins["score"]
    profile = the_profile(**{point: a_set(f"{BY_LOAD}=5")})
    assert profile.plugins["score"] == (*SCORES, BY_LOAD)
    assert profile.weights[BY_LOAD] == 5
    assert not profile.runs(BY_LOAD, "filter")


def test_its_negative_factors_are_the_default():
    args = {"safeVarianceMargin": -1, "safeVarianceSensitivity": -0.5, "guardSeconds": 300}
    found = arguments(with_args(BY_LOAD, **args))[BY_LOAD]
    assert (found.safe_variance_margin, found.safe_variance_sensitivity) == (1.0, 1.0)
    assert (found.window_seconds, found.guard_seconds) == (900, 300)


def test_a_token_in_the_configuration_is_no_part_of_what_plans_show():
    provider = {"type": "Prometheus", "address": "https://p", "token": "hunter2"}
    document = loaded(with_args(BY_LOAD, metricProvider=provider)).document
    assert "hunter2" not in str(document)
    assert "https://p" in str(document)
