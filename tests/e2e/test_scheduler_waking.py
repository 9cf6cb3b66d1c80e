"""What wakes pods that wait for ``restow scheduler``, whom they preempt, and how they get their volumes.

kube-scheduler gets pods like them: it says the same of them, and the same helps them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from builders import (
    HOSTNAME,
    Object,
    a_pod,
    a_priority_class,
    a_pv,
    a_pvc,
    a_storage_class,
    pod_affinity,
    pod_anti_affinity,
    pod_term,
)
from e2e.control_plane import ControlPlane
from e2e.fake_nodes import a_fake_node
from e2e.schedulers import PATIENCE, Scheduler
from e2e.waiting import wait_until
from e2e.workloads import budget

pytestmark = pytest.mark.e2e

NAME = "my-scheduler"
SELECTED = "volume.kubernetes.io/selected-node"


@pytest.fixture(scope="module")
def cluster(built: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A small cluster."""
    with ControlPlane(tmp_path_factory.mktemp("waking")) as plane:
        plane.add_nodes(1, cpu="1", labels={"pool": "small"})
        yield plane


@pytest.fixture(scope="module", autouse=True)
def scheduler(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scheduler]:
    """One that schedules for all tests, and says why pods wait."""
    directory, flags = tmp_path_factory.mktemp("scheduler"), ("--leader-elect=false", "--explain-pods")
    with Scheduler(directory, cluster.kubeconfig, *flags, open_paths="/*") as made:
        yield made


def test_it_says_why_a_pod_waits(cluster: ControlPlane, scheduler: Scheduler) -> None:
    namespace = cluster.namespace("explained")
    create(cluster, "waits", namespace, cpu="64")
    assert "Insufficient cpu" in why(cluster, "waits", namespace)
    path = f"/pods/{namespace}/waits"
    wait_until("it waits again", lambda: '"queue":"unschedulable"' in scheduler.page(path)[1], PATIENCE)
    told = json.loads(scheduler.page(path)[1])
    assert told["rejectedBy"] == ["NodeResourcesFit"]
    assert told["waitsFor"]
    assert told["lastAttempt"]["result"] == "unschedulable"
    (objection,) = told["objections"]
    assert (objection["plugin"], objection["nodes"]) == ("NodeResourcesFit", ["node-1"])
    assert scheduler.page(f"/pods/{namespace}/nobody")[0] == 404


def create(plane: ControlPlane, name: str, namespace: str, **features: Any) -> None:
    """A pod that names the scheduler."""
    spec = {"schedulerName": NAME, "terminationGracePeriodSeconds": 0} | features.pop("spec", {})
    made = a_pod(name, namespace=namespace, spec=spec, **features)
    made["spec"]["containers"][0] |= {"name": "c", "image": "example/app:1"}
    plane.admin.create(made)


def node_of(plane: ControlPlane, name: str, namespace: str) -> str | None:
    node: str | None = plane.admin.get("Pod", name, namespace)["spec"].get("nodeName")
    return node


def why(plane: ControlPlane, name: str, namespace: str) -> str:
    """Why a pod waits, once that is said."""

    def told() -> str:
        conditions = plane.admin.get("Pod", name, namespace).get("status", {}).get("conditions", ())
        return next((each["message"] for each in conditions if each["type"] == "PodScheduled"), "")

    return wait_until(f"it is said why {name} waits", told, PATIENCE)


TWIN = {"schedulerName": "default-scheduler"}
Change = Callable[[ControlPlane, str], None]


def create_twins(plane: ControlPlane, namespace: str, **features: Any) -> None:
    """Pods that are alike but for the scheduler: ``ours`` and ``theirs``."""
    spec = features.pop("spec", {})
    create(plane, "ours", namespace, spec=spec, **features)
    create(plane, "theirs", namespace, spec=spec | TWIN, **features)


def why_both(plane: ControlPlane, namespace: str) -> str:
    """Why both twins wait, once the schedulers have seen the same and say so."""

    def same() -> str:
        said = {why(plane, name, namespace) for name in _TWINS}
        return said.pop() if len(said) == 1 else ""

    return wait_until("both say the same", same, PATIENCE)


def wait_for_both(plane: ControlPlane, namespace: str) -> set[str | None]:
    """The nodes of the twins, once both have one."""
    for name in _TWINS:
        wait_until(f"{name} is bound", lambda each=name: node_of(plane, each, namespace), PATIENCE)
    return {node_of(plane, name, namespace) for name in _TWINS}


