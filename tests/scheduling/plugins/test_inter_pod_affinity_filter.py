"""InterPodAffinity's filter against the rows of upstream's own tests (J, K)."""

from __future__ import annotations

import pytest

from builders import a_namespace, a_node, selector
from restow.scheduling.plugins.inter_pod_affinity import InterPodAffinity
from scheduling.plugins.affinity_scenes import (
    BAR,
    FOO,
    FOO_BAR,
    S1,
    SCAN,
    ZONES,
    avoids,
    existing,
    incoming,
    nodes,
    term,
    wants,
)
from scheduling.plugins.asking import a_context, codes, pod_index, statuses

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"

MACHINE = a_node("machine1", labels={"region": "r1", "zone": "z11"})
ABC, DEF = {"abc": "", "xyz": ""}, {"def": "", "xyz": ""}
BOTH_ZONES = avoids(term("zone", "abc"), term("zone", "def"))
NEAR_SCAN = wants(term("region", "service", "In", "securityscan"))
AVOIDS_VIRUS = avoids(term("node", "service", "In", "antivirusscan"))

ONE_NODE = {
    "J02": (
        incoming(SCAN, wants(term("region", "service", "In", "securityscan", "value2"))),
        existing("machine1", SCAN),
        ("OK",),
    ),
    "J05": (
        incoming(SCAN, wants(term("region", "service", "In", "antivirusscan", "value2"))),
        existing("machine1", SCAN),
        ("UAU", AFFINITY),
    ),
    "J08": (incoming(SCAN, NEAR_SCAN, AVOIDS_VIRUS), existing("machine1", SCAN), ("OK",)),
    "J09": (incoming(SCAN, NEAR_SCAN, AVOIDS_VIRUS), existing("machine1", SCAN, affinity=AVOIDS_VIRUS), ("OK",)),
    "J10": (
        incoming(SCAN, NEAR_SCAN, avoids(term("zone", "service", "In", "securityscan"))),
        existing("machine1", SCAN),
        ("U", ANTI),
    ),
    "J13": (
        incoming(SCAN),
        existing("machine1", SCAN, affinity=avoids(term("zone", "service", "In", "securityscan"))),
        ("U", EXISTING),
    ),
    "J14": (
        incoming(SCAN),
        existing("machine1", SCAN, affinity=avoids(term("zone", "service", "NotIn", "securityscan", "value2"))),
        ("OK",),
    ),
    "J15": (
        incoming(SCAN, avoids(term("region", "service"), term("region", "security"))),
        existing("machine1", S1, affinity=avoids(term("zone", "security"))),
        ("U", ANTI),
    ),
    "J16": (
        incoming(SCAN, avoids(term("zone", "service"), term("zone", "security"))),
        existing("machine1", S1, affinity=avoids(term("zone", "security"))),
        ("U", ANTI),
    ),
    "J17": (
        incoming(S1, avoids(term("zone", "security"))),
        existing("machine1", SCAN, affinity=avoids(term("zone", "service"), term("zone", "security"))),
        ("U", EXISTING),
    ),
    "J18": (incoming(ABC, BOTH_ZONES), existing("machine1", DEF, affinity=BOTH_ZONES), ("U", ANTI)),
    "J19": (incoming(DEF, BOTH_ZONES), existing("machine1", ABC, affinity=BOTH_ZONES), ("U", ANTI)),
}


@pytest.mark.parametrize(("pod", "other", "expected"), ONE_NODE.values(), ids=ONE_NODE)
def test_filter_rows_of_one_node(pod, other, expected):
    context = a_context(MACHINE, pod, other)
    assert statuses(context, InterPodAffinity(context), pod_index(context)) == {"machine1": expected}


CHINA_INDIA = nodes(a="region=China", b="region=China", c="region=India")
FOO_REGION_BAR_ZONE = wants(term("region", "foo"), term("zone", "bar"))
OWN = a_namespace("default", labels={"team": "a"})
TEAM_A, NO_TEAM = selector(labels={"team": "a"}), selector(("team", "DoesNotExist"))
OTHER = [a_namespace("other", labels={"team": "b"}), existing("a", FOO, namespace="other")]

