"""``policy lint``: everything in a policy file that is refused, ignored, or probably not meant.

Errors are upstream's, and those where upstream reads the file but leaves out a part of the policy. Warnings are
settings that do not do what they say, above all those that upstream silently ignores. Notes are settings that work but
are rarely intended.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from restow.documents.document import to_findings
from restow.documents.findings import Issue
from restow.kube.excerpts import did_you_mean, excerpt
from restow.policies import v1alpha1
from restow.policies.building import implements
from restow.policies.load import read_policy, read_policy_document, strict_issues
from restow.policies.policy import DeschedulerPolicy, collects_kubernetes_metrics, dropped_filters, provider_of
from restow.policies.schema import DEFAULT_EVICTOR, decode
from restow.policies.usage import queries_of, usage_in, usage_of, usage_path
from restow.usage.sources import KUBERNETES_METRICS, NO_SOURCES, PROMETHEUS, UsageSources

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from restow.documents.document import Document
    from restow.documents.findings import Finding, Path
    from restow.policies.policy import DeschedulerProfile, PluginSet, Policy
    from restow.policies.schema import Plugins

_PROVIDERS = (KUBERNETES_METRICS, PROMETHEUS)
_LIMITS = ("maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace", "maxNoOfPodsToEvictTotal")

_HONOURED = "preevictionfilter"
_DOCUMENTED: Final = "preEvictionFilter"


def lint_policy(text: bytes, filename: str, plugins: Plugins, sources: UsageSources = NO_SOURCES) -> list[Finding]:
    """Return what is wrong or odd in a policy file, by line.

    A policy with errors is not examined further. Raises InputError if the file is not even YAML or JSON.
    """
    document = read_policy_document(text, filename)
    reading = read_policy(document, plugins, sources)
    issues = list(strict_issues(document, reading, plugins))
    if reading.policy is not None and document.data.get("apiVersion"):
        issues += _advice(document, reading.policy, plugins, sources)
    return sorted(to_findings(document, issues), key=lambda finding: finding.line)


def _advice(document: Document, policy: Policy, plugins: Plugins, sources: UsageSources) -> list[Issue]:
    if document.data["apiVersion"] != v1alpha1.API_VERSION:
        return list(_lint(document.data, policy, plugins, sources))
    converted = v1alpha1.convert(document)
    issues = [issue for issue in _lint(converted, policy, plugins, sources) if not _is_conversion(issue)]
    return [v1alpha1.in_strategies(issue, converted) for issue in issues]


def _is_conversion(issue: Issue) -> bool:
    """Whether the issue is about the evictor's arguments, which the converter puts into every profile."""
    return issue.path[2:4] == ("pluginConfig", 0)


def _lint(data: dict[str, Any], policy: Policy, plugins: Plugins, sources: UsageSources) -> Iterator[Issue]:
    """Yield the advice on a sound v1alpha2 document and the policy it became."""
    wire = decode(data, DeschedulerPolicy, ()).value or DeschedulerPolicy()
    known = (*_PROVIDERS, *sources)
    yield from _lint_globals(data, wire, known)
    yield from _lint_profile_names(policy)
    for index, (written, profile) in enumerate(zip(wire.profiles, policy.profiles, strict=True)):
        path = ("profiles", index)
        yield from _lint_profile(written, data["profiles"][index] or {}, path, plugins)
        for position, name in _first_entries(written):
            args = profile.args[name]
            issues = [*plugins[name].lint(args), *_missing_provider(args, policy)]
            yield from (replace(issue, path=(*path, "pluginConfig", position, "args", *issue.path)) for issue in issues)
    yield from _unused_providers(policy, known)
    yield from _unused_settings(policy)
    yield from _lint_conflicts(policy, plugins)


def _first_entries(profile: DeschedulerProfile) -> Iterator[tuple[int, str]]:
    seen: set[str] = set()
    for position, entry in enumerate(profile.plugin_config):
        if entry.name not in seen:
            yield position, entry.name
        seen.add(entry.name)


def _lint_globals(data: dict[str, Any], wire: DeschedulerPolicy, known: Sequence[str]) -> Iterator[Issue]:
    for key in _LIMITS:
        if data.get(key) == 0:
            yield Issue((key,), f"{key}: 0 allows no eviction at all", "warning", "leave the key out for no limit")
    if wire.grace_period_seconds is not None and wire.grace_period_seconds < 0:
        yield Issue(("gracePeriodSeconds",), "a negative grace period is refused by the API server", "warning")
    if wire.metrics_collector is not None:
        hint = "write metricsProviders: [{source: KubernetesMetrics}]"
        yield Issue(("metricsCollector",), "metricsCollector is deprecated", "note", hint)
    for index, provider in enumerate(wire.metrics_providers):
        if provider.source not in known:
            text = f'metrics source "{excerpt(provider.source)}" is ignored'
            yield Issue(("metricsProviders", index), text, "warning", did_you_mean(provider.source, known))


def _lint_profile_names(policy: Policy) -> Iterator[Issue]:
    for name, times in Counter(profile.name for profile in policy.profiles).items():
        if times > 1:
            text = f'{times} profiles are named "{excerpt(name)}"; logs and metrics cannot tell them apart'
            yield Issue(("profiles",), text, "note")


def _missing_provider(args: Any, policy: Policy) -> Iterator[Issue]:
    """Yield a warning if a strategy asks a metrics provider that the policy does not configure."""
    usage = usage_of(args)
    source = "" if usage is None else usage.provider
    text = f"the strategy fails in every cycle without metricsProviders: [{{source: {source}}}]"
    if source == KUBERNETES_METRICS and not collects_kubernetes_metrics(policy):
        yield Issue(usage_path(args), f"{text}: metrics client not initialized", "warning")
    if usage is not None and usage.usage_query is not None and provider_of(policy, source) is None:
        yield Issue(usage_path(args), f"{text}: {source.lower()} client not initialized", "warning")


