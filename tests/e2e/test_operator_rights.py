"""What can be done with the operator's token beside its work: nothing of what is tried here.

Every attempt is made with the rights and the guards of ``deploy/operator``, and with whatever verb could serve it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from builders import Object
from builders.kubedeschedulers import INSTALLED, OPENSHIFT, an_object
from e2e.control_plane import ControlPlane
from e2e.kinds import collection, path_of
from e2e.operators import ACCOUNT, MADE, PATIENCE, applied, installed, operators_token
from e2e.rest import Answer, Rest, name_of
from e2e.waiting import wait_until
from restow.operator.desired import desired
from restow.operator.facts import Facts
from restow.operator.guards import GUARDS
from restow.operator.operand import SOFT_TAINTER_ACCOUNT as TAINTER
from restow.operator.resource import NAMESPACE, resource_of
from restow.operator.rights import OPERAND

pytestmark = pytest.mark.e2e

RBAC = "rbac.authorization.k8s.io/v1"
ADMISSION = "admissionregistration.k8s.io/v1"
NODES = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["patch"]}
EVICTIONS = {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}
EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
SOMEBODY = {"kind": "ServiceAccount", "name": "default", "namespace": NAMESPACE}


@pytest.fixture(scope="module", params=["without bindings", "with everything"])
def operator(request: pytest.FixtureRequest, plane: ControlPlane, operators_namespace: str) -> Iterator[Rest]:
    """The operator's account, and what it has made: all of it, or what a binding could be made for."""
    kept = {"without bindings": ("ServiceAccount", "ClusterRole", "Role")}.get(request.param)
    with installed(plane):
        caller = plane.rest(operators_token(plane))
        plane.admin.create(role("cluster-monitoring-view", []))
        made = desired(resource_of(an_object("KubeVirtRelieveAndMigrate", mode="Automatic")), OPENSHIFT, INSTALLED)
        things = [each for each in made.objects if each["kind"] in (kept or MADE)]
        for each in things:
            assert applied(caller, each).status == 201, (each["kind"], name_of(each))
            assert applied(caller, each).status == 200
        yield caller
        for each in reversed(things):
            caller.delete(each["kind"], name_of(each), NAMESPACE)
        plane.admin.delete("ClusterRole", "cluster-monitoring-view")


def thing(api_version: str, kind: str, name: str, **fields: Any) -> Object:
    metadata = {"name": name, "namespace": NAMESPACE} if path_of(kind, name).count("namespaces/") else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def role(name: str, rules: list[Object], kind: str = "ClusterRole", **metadata: Any) -> Object:
    made = thing(RBAC, kind, name, rules=rules)
    return made | {"metadata": made["metadata"] | metadata}


def binding(name: str, of: str, subject: Object, kind: str = "ClusterRoleBinding", of_kind: str = "") -> Object:
    reference = {"apiGroup": RBAC.partition("/")[0], "kind": of_kind or kind.removesuffix("Binding"), "name": of}
    return thing(RBAC, kind, name, roleRef=reference, subjects=[subject])


PODS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}


def a_denial(name: str) -> Object:
    """A policy after which no pod can be created."""
    spec = {"matchConstraints": {"resourceRules": [PODS]}, "validations": [{"expression": "false"}]}
    return thing(ADMISSION, "ValidatingAdmissionPolicy", name, spec=spec)


def a_mutation() -> Object:
    """A policy that changes every pod."""
    patch = """[JSONPatch{op: "add", path: "/metadata/labels/mine", value: "x"}]"""
    spec = {
        "matchConstraints": {"resourceRules": [PODS]},
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
    }
    return thing(ADMISSION, "MutatingAdmissionPolicy", "mine", spec=spec)


def account(name: str, namespace: str = NAMESPACE) -> Object:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def workload(kind: str, name: str, **pod: Any) -> Object:
    """A Deployment or Job as the operator makes it, but for some fields of its pod; ``volumes`` come to what is there."""
    interval = 60 if kind == "Deployment" else 0
    resource = resource_of(an_object("LongLifecycle", deschedulingIntervalSeconds=interval))
    (found,) = (each for each in desired(resource, Facts(), INSTALLED).objects if each["kind"] == kind)
    found["metadata"]["name"] = name
    inner = found["spec"]["template"]["spec"]
    inner |= pod | {"volumes": [*inner["volumes"], *pod.get("volumes", ())]}
    return found


def container(**fields: Any) -> list[Object]:
    (found,) = workload("Job", "mine")["spec"]["template"]["spec"]["containers"]
    more = {"securityContext": found["securityContext"] | fields.pop("securityContext", {})}
    return [found | more | fields]


