"""descheduler/v1alpha2: from a document to a policy, as upstream 0.36 reads it.

Everything upstream accepts is accepted, and what upstream refuses at start-up is refused here, with its texts and in
its order: decoding, then validation of every ``pluginConfig`` entry, then metrics providers, then what building the
profiles finds. Defaults are filled in after validation. All problems are collected, not only the first.
Source: descheduler v0.36, pkg/descheduler/policyconfig.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, structs

from restow.documents import decoding
from restow.documents.document import DocumentKind
from restow.documents.findings import Issue, errors_in
from restow.kube.labels import parse_selector
from restow.policies.building import (
    check_build,
    check_points,
    duplicate_key,
    first_configs,
    ignored_key,
    implements,
    read_configs,
    second_configs,
    unknown_field,
)
from restow.policies.policy import DeschedulerPolicy, Policy, Profile, RestowSettings, check_restow, dropped_filters
from restow.policies.schema import DEFAULT_EVICTOR, decode, entry_of, sound_parts
from restow.policies.usage import check_metrics_providers, check_query, check_usage, read_providers, usage_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from restow.documents.document import Document
    from restow.documents.findings import Path
    from restow.policies.building import Config
    from restow.policies.policy import DeschedulerProfile
    from restow.policies.schema import Plugins
    from restow.usage.sources import UsageSources

API_VERSION = "descheduler/v1alpha2"
KIND = "DeschedulerPolicy"
#: A policy file of any version.
POLICY_FILE = DocumentKind(f"a {KIND}", f"apiVersion: {API_VERSION}")

#: Where ``args`` stands in the path of a plugin's argument: profiles, 0, pluginConfig, 1, args.
_ARGS_AT = 4


class Reading(Struct, frozen=True):
    """What a document says: ``policy`` is None if and only if there is an error among ``issues``."""

    policy: Policy | None
    issues: tuple[Issue, ...] = ()


def read(document: Document, plugins: Plugins, sources: UsageSources) -> Reading:
    """Return the policy of a descheduler/v1alpha2 document, or every reason why there is none, and the warnings.

    ``plugins`` must include DefaultEvictor, which every profile has; ``sources`` are those of installed packages.
    """
    top = decode(document.data, DeschedulerPolicy, ())
    restow = decoding.decode(document.data.get("restow"), RestowSettings, ("restow",))
    issues = [*top.errors, *restow.errors, *(unknown_field(key, "the restow section") for key in restow.unknown)]
    issues += [ignored_key(key) for key in top.unknown]
    issues += _duplicates(document)
    faults = [issue.path for issue in top.errors]
    wire = top.value or decode(sound_parts(document.data, faults), DeschedulerPolicy, ()).value or DeschedulerPolicy()
    settings = restow.value or _sound_settings(document, [issue.path for issue in restow.errors])
    skipped = {entry_of(path) for path in faults}
    configs = [
        read_configs(profile, ("profiles", index), plugins, skipped) for index, profile in enumerate(wire.profiles)
    ]
    issues += check_restow(settings)
    issues += check_usage(settings)
    issues += _queries(configs, sources)
    providers, unusable = read_providers(wire.metrics_providers, sources)
    issues += unusable
    issues += _problems(wire, configs, plugins, {path[:2] for path in faults})
    for index, profile in enumerate(wire.profiles):
        issues += second_configs(profile, ("profiles", index))
    if errors_in(issues):
        return Reading(None, tuple(issues))
    wire = structs.replace(wire, metrics_providers=providers)
    return Reading(_policy(wire, configs, settings, plugins), tuple(issues))


def _sound_settings(document: Document, faults: list[Path]) -> RestowSettings:
    """The restow section without its parts that cannot be decoded, so that what is wrong with the others is said as well."""
    sound = sound_parts(document.data, faults).get("restow")
    return decoding.decode(sound, RestowSettings, ("restow",)).value or RestowSettings()


def _queries(configs: list[tuple[Config, ...]], sources: UsageSources) -> Iterator[Issue]:
    for index, profile_configs in enumerate(configs):
        for position, config in enumerate(profile_configs):
            path = ("profiles", index, "pluginConfig", position, "args")
            yield from check_query(usage_of(config.args), config.name, path, sources)


def _duplicates(document: Document) -> Iterator[Issue]:
    for path in document.duplicates:
        if document.is_json and "args" in path[_ARGS_AT:-1]:
            yield Issue(path, f'duplicate field "{path[-1]}"')
        else:
            yield duplicate_key(path)


def _problems(
    wire: DeschedulerPolicy, configs: list[tuple[Config, ...]], plugins: Plugins, faulty: set[Path]
) -> Iterator[Issue]:
    """Yield the errors inside profiles, in upstream's order. Of profiles with undecodable parts the rest is checked."""
    for profile_configs in configs:
        for config in profile_configs:
            yield from config.undecodable
    for profile_configs in configs:
        for config in profile_configs:
            yield from config.invalid
    yield from check_metrics_providers(wire)
    yield from _check_node_selector(wire)
    for index, (profile, profile_configs) in enumerate(zip(wire.profiles, configs, strict=True)):
        path = ("profiles", index)
        yield from check_points(profile, path, plugins)
        if path not in faulty:
            yield from check_build(profile, path, profile_configs, plugins)


