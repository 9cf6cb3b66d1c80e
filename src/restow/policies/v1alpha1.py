"""descheduler/v1alpha1: converted to a v1alpha2 document, then read as one.

One profile is made of each enabled strategy, named as upstream named it. Upstream took the strategies from a Go map,
so their order was random up to v0.30; here profiles are sorted by strategy name, and the same file always does the
same. DefaultEvictor's place at the filter points is not written out: every profile has it.
Source: descheduler v0.30, pkg/api/v1alpha1 conversion; the parameters of v0.1 to v0.29 are read as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from restow.documents.document import Document, refusal
from restow.documents.findings import Issue, errors_in
from restow.errors import InputError
from restow.kube.excerpts import excerpt, misspelled_or_foreign
from restow.policies import v1alpha2
from restow.policies.building import duplicate_key, ignored_key
from restow.policies.schema import DEFAULT_EVICTOR, OWNER, decode, sound_parts
from restow.policies.v1alpha1_strategies import STRATEGIES, DeschedulerPolicy, given
from restow.policies.v1alpha2 import Reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from restow.documents.findings import Path
    from restow.policies.schema import Plugins
    from restow.policies.v1alpha1_strategies import DeschedulerStrategy
    from restow.usage.sources import UsageSources

API_VERSION = "descheduler/v1alpha1"


def convert(document: Document) -> dict[str, Any]:
    """Return the descheduler/v1alpha2 document that does what this descheduler/v1alpha1 document does.

    Raises InputError, with file, line and field of every error, if there is none.
    """
    if document.data.get("apiVersion") != API_VERSION:
        raise InputError(f"{document.filename}: only {API_VERSION} can be converted")
    wire, issues = _decode(document)
    errors = errors_in(issues)
    if errors:
        raise refusal(document, errors)
    return _converted(wire)


def read(document: Document, plugins: Plugins, sources: UsageSources) -> Reading:
    """Return the policy of a descheduler/v1alpha1 document, or every reason why there is none, and the warnings."""
    wire, issues = _decode(document)
    issues = [_deprecated(), *issues, *(duplicate_key(path) for path in document.duplicates)]
    converted = _converted(wire)
    reading = v1alpha2.read(Document(document.filename, converted), plugins, sources)
    broken = {issue.path[:2] for issue in issues if issue.severity == "error"}
    translated = [in_strategies(issue, converted) for issue in reading.issues]
    issues += [issue for issue in translated if issue.path[:2] not in broken]
    return Reading(None if broken else reading.policy, tuple(issues))


def in_strategies(issue: Issue, converted: dict[str, Any]) -> Issue:
    """Return an issue about a profile of the converted document as one about the strategy that the profile was made of."""
    if issue.path[:1] != ("profiles",) or len(issue.path) == 1:
        return issue
    profile = converted["profiles"][issue.path[1]]["name"]
    name = profile.removeprefix("strategy-").removesuffix("-profile")
    prefix = f"in profile {profile}: "
    message = issue.message
    if message.startswith(prefix):
        message = _param_problem(name, message.removeprefix(prefix))
    return replace(issue, path=("strategies", name, "params"), message=message)


def _decode(document: Document) -> tuple[DeschedulerPolicy, list[Issue]]:
    """Return the parts that could be decoded, and all issues. Strategies with undecodable parts are not checked further."""
    top = decode(document.data, DeschedulerPolicy, ())
    faults = [issue.path for issue in top.errors]
    wire = top.value or decode(sound_parts(document.data, faults), DeschedulerPolicy, ()).value or DeschedulerPolicy()
    issues = [*top.errors, *(ignored_key(key) for key in top.unknown), *_dropped_globals(wire)]
    for name, strategy in (wire.strategies or {}).items():
        if ("strategies", name) not in {path[:2] for path in faults}:
            issues += _check_strategy(name, strategy)
            issues += _ineffective(name, document.data["strategies"][name])
    return wire, issues


def _enabled(wire: DeschedulerPolicy) -> list[str]:
    strategies = wire.strategies or {}
    return sorted(name for name, strategy in strategies.items() if strategy.enabled and name in STRATEGIES)


def _converted(wire: DeschedulerPolicy) -> dict[str, Any]:
    strategies = wire.strategies or {}
    header = {"apiVersion": v1alpha2.API_VERSION, "kind": v1alpha2.KIND}
    settings = given(
        nodeSelector=wire.node_selector,
        maxNoOfPodsToEvictPerNode=wire.max_no_of_pods_to_evict_per_node,
        maxNoOfPodsToEvictPerNamespace=wire.max_no_of_pods_to_evict_per_namespace,
    )
    profiles = [_profile(name, strategies[name], wire) for name in _enabled(wire)]
    own = {"restow": wire.restow} if wire.restow is not None else {}
    return header | settings | {"profiles": profiles} | own


def _profile(name: str, strategy: DeschedulerStrategy, wire: DeschedulerPolicy) -> dict[str, Any]:
    configs = [
        {"name": DEFAULT_EVICTOR} | given(args=_evictor_args(name, strategy, wire)),
        {"name": name} | given(args=STRATEGIES[name].args(strategy.params)),
    ]
    return {
        "name": f"strategy-{name}-profile",
        "pluginConfig": configs,
        "plugins": {STRATEGIES[name].point: {"enabled": [name]}},
    }


def _evictor_args(name: str, strategy: DeschedulerStrategy, wire: DeschedulerPolicy) -> dict[str, Any]:
    params = strategy.params
    return given(
        evictLocalStoragePods=wire.evict_local_storage_pods,
        evictDaemonSetPods=wire.evict_daemon_set_pods,
        evictSystemCriticalPods=wire.evict_system_critical_pods,
        ignorePvcPods=wire.ignore_pvc_pods,
        evictFailedBarePods=wire.evict_failed_bare_pods,
        nodeFit=params.node_fit and STRATEGIES[name].node_fit,
        priorityThreshold=given(value=params.threshold_priority, name=params.threshold_priority_class_name),
    )


def _check_strategy(name: str, strategy: DeschedulerStrategy) -> Iterator[Issue]:
    """Yield what upstream's converter refused: an unknown name even if it is disabled."""
    path: Path = ("strategies", name)
    if name not in STRATEGIES:
        hint = misspelled_or_foreign(name, STRATEGIES, OWNER)
        yield Issue(path, f"unknown strategy name: {excerpt(name)}", hint=hint)
    elif strategy.enabled:
        params = strategy.params
        if params.threshold_priority is not None and params.threshold_priority_class_name:
            yield Issue((*path, "params"), f"priority threshold misconfigured for plugin {name}")
        for problem in STRATEGIES[name].check(params):
            yield Issue((*path, "params"), _param_problem(name, problem))