_TWINS = ("ours", "theirs")


def add_a_node(name: str, **features: Any) -> Change:
    """Creates a node, and waits until pods can go there."""

    def add(plane: ControlPlane, _: str) -> None:
        plane.admin.create(a_fake_node(name, **features))
        plane.wait_for_nodes([name])

    return add


def change_node(name: str, change: Object, *, part: str = "") -> Change:
    return lambda plane, _: plane.admin.patch("Node", name, change, part=part) and None


def change_twins(change: Callable[[Object], Object]) -> Change:
    """Patches both with what follows from their spec."""

    def patch(plane: ControlPlane, namespace: str) -> None:
        for name in _TWINS:
            spec = plane.admin.get("Pod", name, namespace)["spec"]
            plane.admin.patch("Pod", name, {"spec": change(spec)}, namespace)

    return patch


def add_other(node: str, **features: Any) -> Change:
    """Creates a node with a pod, to which neither scheduler has put it."""

    def add(plane: ControlPlane, namespace: str) -> None:
        add_a_node(node)(plane, namespace)
        create(plane, "other", namespace, cpu="10m", spec={"nodeName": node}, **features)

    return add


def nothing(_: ControlPlane, __: str) -> None:
    """Nothing is needed."""


_UNSELECTED = "didn't match Pod's node affinity/selector"
_TOLERATED = {"key": "k", "operator": "Exists", "effect": "NoSchedule"}
_ON_LABELLED = pod_affinity([pod_term({"matchLabels": {"app": "late"}}, topology=HOSTNAME)])
_OFF_SHUNNED = pod_anti_affinity([pod_term({"matchLabels": {"app": "shunned"}}, topology=HOSTNAME)])
_CASES: dict[str, tuple[Change, Object, str, Change]] = {
    "a node comes": (
        nothing,
        {"node_selector": {"pool": "new"}},
        _UNSELECTED,
        add_a_node("new", labels={"pool": "new"}),
    ),
    "a label comes": (
        add_a_node("plain"),
        {"node_selector": {"pool": "labelled"}},
        _UNSELECTED,
        change_node("plain", {"metadata": {"labels": {"pool": "labelled"}}}),
    ),
    "a taint goes": (
        add_a_node("tainted", labels={"pool": "tainted"}, taints=["k=v:NoSchedule"]),
        {"node_selector": {"pool": "tainted"}},
        "untolerated taint",
        change_node("tainted", {"spec": {"taints": None}}),
    ),
    "a taint is tolerated": (
        add_a_node("closed", labels={"pool": "closed"}, taints=["k=v:NoSchedule"]),
        {"node_selector": {"pool": "closed"}},
        "untolerated taint",
        change_twins(lambda spec: {"tolerations": [*spec.get("tolerations", ()), _TOLERATED]}),
    ),
    "a node is uncordoned": (
        add_a_node("cordoned", labels={"pool": "cordoned"}, unschedulable=True),
        {"node_selector": {"pool": "cordoned"}},
        "were unschedulable",
        change_node("cordoned", {"spec": {"unschedulable": None}}),
    ),
    "more can be allocated": (
        add_a_node("grows", labels={"pool": "grows"}, cpu="1"),
        {"node_selector": {"pool": "grows"}, "cpu": "2"},
        "Insufficient cpu",
        change_node("grows", {"status": {"allocatable": {"cpu": "5"}}}, part="status"),
    ),
    "whom it is to be near gets the label": (
        add_other("near", labels={"app": "soon"}),
        {"affinity": _ON_LABELLED},
        "didn't match pod affinity rules",
        lambda plane, namespace: (
            plane.admin.patch("Pod", "other", {"metadata": {"labels": {"app": "late"}}}, namespace) and None
        ),
    ),
    "whom it shuns goes": (
        add_other("shunned", labels={"app": "shunned"}),
        {"affinity": _OFF_SHUNNED, "node_selector": {HOSTNAME: "shunned"}},
        "didn't match pod anti-affinity rules",
        lambda plane, namespace: plane.admin.delete("Pod", "other", namespace, at_once=True),
    ),
    "its gate goes": (
        nothing,
        {"spec": {"schedulingGates": [{"name": "example.com/later"}]}},
        "scheduling gates",
        change_twins(lambda _: {"schedulingGates": None}),
    ),
}