def _check_node_selector(wire: DeschedulerPolicy) -> Iterator[Issue]:
    try:
        parse_selector(wire.node_selector or "")
    except ValueError as error:
        yield Issue(("nodeSelector",), str(error))


def _policy(
    wire: DeschedulerPolicy, configs: list[tuple[Config, ...]], restow: RestowSettings, plugins: Plugins
) -> Policy:
    pairs = zip(wire.profiles, configs, strict=True)
    return Policy(
        profiles=tuple(_profile(profile, profile_configs, plugins) for profile, profile_configs in pairs),
        node_selector=wire.node_selector,
        max_no_of_pods_to_evict_per_node=wire.max_no_of_pods_to_evict_per_node,
        max_no_of_pods_to_evict_per_namespace=wire.max_no_of_pods_to_evict_per_namespace,
        max_no_of_pods_to_evict_total=wire.max_no_of_pods_to_evict_total,
        eviction_failure_event_notification=bool(wire.eviction_failure_event_notification),
        grace_period_seconds=wire.grace_period_seconds,
        metrics_collector_enabled=wire.metrics_collector is not None and wire.metrics_collector.enabled,
        metrics_providers=wire.metrics_providers,
        restow=restow,
    )


def _profile(wire: DeschedulerProfile, configs: tuple[Config, ...], plugins: Plugins) -> Profile:
    """Fill in the defaults: DefaultEvictor is always there, first unless the policy places it."""
    args = {name: config.args for name, config in first_configs(configs).items()}
    if DEFAULT_EVICTOR not in args:
        args = {DEFAULT_EVICTOR: plugins[DEFAULT_EVICTOR].args()} | args
    return Profile(
        name=wire.name,
        deschedule=wire.plugins.deschedule.enabled,
        balance=wire.plugins.balance.enabled,
        filter=_with_evictor(wire.plugins.filter.enabled),
        pre_eviction_filter=_with_evictor(_pre_eviction_filters(wire, plugins)),
        args={name: plugins[name].default(value) for name, value in args.items()},
    )


def _pre_eviction_filters(wire: DeschedulerProfile, plugins: Plugins) -> tuple[str, ...]:
    """Return the plugins under both spellings. Under the one that upstream ignores, unknown names are no error."""
    honoured = wire.plugins.preevictionfilter.enabled
    dropped = dropped_filters(wire.plugins).enabled
    return honoured + tuple(
        name for name in dropped if name not in honoured and implements(plugins, name, "preEvictionFilter")
    )


def _with_evictor(enabled: tuple[str, ...]) -> tuple[str, ...]:
    return enabled if DEFAULT_EVICTOR in enabled else (DEFAULT_EVICTOR, *enabled)
