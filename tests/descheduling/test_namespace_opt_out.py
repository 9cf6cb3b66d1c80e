"""The annotation restow.dev/eviction of namespaces: opting out, opting in, and what is said of it."""

from __future__ import annotations

import numpy as np
import pytest

from builders import EMPTY_DIR, Owner, a_namespace, a_node, a_pod, ago
from descheduling.evictors import an_evictor, reason
from descheduling.harness import a_cluster, a_policy
from explaining.explained import a_setting, gates, helps, view
from explaining.explained import explained as explained_of
from explaining.explained import told as told_steps
from proving.proven import TOLD, codes, moved
from restow.descheduling.protections import is_missing, namespace_checks, namespace_notes
from restow.explaining.answers import explain_pod
from restow.proving.planning import cycle_notes

RS = Owner("ReplicaSet", "rs")
NODES = [a_node("n1"), a_node("n2")]
EVICT = {"descheduler.alpha.kubernetes.io/evict": "true"}
STAY = {"descheduler.alpha.kubernetes.io/prefer-no-eviction": "true"}
AGED = {"maxPodLifeTimeSeconds": 60}


def pod(name="p", namespace="shop", **fields):
    return a_pod(name, node="n1", **({"namespace": namespace, "owner": RS, "created": ago(3600)} | fields))


def saying(value, name="shop"):
    return a_namespace(name, annotations={"restow.dev/eviction": value})


def code(*objects, namespaces="all"):
    found = reason({}, *NODES, *objects, namespaces=namespaces)
    return found and found[0]


@pytest.mark.parametrize(
    ("namespaces", "chosen", "expected"),
    [
        pytest.param([saying("disabled")], "all", "NamespaceOptedOut", id="out"),
        pytest.param([saying("disabled")], "annotated", "NamespaceOptedOut", id="out-of-those-that-are-in"),
        pytest.param([saying("enabled")], "all", None, id="in-needlessly"),
        pytest.param([saying("enabled")], "annotated", None, id="in"),
        pytest.param([a_namespace("shop")], "all", None, id="silent"),
        pytest.param([a_namespace("shop")], "annotated", "NamespaceNotOptedIn", id="not-in"),
        pytest.param([saying("enabled", "other")], "annotated", "NamespaceNotOptedIn", id="another-is-in"),
        pytest.param([saying("disabled", "other")], "all", None, id="another-is-out"),
        pytest.param([saying("false")], "all", "NamespaceOptedOut", id="unknown-value-is-the-safe-side"),
        pytest.param([saying("Enabled")], "annotated", "NamespaceOptedOut", id="case-counts"),
        pytest.param([saying("")], "all", "NamespaceOptedOut", id="empty-value"),
        pytest.param([], "all", None, id="nothing-told-nobody-opts-out"),
        pytest.param([], "annotated", "Unknown", id="nothing-told-who-opts-in"),
    ],
)
def test_whether_a_pod_may_go(namespaces, chosen, expected):
    assert code(*namespaces, pod(), namespaces=chosen) == expected


@pytest.mark.parametrize("namespaces", ["all", "annotated"])
def test_where_an_api_server_does_not_show_namespaces_no_pod_may_go(namespaces):
    """Somebody may have opted out, whatever was known before; the input is no dump that just leaves them out."""
    cluster = a_cluster(*NODES, saying("enabled"), pod(annotations=EVICT)).without({"Namespace"})
    (check,) = namespace_checks(namespaces, cluster)
    assert check.code == "Unknown"
    assert check.fails.values.all()
    assert is_missing(namespaces, cluster)


def test_no_annotation_of_a_pod_overrides_its_namespace():
    assert code(saying("disabled"), pod(annotations=EVICT)) == "NamespaceOptedOut"
    assert code(a_namespace("shop"), pod(annotations=EVICT), namespaces="annotated") == "NamespaceNotOptedIn"


def test_the_namespace_speaks_first_and_what_else_fails_follows():
    few = {"minReplicas": 3}
    _, message = reason(few, *NODES, saying("disabled"), pod(volumes=[EMPTY_DIR]))
    assert message == (
        "pod namespace is protected against eviction: its annotation restow.dev/eviction is not enabled; "
        "pod has local storage and is protected against eviction; "
        "owner has 1 replicas which is less than minReplicas of 3"
    )


def test_checks_that_a_pod_is_spared_are_not_told():
    spared = pod(volumes=[EMPTY_DIR], annotations=EVICT)
    _, message = reason({"minReplicas": 3}, *NODES, saying("disabled"), spared)
    assert message == "pod namespace is protected against eviction: its annotation restow.dev/eviction is not enabled"


