"""Which pods on one node a scheduler does not tell apart."""

from __future__ import annotations

from typing import Any

import pytest

from builders import a_node, a_pod, a_replica_set, pod_anti_affinity, pod_term, spread
from descheduling.harness import Object, a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.decision import Scheduler

REPELS_WEB = {"affinity": pod_anti_affinity([pod_term({"matchLabels": {"app": "web"}})])}
HARD = {"spread": [spread(label_selector={"matchLabels": {"team": "x"}})]}


def pod(app: str, node: str, number: int = 0, **features: Any) -> Object:
    features = {"labels": {"app": app}} | features
    return a_pod(f"{app}-{number}", node=node, owner=("ReplicaSet", app), **features)


def alike(*pods: Object) -> bool:
    """Whether the first two of some pods have the same signature; each has its ReplicaSet."""
    apps = {each["metadata"]["ownerReferences"][0]["name"] for each in pods}
    owners = [a_replica_set(app, selector={"matchLabels": {"app": app}}) for app in sorted(apps)]
    state = ClusterState(
        a_cluster(a_node("a", labels={"zone": "1"}), a_node("b", labels={"zone": "2"}), *pods, *owners)
    )
    scheduler, names = Scheduler(Context.of(state)), list(state.cluster.pods.names)
    one, other = (names.index(each["metadata"]["name"]) for each in pods[:2])
    return scheduler.signature(one) == scheduler.signature(other)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], True),
        ([pod("web", "b", 1), pod("api", "b", 1)], True),
        ([pod("web", "b", 1), pod("api", "a", 1)], False),
        ([pod("web", "b", 1)], False),
        ([pod("db", "b", **REPELS_WEB)], False),
    ],
    ids=[
        "alone",
        "with siblings on the same nodes",
        "with siblings on different nodes",
        "one without siblings",
        "one that somebody repels",
    ],
)
def test_pods_of_two_workloads_are_alike_where_nothing_about_their_labels_matters(
    others: list[Object], expected: bool
) -> None:
    assert alike(pod("web", "a"), pod("api", "a"), *others) is expected


@pytest.mark.parametrize("features", [REPELS_WEB, HARD], ids=["a rule about other pods", "a hard spread constraint"])
def test_pods_of_two_workloads_with_rules_about_pods_are_never_alike(features: Any) -> None:
    assert not alike(pod("web", "a", **features), pod("api", "a", **features))
