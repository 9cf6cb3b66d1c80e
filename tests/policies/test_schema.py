"""What a plugin says of itself is all that readers of policies know of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from builders.policies import PLUGINS, a_config, a_policy, a_profile, as_yaml
from restow.cluster.usage_samples import UsageQuery
from restow.documents.findings import Issue
from restow.policies.arguments import PluginArgs
from restow.policies.lint import lint_policy
from restow.policies.load import load_policy, validate_policy
from restow.policies.schema import PluginSchema
from restow.policies.usage import MetricsUtilization, queries_of


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """What a foreign plugin has inside its arguments."""

    most: int = 0


class ForeignArgs(PluginArgs, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Arguments of a plugin that nobody here knows."""

    limits: Limits = Limits()
    metrics_utilization: MetricsUtilization | None = None


def lint(args: ForeignArgs) -> Iterator[Issue]:
    if args.limits.most == 0:
        yield Issue(("limits", "most"), "0 moves nothing", "warning")


FOREIGN = PluginSchema(
    "Foreign",
    ("deschedule",),
    ForeignArgs,
    lint=lint,
    conflicts={"PodLifeTime": "one keeps what the other ends"},
    renamed={"limit": "write limits: {most: ...}"},
    go_package="foreign.",
)
KNOWN = {**PLUGINS, "Foreign": FOREIGN}
PROMETHEUS = [{"source": "Prometheus", "prometheus": {"url": "http://prometheus"}}]


def policy(args: Any = None, *others: str, **settings: Any) -> bytes:
    configs = [a_config("Foreign", args), *(a_config(each, {"maxPodLifeTimeSeconds": 60}) for each in others)]
    return as_yaml(a_policy(a_profile(*configs, deschedule=["Foreign", *others]), **settings))


def told(text: bytes) -> list[str]:
    return [each.advice for each in lint_policy(text, "p.yaml", KNOWN)]


def test_its_lint_rules_are_asked() -> None:
    assert told(policy()) == ["0 moves nothing"]
    assert told(policy({"limits": {"most": 1}})) == []


def test_its_conflicts_are_told_where_both_are_enabled() -> None:
    conflict = "Foreign and PodLifeTime in one profile pull in opposite directions: one keeps what the other ends"
    assert conflict in told(policy({"limits": {"most": 1}}, "PodLifeTime"))


def test_errors_quote_its_go_package() -> None:
    (finding,) = validate_policy(policy({"limits": 3}), "p.yaml", KNOWN)
    text = "json: cannot unmarshal number into Go struct field ForeignArgs.limits of type foreign.Limits"
    assert text in finding.advice


def test_a_key_that_it_once_had_gets_its_hint() -> None:
    (finding,) = validate_policy(policy({"limit": 3}), "p.yaml", KNOWN)
    assert "write limits: {most: ...}" in finding.advice


def test_its_query_is_asked_of_prometheus() -> None:
    usage = {"metricsUtilization": {"source": "Prometheus", "prometheus": {"query": "up"}}}
    loaded = load_policy(policy(usage, metricsProviders=PROMETHEUS), "p.yaml", KNOWN)
    assert queries_of(loaded.policy) == (UsageQuery("Prometheus", "up"),)


def test_a_provider_that_it_asks_and_that_nobody_configures_is_told() -> None:
    usage = {"limits": {"most": 1}, "metricsUtilization": {"source": "Prometheus", "prometheus": {"query": "up"}}}
    (advice,) = told(policy(usage))
    assert "the strategy fails in every cycle without metricsProviders: [{source: Prometheus}]" in advice