def test_a_pod_that_asks_to_stay_is_told_so_beside_its_namespace():
    _, message = reason({"noEvictionPolicy": "Mandatory"}, *NODES, saying("disabled"), pod(annotations=STAY))
    assert message.endswith("; pod asks not to be evicted and noEvictionPolicy is Mandatory")


def test_a_namespace_that_is_not_among_those_told_has_not_opted_in():
    assert code(saying("enabled", "other"), pod(), namespaces="annotated") == "NamespaceNotOptedIn"


def test_without_an_annotation_nothing_is_checked():
    cluster = a_cluster(*NODES, a_namespace("shop"), saying("enabled", "other"), pod())
    assert namespace_checks("all", cluster) == ()


def test_every_check_is_listed_with_how_it_goes():
    evictor, _ = an_evictor({}, *NODES, saying("disabled"), pod(), namespaces="annotated")
    first, second, *_ = evictor.checks(0)
    assert [(each.code, each.passes) for each in (first, second)] == [
        ("NamespaceOptedOut", False),
        ("NamespaceNotOptedIn", True),
    ]
    assert evictor.bypassing(0).passes_filter(np.array([0])).all()


def policy(chosen="all"):
    restow = {"namespaces": chosen, "certainty": "possible"}
    return a_policy("PodLifeTime", {"maxPodLifeTimeSeconds": 60}, restow=restow)


def plan(placement, chosen, *objects):
    told = [each for each in TOLD if each["kind"] != "Namespace"]
    return a_setting(policy(chosen), *NODES, *told, *objects, placement=placement).cycle


@pytest.mark.parametrize("placement", ["prove", "upstream"])
@pytest.mark.parametrize(
    ("chosen", "going", "excluded"),
    [
        pytest.param("all", {"silent/p", "in/p"}, {"out/p": "NamespaceOptedOut"}, id="opt-out"),
        pytest.param(
            "annotated",
            {"in/p"},
            {"silent/p": "NamespaceNotOptedIn", "out/p": "NamespaceOptedOut"},
            id="opt-in",
        ),
    ],
)
def test_it_holds_in_both_placements(placement, chosen, going, excluded):
    pods = [pod(namespace=name) for name in ("silent", "in", "out")]
    done = plan(placement, chosen, *pods, a_namespace("silent"), saying("enabled", "in"), saying("disabled", "out"))
    assert set(moved(done)) == going
    assert codes(done) == excluded


@pytest.mark.parametrize("placement", ["prove", "upstream"])
def test_a_plan_tells_that_it_had_to_know_namespaces(placement):
    assert "Namespace" in plan(placement, "annotated", pod()).missing
    assert "Namespace" not in plan(placement, "annotated", pod(), a_namespace("shop")).missing
    assert "Namespace" not in plan(placement, "all", pod()).missing


def test_values_that_are_neither_are_told_once():
    (told,) = namespace_notes(a_cluster(saying("disable", "a"), saying("off", "b"), saying("disabled", "c"), *NODES))
    assert told == (
        'namespace a and 1 more: the annotation restow.dev/eviction is "disable", neither enabled nor disabled, '
        'and counts as disabled; did you mean "disabled"?'
    )


def test_a_plan_notes_a_value_that_is_neither():
    (told,) = cycle_notes(plan("upstream", "all", pod(), saying("on")))
    assert told == (
        'namespace shop: the annotation restow.dev/eviction is "on", neither enabled nor disabled, '
        "and counts as disabled"
    )


@pytest.mark.parametrize(
    ("chosen", "namespace", "code", "remedy"),
    [
        pytest.param(
            "all",
            saying("disabled", "default"),
            "NamespaceOptedOut",
            "without the annotation restow.dev/eviction of its namespace",
            id="out",
        ),
        pytest.param(
            "annotated",
            a_namespace("default"),
            "NamespaceNotOptedIn",
            "with the annotation restow.dev/eviction: enabled on its namespace",
            id="not-in",
        ),
    ],
)
def test_an_explanation_names_the_annotation_to_change(chosen, namespace, code, remedy):
    found = explained_of(policy(chosen), *NODES, namespace, pod(namespace="default"))
    assert gates(found)["evictor"] == (False, code)
    assert view(found).refusal.code == code
    assert helps(found) == [remedy]


def test_an_explanation_asks_for_namespaces_that_the_input_does_not_tell_of():
    told = [each for each in TOLD if each["kind"] != "Namespace"]
    setting = a_setting(policy("annotated"), *NODES, *told, pod(namespace="default"))
    found = explain_pod(setting, setting.cluster.pods.names.index("p"))
    assert gates(found)["evictor"] == (None, "Unknown")
    (change,) = view(found).changes
    assert (told_steps(change), change.verified) == (["if the input included Namespaces"], False)
