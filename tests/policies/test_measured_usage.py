"""Policies whose joint plans go by measured usage: what is wrong with them, and what is odd."""

from __future__ import annotations

from typing import Any

import pytest

from builders.policies import PLUGINS, as_json, strategy_policy
from restow.documents.findings import DocumentError
from restow.policies.lint import lint_policy
from restow.policies.load import load_policy

SOURCE = {"metricsProviders": [{"source": "KubernetesMetrics"}]}
P95 = {"restow": {"usage": {"percentile": 95}}}


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ({"usage": "guessed"}, 'usage: "guessed" is unknown; choose one of requests, measured'),
        ({"usage": "measured", "headroom": 100}, "headroom: must be from 0 to below 100, not 100"),
        ({"usage": "measured", "headroom": -1}, "headroom: must be from 0 to below 100, not -1"),
        ({"headroom": 20}, "headroom: is free by measured usage; add usage: measured"),
    ],
)
def test_what_is_wrong_with_usage_is_said(args: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DocumentError) as refused:
        load_policy(as_json(strategy_policy("Rebalance", args)), "policy.json", PLUGINS)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("strategy", "args", "settings", "findings"),
    [
        ("Rebalance", {"usage": "measured"}, SOURCE | P95, []),
        (
            "Rebalance",
            {"usage": "measured"},
            {},
            [
                (
                    "profiles[0].pluginConfig[0].args.usage: the strategy fails in every cycle without "
                    "metricsProviders: [{source: KubernetesMetrics}]: metrics client not initialized"
                )
            ],
        ),
        (
            "Rebalance",
            {},
            P95,
            [
                (
                    "restow.usage: it has no effect: no strategy goes by measured usage; "
                    "write metricsUtilization.source, or usage: measured in Rebalance"
                )
            ],
        ),
    ],
)
def test_what_is_odd_about_usage_is_said(
    strategy: str, args: dict[str, Any], settings: dict[str, Any], findings: list[str]
) -> None:
    found = lint_policy(as_json(strategy_policy(strategy, args, **settings)), "policy.json", PLUGINS)
    assert [f"{each.path}: {each.advice}" for each in found] == findings
