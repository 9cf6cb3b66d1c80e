"""InterPodAffinity against the rows of upstream's own tests (J, K: filter, L: score)."""

from __future__ import annotations

import pytest

from builders import (
    a_namespace,
    a_node,
    a_pod,
    a_replica_set,
    ago,
    pod_affinity,
    pod_anti_affinity,
    pod_term,
    selector,
)
from restow.scheduling.plugins.inter_pod_affinity import InterPodAffinity
from scheduling.plugins.asking import INCOMING, a_context, codes, pod_index, scores, statuses

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"

SCAN, S1, S2 = {"service": "securityscan"}, {"security": "S1"}, {"security": "S2"}


def term(topology, *requirement, **more):
    """``term("zone", "service", "In", "a", "b")``; only a key asks for the label to be there."""
    requirement = requirement if len(requirement) != 1 else (*requirement, "Exists")
    return pod_term(selector(requirement), topology=topology, **more)


def existing(node, labels, number=0, *, affinity=None, namespace="default", **more):
    return a_pod(f"{node}{number}", node=node, labels=labels, affinity=affinity, namespace=namespace, **more)


def incoming(labels, *parts, namespace="default"):
    affinity = {key: value for part in parts for key, value in part.items()}
    return a_pod(INCOMING, namespace=namespace, labels=labels, affinity=affinity or None)


def wants(*terms):
    return pod_affinity(list(terms))


def avoids(*terms):
    return pod_anti_affinity(list(terms))


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


def nodes(**labels):
    """``nodes(a="region=r1,zone=z1")``."""
    return [a_node(name, labels=dict(each.split("=") for each in text.split(","))) for name, text in labels.items()]


FOO, BAR, FOO_BAR = {"foo": "1"}, {"bar": "1"}, {"foo": "1", "bar": "1"}
ZONES = nodes(a="region=r1,zone=z1", b="region=r1,zone=z2")
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


def prefers(weight, wanted):
    return pod_affinity(preferred=[(weight, wanted)])


def shuns(weight, unwanted):
    return pod_anti_affinity(preferred=[(weight, unwanted)])


S1_REGION, S2_REGION = term("region", "security", "In", "S1"), term("region", "security", "In", "S2")
S1R5, S2R6 = prefers(5, S1_REGION), prefers(6, S2_REGION)
NOT_S1_AZ5 = shuns(5, term("az", "security", "In", "S1"))
MIX = prefers(8, S1_REGION) | shuns(5, term("az", "security", "In", "S2"))
HARD = wants(
    term("region", "security", "In", "S1", "value2"),
    pod_term(selector(("security", "Exists"), ("wrongkey", "DoesNotExist")), topology="region"),
)
CHINA, INDIA, AZ1, AZ2 = nodes(a="region=China", b="region=India", c="az=az1", d="az=az2")
TEAM1 = selector(labels={"team": "team1"})
TEAMS = [
    a_namespace(f"subteam{number}.{team}", labels={"team": team}) for number in (1, 2) for team in ("team1", "team2")
]
FIVE = nodes(a="region=China,az=az1", b="region=India", c="region=China", d="region=China", e="region=India")
PREFERS_TEAM = prefers(
    5, term("region", "security", "In", "S1", namespaces=["subteam2.team2"], namespace_selector=TEAM1)
)


def of_team(node, number, namespace):
    return existing(node, S1, number, namespace=namespace)


