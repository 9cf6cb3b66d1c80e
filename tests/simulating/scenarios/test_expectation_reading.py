"""Expectations of scenario files: what each says, and every way in which one means nothing."""

from __future__ import annotations

import pytest

from restow.kube.labels import EVERYTHING, parse_selector
from restow.simulating.scenarios.expectations import (
    EvictionCount,
    Expectation,
    LoopCount,
    NodeCount,
    PodCount,
    Spread,
    Statement,
)
from restow.simulating.scenarios.references import NodeChoice, Reference

SECOND, MINUTE = 10**9, 60 * 10**9
WEB = Reference("Deployment", "default", "web")
NODE_1 = NodeChoice("node-1")
ZONE_A = NodeChoice(labels=parse_selector("zone=a"))


EXPECTATIONS = [
    ({"never": {"pods": "pending"}}, Expectation("never pods pending", "never", Statement(PodCount("pending"), 1))),
    (
        {"eventually": {"pods": "ready", "of": "deployment/web", "exactly": 3}, "within": "5m", "after": "1m"},
        Expectation(
            "eventually pods ready of deployment/web exactly 3, after 1m0s, within 5m0s",
            "eventually", Statement(PodCount("ready", of=WEB), 3, 3), MINUTE, 6 * MINUTE,
        ),
    ),
    (
        {"never": {"pods": "ready", "with": "app=web", "in": "shop", "onNodes": "zone=a", "atMost": 1}, "for": "30s"},
        Expectation(
            "never pods ready with app=web in shop on nodes zone=a at most 1, for 30s", "never",
            Statement(PodCount("ready", parse_selector("app=web"), None, "shop", ZONE_A), None, 1), hold=30 * SECOND,
        ),
    ),
    (
        {"always": {"nodes": "used", "atLeast": 1, "atMost": 2}, "until": "1m"},
        Expectation(
            "always nodes used at least 1 at most 2, until 1m0s", "always",
            Statement(NodeCount("used", EVERYTHING), 1, 2), until=MINUTE,
        ),
    ),
    (
        {"always": {"evictions": "any", "by": "drain", "atMost": 5}},
        Expectation(
            "always evictions any by drain at most 5", "always", Statement(EvictionCount(by="drain"), None, 5)
        ),
    ),
    (
        {"never": {"loops": "any", "of": "deployment/web"}},
        Expectation("never loops any of deployment/web", "never", Statement(LoopCount(of=WEB), 1)),
    ),
    (
        {"eventually": {"spread": "cpu", "atMost": 0.1}},
        Expectation("eventually spread cpu at most 0.1", "eventually", Statement(Spread("cpu"), None, 0.1)),
    ),
    (
        {"always": {"pods": "any", "skewAcross": "zone", "atMost": 1}},
        Expectation(
            "always pods any skew across zone at most 1", "always", Statement(PodCount(skew_across="zone"), None, 1)
        ),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("written", "expected"), EXPECTATIONS, ids=lambda each: str(each)[:40])
def test_what_is_expected(read, written, expected):
    (found,) = read(expect=[written]).expectations
    assert found.place == ("expect", 0)
    assert [getattr(found, each) for each in found.__slots__[:-1]] == [
        getattr(expected, each) for each in expected.__slots__[:-1]
    ]


POD = {"pods": "any"}
ODD_EXPECTATIONS = [
    ({}, "expect[0]: has no statement, or several; write one of eventually, always, never"),
    ({"always": POD, "never": POD}, "expect[0]: has no statement, or several"),
    ({"always": {}}, "expect[0].always: must count one thing; write one of pods, nodes, evictions, loops, spread"),
    ({"always": POD | {"nodes": "any"}}, "expect[0].always: must count one thing"),
    ({"always": {"nodes": "any", "of": "pod/a"}}, "expect[0].always.of: says nothing about nodes; remove it"),
    ({"always": POD | {"by": "drain"}}, "expect[0].always.by: says nothing about pods"),
    ({"always": {"spread": "cpu"}}, "expect[0].always: has no bound; write atMost: 0.1"),
    ({"always": POD | {"atLeast": 2, "atMost": 1}}, "expect[0].always.atLeast: is more than atMost"),
    ({"always": POD | {"exactly": 2, "atMost": 1}}, "expect[0].always.exactly: leaves nothing"),
    ({"always": POD | {"exactly": 2, "atLeast": 1}}, "expect[0].always.exactly: leaves nothing"),
    ({"always": POD | {"atLeast": -1}}, "expect[0].always.atLeast: must not be negative"),
    ({"always": POD | {"with": "a b"}}, "expect[0].always.with: "),
    ({"always": POD | {"of": "web"}}, 'expect[0].always.of: "web" is not of the form'),
    ({"always": POD | {"of": "node/n1"}}, "expect[0].always.of: must be about one of deployment, replicaset,"),
    ({"always": POD | {"skewAcross": "a b"}}, "expect[0].always.skewAcross: name part"),
    ({"always": POD | {"onNodes": "a in b"}}, "expect[0].always.onNodes: "),
    ({"always": {"pods": "redy"}}, "expect[0].always.pods: must be any or failed"),
    ({"always": POD, "for": "1m"}, "expect[0].for: means nothing to always"),
    ({"never": POD, "within": "1m"}, "expect[0].within: means nothing to never; write until"),
    ({"eventually": POD, "within": "1m", "until": "1m"}, "expect[0].until: ends what within ends already"),
    ({"never": POD, "after": "2m", "until": "1m"}, "expect[0].until: is before after"),
    ({"never": POD, "after": "-2m"}, "expect[0].after: must not be negative"),
    ({"nevr": POD}, 'expect[0].nevr: unknown field "nevr"; did you mean "never"?'),
]


@pytest.mark.parametrize(("written", "sentence"), ODD_EXPECTATIONS, ids=lambda each: str(each)[:50])
def test_an_expectation_that_means_nothing(refusal, written, sentence):
    (found,) = refusal(expect=[written])
    assert found.startswith(sentence)
