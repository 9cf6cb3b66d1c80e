"""Which moves of a plan bring the replacement first."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from builders import HOSTNAME, Object, a_node, a_pod, ago, pod_anti_affinity, pod_term, selector, spread
from descheduling.harness import a_policy
from proving.proven import TOLD, codes, landings, plans
from restow.descheduling.cycle import Cycle
from restow.policies.codes import ReplacementSetting, SteeringMode
from restow.policies.policy import RestowSettings
from restow.proving.surges import ANNOTATION, SurgeChoice, replacement_notes

WEB = {"app": "web"}
PACK = ("Rebalance", {"goal": "pack"})
#: Any pod is too old for it, so each pod that may go is moved.
OLD = ("PodLifeTime", {"maxPodLifeTimeSeconds": 60})


def a_replica_set(replicas: int = 1, *, above: str = "Deployment", **metadata: object) -> Object:
    owners = [{"kind": above, "name": "web", "uid": "u-above", "controller": True}] if above else []
    return {
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "default", "uid": "u-web", "ownerReferences": owners} | metadata,
        "spec": {"replicas": replicas, "selector": {"matchLabels": WEB}, "template": {"metadata": {"labels": WEB}}},
    }


def a_stateful_set(replicas: int = 1, **metadata: object) -> Object:
    return a_replica_set(replicas, above="", **metadata) | {"kind": "StatefulSet"}


def a_deployment(**metadata: object) -> Object:
    named = {"name": "web", "namespace": "default", "uid": "u-above"}
    return {"kind": "Deployment", "metadata": named | metadata, "spec": {"replicas": 1}}


def pod(name: str = "w1", *, kind: str = "ReplicaSet", **features: object) -> Object:
    """A pod on a node that is to become empty."""
    return a_pod(name, node="b", owner=(kind, "web"), created=ago(3600), labels=WEB, cpu="1", **features)


def planned(
    setting: str,
    *objects: Object,
    size: str = "8",
    rules: Sequence[Object] = (),
    strategy: tuple[str, Object] = PACK,
) -> Cycle:
    nodes = [a_node(name, cpu=size, labels={HOSTNAME: name, "zone": "z"}) for name in "ab"]
    full = a_pod("full", node="a", cpu="5")
    others = [each for each in TOLD if each["kind"] != "ReplicaSet"]
    policy = a_policy(*strategy, restow={"replacement": setting, "replacementRules": list(rules)})
    return next(plans([*nodes, full, *objects, *others], policy, most=1, steering="nominate"))


def modes(cycle: Cycle) -> list[str]:
    landed = (each.landing for each in cycle.record.evictions)
    return [f"{each.mode}{' or evict' * each.evicts_instead}" for each in landed]


@pytest.mark.parametrize(
    ("setting", "mode"),
    [("evict", "evict"), ("surge", "surge"), ("auto", "surge or evict"), ("annotated", "evict")],
)
def test_the_policy_decides(setting: str, mode: str) -> None:
    cycle = planned(setting, a_replica_set(), pod())
    assert landings(cycle) == {"w1": "a"}
    assert modes(cycle) == [mode]


@pytest.mark.parametrize("setting", ["surge", "evict"])
@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ({}, True),
        ({"kinds": ["Deployment"]}, True),
        ({"kinds": ["ReplicaSet"]}, False),
        ({"namespaces": {"include": ["default"]}}, True),
        ({"namespaces": {"include": ["other"]}}, False),
        ({"namespaces": {"exclude": ["default"]}}, False),
        ({"namespaces": {"include": ["default"]}, "kinds": ["ReplicaSet"]}, False),
    ],
)
def test_the_first_rule_of_the_policy_that_holds_decides(setting: str, rule: Object, *, holds: bool) -> None:
    last = {"kinds": ["Deployment"], "replacement": setting}
    rules = [{**rule, "replacement": "evict" if setting == "surge" else "surge"}, last]
    cycle = planned("annotated", a_replica_set(), pod(), rules=rules)
    assert modes(cycle) == [setting if not holds else rules[0]["replacement"]]


@pytest.mark.parametrize(
    ("setting", "asked", "mode"),
    [
        ("annotated", "surge", "surge or evict"),
        ("annotated", "auto", "surge or evict"),
        ("annotated", "evict", "evict"),
        ("auto", "evict", "evict"),
        ("surge", "evict", "evict"),
        ("surge", "auto", "surge"),
        ("evict", "surge", "evict"),
        ("annotated", "annotated", "evict"),
        ("auto", "nonsense", "surge or evict"),
    ],
)
@pytest.mark.parametrize("where", ["Deployment", "ReplicaSet", "Namespace"])
def test_owners_ask_for_something_else_where_the_policy_lets_them(
    setting: str, asked: str, mode: str, where: str
) -> None:
    """They cannot keep the pod in place, so it is evicted where a surge that only they want cannot be made."""
    asking = {"annotations": {ANNOTATION: asked}}
    found = {
        "Deployment": [a_replica_set(), a_deployment(**asking)],
        "ReplicaSet": [a_replica_set(above="", **asking)],
        "Namespace": [a_replica_set(), {"kind": "Namespace", "metadata": {"name": "default", **asking}}],
    }
    assert modes(planned(setting, *found[where], pod())) == [mode]


def test_the_workload_is_heard_before_its_namespace() -> None:
    says = [{"annotations": {ANNOTATION: asked}} for asked in ("evict", "surge")]
    namespace = {"kind": "Namespace", "metadata": {"name": "default", **says[0]}}
    objects = [a_replica_set(), a_deployment(**says[1]), namespace, pod()]
    assert modes(planned("annotated", *objects)) == ["surge or evict"]


def test_what_a_replica_set_has_from_its_deployment_is_no_answer() -> None:
    """The copy stays when the Deployment's annotation is taken away."""
    stale = a_replica_set(annotations={ANNOTATION: "surge"})
    assert modes(planned("annotated", stale, a_deployment(), pod())) == ["evict"]