#: Objects that would give somebody more than there should be.
OBJECTS: dict[str, Object] = {
    "a role with node patches": role("mine", [NODES]),
    "a role with everything": role("mine", [EVERYTHING]),
    "its own role": role("openshift-descheduler-operator", [EVERYTHING]),
    "node patches in the descheduler's role": role(OPERAND, [NODES]),
    "everything in the descheduler's role": role(OPERAND, [EVERYTHING]),
    "another verb in the soft tainter's role": role(TAINTER, [NODES | {"verbs": ["update"]}]),
    "evictions in the soft tainter's role": role(TAINTER, [EVICTIONS]),
    "the soft tainter's role as part of edit": role(
        TAINTER, [NODES], labels={"rbac.authorization.k8s.io/aggregate-to-edit": "true"}
    ),
    "the descheduler's role as part of others": role(
        OPERAND, [EVICTIONS], labels={"app.kubernetes.io/managed-by": "restow-operator", "mine": "yes"}
    ),
    "a role made of others": thing(
        RBAC, "ClusterRole", OPERAND, aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    ),
    "cluster-admin": binding("mine", "cluster-admin", SOMEBODY),
    "cluster-admin by a name that it has": binding(OPERAND, "cluster-admin", account(OPERAND)),
    "its own binding": binding("openshift-descheduler-operator", "cluster-admin", account(ACCOUNT)),
    "its own role for another account": binding(OPERAND, "openshift-descheduler-operator", SOMEBODY),
    "the soft tainter's role for another account": binding(TAINTER, TAINTER, SOMEBODY),
    "the soft tainter's role for the operator": binding(TAINTER, TAINTER, account(ACCOUNT)),
    "the soft tainter's role in another namespace": binding(TAINTER, TAINTER, account(TAINTER, "default")),
    "the soft tainter's role for a user": binding(TAINTER, TAINTER, {"kind": "User", "name": TAINTER}),
    "the descheduler's role for everybody": binding(OPERAND, OPERAND, {"kind": "Group", "name": "system:authenticated"}),
    "the soft tainter's role for the descheduler": binding(OPERAND, TAINTER, account(OPERAND)),
    "OpenShift's monitoring for everybody": binding(
        "cluster-monitoring-view-cr", "cluster-monitoring-view", {"kind": "Group", "name": "system:authenticated"}
    ),
    "cluster-admin by the name of the monitoring": binding(
        "cluster-monitoring-view-cr", "cluster-admin", account(OPERAND)
    ),
    "another Role": role("mine", [EVICTIONS], "Role"),
    "evictions in the descheduler's Role": role(OPERAND, [EVICTIONS], "Role"),
    "every ConfigMap in the descheduler's Role": role(
        OPERAND, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]}], "Role"
    ),
    "another RoleBinding": binding("mine", "admin", SOMEBODY, "RoleBinding", "ClusterRole"),
    "a ClusterRole by a RoleBinding": binding(OPERAND, TAINTER, account(OPERAND), "RoleBinding", "ClusterRole"),
    "the descheduler's Role for another account": binding(OPERAND, OPERAND, SOMEBODY, "RoleBinding"),
    "a policy that denies all pods": a_denial("mine"),
    "the same by the name of a guard": a_denial(next(iter(GUARDS))),
    "the binding of one": thing(
        ADMISSION, "ValidatingAdmissionPolicyBinding", "mine", spec={"policyName": "x", "validationActions": ["Deny"]}
    ),
    "a policy that changes pods": a_mutation(),
    "a webhook": thing(ADMISSION, "MutatingWebhookConfiguration", "mine", webhooks=[]),
    "another Deployment": workload("Deployment", "mine"),
    "its own Deployment": workload("Deployment", "descheduler-operator"),
    "a Job of another name": workload("Job", "mine"),
    "a Job of another account": workload("Job", "descheduler-run-1", serviceAccountName="default"),
    "a Job of the operator's account": workload("Job", "descheduler-run-1", serviceAccountName=ACCOUNT),
    "a Job of no account": workload("Job", "descheduler-run-1", serviceAccountName=None),
    "a pod of another account": workload("Deployment", "descheduler", serviceAccountName="default"),
    "a pod with a directory of its node": workload(
        "Deployment", "descheduler", volumes=[{"name": "host", "hostPath": {"path": "/"}}]
    ),
    "a pod with a Secret": workload(
        "Deployment", "descheduler", volumes=[{"name": "mine", "secret": {"secretName": "others"}}]
    ),
    "a pod with a token of another audience": workload(
        "Deployment", "descheduler",
        volumes=[{"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}],
    ),
    "a pod in the network of its node": workload("Deployment", "descheduler", hostNetwork=True),
    "a pod among the processes of its node": workload("Deployment", "descheduler", hostPID=True),
    "a privileged pod": workload(
        "Job", "descheduler-run-1", containers=container(securityContext={"privileged": True, "allowPrivilegeEscalation": True})
    ),
    "a pod that is root": workload("Job", "descheduler-run-1", containers=container(securityContext={"runAsUser": 0})),
    "a pod with capabilities": workload(
        "Job", "descheduler-run-1", containers=container(securityContext={"capabilities": {"add": ["SYS_ADMIN"]}})
    ),
    "a pod that may be root": workload("Job", "descheduler-run-1", securityContext={"runAsNonRoot": False}),
    "a pod with a Secret in its environment": workload(
        "Job", "descheduler-run-1",
        containers=container(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]),
    ),
    "a pod with all of a Secret in its environment": workload(
        "Job", "descheduler-run-1", containers=container(envFrom=[{"secretRef": {"name": "a"}}])
    ),
    "a pod with a second container": workload("Job", "descheduler-run-1", initContainers=[{"name": "first", "image": "a"}]),
    "a bare pod": thing("v1", "Pod", "mine", spec={"containers": [{"name": "a", "image": "b"}]}),
    "another Service": thing("v1", "Service", "mine", spec={"ports": [{"port": 1}]}),
    "traffic of others": thing(
        "v1", "Service", "metrics", spec={"ports": [{"name": "https", "port": 1}], "externalIPs": ["8.8.8.8"]}
    ),
    "a port of every node": thing(
        "v1", "Service", "metrics", spec={"type": "NodePort", "ports": [{"name": "https", "port": 1}]}
    ),
    "another ConfigMap": thing("v1", "ConfigMap", "mine"),
    "another account": thing("v1", "ServiceAccount", "mine"),
    "a Secret": thing("v1", "Secret", "mine"),
    "another namespace": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mine"}},
    "a label of its namespace": {
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "privileged"}},
    },
}  # fmt: skip