SCORE = {
    "L01": ([CHINA, INDIA, AZ1], incoming(S1), [], "SKIP"),
    "L02": (
        [CHINA, INDIA, AZ1],
        incoming({}, S1R5),
        [existing("a", S1), existing("b", S2), existing("c", S1)],
        [100, 0, 0],
    ),
    "L03": (
        nodes(a="region=China", b="region=China,az=az1", c="region=India"),
        incoming({}, S1R5),
        [existing("a", S1)],
        [100, 100, 0],
    ),
    "L06": (
        [CHINA, INDIA, AZ1],
        incoming(S2),
        [existing("a", S1, affinity=S1R5), existing("b", S2, affinity=S2R6)],
        [0, 100, 0],
    ),
    "L07": (
        [CHINA, INDIA, AZ1],
        incoming(S1, namespace="subteam1.team1"),
        [
            *TEAMS,
            existing("a", {}, affinity=prefers(5, term("region", "security", "In", "S1", namespace_selector=TEAM1))),
            existing("b", S2, affinity=S2R6),
        ],
        [100, 0, 0],
    ),
    "L08": (
        [CHINA, INDIA, AZ1],
        incoming(S1, namespace="subteam1.team1"),
        [
            *TEAMS,
            existing("a", {}, affinity=shuns(5, term("region", "security", "In", "S1", namespace_selector=TEAM1))),
            existing("b", S2, affinity=S2R6),
        ],
        [0, 100, 100],
    ),
    "L09": (
        [CHINA, INDIA, AZ1],
        incoming(S1),
        [existing("a", {}, affinity=HARD), existing("b", {}, affinity=HARD)],
        [100, 100, 0],
    ),
    "L10": ([AZ1, CHINA], incoming(S1, NOT_S1_AZ5), [existing("c", S1), existing("a", S2)], [100, 0]),
    "L12": (
        [AZ1, INDIA],
        incoming({}, NOT_S1_AZ5),
        [existing("c", S1), existing("c", S1, 1), existing("b", S2)],
        [100, 0],
    ),
    "L14": ([CHINA, AZ1], incoming(S1, MIX), [existing("a", S1), existing("c", S1)], [100, 0]),
    "L15": (
        FIVE,
        incoming(S1, MIX),
        [existing(node, S1, number) for number, node in enumerate("aabccde")],
        [100, 0, 100, 100, 0],
    ),
    "L19": (
        [CHINA, INDIA],
        incoming(S1, PREFERS_TEAM, namespace="subteam1.team1"),
        [
            *TEAMS,
            of_team("a", 0, "subteam1.team1"),
            of_team("a", 1, "subteam2.team1"),
            of_team("a", 2, "subteam1.team2"),
            of_team("b", 0, "subteam1.team1"),
        ],
        [100, 0],
    ),
    "L20": (
        [CHINA, INDIA],
        incoming(S1, PREFERS_TEAM, namespace="subteam1.team1"),
        [
            *TEAMS,
            of_team("a", 0, "subteam1.team1"),
            of_team("a", 2, "subteam2.team2"),
            of_team("b", 0, "subteam1.team1"),
        ],
        [100, 0],
    ),
    "L23": (
        [CHINA, INDIA],
        incoming(S2),
        [existing("a", S1, affinity=MIX), existing("b", {}, affinity=S2R6)],
        [0, 100],
    ),
    "L26": ([], incoming({}, S1R5), [], "SKIP"),
}


@pytest.mark.parametrize(("where", "pod", "others", "expected"), SCORE.values(), ids=SCORE)
def test_score_rows(where, pod, others, expected):
    context = a_context(*where, pod, *others)
    assert scores(context, InterPodAffinity(context), pod_index(context)) == expected


def test_l18_an_unreadable_preferred_term_keeps_the_pod_from_being_scheduled():
    context = a_context(CHINA, incoming(S1, prefers(5, term("region", "security", "In", "{{.bad-value.}}"))))
    found = statuses(context, InterPodAffinity(context), pod_index(context))["a"]
    assert found[0] == "UAU"
    assert found[1].startswith("parsing pod: preferredAffinityTerms: values[0][security]: Invalid value")


def test_l22_preferences_of_existing_pods_can_be_ignored():
    """They count again as soon as the incoming pod has preferences of its own."""
    others = [existing("a", S1, affinity=MIX), existing("b", {}, affinity=S2R6)]
    context = a_context(CHINA, INDIA, incoming(S2), *others)
    plugin = InterPodAffinity(context, ignore_preferred_of_existing=True)
    assert scores(context, plugin, pod_index(context)) == "SKIP"
    context = a_context(CHINA, INDIA, incoming(S2, NOT_S1_AZ5), *others)
    plugin = InterPodAffinity(context, ignore_preferred_of_existing=True)
    assert scores(context, plugin, pod_index(context)) == [0, 100]


def test_a_node_without_the_key_fails_affinity_even_for_the_first_pod():
    context = a_context(*ZONES, a_node("c"), incoming(FOO, wants(term("zone", "foo"))))
    assert codes(context, InterPodAffinity(context), pod_index(context)) == "a:OK b:OK c:UAU"


def test_the_first_pod_must_match_all_its_terms():
    context = a_context(*ZONES, incoming(FOO, wants(term("zone", "foo"), term("zone", "bar"))))
    assert codes(context, InterPodAffinity(context), pod_index(context)) == "a:UAU b:UAU"