@pytest.mark.parametrize("what", _CASES)
def test_a_pod_that_waits_is_bound_once(cluster: ControlPlane, what: str) -> None:
    before, features, reason, change = _CASES[what]
    namespace = cluster.namespace("-".join(what.split()))
    before(cluster, namespace)
    create_twins(cluster, namespace, **({"cpu": "10m"} | features))
    assert reason in why_both(cluster, namespace)
    change(cluster, namespace)
    wait_for_both(cluster, namespace)


def test_a_pod_is_bound_once_its_affinity_partner_is_there_and_once_another_one_has_gone(cluster: ControlPlane) -> None:
    namespace = cluster.namespace("partners")
    add_a_node("pair", labels={"pool": "pair"}, cpu="1")(cluster, namespace)
    create(cluster, "large", namespace, cpu="900m", node_selector={"pool": "pair"})
    wait_until("the large one is bound", lambda: node_of(cluster, "large", namespace), PATIENCE)
    term = pod_term({"matchLabels": {"app": "partner"}}, topology=HOSTNAME)
    create(cluster, "waits", namespace, cpu="10m", affinity=pod_affinity([term]))
    create(cluster, "partner", namespace, cpu="500m", labels={"app": "partner"}, node_selector={"pool": "pair"})
    assert "didn't match pod affinity rules" in why(cluster, "waits", namespace)
    assert "Insufficient cpu" in why(cluster, "partner", namespace)
    cluster.admin.delete("Pod", "large", namespace, at_once=True)
    wait_until("both are bound", lambda: node_of(cluster, "waits", namespace) == "pair", PATIENCE)


@pytest.fixture(scope="module")
def priorities(cluster: ControlPlane) -> None:
    cluster.admin.create_all([a_priority_class("low", 10), a_priority_class("high", 1000)])


@pytest.mark.parametrize(("who", "agent"), [(NAME, "restow"), ("default-scheduler", "kube-scheduler")])
@pytest.mark.usefixtures("priorities")
def test_the_least_important_pods_go_and_budgets_are_kept_where_they_can_be(
    cluster: ControlPlane, who: str, agent: str
) -> None:
    namespace, spec, pool = cluster.namespace(f"preemption-{agent}"), {"schedulerName": who}, {"pool": f"full-{agent}"}
    for app in ("first", "second"):
        node = f"{app}-{agent}"
        add_a_node(node, labels=pool, cpu="1")(cluster, namespace)
        low = {"priority_class": "low", "labels": {"app": app}, "node_selector": {HOSTNAME: node}}
        create(cluster, f"on-{app}", namespace, cpu="900m", spec=spec, **low)
        wait_until("the nodes are full", lambda each=app: node_of(cluster, f"on-{each}", namespace), PATIENCE)
    cluster.admin.create(budget("keeps", "first", namespace=namespace, min_available=1))
    wait_until(
        "the budget is known",
        lambda: "observedGeneration" in cluster.admin.get("PodDisruptionBudget", "keeps", namespace)["status"],
        PATIENCE,
    )
    cluster.audit.restart()
    create(cluster, "urgent", namespace, cpu="900m", spec=spec, node_selector=pool, priority_class="high")
    wait_until("it has the place", lambda: node_of(cluster, "urgent", namespace) == f"second-{agent}", PATIENCE)
    assert cluster.admin.find("Pod", "on-first", namespace)
    marked = [each.object_ref.name for each in cluster.audit.calls("patch", "pods", "status", agent=agent)]
    deleted = [each.object_ref.name for each in cluster.audit.calls("delete", "pods", "", agent=agent)]
    assert "on-second" in marked
    assert deleted == ["on-second"]
    assert not cluster.audit.calls("create", "pods", "eviction")


def claim(name: str, namespace: str, storage_class: str) -> Object:
    made = a_pvc(name, namespace=namespace, storage_class=storage_class)
    return {key: value for key, value in made.items() if key != "status"}


def uses(name: str) -> list[Object]:
    return [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]


