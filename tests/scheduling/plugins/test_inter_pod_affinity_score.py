"""InterPodAffinity's scores against the rows of upstream's own tests (L), and what they follow from."""

from __future__ import annotations

import pytest

from builders import a_namespace, a_replica_set, selector
from restow.scheduling.plugins.inter_pod_affinity import InterPodAffinity
from scheduling.plugins.affinity_scenes import (
    AZ1,
    CHINA,
    HARD,
    INDIA,
    S1,
    S1_REGION,
    S1R5,
    S2,
    S2R6,
    existing,
    incoming,
    nodes,
    prefers,
    shuns,
    term,
)
from scheduling.plugins.asking import a_context, pod_index, scores, statuses

NOT_S1_AZ5 = shuns(5, term("az", "security", "In", "S1"))
MIX = prefers(8, S1_REGION) | shuns(5, term("az", "security", "In", "S2"))
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