def _param_problem(name: str, problem: str) -> str:
    return f'failed to get plugin config for strategy {name}: strategy "{name}" param validation failed: {problem}'


def _deprecated() -> Issue:
    text = "v1alpha1 API is deprecated: upstream has not read it since v0.31"
    hint = "restow policy convert writes the same policy as v1alpha2"
    return Issue(("apiVersion",), text, "warning", hint)


def _dropped_globals(wire: DeschedulerPolicy) -> Iterator[Issue]:
    if wire.max_no_of_pods_to_evict_total is not None:
        text = "maxNoOfPodsToEvictTotal has no effect in v1alpha1; it has in v1alpha2"
        yield Issue(("maxNoOfPodsToEvictTotal",), text, "warning")


def _ineffective(name: str, strategy: dict[str, Any] | None) -> Iterator[Issue]:
    """Yield a warning for each parameter that the strategy does not read, as upstream's did not."""
    params = (strategy or {}).get("params") or {}
    known = {field for field in params if params[field] is not None}
    if name in STRATEGIES and (strategy or {}).get("enabled"):
        for field in sorted(known & _ALL_PARAMS):
            if not STRATEGIES[name].reads(field):
                yield Issue(("strategies", name, "params", field), f"{field} has no effect on {name}", "warning")


_ALL_PARAMS = {
    "includedTaints",
    "nodeFit",
    *(param for strategy in STRATEGIES.values() for param in strategy.params),
}