def test_matching_pods_on_nodes_without_the_key_leave_the_next_one_the_first():
    context = a_context(*ZONES, a_node("c"), incoming(FOO, wants(term("zone", "foo"))), existing("c", FOO))
    assert codes(context, InterPodAffinity(context), pod_index(context)) == "a:OK b:OK c:UAU"


def test_the_first_pod_rule_ends_with_one_match_on_any_of_the_keys():
    """A matching pod that counts for the region ends it, though its node has no zone."""
    where = [*ZONES, *nodes(c="region=r1")]
    context = a_context(*where, incoming(FOO, wants(term("region", "foo"), term("zone", "foo"))), existing("c", FOO))
    assert codes(context, InterPodAffinity(context), pod_index(context)) == "a:UAU b:UAU c:UAU"


def test_terminating_pods_still_attract_and_repel():
    others = existing("a", FOO, affinity=avoids(term("zone", "bar")), deleted=ago(5))
    repelled = a_context(*ZONES, incoming(BAR), others)
    assert codes(repelled, InterPodAffinity(repelled), pod_index(repelled)) == "a:U b:OK"
    attracted = a_context(*ZONES, incoming({}, wants(term("zone", "foo"))), others)
    assert codes(attracted, InterPodAffinity(attracted), pod_index(attracted)) == "a:OK b:UAU"


def test_pods_that_are_over_neither_attract_nor_repel():
    others = existing("a", FOO, affinity=avoids(term("zone", "bar")), phase="Succeeded")
    context = a_context(*ZONES, incoming(BAR), others)
    assert codes(context, InterPodAffinity(context), pod_index(context)) == "a:OK b:OK"


def test_an_unreadable_list_of_an_existing_pod_counts_as_empty():
    """The other lists of that pod still count."""
    affinity = avoids(term("zone", "foo"), term("zone", "foo", "Near")) | S1R5
    context = a_context(*ZONES, incoming(FOO | S1), existing("a", {}, affinity=affinity))
    assert codes(context, InterPodAffinity(context), pod_index(context)) == "a:OK b:OK"
    context = a_context(CHINA, INDIA, incoming(FOO | S1), existing("a", {}, affinity=affinity))
    assert scores(context, InterPodAffinity(context), pod_index(context)) == [100, 0]


def test_an_absent_selector_means_no_pod_and_an_empty_one_every_pod():
    absent = a_context(*ZONES, incoming(FOO), existing("a", {}, affinity=avoids(pod_term(None, topology="zone"))))
    assert codes(absent, InterPodAffinity(absent), pod_index(absent)) == "a:OK b:OK"
    empty = a_context(*ZONES, incoming(FOO), existing("a", {}, affinity=avoids(pod_term({}, topology="zone"))))
    assert codes(empty, InterPodAffinity(empty), pod_index(empty)) == "a:U b:OK"


@pytest.mark.parametrize(("weight", "expected"), [(0, "SKIP"), (7, [100, 0, 0])])
def test_required_affinity_of_existing_pods_has_a_weight(weight, expected):
    context = a_context(CHINA, INDIA, AZ1, incoming(S1), existing("a", {}, affinity=HARD))
    assert scores(context, InterPodAffinity(context, hard_weight=weight), pod_index(context)) == expected


def test_weights_that_cancel_out_are_an_opinion():
    """All nodes get 0 then, as they do wherever they are equal."""
    others = existing("a", {}, affinity=prefers(5, S1_REGION) | shuns(5, S1_REGION))
    context = a_context(CHINA, INDIA, incoming(S1), others)
    assert scores(context, InterPodAffinity(context), pod_index(context)) == [0, 0]


def test_terms_over_a_label_that_no_node_has_are_no_opinion():
    context = a_context(CHINA, INDIA, incoming(S1, prefers(5, term("rack", "security"))), existing("a", S1))
    assert scores(context, InterPodAffinity(context), pod_index(context)) == "SKIP"


def test_scores_are_truncated():
    where = nodes(a="region=r1", b="region=r2", c="region=r3")
    others = [existing("a", S1), existing("a", S1, 1), existing("a", S1, 2), existing("b", S1)]
    context = a_context(*where, incoming({}, S1R5), *others, a_replica_set("rs"))
    assert scores(context, InterPodAffinity(context), pod_index(context)) == [100, 33, 0]
