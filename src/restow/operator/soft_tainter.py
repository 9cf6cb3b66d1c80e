"""The soft tainter as objects: the daemon that puts soft taints on busy nodes, its rights, and what holds it to them.

It is there where virtual machines are moved, and only while they are really moved: a plan that nobody carries out changes
nothing about nodes, and a single run does not come back to take taints off. Source of the names: cluster-kube-descheduler-operator 5.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from restow.client.resources import RESOURCES
from restow.operator.facts import Facts, Installation
from restow.operator.objects import Object, Place, in_cluster, in_namespace
from restow.operator.pods import POLICY_PATH, VERBOSITY, Program, lasting, pod_metadata, pod_spec, probe
from restow.operator.resource import API_VERSION, KubeDeschedulerSpec
from restow.operator.rights import monitoring_view
from restow.operator.rules import KUBEVIRT_PROFILES
from restow.operator.soft_taints import EFFECT, KEYS

NAME: Final = "softtainter"
#: The service account, and the names of its roles.
ACCOUNT: Final = "openshift-descheduler-softtainter"
#: The spelling is upstream's.
APP: Final = {"app": "softtainer"}
PORT: Final = 6060
PLURAL: Final = "kubedeschedulers"
_RBAC: Final = "rbac.authorization.k8s.io"
_ADMISSION: Final = "admissionregistration.k8s.io/v1"
_GUARD: Final = f"{ACCOUNT}-vap"

_IS_OURS: Final = f"taint.key in {list(KEYS)} && has(taint.effect) && taint.effect == '{EFFECT}'"


def is_needed(spec: KubeDeschedulerSpec) -> bool:
    """Whether nodes are to bear soft taints; otherwise the operator takes them off."""
    lasts = spec.mode == "Automatic" and spec.descheduling_interval_seconds > 0
    return lasts and bool(KUBEVIRT_PROFILES.intersection(spec.profiles))


def soft_tainter_of(place: Place, installation: Installation, policy: str, facts: Facts) -> list[Object]:
    """Return the objects of a soft tainter, in an order in which they can be created."""
    return [
        in_namespace(place, "v1", "ServiceAccount", ACCOUNT),
        *_guard(place, installation),
        *_rights(place),
        *([monitoring_view(place, f"{ACCOUNT}-monitoring", ACCOUNT)] if facts.is_openshift else ()),
        _deployment(place, installation.soft_tainter_image or installation.image, policy, facts),
    ]


def arguments(spec: KubeDeschedulerSpec, namespace: str) -> list[str]:
    """Return the arguments of ``restow``."""
    return [
        "operator",
        "soft-tainter",
        f"--policy-config-file={POLICY_PATH}",
        f"--namespace={namespace}",
        f"-v={VERBOSITY[spec.log_level]}",
    ]


def _guard(place: Place, installation: Installation) -> list[Object]:
    users = [
        f"system:serviceaccount:{place.namespace}:{account}" for account in (ACCOUNT, installation.service_account)
    ]
    return [
        in_cluster(_ADMISSION, "ValidatingAdmissionPolicy", _GUARD, spec=guard_spec(users)),
        in_cluster(_ADMISSION, "ValidatingAdmissionPolicyBinding", f"{_GUARD}-binding", spec=binding_spec(_GUARD)),
    ]


def _rights(place: Place) -> list[Object]:
    nodes = [{"apiGroups": [""], "resources": [RESOURCES["Node"].plural], "verbs": ["get", "list", "patch"]}]
    resource = [{"apiGroups": [API_VERSION.partition("/")[0]], "resources": [PLURAL], "verbs": ["get"]}]
    subjects = [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": place.namespace}]

    def role_ref(kind: str) -> Object:
        return {"apiGroup": _RBAC, "kind": kind, "name": ACCOUNT}

    return [
        in_cluster(f"{_RBAC}/v1", "ClusterRole", ACCOUNT, rules=nodes),
        in_cluster(f"{_RBAC}/v1", "ClusterRoleBinding", ACCOUNT, roleRef=role_ref("ClusterRole"), subjects=subjects),
        in_namespace(place, f"{_RBAC}/v1", "Role", ACCOUNT, rules=resource),
        in_namespace(place, f"{_RBAC}/v1", "RoleBinding", ACCOUNT, roleRef=role_ref("Role"), subjects=subjects),
    ]


def _deployment(place: Place, image: str, policy: str, facts: Facts) -> Object:
    args = arguments(place.owner.spec, place.namespace)
    program = Program(NAME, image, ["restow"], args, cpu="10m", memory="128Mi")
    served = {
        "ports": [{"name": "https", "containerPort": PORT}],
        "livenessProbe": probe("/livez", initialDelaySeconds=30, periodSeconds=20, failureThreshold=3),
        "readinessProbe": probe("/readyz", initialDelaySeconds=5, periodSeconds=10),
    }
    pod = {"metadata": pod_metadata(program, APP, policy, facts), "spec": pod_spec(program, ACCOUNT, served)}
    return in_namespace(place, "apps/v1", "Deployment", NAME, labels=APP, spec=lasting(APP, pod))


# The right to patch nodes would otherwise be one to evict all of their pods. The rules are those of
# ``deploy/kubernetes/fencing``, for other taints.
def guard_spec(users: Sequence[str]) -> dict[str, Any]:
    """Return the spec of a policy for these users: of a node they may add and remove the soft taints, and no more."""
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "resources": ["nodes", "nodes/status"],
                    "operations": ["UPDATE"],
                }
            ]
        },
        "matchConditions": [{"name": "user", "expression": f"request.userInfo.username in {list(users)}"}],
        "variables": [
            {"name": "othersBefore", "expression": _others("oldObject")},
            {"name": "othersAfter", "expression": _others("object")},
        ],
        "validations": [
            {
                "expression": "!has(request.subResource) || request.subResource == ''",
                "message": "a soft tainter may not change the status of a node",
            },
            {
                "expression": "variables.othersAfter == variables.othersBefore",
                "message": f"a soft tainter may change no taint of a node but {' and '.join(KEYS)}, with effect {EFFECT}",
            },
            {
                "expression": " && ".join(map(_same_metadata, _METADATA)),
                "message": "a soft tainter may not change the metadata of a node",
            },
            {
                "expression": " && ".join([*map(_same_spec, _SPEC), _SAME_CONFIG_SOURCE]),
                "message": "a soft tainter may change nothing in the spec of a node but its soft taints",
            },
        ],
    }


def binding_spec(policy: str) -> dict[str, Any]:
    """Return the spec of the binding of a policy."""
    return {"policyName": policy, "validationActions": ["Deny"]}


#: Fields and what they are where they are absent. metadata.managedFields and resourceVersion are the API server's business.
_METADATA: Final = (("labels", "{}"), ("annotations", "{}"), ("finalizers", "[]"), ("ownerReferences", "[]"))
_SPEC: Final = (("unschedulable", "false"), ("podCIDR", "''"), ("podCIDRs", "[]"), ("providerID", "''"))
_SAME_CONFIG_SOURCE: Final = (
    "has(object.spec.configSource) == has(oldObject.spec.configSource) && "
    "(!has(object.spec.configSource) || object.spec.configSource == oldObject.spec.configSource)"
)


def _others(thing: str) -> str:
    return f"has({thing}.spec.taints) ? {thing}.spec.taints.filter(taint, !({_IS_OURS})) : []"


def _same_metadata(field: tuple[str, str]) -> str:
    return _same("metadata", *field)


def _same_spec(field: tuple[str, str]) -> str:
    return _same("spec", *field)


def _same(part: str, name: str, absent: str) -> str:
    after, before = (
        f"(has({each}.{part}.{name}) ? {each}.{part}.{name} : {absent})" for each in ("object", "oldObject")
    )
    return f"{after} == {before}"
