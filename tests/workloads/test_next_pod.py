"""The next pod of a controller: of its template, with what admission adds; where that is not known, it says why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders import a_container, a_node, a_pod, a_workload
from builders.metadata import uid_of
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.workloads.next_pod import ALIKE, NextPod
from restow.workloads.replacements import Replacements

Object = dict[str, Any]
WEB = {"app": "web"}


def a_template(*containers: Object, labels: Object | None = None, **spec: Any) -> Object:
    """A template of pods."""
    made = list(containers) or [a_container("app", requests={"cpu": "4"})]
    return {"metadata": {"labels": labels or WEB}, "spec": {"containers": made, **spec}}


def a_running_pod(
    name: str = "web-0",
    *containers: Object,
    owner: tuple[str, str] = ("ReplicaSet", "web"),
    generation: int | None = 1,
    annotations: Object | None = None,
    **fields: Any,
) -> Object:
    """A pod as its controller and admission made it, unless its containers say otherwise."""
    made = list(containers) or [a_container("app", requests={"cpu": "4"})]
    fields = {"labels": WEB, "node": "n1", **fields}
    pod = a_pod(name, owner=owner, containers=made, annotations=annotations, **fields)
    if generation is not None:
        pod["metadata"]["generation"] = generation
    return pod


def a_controller(kind: str = "ReplicaSet", name: str = "web", template: Object | None = None, **spec: Any) -> Object:
    """A controller with a template; ``status`` among the fields of the spec is its status."""
    status, meta = spec.pop("status", {}), spec.pop("metadata", {})
    spec = {"template": template or a_template(), "replicas": 3, **spec}
    made = a_workload(kind, name, spec=spec)
    return {**made, "metadata": made["metadata"] | meta, "status": status}


def asked(pod: Object, *others: Object) -> tuple[NextPod, ClusterState, int]:
    """The next pod after one, the state, and the row of the replacement."""
    state = ClusterState(a_cluster(a_node("n1"), pod, *others))
    replacements = Replacements(state, 0)
    answer = replacements.next_pod(0)
    return answer, state, replacements.of(0)


def cpu(state: ClusterState, pod: int) -> int:
    """What a pod requests, in milli."""
    resources = state.cluster.pods.tables.resources[state.cluster.pods.resources[pod]]
    return resources.requests.get("cpu", 0)


def small(amount: str = "1") -> Object:
    """The container of the pod with another request."""
    return a_container("app", requests={"cpu": amount})


def test_a_pod_that_is_as_its_template_says_comes_back_the_same() -> None:
    assert asked(a_running_pod(), a_controller())[0] is ALIKE


def test_a_pod_without_a_template_in_the_input_comes_back_the_same() -> None:
    assert asked(a_running_pod(), a_workload("ReplicaSet", "web"))[0] is ALIKE
    assert asked(a_running_pod())[0] is ALIKE


def test_a_pod_that_was_resized_comes_back_with_the_requests_of_its_template() -> None:
    answer, state, new = asked(a_running_pod("web-0", small(), generation=2), a_controller())
    assert (cpu(state, 0), cpu(state, new)) == (1000, 4000)
    assert answer.caveat == ""
    state.place(new, 0)
    state.validate()


@pytest.mark.parametrize("generation", [1, None], ids=["as created", "unknown"])
def test_requests_that_nothing_explains_make_the_next_pod_a_guess(generation: int | None) -> None:
    answer, state, new = asked(a_running_pod("web-0", small(), generation=generation), a_controller())
    assert cpu(state, new) == 4000
    assert "requests (app: cpu)" in answer.caveat


def test_what_admission_adds_is_added_again() -> None:
    """A sidecar, a toleration, a label, defaults of a LimitRange."""
    template = a_template(a_container("app"))
    sidecar = a_container("proxy", requests={"cpu": "2"})
    pod = a_running_pod(
        "web-0", a_container("app", requests={"cpu": "3"}), sidecar, tolerations=["gpu"], labels=WEB | {"mesh": "on"}
    )
    assert asked(pod, a_controller(template=template))[0] is ALIKE


@pytest.mark.parametrize("controller", [[a_controller()], []], ids=["template", "no template"])
def test_labels_of_the_node_go_with_the_node(controller: list[Object]) -> None:
    """The API server copies zone and region to a pod that is bound."""
    pod = a_running_pod(labels=WEB | {"topology.kubernetes.io/zone": "a", "topology.kubernetes.io/region": "r"})
    answer, state, new = asked(pod, *controller)
    assert answer.caveat == ""
    assert state.cluster.pods.tables.labels[state.cluster.pods.labels[new]] == WEB


def test_a_sidecar_stays_beside_a_container_that_was_resized() -> None:
    sidecar = a_container("proxy", requests={"cpu": "2"})
    answer, state, new = asked(a_running_pod("web-0", sidecar, small(), generation=3), a_controller())
    assert cpu(state, new) == 6000
    assert answer.caveat == ""


def test_limits_are_requests_where_nothing_is_requested() -> None:
    template = a_template(a_container("app", limits={"cpu": "4"}))
    pod = a_running_pod("web-0", a_container("app", requests={"cpu": "4"}, limits={"cpu": "4"}))
    assert asked(pod, a_controller(template=template))[0] is ALIKE


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, "nodeSelector"),
        ({"tolerations": [{"key": "gpu", "operator": "Exists"}]}, "tolerations"),
        ({"schedulerName": "mine"}, "schedulerName"),
        ({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}, "volumes"),
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
                        ]
                    }
                }
            },
            "affinity",
        ),
        (
            {
                "topologySpreadConstraints": [
                    {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
                ]
            },
            "topologySpreadConstraints",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_the_template_has_and_the_pod_lacks_comes_with_a_caveat(spec: Object, what: str) -> None:
    answer, state, new = asked(a_running_pod(), a_controller(template=a_template(**spec)))
    assert what in answer.caveat
    pods = state.cluster.pods
    column = {
        "nodeSelector": "rules",
        "affinity": "rules",
        "schedulerName": "schedulers",
        "topologySpreadConstraints": "spread",
    }
    assert getattr(pods, column.get(what, what))[new] != getattr(pods, column.get(what, what))[0]


def test_a_template_with_scheduling_gates_makes_a_guess() -> None:
    template = a_template(schedulingGates=[{"name": "wait"}])
    assert "scheduling gates" in asked(a_running_pod(), a_controller(template=template))[0].caveat


def test_label_keys_of_terms_are_written_into_pods_by_the_api_server() -> None:
    term = {"labelSelector": {"matchLabels": WEB}, "topologyKey": "zone", "matchLabelKeys": ["hash"]}
    made = {
        **term,
        "labelSelector": {"matchLabels": WEB, "matchExpressions": [{"key": "hash", "operator": "In", "values": ["x"]}]},
    }

    def anti(each: Object) -> Object:
        return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [each]}}

    template = a_template(labels=WEB | {"hash": "x"}, affinity=anti(term))
    pod = a_running_pod(labels=WEB | {"hash": "x"}, affinity=anti(made))
    assert asked(pod, a_controller(template=template))[0] is ALIKE


def a_deployment_of(revision: int, template: Object, **spec: Any) -> list[Object]:
    """A Deployment with this template, and its ReplicaSet ``web``, of a revision."""
    annotations = {"deployment.kubernetes.io/revision": str(revision)}
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "uid": uid_of("Deployment", "default", "web"),
        "controller": True,
    }
    return [
        a_controller("Deployment", "web", template, **spec),
        a_controller(metadata={"annotations": annotations, "ownerReferences": [owner]}),
    ]


def test_a_rollout_makes_a_guess_and_a_paused_one_does_not() -> None:
    changed = a_template(a_container("app", requests={"cpu": "2"}))
    assert asked(a_running_pod(), *a_deployment_of(1, a_template()))[0] is ALIKE
    assert "rollout" in asked(a_running_pod(), *a_deployment_of(1, changed))[0].caveat
    assert asked(a_running_pod(), *a_deployment_of(1, changed, paused=True))[0] is ALIKE


def test_the_pods_of_an_older_replica_set_will_be_replaced() -> None:
    deployment, old = a_deployment_of(1, a_template())
    newer = a_controller(
        name="web-2",
        metadata={
            **old["metadata"],
            "name": "web-2",
            "uid": "newer",
            "annotations": {"deployment.kubernetes.io/revision": "2"},
        },
    )
    assert "web-2" in asked(a_running_pod(), deployment, old, newer)[0].caveat
    answer = asked(a_running_pod(), old, newer)[0]
    assert answer.lacks == ("Deployment",)


def a_revision(name: str, owner: str, template: Object, number: int, kind: str = "StatefulSet") -> Object:
    """A ControllerRevision; its hash is the last part of its name."""
    reference = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "name": owner,
        "uid": uid_of(kind, "default", owner),
        "controller": True,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": name,
            "namespace": "default",
            "ownerReferences": [reference],
            "labels": {"controller-revision-hash": name.rpartition("-")[2]},
        },
        "data": {"spec": {"template": template}},
        "revision": number,
    }


REVISIONS = {"currentRevision": "db-a", "updateRevision": "db-b"}


@pytest.mark.parametrize(
    ("strategy", "ordinal", "expected"),
    [
        ({"type": "OnDelete"}, 0, 2000),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}, 1, 4000),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}, 2, 2000),
        ({"type": "RollingUpdate"}, 0, 2000),
    ],
    ids=["OnDelete", "below the partition", "at the partition", "without a partition"],
)
def test_a_stateful_set_makes_an_ordinal_of_the_revision_that_its_strategy_says(
    strategy: Object, ordinal: int, expected: int
) -> None:
    template = a_template(a_container("app", requests={"cpu": "2"}))
    owner = a_controller("StatefulSet", "db", template, updateStrategy=strategy, status=REVISIONS)
    revisions = [a_revision("db-a", "db", a_template(), 1), a_revision("db-b", "db", template, 2)]
    labels = WEB | {"controller-revision-hash": "db-a"}
    pod = a_running_pod(f"db-{ordinal}", owner=("StatefulSet", "db"), labels=labels)
    answer, state, new = asked(pod, owner, *revisions)
    assert cpu(state, new) == expected
    assert answer.caveat == ""
    made = state.cluster.pods.tables.labels[state.cluster.pods.labels[new]]
    assert made["controller-revision-hash"] == ("db-a" if expected == 4000 else "db-b")


def test_a_revision_that_the_input_lacks_makes_a_guess_and_names_the_kind() -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    owner = a_controller("StatefulSet", "db", updateStrategy=strategy, status=REVISIONS)
    pod = a_running_pod("db-0", owner=("StatefulSet", "db"), labels=WEB | {"controller-revision-hash": "db-a"})
    answer = asked(pod, owner)[0]
    assert "db-a" in answer.caveat
    assert answer.lacks == ("ControllerRevision",)


def test_what_an_old_template_had_and_the_new_one_has_not_is_gone() -> None:
    old = a_template(nodeSelector={"disk": "ssd"}, labels=WEB | {"tier": "old"})
    owner = a_controller("DaemonSet", "web", a_template())
    revisions = [
        a_revision("web-a", "web", old, 1, "DaemonSet"),
        a_revision("web-b", "web", a_template(), 2, "DaemonSet"),
    ]
    labels = WEB | {"tier": "old", "controller-revision-hash": "a"}
    pod = a_running_pod("web-x", owner=("DaemonSet", "web"), labels=labels, node_selector={"disk": "ssd"})
    answer, state, new = asked(pod, owner, *revisions)
    pods = state.cluster.pods
    assert answer.caveat == ""
    assert not pods.tables.rules[pods.rules[new]].has_node_selector
    assert pods.tables.labels[pods.labels[new]] == WEB | {"controller-revision-hash": "b"}


def test_the_node_of_a_daemon_set_s_pod_is_no_part_of_its_template() -> None:
    pin = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": pin}}
    term = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}
    template = a_template(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}})
    pod = a_running_pod(owner=("DaemonSet", "web"), affinity=affinity)
    assert asked(pod, a_controller("DaemonSet", template=template))[0] is ALIKE


def an_autoscaler(mode: str | None, target: Object, /, **policy: Any) -> Object:
    """A VerticalPodAutoscaler of the ReplicaSet ``web``; ``policy`` is that of its container."""
    return {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "targetRef": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"},
            "updatePolicy": {"updateMode": mode} if mode else {},
            "resourcePolicy": {"containerPolicies": [{"containerName": "app", **policy}] if policy else []},
        },
        "status": {"recommendation": {"containerRecommendations": [{"containerName": "app", "target": target}]}},
    }


@pytest.mark.parametrize(
    ("mode", "policy", "expected"),
    [
        ("Off", {}, 4000),
        ("Initial", {}, 2000),
        ("Recreate", {}, 2000),
        ("Auto", {}, 2000),
        ("InPlaceOrRecreate", {}, 2000),
        (None, {}, 2000),
        ("Auto", {"minAllowed": {"cpu": "3"}}, 3000),
        ("Auto", {"maxAllowed": {"cpu": "1"}}, 1000),
    ],
)
def test_a_vertical_pod_autoscaler_sets_the_requests_of_a_new_pod(
    mode: str | None, policy: Object, expected: int
) -> None:
    answer, state, new = asked(a_running_pod(), a_controller(), an_autoscaler(mode, {"cpu": "2"}, **policy))
    assert cpu(state, new) == expected
    assert answer.caveat == ""


@pytest.mark.parametrize(
    ("values", "request_", "limit"),
    [("RequestsAndLimits", "2", "4"), ("RequestsOnly", "2", "8")],
    ids=["proportional", "left alone"],
)
def test_limits_follow_requests_unless_the_policy_says_otherwise(values: str, request_: str, limit: str) -> None:
    app = a_container("app", requests={"cpu": "4"}, limits={"cpu": "8"})
    autoscaler = an_autoscaler("Auto", {"cpu": "2"}, controlledValues=values)
    answer, state, new = asked(a_running_pod("web-0", app), a_controller(template=a_template(app)), autoscaler)
    key = state.cluster.pods.tables.resources[state.cluster.pods.resources[new]].key
    assert key[0][0][0] == f'{{"requests":{{"cpu":"{request_}"}},"limits":{{"cpu":"{limit}"}}}}'.encode()
    assert answer.caveat == ""


def test_a_pod_that_an_autoscaler_made_is_a_guess_where_the_input_lacks_autoscalers() -> None:
    pod = a_running_pod("web-0", small(), annotations={"vpaUpdates": "Pod resources updated by web"})
    answer, state, new = asked(pod, a_controller())
    assert cpu(state, new) == 1000
    assert answer.lacks == ("VerticalPodAutoscaler",)


def test_a_pod_that_is_being_resized_is_a_guess_where_its_template_is_not_known() -> None:
    pod = a_running_pod("web-0", conditions=[{"type": "PodResizeInProgress", "status": "True"}])
    answer = asked(pod)[0]
    assert "being resized" in answer.caveat
    assert answer.lacks == ("ReplicaSet",)


def test_a_hash_that_no_replica_set_has_makes_a_guess() -> None:
    pod = a_running_pod(labels=WEB | {"pod-template-hash": "x"})
    assert "not there any more" in asked(pod, a_controller(name="other"))[0].caveat
    assert asked(pod)[0] is ALIKE


def test_templates_are_read_once_for_all_pods_alike() -> None:
    """The next pods of a controller share the values of the tables."""
    pods = [a_running_pod(f"web-{number}", small(), generation=2) for number in range(3)]
    state = ClusterState(a_cluster(a_node("n1"), *pods, a_controller()))
    replacements = Replacements(state, 0)
    rows = [replacements.of(pod) for pod in range(3)]
    assert len({int(state.cluster.pods.resources[row]) for row in rows}) == 1


@pytest.mark.parametrize("kind", ["ReplicaSet", "VerticalPodAutoscaler"])
def test_what_cannot_be_read_makes_a_guess(kind: str) -> None:
    cluster = a_cluster(a_node("n1"), a_running_pod(), *([a_controller()] if kind != "ReplicaSet" else []))
    cluster = replace(cluster, left_out={(kind, "default", "web"): "it cannot be read"})
    assert "cannot be read" in Replacements(ClusterState(cluster), 0).next_pod(0).caveat


@pytest.mark.parametrize("key", ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"])
def test_labels_that_the_api_server_copied_from_the_node_are_left_behind(key: str) -> None:
    """The next pod gets those of its own node when it is bound (PodTopologyLabels, Kubernetes 1.36)."""
    pod = a_running_pod(labels={**WEB, key: "a", "team": "shop"})
    _, state, replacement = asked(pod, a_controller())
    pods = state.cluster.pods
    assert pods.tables.labels[pods.labels[replacement]] == {**WEB, "team": "shop"}


def test_a_topology_label_of_the_template_is_kept() -> None:
    own = {**WEB, "topology.kubernetes.io/zone": "a"}
    _, state, replacement = asked(a_running_pod(labels=own), a_controller(template=a_template(labels=own)))
    pods = state.cluster.pods
    assert pods.tables.labels[pods.labels[replacement]] == own