def test_a_volume_that_exists_is_bound_to_the_first_consumer_by_the_controller_of_volumes(
    cluster: ControlPlane,
) -> None:
    namespace = cluster.namespace("disks")
    cluster.admin.create(
        a_storage_class("disks", provisioner="kubernetes.io/no-provisioner", binding="WaitForFirstConsumer")
    )
    cluster.admin.create(a_pv("disk", storage_class="disks", zone="b"))
    add_a_node("reaches", zone="b")(cluster, namespace)
    cluster.admin.create(claim("data", namespace, "disks"))
    create(cluster, "uses", namespace, cpu="10m", volumes=uses("data"))
    wait_until("the pod is bound", lambda: node_of(cluster, "uses", namespace) == "reaches", PATIENCE)
    assert phase(cluster, namespace) == "Bound"


def a_bound_volume(cluster: ControlPlane, name: str, namespace: str, storage_class: str, **features: Any) -> Object:
    """A volume as its provisioner would make it, for a claim."""
    uid = cluster.admin.get("PersistentVolumeClaim", "data", namespace)["metadata"]["uid"]
    volume = a_pv(name, storage_class=storage_class, **features)
    volume["spec"]["claimRef"] = {"namespace": namespace, "name": "data", "uid": uid}
    return volume


def test_a_pod_whose_claim_is_not_bound_waits_for_that_and_goes_where_the_volume_is(cluster: ControlPlane) -> None:
    """Of a class that binds at once: no scheduler has a say in where the volume is."""
    namespace = cluster.namespace("immediate")
    cluster.admin.create(a_storage_class("immediate"))
    cluster.admin.create(claim("data", namespace, "immediate"))
    add_a_node("far", zone="far", cpu="1")(cluster, namespace)
    create_twins(cluster, namespace, cpu="10m", volumes=uses("data"))
    assert "unbound immediate PersistentVolumeClaims" in why_both(cluster, namespace)
    cluster.admin.create(a_bound_volume(cluster, "distant", namespace, "immediate", zone="far"))
    assert wait_for_both(cluster, namespace) == {"far"}


def test_a_pod_whose_claim_is_bound_goes_nowhere_but_where_the_volume_is(cluster: ControlPlane) -> None:
    namespace = cluster.namespace("bound")
    cluster.admin.create(a_storage_class("bound"))
    cluster.admin.create(claim("data", namespace, "bound"))
    add_a_node("farther", zone="farther", cpu="1")(cluster, namespace)
    cluster.admin.create(a_bound_volume(cluster, "there", namespace, "bound", zone="farther"))
    wait_until("the claim is bound", lambda: phase(cluster, namespace) == "Bound", PATIENCE)
    create(cluster, "large", namespace, cpu="900m", volumes=uses("data"))
    wait_until("the large one is bound", lambda: node_of(cluster, "large", namespace) == "farther", PATIENCE)
    create_twins(cluster, namespace, cpu="400m", volumes=uses("data"))
    assert "Insufficient cpu" in why_both(cluster, namespace)
    cluster.admin.delete("Pod", "large", namespace, at_once=True)
    assert wait_for_both(cluster, namespace) == {"farther"}


def phase(cluster: ControlPlane, namespace: str) -> str:
    """Of the claim ``data``."""
    told: str = cluster.admin.get("PersistentVolumeClaim", "data", namespace)["status"]["phase"]
    return told


def test_a_volume_is_made_where_the_first_consumer_will_be_though_the_scheduler_is_killed_meanwhile(
    cluster: ControlPlane, scheduler: Scheduler
) -> None:
    """The test plays the provisioner."""
    namespace = cluster.namespace("provisioned")
    cluster.admin.create(a_storage_class("made", binding="WaitForFirstConsumer"))
    cluster.admin.create(claim("data", namespace, "made"))
    create(cluster, "uses", namespace, cpu="10m", volumes=uses("data"), node_selector={"pool": "small"})

    def selected() -> Object | None:
        found = cluster.admin.get("PersistentVolumeClaim", "data", namespace)
        return found if SELECTED in found["metadata"].get("annotations", {}) else None

    asked = wait_until("a node is selected", selected, PATIENCE)
    assert asked is not None
    assert asked["metadata"]["annotations"][SELECTED] == "node-1"
    scheduler.kill()
    scheduler.start()
    assert node_of(cluster, "uses", namespace) is None
    cluster.admin.create(a_bound_volume(cluster, "made", namespace, "made"))
    wait_until("the pod is bound", lambda: node_of(cluster, "uses", namespace) == "node-1", PATIENCE)
