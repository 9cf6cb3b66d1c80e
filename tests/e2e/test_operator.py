"""The operator on a real control plane: what it makes of a resource, that it keeps it so, and that it leaves nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import pytest

from builders import Object
from builders.kubedeschedulers import EXAMPLES, an_object
from e2e.control_plane import ControlPlane
from e2e.fault_proxy import FaultProxy
from e2e.faults import Asked, NeverSent, Refused, calls
from e2e.operators import (
    IMPATIENT,
    INSTALLED,
    LEGAL_PAIRS,
    PATIENCE,
    Operator,
    an_operator,
    condition,
    definition_of,
    edit,
    facts,
    has_policy,
    installed,
    lease_is_over,
    made,
    observed,
    operators_kubeconfig,
    remove,
    resource,
    wait_for_objects,
)
from e2e.rest import Rest, name_of
from e2e.waiting import wait_until
from restow.operator.daemon import LEASE
from restow.operator.desired import desired
from restow.operator.resource import NAMESPACE, ProfileName, resource_of
from restow.operator.rights import OPERAND, PLAN_CONFIG_MAP
from restow.operator.soft_taints import EFFECT, KEYS, VALUE
from restow.operator.syncing import FINALIZER

pytestmark = pytest.mark.e2e

#: Writes before which an operator is killed; ``RESTOW_E2E_OPERATOR_KILLS=0:30`` is each of them.
KILLS = range(*map(int, os.environ.get("RESTOW_E2E_OPERATOR_KILLS", "4:5").split(":")))
#: Pairs of profiles that may be together; ``RESTOW_E2E_OPERATOR_PAIRS=1`` is all of them.
PAIRS = LEGAL_PAIRS[:: int(os.environ.get("RESTOW_E2E_OPERATOR_PAIRS", "13"))]


@pytest.fixture(scope="module")
def admin(plane: ControlPlane, operators_namespace: str) -> Iterator[Rest]:
    """An administrator of a control plane that knows the resource and has a node for virtual machines."""
    node = name_of(plane.admin.items("Node")[0])
    plane.admin.patch("Node", node, {"metadata": {"labels": {"kubevirt.io/schedulable": "true"}}})
    with definition_of(plane):
        yield plane.admin
    plane.admin.patch("Node", node, {"metadata": {"labels": {"kubevirt.io/schedulable": None}}})


@pytest.fixture(scope="module")
def running(plane: ControlPlane, admin: Rest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """One operator for all tests that do not kill theirs."""
    with an_operator(plane, tmp_path_factory.mktemp("operator")) as operator:
        yield operator
        # Once it has ended, nobody lets a resource go.
        remove(admin)


@contextmanager
def a_resource(admin: Rest, *profiles: str, **spec: Any) -> Iterator[None]:
    admin.create(an_object(*profiles, **spec))
    try:
        yield
    finally:
        remove(admin)
        wait_until("nothing is left", lambda: made(admin) == {}, PATIENCE)


def plain(thing: Object) -> Object:
    """An object without what the API server adds to each write of it."""
    metadata = {name: thing["metadata"].get(name) for name in ("name", "namespace", "labels", "ownerReferences")}
    kept = {name: value for name, value in thing.items() if name not in ("metadata", "status")}
    kept.get("spec", {}).pop("clusterIP", None)
    kept.get("spec", {}).pop("clusterIPs", None)
    return {**kept, "metadata": metadata}


def everything(admin: Rest) -> dict[tuple[str, str], Object]:
    """What the operator has made, but for the plan, which is not its own."""
    return {key: plain(thing) for key, thing in made(admin).items()}


def everything_wanted(admin: Rest, operator: Operator) -> dict[tuple[str, str], Object]:
    """What the operator has made, once that is all."""
    wait_for_objects(admin, desired(resource_of(observed(admin, operator)), facts(admin), INSTALLED).objects)
    return everything(admin)


@pytest.mark.parametrize("profiles", [*((each,) for each in get_args(ProfileName)), *PAIRS], ids="+".join)
def test_the_policy_of_profiles_is_that_of_the_pure_function(
    admin: Rest, running: Operator, profiles: tuple[str, ...]
) -> None:
    if not admin.find("KubeDescheduler", "cluster", NAMESPACE):
        admin.create(an_object(*profiles))
    edit(admin, profiles=list(profiles))
    thing = observed(admin, running)
    assert condition(thing, "Degraded") == ("False", "AsExpected")
    wanted = desired(resource_of(thing), facts(admin), INSTALLED)
    assert has_policy(admin, wanted.policy)
    wait_for_objects(admin, wanted.objects)


#: What people do by hand to an object of each kind: each of these changes or adds something.
BY_HAND: dict[str, Object] = {
    "ServiceAccount": {"metadata": {"labels": {"app.kubernetes.io/managed-by": None}}},
    "ClusterRole": {"rules": []},
    "ClusterRoleBinding": {"subjects": None},
    "Role": {"rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]},
    "RoleBinding": {"subjects": None},
    "ConfigMap": {"data": {"policy.yaml": "", "more": "x"}},
    "Service": {"spec": {"selector": {"also": "this"}}},
    "Deployment": {"spec": {"replicas": 3, "template": {"spec": {
        "containers": [{"name": "other", "image": "other", "env": [{"name": "A", "value": "b"}]}],
        "nodeSelector": {"disk": "none"}}}}},
}  # fmt: skip


def edit_all(admin: Rest) -> None:
    """Edits every object that there is, each after the one before is done."""
    for kind, name in made(admin):
        # What is in the ConfigMap of the plan is the descheduler's.
        kind_of_edit = "ServiceAccount" if name == PLAN_CONFIG_MAP else kind
        admin.patch(kind, name, BY_HAND[kind_of_edit], NAMESPACE)


def test_what_is_deleted_or_edited_by_hand_comes_back_and_nothing_else_is_written(
    plane: ControlPlane, admin: Rest, running: Operator
) -> None:
    remove(admin)
    with a_resource(admin, "KubeVirtRelieveAndMigrate", mode="Automatic"):
        before = everything_wanted(admin, running)
        assert {kind for kind, _ in before} == BY_HAND.keys()
        for kind, name in before:
            admin.delete(kind, name, NAMESPACE)
        wait_until("what was deleted is back", lambda: everything(admin).keys() == before.keys(), PATIENCE)
        before = everything(admin)
        edit_all(admin)
        wait_until("what was edited is as before", lambda: everything(admin) == before, PATIENCE)
        wait_until("it is ready", lambda: condition(resource(admin), "Available")[0] == "True", PATIENCE)
        wait_until("it is told", lambda: condition(resource(admin), "Progressing")[0] == "False", PATIENCE)

        plane.audit.restart()
        admin.patch("Namespace", "default", {"metadata": {"labels": {"changed": "yes"}}})
        wait_until("there was a sync", lambda: plane.audit.calls("list", "kubedeschedulers", agent="restow"), PATIENCE)
        wait_until("it is over", lambda: plane.audit.calls("list", "jobs", agent="restow"), PATIENCE)
        written = {(each.verb, each.object_ref.resource) for each in plane.audit.calls(agent="restow")}
        assert {verb for verb, what in written if what != "leases"} <= {"list", "get"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_that_is_applied_with_kubectl_is_carried_out(
    plane: ControlPlane, admin: Rest, running: Operator, path: Path
) -> None:
    remove(admin)
    done = kubectl(plane, path.read_text())
    assert done.returncode == 0, done.stderr
    thing = observed(admin, running)
    assert condition(thing, "Degraded") == ("False", "AsExpected")
    assert has_policy(admin, desired(resource_of(thing), facts(admin), INSTALLED).policy)


def test_kubectl_says_why_profiles_are_refused(plane: ControlPlane, admin: Rest) -> None:
    done = kubectl(plane, json.dumps(an_object("CompactAndScale", "LongLifecycle")))
    assert done.returncode == 1
    assert "cannot declare CompactAndScale and LongLifecycle profiles simultaneously" in done.stderr


def kubectl(plane: ControlPlane, text: str) -> subprocess.CompletedProcess[str]:
    """What it says to the file."""
    if not shutil.which("kubectl"):
        pytest.skip("kubectl is not installed")
    command = ["kubectl", f"--kubeconfig={plane.kubeconfig}", "apply", "-f", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=300)


def test_removed_has_none_of_the_objects_and_unmanaged_touches_nothing(admin: Rest, running: Operator) -> None:
    remove(admin)
    with a_resource(admin, "AffinityAndTaints"):
        before = everything_wanted(admin, running)
        edit(admin, managementState="Unmanaged", mode="Automatic")
        observed(admin, running)
        assert everything(admin) == before
        edit(admin, managementState="Removed")
        thing = observed(admin, running)
        wait_until("nothing is left", lambda: made(admin) == {}, PATIENCE)
        assert condition(thing, "Available") == ("False", "Removed")
        edit(admin, managementState="Managed", mode="Predictive")
        observed(admin, running)
        wait_until("everything is back", lambda: everything(admin).keys() == before.keys(), PATIENCE)


def test_a_problem_that_stops_the_descheduler_stops_it_until_it_is_solved(admin: Rest, running: Operator) -> None:
    remove(admin)
    with a_resource(admin, "AffinityAndTaints"):
        observed(admin, running)
        nodes = [name_of(each) for each in admin.items("Node", labels="kubevirt.io/schedulable=true")]
        for each in nodes:
            admin.patch("Node", each, {"metadata": {"labels": {"kubevirt.io/schedulable": None}}})
        edit(admin, profiles=["KubeVirtRelieveAndMigrate"])
        thing = observed(admin, running)
        assert condition(thing, "Degraded") == ("True", "KubeVirtNotDeployed")
        assert condition(thing, "Available") == ("False", "Stopped")
        assert admin.get("Deployment", "descheduler", NAMESPACE)["spec"]["replicas"] == 0
        for each in nodes:
            admin.patch("Node", each, {"metadata": {"labels": {"kubevirt.io/schedulable": "true"}}})
        edit(admin, profiles=["AffinityAndTaints"])
        assert condition(observed(admin, running), "Degraded")[0] == "False"
        assert admin.get("Deployment", "descheduler", NAMESPACE)["spec"]["replicas"] == 1


def test_an_error_that_stops_nothing_is_told_and_the_policy_before_stays(admin: Rest, running: Operator) -> None:
    remove(admin)
    with a_resource(admin, "AffinityAndTaints"):
        before = everything_wanted(admin, running)
        edit(admin, profileCustomizations={"namespaces": {"included": ["kube-system"]}})
        assert condition(observed(admin, running), "Degraded") == ("True", "ProtectedNamespaceIncluded")
        assert everything(admin) == before


#: What is wrong with a resource beside that it asks for no evictions.
WRONG: dict[str, Object] = {
    "an unknown PriorityClass": {"mode": "Predictive", "profileCustomizations": {"thresholdPriorityClassName": "none"}},
    "a protected namespace": {"mode": "Predictive", "profileCustomizations": {"namespaces": {"included": ["kube-system"]}}},
    "an unknown query": {"mode": "Predictive", "profileCustomizations": {"devActualUtilizationProfile": "none"}},
    "no profile, Predictive": {"mode": "Predictive", "profiles": []},
    "no profile, Automatic": {"profiles": []},
}  # fmt: skip


@pytest.mark.parametrize("interval", [0, 3600], ids=["Job", "Deployment"])
@pytest.mark.parametrize("wrong", WRONG)
def test_whatever_else_is_wrong_a_resource_that_asks_for_no_evictions_ends_them(
    plane: ControlPlane, admin: Rest, running: Operator, wrong: str, interval: int
) -> None:
    remove(admin)
    with a_resource(admin, "AffinityAndTaints", mode="Automatic", deschedulingIntervalSeconds=interval):
        before = everything_wanted(admin, running)
        assert {kind for kind, _ in before} & {"Deployment", "Job"} == {"Deployment" if interval else "Job"}
        caller = plane.rest(plane.token_of(OPERAND, NAMESPACE))
        evict = lambda: caller.evict("no-such-pod", dry_run=True).status  # noqa: E731
        wait_until("it may evict", lambda: evict() == 404, PATIENCE)
        edit(admin, **WRONG[wrong])
        assert condition(observed(admin, running), "Degraded")[0] == "True"
        wait_until("it may not evict", lambda: evict() == 403, PATIENCE)
        assert not [each for each in admin.items("Job", NAMESPACE) if not each["metadata"].get("deletionTimestamp")]
        assert all(each["spec"]["replicas"] == 0 for each in admin.items("Deployment", NAMESPACE))
        edit(admin, profiles=["AffinityAndTaints"], mode="Automatic", profileCustomizations=None)
        assert condition(observed(admin, running), "Degraded")[0] == "False"
        wait_until("it may evict again", lambda: evict() == 404, PATIENCE)


def test_an_interval_of_zero_is_a_job_and_no_deployment(admin: Rest, running: Operator) -> None:
    remove(admin)
    with a_resource(admin, "AffinityAndTaints"):
        observed(admin, running)
        thing = edit(admin, deschedulingIntervalSeconds=0)
        observed(admin, running)
        run = {"Job": f"descheduler-run-{thing['metadata']['generation']}"}
        wait_until("there is a run", lambda: workloads(admin) == run, PATIENCE)


def workloads(admin: Rest) -> dict[str, str]:
    return {kind: name for kind, name in made(admin) if kind in ("Job", "Deployment")}


def test_kopf_keeps_nothing_on_the_resource_but_its_finalizer(admin: Rest, running: Operator) -> None:
    remove(admin)
    with a_resource(admin, "AffinityAndTaints"):
        observed(admin, running)
        edit(admin, mode="Automatic")
        metadata = observed(admin, running)["metadata"]
        assert metadata["finalizers"] == [FINALIZER]
        assert "annotations" not in metadata


def from_the(number: int) -> Callable[[Asked], bool]:
    """Writes from the so manieth on, leases apart."""
    counted = iter(range(1_000_000))

    def is_late(asked: Asked) -> bool:
        writes = asked.verb in ("create", "update", "patch", "delete") and asked.resource != "leases"
        return writes and next(counted) >= number

    return is_late


def test_a_removal_that_does_not_succeed_keeps_the_resource_for_a_while_only_and_goes_on(
    plane: ControlPlane, own_definition: Rest, tmp_path: Path
) -> None:
    admin, name = own_definition, ("ClusterRole", "openshift-descheduler-operand")
    admin.create(an_object("AffinityAndTaints"))
    with FaultProxy(plane) as proxy, an_operator(plane, tmp_path, proxy, IMPATIENT) as operator:
        observed(admin, operator)
        with proxy.trouble(calls("delete", "clusterroles"), Refused(500)):
            remove(admin)
            assert name in made(admin)
        wait_until("nothing is left", lambda: made(admin) == {}, PATIENCE)


@pytest.mark.parametrize("number", KILLS)
def test_an_operator_that_is_killed_before_some_write_has_a_successor_that_makes_it_good(
    plane: ControlPlane, own_definition: Rest, tmp_path: Path, number: int
) -> None:
    """With a profile of which it makes the most, and with soft taints on a node when the resource is to go."""
    admin = own_definition
    admin.create(an_object("KubeVirtRelieveAndMigrate", mode="Automatic"))
    _killed(plane, tmp_path, number)
    with an_operator(plane, tmp_path) as operator:
        wanted = desired(resource_of(observed(admin, operator)), facts(admin), INSTALLED)
        wait_for_objects(admin, wanted.objects)
        # As a soft tainter that goes with its Deployment leaves a node.
        soft = [{"key": key, "value": VALUE, "effect": EFFECT} for key in KEYS]
        admin.patch("Node", name_of(admin.items("Node")[1]), {"spec": {"taints": soft}})
    admin.delete("KubeDescheduler", "cluster", NAMESPACE)
    _killed(plane, tmp_path, number)
    with an_operator(plane, tmp_path):
        remove(admin)
        wait_until("nothing is left", lambda: made(admin) == {}, PATIENCE)
        wait_until("no taint is left", lambda: not _tainted(admin), PATIENCE)


def _tainted(admin: Rest) -> list[str]:
    return [
        name_of(each)
        for each in admin.items("Node")
        if any(taint["key"] in KEYS for taint in each["spec"].get("taints") or ())
    ]


def _killed(plane: ControlPlane, directory: Path, number: int) -> None:
    """Has an operator run until it would make some write, and kills it."""
    with installed(plane), FaultProxy(plane) as proxy, proxy.trouble(from_the(number), NeverSent()) as trouble:
        operator = Operator(directory, operators_kubeconfig(plane, proxy))
        operator.start()
        try:
            done = lambda: trouble.happened or _is_idle(plane, operator)  # noqa: E731
            wait_until("the write is there, or there are no more", done, PATIENCE)
        finally:
            operator.kill()
    lease_is_over(plane.admin)


def _is_idle(plane: ControlPlane, operator: Operator) -> bool:
    """Whether an operator has no more to write."""
    operator.check()
    thing = plane.admin.find("KubeDescheduler", "cluster", NAMESPACE)
    return thing is None or (
        not thing["metadata"].get("deletionTimestamp")
        and (thing.get("status") or {}).get("observedGeneration") == thing["metadata"]["generation"]
        and condition(thing, "Progressing")[0] == "False"
    )


@pytest.fixture
def own_definition(admin: Rest, running: Operator) -> Iterator[Rest]:
    """The resource is nobody's for a moment: the operator of the other tests is stopped."""
    remove(admin)
    _stop(admin, running)
    yield admin
    running.start()
    remove(admin)


def _stop(admin: Rest, operator: Operator) -> None:
    """Ends an operator politely: it gives its lease back."""
    wait_until("it leads", lambda: _holder(admin), PATIENCE)
    operator.send(signal.SIGTERM)
    assert operator.wait(PATIENCE) == 0, operator.tail()
    assert not _holder(admin)


def _holder(admin: Rest) -> str:
    """Who leads; empty where nobody does."""
    lease = admin.find("Lease", LEASE, NAMESPACE) or {"spec": {}}
    holder: str = lease["spec"].get("holderIdentity") or ""
    return holder
