"""Scheduler configurations for tests: builders, and the table of those that kube-scheduler refuses."""

from __future__ import annotations

import json
from typing import Any

from restow.scheduling.configuration.load import SchedulerConfiguration, load_scheduler_configuration
from restow.scheduling.configuration.profiles import SchedulerProfile

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def a_configuration(*profiles: dict[str, Any], **settings: Any) -> str:
    """The text of a configuration; a profile is what ``a_profile`` gives."""
    return json.dumps(HEAD | settings | ({"profiles": list(profiles)} if profiles else {}), indent=1)


def a_profile(name: str | None = None, *, args: dict[str, Any] | None = None, **points: Any) -> dict[str, Any]:
    """A profile with plugin sets (``score=a_set(...)``) and arguments by plugin."""
    profile: dict[str, Any] = {"plugins": points}
    if name is not None:
        profile["schedulerName"] = name
    if args is not None:
        profile["pluginConfig"] = [{"name": plugin, "args": each} for plugin, each in args.items()]
    return profile


def a_set(*enabled: str, off: tuple[str, ...] = ()) -> dict[str, Any]:
    """A plugin set: ``a_set("NodeAffinity=5", off=("*",))`` enables NodeAffinity with weight 5 and disables all others."""
    split = (each.partition("=") for each in enabled)
    plugins = [{"name": name} | ({"weight": int(weight)} if weight else {}) for name, _, weight in split]
    return {"enabled": plugins, "disabled": [{"name": name} for name in off]}


def loaded(text: str) -> SchedulerConfiguration:
    return load_scheduler_configuration(text.encode(), "config.yaml")


def the_profile(**points: Any) -> SchedulerProfile:
    """The only profile of a configuration with these plugin sets."""
    (profile,) = loaded(a_configuration(a_profile(**points))).profiles
    return profile


#: A profile with Coscheduling, as the plugin's own documentation enables it.
COSCHEDULING = the_profile(multiPoint=a_set("Coscheduling", off=("PrioritySort",)))


def with_args(plugin: str, **args: Any) -> str:
    return a_configuration(a_profile(args={plugin: args}))


def fit(**strategy: Any) -> str:
    return with_args("NodeResourcesFit", scoringStrategy=strategy)


def ratio(*shape: tuple[int, int]) -> str:
    points = [{"utilization": at, "score": score} for at, score in shape]
    return fit(type="RequestedToCapacityRatio", requestedToCapacityRatio={"shape": points})


def spreading(**constraint: Any) -> str:
    whole = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"} | constraint
    return with_args("PodTopologySpread", defaultingType="List", defaultConstraints=[whole])


def requiring(*expressions: dict[str, Any]) -> str:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return with_args("NodeAffinity", addedAffinity={"requiredDuringSchedulingIgnoredDuringExecution": terms})


