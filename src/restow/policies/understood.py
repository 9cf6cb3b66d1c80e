"""A policy as it was understood: descheduler/v1alpha2 YAML with every default filled in, and marked.

The text is a policy file again and does the same as the file it was made of. A line is marked where the file is silent,
which includes a null: upstream takes one for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, Final, get_args

import yaml
from msgspec import UNSET, Struct
from msgspec.structs import FieldInfo, fields, replace

from restow.documents.shapes import Duration
from restow.documents.yaml_text import write_yaml
from restow.kube.duration import format_duration
from restow.plain_text import HIDDEN, names_a_secret, without_password, without_secrets
from restow.policies import v1alpha1, v1alpha2

if TYPE_CHECKING:
    from restow.documents.document import Document
    from restow.policies.codes import Placement, SteeringMode, SteeringSetting
    from restow.policies.policy import MetricsProvider, Policy, Profile

#: Ends each line that the file did not say.
DEFAULT_MARK: Final = "# default"


def understood(document: Document, policy: Policy) -> str:
    """Return the policy as YAML; ``document`` is the file that it was read from."""
    text = write_yaml(full_document(policy))
    written = _as_written(document, policy)
    silent = set(_silent_lines(yaml.compose(text, Loader=yaml.CSafeLoader), written))
    lines = text.splitlines()
    return "\n".join(f"{line}  {DEFAULT_MARK}" if at in silent else line for at, line in enumerate(lines)) + "\n"


def full_document(policy: Policy) -> dict[str, Any]:
    """Return a policy as a descheduler/v1alpha2 document with every default, in the order in which people write one."""
    # Deprecated in favour of metricsProviders, and shown only if it is set.
    collector = {"metricsCollector": {"enabled": True}} if policy.metrics_collector_enabled else {}
    return {
        "apiVersion": v1alpha2.API_VERSION,
        "kind": v1alpha2.KIND,
        "nodeSelector": policy.node_selector,
        "maxNoOfPodsToEvictPerNode": policy.max_no_of_pods_to_evict_per_node,
        "maxNoOfPodsToEvictPerNamespace": policy.max_no_of_pods_to_evict_per_namespace,
        "maxNoOfPodsToEvictTotal": policy.max_no_of_pods_to_evict_total,
        "evictionFailureEventNotification": policy.eviction_failure_event_notification,
        "gracePeriodSeconds": policy.grace_period_seconds,
        **collector,
        "metricsProviders": [_provider(each) for each in policy.metrics_providers],
        "profiles": [_full_profile(profile) for profile in policy.profiles],
        "restow": _plain(policy.restow),
    }


def decided_document(
    policy: Policy, *, placement: Placement, steering: SteeringSetting | SteeringMode
) -> dict[str, Any]:
    """Return a policy as it counted for a plan: options of the command override the file."""
    return full_document(replace(policy, restow=replace(policy.restow, placement=placement, steering=steering)))


def _provider(provider: MetricsProvider) -> dict[str, Any]:
    """Return a provider as it is written, without passwords and tokens, because plans and pages are shared."""
    plain: dict[str, Any] = _plain(provider)
    if provider.prometheus is not None:
        plain["prometheus"]["url"] = without_password(provider.prometheus.url)
    if "args" in plain:
        plain["args"] = _public(plain["args"])
    return plain


def _public(value: Any) -> Any:
    """Return arguments of unknown meaning, with everything hidden that looks like a secret."""
    match value:
        case dict():
            return {key: HIDDEN if inner and names_a_secret(key) else _public(inner) for key, inner in value.items()}
        case list():
            return [_public(inner) for inner in value]
        case str():
            return without_secrets(value)
    return value


def _full_profile(profile: Profile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "pluginConfig": [{"name": name, "args": _plain_args(args)} for name, args in profile.args.items()],
        "plugins": {
            "deschedule": {"enabled": list(profile.deschedule)},
            "balance": {"enabled": list(profile.balance)},
            "filter": {"enabled": list(profile.filter)},
            "preevictionfilter": {"enabled": list(profile.pre_eviction_filter)},
        },
    }


def _plain_args(args: Struct) -> dict[str, Any]:
    """Return arguments as a mapping, without the two keys that mean nothing unless they were written."""
    plain: dict[str, Any] = _plain(args)
    return {key: value for key, value in plain.items() if key not in {"apiVersion", "kind"} or value}


def _plain(value: Any) -> Any:
    """Return the value as it is written in a policy."""
    match value:
        case Struct():
            return {
                field.encode_name: _plain_field(inner, field.type)
                for field in _fields(type(value))
                if (inner := getattr(value, field.name)) is not UNSET
            }
        case dict():
            return {key: _plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case float() if value.is_integer():
            return int(value)
        case Enum():
            return value.value
    return value


@cache
def _fields(kind: type[Struct]) -> tuple[FieldInfo, ...]:
    """Return the fields of a struct. Cached, because msgspec evaluates all annotations at each call."""
    return fields(kind)


def _plain_field(value: Any, declared: Any) -> Any:
    if value is not None and Duration in (declared, *get_args(declared)):
        return format_duration(value)
    return _plain(value)


def _as_written(document: Document, policy: Policy) -> dict[str, Any]:
    """Return what the file says, laid out as ``full_document`` lays it out."""
    is_old = document.data.get("apiVersion") == v1alpha1.API_VERSION
    data = v1alpha1.convert(document) if is_old else document.data
    if not data.get("profiles"):
        return data
    # The profiles of a file without a version never run.
    pairs = zip(data["profiles"], policy.profiles, strict=False)
    return {**data, "profiles": [_profile_as_written(written or {}, profile) for written, profile in pairs]}


def _profile_as_written(written: dict[str, Any], profile: Profile) -> dict[str, Any]:
    # The first entry of a name counts.
    configs = {entry["name"]: entry for entry in reversed(written.get("pluginConfig") or [])}
    plugins = written.get("plugins") or {}
    filters = [plugins.get(key) or {} for key in ("preevictionfilter", "preEvictionFilter")]
    enabled = [name for each in filters if isinstance(each, dict) for name in each.get("enabled") or []]
    return {
        **written,
        "pluginConfig": [configs.get(name) for name in profile.args],
        "plugins": {**plugins, "preevictionfilter": {"enabled": enabled}} if enabled else plugins,
    }


def _silent_lines(node: yaml.Node | None, written: Any) -> Iterator[int]:
    """Yield the lines of the keys and items below a node that ``written`` does not have."""
    for line, inner, said in _parts(node, written):
        if said is None:
            yield line
        yield from _silent_lines(inner, said)


def _parts(node: yaml.Node | None, written: Any) -> Iterator[tuple[int, yaml.Node, Any]]:
    """Yield line, node and counterpart in the file of everything right inside a node."""
    if isinstance(node, yaml.MappingNode):
        said = written if isinstance(written, dict) else {}
        for key, value in node.value:
            yield key.start_mark.line, value, said.get(key.value)
    elif isinstance(node, yaml.SequenceNode):
        items = written if isinstance(written, list) else []
        names = set(map(str, items)) if any(isinstance(each, yaml.ScalarNode) for each in node.value) else set()
        for index, item in enumerate(node.value):
            # Names may have been added in front; everything else keeps its place.
            same = items[index] if index < len(items) else None
            is_scalar = isinstance(item, yaml.ScalarNode)
            yield item.start_mark.line, item, (item.value if item.value in names else None) if is_scalar else same