def is_refused(answer: Answer) -> bool:
    """Whether the API server has refused it because of who asks, not because of its form."""
    return answer.status == 403 or "ValidatingAdmissionPolicy 'openshift-descheduler-operator" in str(answer.body)


@pytest.mark.parametrize("name", OBJECTS)
def test_no_object_gives_anybody_more(plane: ControlPlane, operator: Rest, name: str) -> None:
    """Neither applied, nor created, nor patched, nor put in the place of one that is there; an administrator could."""
    wanted = OBJECTS[name]
    kind, query = wanted["kind"], {"dryRun": "All"}
    path = path_of(kind, name_of(wanted), NAMESPACE)
    there = plane.admin.find(kind, name_of(wanted), NAMESPACE)
    control = applied(plane.admin, wanted, try_out=True)
    # Nobody can change the role of a binding that is there.
    is_fixed = control.status == 422 and there is not None and "roleRef" in wanted
    assert control.status < 300 or is_fixed, control
    attempts = [
        applied(operator, wanted, try_out=True),
        operator.ask("POST", collection(kind, NAMESPACE), wanted, query=query),
    ]
    if there:
        version = {"resourceVersion": there["metadata"]["resourceVersion"]}
        attempts += [
            operator.ask("PATCH", path, wanted, query=query, content="application/merge-patch+json"),
            operator.ask("PUT", path, wanted | {"metadata": wanted["metadata"] | version}, query=query),
        ]
    for answer in attempts:
        assert is_refused(answer) or (is_fixed and answer.status == 422), answer


def test_the_same_is_refused_to_an_account_that_was_given_the_operators_rights(
    plane: ControlPlane, operator: Rest
) -> None:
    """The guards are for every account of the namespace: a token of another one is no way around them."""
    plane.admin.create(binding("given", "cluster-admin", SOMEBODY))
    try:
        other = plane.rest(plane.token_of("default", NAMESPACE))
        wait_until("it may do everything", lambda: other.ask("GET", path_of("Node", "node-1")).status == 200, PATIENCE)
        for name in ("node patches in the descheduler's role", "cluster-admin", "a Job of another account"):
            assert is_refused(applied(other, OBJECTS[name], try_out=True)), name
        assert is_refused(patched(other, "Node", "node-1", {"metadata": {"labels": {"mine": "x"}}}))
    finally:
        plane.admin.delete("ClusterRoleBinding", "given")


