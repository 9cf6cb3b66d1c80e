"""From the text of a KubeSchedulerConfiguration to scheduler profiles.

What kube-scheduler 1.36 would refuse is refused, at once with all reasons that can be found; what it passes over in
silence is told as a warning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from restow.cluster.pod_reading import DEFAULT_SCHEDULER
from restow.kube.excerpts import excerpt
from restow.kube.near_words import did_you_mean
from restow.scheduling.configuration.arguments import read_arguments
from restow.scheduling.configuration.decoding import decode
from restow.scheduling.configuration.document import Document, Path, read_document
from restow.scheduling.configuration.findings import Findings
from restow.scheduling.configuration.plugin_sets import MergedPlugins, merge
from restow.scheduling.configuration.wire import KubeSchedulerConfiguration, KubeSchedulerProfile
from restow.scheduling.in_tree import IN_TREE, Point
from restow.scheduling.profiles import SchedulerProfile

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"
_GROUP: Final = API_VERSION.partition("/")[0]
#: Where a plugin needs to have run before a point.
_BEFORE: Final[dict[Point, Point]] = {
    "filter": "preFilter",
    "score": "preScore",
    "reserve": "preFilter",
    "preBind": "preFilter",
}


@dataclass(slots=True, frozen=True)
class SchedulerConfiguration:
    """The profiles of a file, and what to tell whoever wrote it: sentences with file and line."""

    profiles: tuple[SchedulerProfile, ...]
    warnings: tuple[str, ...] = ()


def load_scheduler_configuration(text: bytes, name: str) -> SchedulerConfiguration:
    """The configuration in a file of this name; InputError with file, line and field where it cannot be used."""
    document = read_document(text, name)
    _check_type(document)
    findings = Findings(document)
    wire = decode(document, document.data, (), KubeSchedulerConfiguration)
    _check_settings(wire, findings)
    profiles = wire.profiles or (KubeSchedulerProfile(),)
    _check_names(profiles, findings)
    read = tuple(_read_profile(each, index, wire, findings) for index, each in enumerate(profiles))
    _check_queue_sort(profiles, findings)
    findings.check()
    if document.has_more:
        findings.warn((), "only the first YAML document of a file is read")
    return SchedulerConfiguration(read, tuple(findings.warnings))


def _check_type(document: Document) -> None:
    """Refuse what is no KubeSchedulerConfiguration of the version that is read."""
    data: Any = document.data
    if not isinstance(data, dict):
        what = "an empty file" if data is None else "not a mapping"
        raise document.error((), f"{what}; start with apiVersion: {API_VERSION} and kind: {KIND}")
    kind, version = data.get("kind"), data.get("apiVersion")
    if kind is None or version is None:
        missing = "kind" if kind is None else "apiVersion"
        raise document.error((), f"no {missing}; add apiVersion: {API_VERSION} and kind: {KIND}")
    if kind != KIND:
        hint = _inside(data) or did_you_mean(str(kind), (KIND,))
        raise document.error(("kind",), f'must be {KIND}, not "{excerpt(kind)}"{hint}')
    if version != API_VERSION:
        removed = str(version).startswith(f"{_GROUP}/")
        why = "kube-scheduler 1.36 reads no other version" if removed else "this is another API"
        raise document.error(("apiVersion",), f'must be {API_VERSION}, not "{excerpt(version)}": {why}')


def _inside(data: dict[str, Any]) -> str:
    """Where in a ConfigMap there is a configuration; empty where there is none."""
    texts = data.get("data")
    for key, value in texts.items() if isinstance(texts, dict) else ():
        if isinstance(value, str) and KIND in value:
            return f"; data.{key} holds one: write that text into a file of its own"
    return ""


def _check_settings(wire: KubeSchedulerConfiguration, findings: Findings) -> None:
    if wire.extenders:
        findings.refuse(("extenders",), "restow calls no extenders, so it cannot tell where pods would go; remove them")
    if wire.parallelism <= 0:
        findings.refuse(("parallelism",), _invalid(wire.parallelism, "should be an integer value greater than zero"))
    _check_percentage(wire.percentage_of_nodes_to_score, (), findings)
    initial, most = wire.pod_initial_backoff_seconds, wire.pod_max_backoff_seconds
    if initial <= 0:
        findings.refuse(("podInitialBackoffSeconds",), _invalid(initial, "must be greater than 0"))
    if most < initial:
        detail = "must be greater than or equal to PodInitialBackoffSeconds"
        findings.refuse(("podMaxBackoffSeconds",), _invalid(most, detail))


def _check_percentage(percentage: int | None, path: Path, findings: Findings) -> None:
    if percentage is not None and not 0 <= percentage <= 100:
        findings.refuse((*path, "percentageOfNodesToScore"), _invalid(percentage, "not in valid range [0-100]"))


def _check_names(profiles: Sequence[KubeSchedulerProfile], findings: Findings) -> None:
    first: dict[str, int] = {}
    for index, profile in enumerate(profiles):
        path: Path = ("profiles", index)
        name = profile.scheduler_name
        if name == "" or (name is None and len(profiles) > 1):
            findings.refuse(path, "schedulerName is required: pods choose a profile by it")
        elif name is not None and name in first:
            other = f"profiles[{first[name]}]"
            findings.refuse((*path, "schedulerName"), f'duplicate scheduler name "{excerpt(name)}": {other} has it too')
        elif name is not None:
            first[name] = index


def _check_queue_sort(profiles: Sequence[KubeSchedulerProfile], findings: Findings) -> None:
    for index, profile in enumerate(profiles):
        if profile.plugins.queue_sort != profiles[0].plugins.queue_sort:
            path = ("profiles", index, "plugins", "queueSort")
            findings.refuse(path, "must be the same for all profiles: there is one queue")


def _read_profile(
    wire: KubeSchedulerProfile, index: int, whole: KubeSchedulerConfiguration, findings: Findings
) -> SchedulerProfile:
    path: Path = ("profiles", index)
    _check_percentage(wire.percentage_of_nodes_to_score, path, findings)
    merged = merge(wire.plugins, (*path, "plugins"), findings)
    _check_points(merged, (*path, "plugins"), findings)
    running = {name for names in merged.points.values() for name in names}
    arguments = read_arguments(wire.plugin_config, (*path, "pluginConfig"), running, API_VERSION, findings)
    percentage = wire.percentage_of_nodes_to_score
    return SchedulerProfile(
        name=DEFAULT_SCHEDULER if wire.scheduler_name is None else wire.scheduler_name,
        plugins=merged.points,
        weights=merged.weights,
        arguments=arguments,
        percentage_of_nodes_to_score=whole.percentage_of_nodes_to_score if percentage is None else percentage,
    )


def _check_points(merged: MergedPlugins, path: Path, findings: Findings) -> None:
    """Refuse what kube-scheduler cannot start with, or fails with on every pod."""
    if len(merged.points["queueSort"]) != 1:
        findings.refuse((*path, "queueSort"), "exactly one queue sort plugin is needed: leave PrioritySort enabled")
    if not merged.points["bind"]:
        findings.refuse((*path, "bind"), "at least one bind plugin is needed: leave DefaultBinder enabled")
    for point, before in _BEFORE.items():
        for name in merged.points[point]:
            needs = name in IN_TREE and point in IN_TREE[name].dependent
            if needs and name not in merged.points[before]:
                text = f"{name} runs at {point} but not at {before}, so kube-scheduler would fail on every pod"
                findings.refuse((*path, before), f"{text}; disable it at both")
    if "VolumeBinding" in merged.points["filter"] and "VolumeBinding" not in merged.points["reserve"]:
        findings.warn((*path, "reserve"), "restow reserves the volumes of placed pods even without VolumeBinding here")


def _invalid(value: int, detail: str) -> str:
    return f"Invalid value: {value}: {detail}"