def test_an_answer_that_is_none_is_told() -> None:
    asking = a_deployment(annotations={ANNOTATION: "surgee"})
    cycle = planned("auto", a_replica_set(), asking, pod())
    (told,) = replacement_notes(cycle.state.cluster, RestowSettings(replacement=ReplacementSetting.AUTO))
    assert told == (
        'Deployment default/web: the annotation restow.dev/replacement is "surgee", none of evict, reserve, surge, rollout, auto, and is '
        'ignored; did you mean "surge"?'
    )
    assert list(replacement_notes(cycle.state.cluster, RestowSettings())) == []


@pytest.mark.parametrize(("setting", "mode"), [("surge", "surge"), ("auto", "evict")])
def test_auto_surges_only_what_would_be_down(setting: str, mode: str) -> None:
    """Of two replicas one stays ready."""
    cycle = planned(setting, a_replica_set(2), pod("w1"), pod("w2"))
    assert modes(cycle) == [mode, mode]


@pytest.mark.parametrize(
    "objects",
    [
        [a_replica_set(above="Game"), pod()],
        [a_stateful_set(), pod(kind="StatefulSet")],
        [a_replica_set(), pod(spread=[spread(1, HOSTNAME, selector(labels=WEB))])],
    ],
    ids=["ReplicaSet of another controller", "StatefulSet", "hard topology spread"],
)
def test_others_are_evicted(objects: list[Object]) -> None:
    assert set(modes(planned("surge", *objects))) <= {"evict"}


@pytest.mark.parametrize(
    ("setting", "objects", "mode"),
    [
        ("reserve", [a_replica_set(), pod()], "reserve"),
        ("reserve", [a_replica_set(above="Game"), pod()], "reserve"),
        ("reserve", [a_stateful_set(3), pod(kind="StatefulSet")], "reserve"),
        ("reserve", [a_stateful_set(annotations={ANNOTATION: "evict"}), pod(kind="StatefulSet")], "evict"),
        (
            "annotated",
            [a_stateful_set(annotations={ANNOTATION: "reserve"}), pod(kind="StatefulSet")],
            "reserve or evict",
        ),
        ("auto", [a_stateful_set(), pod(kind="StatefulSet")], "reserve or evict"),
        ("auto", [a_stateful_set(2), pod(kind="StatefulSet")], "evict"),
        ("auto", [a_replica_set(above="Game"), pod()], "reserve or evict"),
        ("auto", [a_replica_set(), pod(spread=[spread(1, HOSTNAME, selector(labels=WEB))])], "reserve or evict"),
        (
            "reserve",
            [a_replica_set(annotations={}), a_deployment(annotations={ANNOTATION: "surge"}), pod()],
            "surge or evict",
        ),
    ],
)
def test_places_are_held_for_whatever_cannot_be_surged(setting: str, objects: list[Object], mode: str) -> None:
    assert modes(planned(setting, *objects)) == [mode]