def _unused_providers(policy: Policy, known: Sequence[str]) -> Iterator[Issue]:
    used = {usage.provider for _, usage in usage_in(policy)}
    for index, provider in enumerate(policy.metrics_providers):
        if provider.source in known and provider.source not in used:
            text = f"no strategy asks {provider.source} for usage: metricsUtilization.source"
            yield Issue(("metricsProviders", index), text, "note")


def _unused_settings(policy: Policy) -> Iterator[Issue]:
    asked = bool(queries_of(policy)) or any(usage.provider == KUBERNETES_METRICS for _, usage in usage_in(policy))
    if policy.restow.usage is not None and not asked:
        text = "it has no effect: no strategy goes by measured usage"
        yield Issue(
            ("restow", "usage"), text, "warning", "write metricsUtilization.source, or usage: measured in Rebalance"
        )


def _lint_profile(
    profile: DeschedulerProfile, written: dict[str, Any], path: Path, plugins: Plugins
) -> Iterator[Issue]:
    """Yield what is odd about the profile that stands at ``path``; ``written`` is its plain data."""
    sets = _plugin_sets(profile)
    plugins_path = (*path, "plugins")
    yield from _unused_points(written.get("plugins") or {}, plugins_path)
    yield from _other_spelling(profile, written.get("plugins") or {}, plugins_path, plugins)
    for key, plugin_set in sets.items():
        yield from _lint_plugin_set(plugin_set, (*plugins_path, key))
    enabled = {name for plugin_set in sets.values() for name in plugin_set.enabled}
    yield from _lint_configs(profile, enabled, path)
    if not (profile.plugins.deschedule.enabled or profile.plugins.balance.enabled):
        yield Issue(plugins_path, f'profile "{excerpt(profile.name)}" enables no strategy: it does nothing', "warning")


def _lint_conflicts(policy: Policy, plugins: Plugins) -> Iterator[Issue]:
    """Yield a note for each pair of enabled strategies that pull in opposite directions."""
    runs = [set(profile.deschedule + profile.balance) for profile in policy.profiles]
    for name in (each for each in plugins if any(each in names for names in runs)):
        for other, how in plugins[name].conflicts.items():
            yield from _conflict(runs, (name, other), how)


def _conflict(runs: Sequence[Collection[str]], pair: tuple[str, str], how: str) -> Iterator[Issue]:
    first, second = (next((at for at, names in enumerate(runs) if each in names), None) for each in pair)
    if first is not None and second is not None:
        together = any(names >= {*pair} for names in map(set, runs))
        where = "in one profile" if together else "in one policy"
        text = f"{pair[0]} and {pair[1]} {where} pull in opposite directions: {how}"
        yield Issue(("profiles", max(first, second), "plugins"), text, "note")


def _plugin_sets(profile: DeschedulerProfile) -> dict[str, PluginSet]:
    """Return the extension points that run, by the key they are written under."""
    return {
        "deschedule": profile.plugins.deschedule,
        "balance": profile.plugins.balance,
        "filter": profile.plugins.filter,
        _HONOURED: profile.plugins.preevictionfilter,
        _DOCUMENTED: dropped_filters(profile.plugins),
    }


def _unused_points(written: dict[str, Any], path: Path) -> Iterator[Issue]:
    for key in ("presort", "sort"):
        if written.get(key):
            yield Issue((*path, key), f"{key} is read and never used", "warning")


def _other_spelling(
    profile: DeschedulerProfile, written: dict[str, Any], path: Path, plugins: Plugins
) -> Iterator[Issue]:
    if written.get(_HONOURED) is not None:
        text = f'"{_HONOURED}" is spelled as upstream reads it; its documentation says {_DOCUMENTED}'
        yield Issue((*path, _HONOURED), text, "note")
    if written.get(_DOCUMENTED) is not None:
        text = f'upstream silently drops "{_DOCUMENTED}", whatever its documentation says; it reads "{_HONOURED}"'
        yield Issue((*path, _DOCUMENTED), text, "warning")
    for name in dropped_filters(profile.plugins).enabled:
        if not implements(plugins, name, _DOCUMENTED):
            yield Issue((*path, _DOCUMENTED), f'"{excerpt(name)}" is ignored: it is no {_DOCUMENTED} plugin', "warning")


def _lint_plugin_set(plugin_set: PluginSet, path: Path) -> Iterator[Issue]:
    if plugin_set.disabled:
        names = ", ".join(plugin_set.disabled)
        text = f"disabled is read and never used ({names}): nothing is enabled by default but {DEFAULT_EVICTOR}"
        yield Issue((*path, "disabled"), text, "warning")
    for name, times in Counter(plugin_set.enabled).items():
        if times > 1:
            text = f'"{excerpt(name)}" is enabled {times} times, and runs {times} times a cycle'
            yield Issue((*path, "enabled"), text, "warning")


def _lint_configs(profile: DeschedulerProfile, enabled: set[str], path: Path) -> Iterator[Issue]:
    seen: set[str] = set()
    for position, entry in enumerate(profile.plugin_config):
        place = (*path, "pluginConfig", position)
        if entry.name not in {*seen, *enabled, DEFAULT_EVICTOR}:
            yield Issue(place, f"{entry.name} is configured, but not enabled: it never runs", "warning")
        seen.add(entry.name)