SEVERAL_NODES = {
    "K01": (
        nodes(a="region=China", b="region=China,az=az1", c="region=India"),
        incoming({"foo": "bar"}, wants(term("region", "foo", "In", "bar"))),
        [existing("a", {"foo": "bar"})],
        "a:OK b:OK c:UAU",
    ),
    "K02": (
        nodes(a="zone=az1", b="zone=az2"),
        incoming(
            {"foo": "bar", **SCAN},
            wants(term("zone", "foo", "In", "bar"), term("zone", "service", "In", "securityscan")),
        ),
        [existing("a", {"foo": "bar"})],
        "a:OK b:OK",
    ),
    "K03": (
        nodes(a="region=r1", b="region=r1"),
        incoming({}, avoids(term("region", "foo", "In", "abc"))),
        [existing("a", {"foo": "abc"})],
        "a:U b:U",
    ),
    "K05": (
        CHINA_INDIA,
        incoming({}, avoids(term("region", "foo", "In", "abc"))),
        [existing("a", {"foo": "abc"})],
        "a:U b:U c:OK",
    ),
    "K06": (
        CHINA_INDIA,
        incoming({"foo": "123"}, avoids(term("region", "foo", "In", "bar")), namespace="NS1"),
        [
            existing("a", {"foo": "bar"}, namespace="NS1"),
            existing("c", {}, namespace="NS2", affinity=avoids(term("region", "foo", "In", "123"))),
        ],
        "a:U b:U c:OK",
    ),
    "K07": (
        ZONES,
        incoming(FOO),
        [existing("a", {}, affinity=avoids(term("invalid-node-label", "foo")))],
        "a:OK b:OK",
    ),
    "K09": (
        ZONES,
        incoming(FOO_BAR),
        [
            existing("a", {}, 0, affinity=avoids(term("zone", "foo"))),
            existing("a", {}, 1, affinity=avoids(term("region", "bar"))),
        ],
        "a:U b:U",
    ),
    "K11": (
        ZONES,
        incoming(FOO_BAR),
        [existing("a", {}, affinity=avoids(term("invalid-node-label", "foo"), term("zone", "bar")))],
        "a:U b:OK",
    ),
    "K12": (
        ZONES,
        incoming({}, avoids(term("invalid-node-label", "foo"), term("zone", "bar"))),
        [existing("a", FOO_BAR)],
        "a:U b:OK",
    ),
    "K13": (
        ZONES,
        incoming(FOO_BAR),
        [existing("a", {}, affinity=avoids(term("region", "foo"), term("zone", "bar")))],
        "a:U b:U",
    ),
    "K16": (
        nodes(a="region=r1,zone=z1", b="region=r1,zone=z1"),
        incoming({}, FOO_REGION_BAR_ZONE),
        [existing("a", FOO_BAR)],
        "a:OK b:OK",
    ),
    "K17": (ZONES, incoming({}, FOO_REGION_BAR_ZONE), [existing("a", FOO), existing("b", BAR)], "a:UAU b:UAU"),
    "K21": (ZONES, incoming({}, wants(term("zone", "foo", namespace_selector={}))), OTHER, "a:OK b:UAU"),
    "K22-own-namespace-selected": (
        ZONES,
        incoming(FOO, wants(term("zone", "foo", namespace_selector=TEAM_A))),
        [OWN, *OTHER],
        "a:OK b:OK",
    ),
    "K22-own-namespace-not-selected": (
        ZONES,
        incoming(FOO, wants(term("zone", "foo", namespace_selector=TEAM_A))),
        [a_namespace("default"), *OTHER],
        "a:UAU b:UAU",
    ),
    "K22-without-foo": (
        ZONES,
        incoming(BAR, wants(term("zone", "foo", namespace_selector=TEAM_A))),
        [OWN, *OTHER],
        "a:UAU b:UAU",
    ),
    "K23": (ZONES, incoming({}, avoids(term("zone", "foo", namespace_selector=NO_TEAM))), OTHER, "a:U b:OK"),
}


@pytest.mark.parametrize(("where", "pod", "others", "expected"), SEVERAL_NODES.values(), ids=SEVERAL_NODES)
def test_filter_rows_of_several_nodes(where, pod, others, expected):
    context = a_context(*where, pod, *others)
    assert codes(context, InterPodAffinity(context), pod_index(context)) == expected