@pytest.mark.parametrize(
    ("setting", "objects", "mode"),
    [
        ("rollout", [a_replica_set(), a_deployment(), pod()], "rollout"),
        ("rollout", [a_replica_set(2), pod("w1"), pod("w2")], "evict"),
        ("rollout", [a_replica_set(above=""), pod()], "evict"),
        ("rollout", [a_replica_set(above="Rollout"), pod()], "evict"),
        ("rollout", [a_stateful_set(), pod(kind="StatefulSet")], "evict"),
        ("rollout", [a_replica_set(), pod(spread=[spread(1, HOSTNAME, selector(labels=WEB))])], "evict"),
        ("surge", [a_replica_set(), a_deployment(annotations={ANNOTATION: "rollout"}), pod()], "rollout or evict"),
    ],
)
def test_only_deployments_with_one_replica_are_rolled_out(setting: str, objects: list[Object], mode: str) -> None:
    assert set(modes(planned(setting, *objects))) == {mode}


@pytest.mark.parametrize("kind", ["Job", "DaemonSet"])
def test_no_place_is_held_for_pods_that_come_when_or_where_their_controller_wants(kind: str) -> None:
    assert set(modes(planned("reserve", pod(kind=kind)))) <= {"evict"}


def test_no_place_is_held_for_a_pod_that_nothing_brings_there() -> None:
    cycle = planned("evict", a_replica_set(), pod())
    (eviction,) = cycle.record.evictions
    choice = SurgeChoice(cycle.state.cluster, RestowSettings(replacement=ReplacementSetting.RESERVE))
    for steering, mode in ((SteeringMode.NOMINATE, "reserve"), (SteeringMode.FENCE, "evict"), (None, "evict")):
        landing = eviction.landing._replace(steering=steering)
        assert choice.with_mode(eviction.pod, landing, 1, lacking="").mode == mode


@pytest.mark.parametrize("above", ["", "Deployment", "Rollout"])
def test_a_replica_set_alone_is_surged_too_and_one_of_a_rollout(above: str) -> None:
    assert modes(planned("surge", a_replica_set(above=above), pod())) == ["surge"]


@pytest.mark.parametrize(("kind", "mode"), [("Rollout", "surge"), ("ReplicaSet", "evict")])
def test_a_rule_names_rollouts(kind: str, mode: str) -> None:
    rules = [{"kinds": [kind], "replacement": "surge"}]
    assert modes(planned("evict", a_replica_set(above="Rollout"), pod(), rules=rules)) == [mode]


def test_the_owner_of_a_rollout_is_heard_by_the_copy_on_its_replica_set() -> None:
    """No input has Rollouts, whose controller copies their annotations."""
    copied = a_replica_set(above="Rollout", annotations={ANNOTATION: "surge"})
    assert modes(planned("annotated", copied, pod())) == ["surge or evict"]


def a_quota(pods: str, *, used: str) -> Object:
    return {
        "kind": "ResourceQuota",
        "metadata": {"name": "team", "namespace": "default"},
        "status": {"hard": {"pods": pods}, "used": {"pods": used}},
    }


@pytest.mark.parametrize(
    ("setting", "mode", "refusal"),
    [
        ("surge", [], "NotReplacedFirst"),
        ("rollout", [], "NotReplacedFirst"),
        ("auto", ["evict"], None),
        ("evict", ["evict"], None),
    ],
)
def test_a_quota_without_room_for_both_pods_lets_the_replacement_not_come_first(
    setting: str, mode: list[str], refusal: str | None
) -> None:
    """A policy that wants it first keeps the pod; where it may do otherwise, it does."""
    cycle = planned(setting, a_replica_set(), pod(), a_quota("2", used="2"), strategy=OLD)
    assert modes(cycle) == mode
    assert codes(cycle).get("w1") == refusal


def test_the_refusal_says_what_the_quota_lacks() -> None:
    cycle = planned("surge", a_replica_set(), pod(), a_quota("2", used="2"), strategy=OLD)
    names = cycle.state.cluster.pods.names
    assert next(each.reason[2] for each in cycle.record.refusals if names[each.pod] == "w1") == (
        "its replacement has to come first, and ResourceQuota default/team has no room for one pod more: "
        "2 of 2 pods are used, and it takes 1"
    )


@pytest.mark.parametrize(("setting", "mode"), [("surge", []), ("auto", ["evict"])])
def test_a_pod_that_has_no_node_beside_the_old_one_goes_first_only_if_it_may(setting: str, mode: list[str]) -> None:
    apart = pod_anti_affinity([pod_term(selector(labels=WEB), topology="zone")])
    cycle = planned(setting, a_replica_set(), pod(affinity=apart), strategy=OLD)
    assert modes(cycle) == mode


def test_a_pod_whose_replacement_no_quota_lets_in_stays() -> None:
    """The quota was lowered after its pods came."""
    cycle = planned("evict", a_replica_set(), pod(), a_quota("2", used="4"), strategy=OLD)
    assert codes(cycle)["w1"] == "ExceedsQuota"