#: What kube-scheduler 1.36 does not start with, and what restow says of it behind file and line.
REFUSED = {
    "unknown plugin": (
        a_configuration(a_profile(score=a_set("ImageLocality", "NodeResourceFit"))),
        'profiles[0].plugins.score.enabled[1]: unknown plugin "NodeResourceFit"; did you mean "NodeResourcesFit"?',
    ),
    "plugin of another project": (
        a_configuration(a_profile(score=a_set("NodeResourcesAllocatable"))),
        (
            'profiles[0].plugins.score.enabled[0]: unknown plugin "NodeResourcesAllocatable"; '
            "it is not one of kube-scheduler's own plugins"
        ),
    ),
    "plugin without a name": (
        a_configuration(a_profile(score={"enabled": [{}]})),
        'profiles[0].plugins.score.enabled[0]: unknown plugin ""; its name is missing',
    ),
    "plugin at a point that it lacks": (
        a_configuration(a_profile(score=a_set("NodePorts"))),
        "profiles[0].plugins.score.enabled[0]: NodePorts does not run at score; it runs at preFilter and filter",
    ),
    "plugin of old": (
        a_configuration(a_profile(filter=a_set("EBSLimits"))),
        'profiles[0].plugins.filter.enabled[0]: plugin "EBSLimits" is no longer part of kube-scheduler',
    ),
    "arguments of a plugin of old": (
        with_args("CinderLimits"),
        'profiles[0].pluginConfig[0]: plugin "CinderLimits" is no longer part of kube-scheduler',
    ),
    "plugin twice at a point": (
        a_configuration(a_profile(score=a_set("ImageLocality", "ImageLocality"))),
        'profiles[0].plugins.score.enabled[1]: plugin "ImageLocality" is enabled twice',
    ),
    "plugin twice at all points": (
        a_configuration(a_profile(multiPoint=a_set("ImageLocality", "ImageLocality"))),
        'profiles[0].plugins.multiPoint.enabled[1]: plugin "ImageLocality" is enabled twice',
    ),
    "no queue sort": (
        a_configuration(a_profile(multiPoint=a_set(off=("PrioritySort",)))),
        "profiles[0].plugins.queueSort: exactly one queue sort plugin is needed: leave PrioritySort enabled",
    ),
    "no bind": (
        a_configuration(a_profile(bind=a_set(off=("*",)))),
        "profiles[0].plugins.bind: at least one bind plugin is needed: leave DefaultBinder enabled",
    ),
    "different queue sorts": (
        a_configuration(a_profile("a"), a_profile("b", queueSort=a_set("PrioritySort"))),
        "profiles[1].plugins.queueSort: must be the same for all profiles: there is one queue",
    ),
    "same name": (
        a_configuration(a_profile("a"), a_profile("a")),
        'profiles[1].schedulerName: duplicate scheduler name "a": profiles[0] has it too',
    ),
    "several profiles without a name": (
        a_configuration(a_profile("a"), a_profile()),
        "profiles[1]: schedulerName is required: pods choose a profile by it",
    ),
    "empty name": (
        a_configuration(a_profile("")),
        "profiles[0]: schedulerName is required: pods choose a profile by it",
    ),
    "negative weight": (
        a_configuration(a_profile(score=a_set("ImageLocality=-1"))),
        (
            "profiles[0].plugins.score.enabled[0].weight: must not be negative: "
            "the scores that it takes away could overflow"
        ),
    ),
    "huge weight": (
        a_configuration(a_profile(score=a_set("ImageLocality=2147483648"))),
        "profiles[0].plugins.score.enabled[0].weight: must be at most 2147483647",
    ),
    "percentage": (
        a_configuration(percentageOfNodesToScore=101),
        "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
    ),
    "percentage of a profile": (
        a_configuration(a_profile() | {"percentageOfNodesToScore": -1}),
        "profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]",
    ),
    "parallelism": (
        a_configuration(parallelism=0),
        "parallelism: Invalid value: 0: should be an integer value greater than zero",
    ),
    "backoff": (
        a_configuration(podInitialBackoffSeconds=0),
        "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
    ),
    "longest backoff": (
        a_configuration(podMaxBackoffSeconds=0),
        "podMaxBackoffSeconds: Invalid value: 0: must be greater than or equal to PodInitialBackoffSeconds",
    ),
    "unknown field": (
        a_configuration(Parallelism=1),
        'Parallelism: unknown field "Parallelism"; did you mean "parallelism"?',
    ),
    "unknown field inside": (
        a_configuration(leaderElection={"leaderElected": True}),
        'leaderElection.leaderElected: unknown field "leaderElected"; did you mean "leaderElect"?',
    ),
    "wrong type": (
        a_configuration(parallelism="2"),
        "parallelism: must be a whole number, not text; remove the quotes",
    ),
    "extenders": (
        a_configuration(extenders=[{"urlPrefix": "http://127.0.0.1"}]),
        "extenders: restow calls no extenders, so it cannot tell where pods would go; remove them",
    ),
    "arguments twice": (
        a_configuration({"pluginConfig": [{"name": "NodeAffinity"}, {"name": "NodeAffinity"}]}),
        'profiles[0].pluginConfig[1]: plugin "NodeAffinity" is configured twice',
    ),
    "unknown argument": (
        with_args("NodeAffinity", addedAffinityy={}),
        'profiles[0].pluginConfig[0].args.addedAffinityy: unknown field "addedAffinityy"; did you mean "addedAffinity"?',
    ),
    "arguments of another plugin": (
        with_args("NodeAffinity", kind="InterPodAffinityArgs"),
        'profiles[0].pluginConfig[0].args.kind: must be NodeAffinityArgs, not "InterPodAffinityArgs"',
    ),
    "arguments of another version": (
        with_args("NodeAffinity", apiVersion="kubescheduler.config.k8s.io/v1beta3"),
        (
            "profiles[0].pluginConfig[0].args.apiVersion: must be kubescheduler.config.k8s.io/v1, "
            'not "kubescheduler.config.k8s.io/v1beta3"'
        ),
    ),
    "hard weight": (
        with_args("InterPodAffinity", hardPodAffinityWeight=101),
        "profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
    ),
    "no type of strategy": (
        fit(resources=[{"name": "cpu"}]),
        (
            'profiles[0].pluginConfig[0].args.scoringStrategy.type: Unsupported value: "": '
            'supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'
        ),
    ),
    "resource weight": (
        fit(type="MostAllocated", resources=[{"name": "cpu", "weight": 101}]),
        (
            "profiles[0].pluginConfig[0].args.scoringStrategy.resources[0].weight: Invalid value: 101: "
            "resource weight of cpu not in valid range (0, 100]"
        ),
    ),
    "no shape": (
        fit(type="RequestedToCapacityRatio"),
        (
            "profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio: Required value: "
            "must be specified when type is RequestedToCapacityRatio"
        ),
    ),
    "shape of another strategy": (
        fit(type="MostAllocated", requestedToCapacityRatio={"shape": []}),
        (
            "profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio: Forbidden: "
            "must be nil when type is not RequestedToCapacityRatio"
        ),
    ),
    "empty shape": (
        ratio(),
        (
            "profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio.shape: Required value: "
            "at least one point must be specified"
        ),
    ),
    "falling shape": (
        ratio((50, 1), (50, 2)),
        (
            "profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio.shape[1].utilization: "
            "Invalid value: 50: values must be sorted in increasing order"
        ),
    ),
    "score of a shape": (
        ratio((0, 11)),
        (
            "profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio.shape[0].score: "
            "Invalid value: 11: not in valid range [0, 10]"
        ),
    ),
    "ignored group with a slash": (
        with_args("NodeResourcesFit", ignoredResourceGroups=["example.com/gpu"]),
        (
            'profiles[0].pluginConfig[0].args.ignoredResourceGroups[0]: Invalid value: "example.com/gpu": '
            "resource group name can't contain '/'"
        ),
    ),
    "balanced resource twice": (
        with_args("NodeResourcesBalancedAllocation", resources=[{"name": "cpu"}, {"name": "cpu"}]),
        'profiles[0].pluginConfig[0].args.resources[1].name: Duplicate value: "cpu"',
    ),
    "balanced weight": (
        with_args("NodeResourcesBalancedAllocation", resources=[{"name": "cpu", "weight": 2}]),
        "profiles[0].pluginConfig[0].args.resources[0].weight: Invalid value: 2: must be 1",
    ),
    "system constraints": (
        with_args(
            "PodTopologySpread",
            defaultConstraints=[{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}],
        ),
        (
            'profiles[0].pluginConfig[0].args.defaultingType: Invalid value: "System": '
            "when .defaultConstraints are not empty"
        ),
    ),
    "unknown defaulting": (
        with_args("PodTopologySpread", defaultingType="Listed"),
        (
            'profiles[0].pluginConfig[0].args.defaultingType: Unsupported value: "Listed": '
            'supported values: "System", "List"'
        ),
    ),
    "constraint with a selector": (
        spreading(labelSelector={}),
        (
            "profiles[0].pluginConfig[0].args.defaultConstraints[0].labelSelector: Forbidden: "
            "constraint must not define a selector, as they deduced for each pod"
        ),
    ),
    "constraint without skew": (
        spreading(maxSkew=0),
        "profiles[0].pluginConfig[0].args.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)",
    ),
    "constraint without a key": (
        spreading(topologyKey=""),
        "profiles[0].pluginConfig[0].args.defaultConstraints[0].topologyKey: Required value: can not be empty",
    ),
    "constraint without an action": (
        spreading(whenUnsatisfiable="Never"),
        (
            'profiles[0].pluginConfig[0].args.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "Never": '
            'supported values: "DoNotSchedule", "ScheduleAnyway"'
        ),
    ),
    "unreadable affinity": (
        requiring({"key": "a", "operator": "Like"}),
        (
            "profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
            '.nodeSelectorTerms[0]: matchExpressions[0].operator: Unsupported value: "Like": '
            'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
        ),
    ),
    "no candidates": (
        with_args("DefaultPreemption", minCandidateNodesPercentage=101),
        "profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]",
    ),
    "negative timeout": (
        with_args("VolumeBinding", bindTimeoutSeconds=-1),
        (
            "profiles[0].pluginConfig[0].args.bindTimeoutSeconds: Invalid value: -1: "
            "invalid BindTimeoutSeconds, should not be a negative value"
        ),
    ),
    "shape of volumes": (
        with_args("VolumeBinding", shape=[]),
        (
            "profiles[0].pluginConfig[0].args.shape: Invalid value: "
            "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        ),
    ),
    "another version": (
        a_configuration(apiVersion="kubescheduler.config.k8s.io/v1beta3"),
        (
            'apiVersion: must be kubescheduler.config.k8s.io/v1, not "kubescheduler.config.k8s.io/v1beta3": '
            "kube-scheduler 1.36 reads no other version"
        ),
    ),
    "another kind": (
        a_configuration(kind="KubeSchedulerConfig"),
        (
            'kind: must be KubeSchedulerConfiguration, not "KubeSchedulerConfig"; '
            'did you mean "KubeSchedulerConfiguration"?'
        ),
    ),
}