def patched(caller: Rest, kind: str, name: str, change: Object, part: str = "") -> Answer:
    path = path_of(kind, name, NAMESPACE) + part
    return caller.ask("PATCH", path, change, query={"dryRun": "All"}, content="application/merge-patch+json")


@pytest.mark.parametrize(
    ("kind", "name", "change", "part"),
    [
        ("Node", "node-1", {"spec": {"unschedulable": True}}, ""),
        ("Node", "node-1", {"spec": {"taints": [{"key": "mine", "effect": "NoExecute"}]}}, ""),
        ("Node", "node-1", {"metadata": {"labels": {"mine": "x"}}}, ""),
        ("Node", "node-1", {"status": {"capacity": {"cpu": "0"}}}, "/status"),
        ("ServiceAccount", ACCOUNT, {"secrets": [{"name": "x"}]}, ""),
        ("Deployment", "descheduler-operator", {"spec": {"replicas": 0}}, ""),
        ("Deployment", "descheduler-operator", {"spec": {"replicas": 9}}, "/scale"),
        ("Namespace", NAMESPACE, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": None}}}, ""),
        *(("ValidatingAdmissionPolicy", name, {"spec": {"failurePolicy": "Ignore"}}, "") for name in GUARDS),
        *(
            ("ValidatingAdmissionPolicyBinding", name, {"spec": {"validationActions": ["Warn"]}}, "")
            for name in GUARDS
        ),
    ],
    ids=str,
)  # fmt: skip
def test_nothing_that_holds_it_can_be_changed(operator: Rest, kind: str, name: str, change: Object, part: str) -> None:
    assert is_refused(patched(operator, kind, name, change, part))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((kind, name) for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding") for name in GUARDS),
        ("ClusterRole", "openshift-descheduler-operator"),
        ("ClusterRoleBinding", "openshift-descheduler-operator"),
        ("ClusterRole", "cluster-admin"),
        ("Node", "node-1"),
        ("Namespace", NAMESPACE),
        ("Deployment", "descheduler-operator"),
        ("ServiceAccount", "default"),
        ("Pod", "any"),
    ],
)  # fmt: skip
def test_nothing_that_holds_it_can_be_deleted(operator: Rest, kind: str, name: str) -> None:
    answer = operator.ask("DELETE", path_of(kind, name, NAMESPACE), query={"dryRun": "All"})
    assert answer.status == 403
    assert is_refused(answer)
    whole = operator.ask("DELETE", collection(kind, NAMESPACE), query={"dryRun": "All"})
    assert whole.status in (403, 405)


@pytest.mark.parametrize("name", [ACCOUNT, OPERAND, "default"])
def test_it_gets_no_token_of_any_account(operator: Rest, name: str) -> None:
    wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    assert is_refused(operator.ask("POST", f"{path_of('ServiceAccount', name, NAMESPACE)}/token", wanted))


def test_it_reads_no_secret(operator: Rest) -> None:
    for where in (NAMESPACE, "kube-system", None):
        assert is_refused(operator.ask("GET", collection("Secret", where)))


def test_server_side_apply_creates_by_name_only_with_create_and_patch_for_that_name(
    plane: ControlPlane, operators_namespace: str
) -> None:
    """What the rights rest on: a POST has no name that a rule could name, an apply has."""
    verbs = {"neither": ["get"], "only-create": ["create"], "only-patch": ["patch"], "both": ["create", "patch"]}
    for name, granted in verbs.items():
        rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["mine"], "verbs": granted}
        plane.admin.create(role(f"try-{name}", [rule], "Role"))
        plane.admin.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account(f"try-{name}")})
        plane.admin.create(binding(f"try-{name}", f"try-{name}", account(f"try-{name}"), "RoleBinding"))
    callers = {name: plane.rest(plane.token_of(f"try-{name}", NAMESPACE)) for name in verbs}
    mine = thing("v1", "ConfigMap", "mine")
    wait_until("rights are seen", lambda: applied(callers["both"], mine, try_out=True).status == 201, PATIENCE)
    statuses = {name: applied(caller, mine, try_out=True).status for name, caller in callers.items()}
    assert statuses == {"neither": 403, "only-create": 403, "only-patch": 403, "both": 201}
    posted = callers["both"].ask("POST", collection("ConfigMap", NAMESPACE), mine, query={"dryRun": "All"})
    assert posted.status == 403
    other = thing("v1", "ConfigMap", "other")
    assert applied(callers["both"], other, try_out=True).status == 403
    for name in verbs:
        for kind in ("RoleBinding", "Role", "ServiceAccount"):
            plane.admin.delete(kind, f"try-{name}", NAMESPACE)
