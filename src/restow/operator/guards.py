"""The limits of the operator's namespace: three ValidatingAdmissionPolicies of ``deploy/operator/guarding.yaml``.

RBAC alone is too coarse: a right to bind a role allows binding it to any subject, and a right to patch nodes allows
evicting their pods. The policies apply to every service account of the namespace (the group
``system:serviceaccounts:NAMESPACE``), so that they also limit rights that one account grants to another. An
administrator installs them. The operator cannot change them; it checks that they are as written here, and creates no
soft tainter without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from restow.operator.applying import covers
from restow.operator.objects import LABELS, Object
from restow.operator.operand import CERTIFICATE, CONFIG_MAP, SOFT_TAINTER, SOFT_TAINTER_ACCOUNT, SOFT_TAINTER_MONITORING
from restow.operator.operand import NAME as DESCHEDULER
from restow.operator.rights import MONITORING_VIEW, OPERAND, PLAN_CONFIG_MAP, PROMETHEUS, VIEW
from restow.operator.soft_taints import EFFECT, KEYS

ADMISSION: Final = "admissionregistration.k8s.io/v1"
#: Names of the policies, each of which has a binding of the same name.
NODES: Final = "openshift-descheduler-operator"
RIGHTS: Final = "openshift-descheduler-operator-rights"
WORKLOADS: Final = "openshift-descheduler-operator-workloads"


def guards(namespace: str) -> list[Object]:
    """Return the policies for the service accounts of a namespace, each followed by its binding."""
    return [
        each
        for name, spec in GUARDS.items()
        for each in (
            _object("ValidatingAdmissionPolicy", name, spec(namespace)),
            _object("ValidatingAdmissionPolicyBinding", name, {"policyName": name, "validationActions": ["Deny"]}),
        )
    ]


def is_in_force(live: Object, wanted: Object) -> bool:
    """Whether a policy or binding has all that is wanted of it, and is for no fewer requests."""
    spec = live.get("spec") or {}
    matched = (spec.get("matchConstraints") or {}) | (spec.get("matchResources") or {})
    is_narrowed = any(matched.get(each) for each in ("namespaceSelector", "objectSelector", "excludeResourceRules"))
    return covers(spec, wanted["spec"]) and not is_narrowed and not spec.get("paramRef")


def _object(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _policy(namespace: str, rules: list[Object], validations: list[Object], variables: Mapping[str, str]) -> Object:
    member = f"'system:serviceaccounts:{namespace}' in request.userInfo.groups"
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": rules},
        "matchConditions": [{"name": "accounts", "expression": f"has(request.userInfo.groups) && {member}"}],
        "variables": [{"name": name, "expression": text} for name, text in variables.items()],
        "validations": validations,
    }


def _rule(group: str, *resources: str, creates: bool = True) -> Object:
    operations = ["CREATE", "UPDATE"] if creates else ["UPDATE"]
    return {"apiGroups": [group], "apiVersions": ["v1"], "resources": [*resources], "operations": operations}


def _check(expression: str, message: str) -> Object:
    return {"expression": expression, "message": message}


# The right to patch nodes would otherwise be one to evict all of their pods. The rules are those of
# ``deploy/kubernetes/fencing``, for other taints.
_IS_SOFT: Final = f"taint.key in {list(KEYS)} && has(taint.effect) && taint.effect == '{EFFECT}'"
#: Fields and their values when absent. metadata.managedFields and resourceVersion belong to the API server.
_METADATA: Final = (("labels", "{}"), ("annotations", "{}"), ("finalizers", "[]"), ("ownerReferences", "[]"))
_SPEC: Final = (("unschedulable", "false"), ("podCIDR", "''"), ("podCIDRs", "[]"), ("providerID", "''"))
_SAME_CONFIG_SOURCE: Final = (
    "has(object.spec.configSource) == has(oldObject.spec.configSource) && "
    "(!has(object.spec.configSource) || object.spec.configSource == oldObject.spec.configSource)"
)


def nodes_spec(namespace: str) -> dict[str, Any]:
    """Return the spec of the policy about nodes: soft taints come and go, and nothing else changes."""
    validations = [
        _check("!has(request.subResource) || request.subResource == ''", "a soft tainter may not change the status of a node"),
        _check(
            "variables.othersAfter == variables.othersBefore",
            f"a soft tainter may change no taint of a node but {' and '.join(KEYS)}, with effect {EFFECT}",
        ),
        _check(
            " && ".join(_same("metadata", *each) for each in _METADATA),
            "a soft tainter may not change the metadata of a node",
        ),
        _check(
            " && ".join([*(_same("spec", *each) for each in _SPEC), _SAME_CONFIG_SOURCE]),
            "a soft tainter may change nothing in the spec of a node but its soft taints",
        ),
    ]  # fmt: skip
    variables = {"othersBefore": _others("oldObject"), "othersAfter": _others("object")}
    return _policy(namespace, [_rule("", "nodes", "nodes/status", creates=False)], validations, variables)


def _others(thing: str) -> str:
    return f"has({thing}.spec.taints) ? {thing}.spec.taints.filter(taint, !({_IS_SOFT})) : []"


def _same(part: str, name: str, absent: str) -> str:
    after, before = (
        f"(has({each}.{part}.{name}) ? {each}.{part}.{name} : {absent})" for each in ("object", "oldObject")
    )
    return f"{after} == {before}"


@dataclass(slots=True, frozen=True)
class _Binding:
    """What a binding may bind: one role, and to one service account."""

    role: str
    account: str
    #: Of the account; None is the operator's own.
    namespace: str | None = None


_READS: Final = (
    "rule.verbs.all(verb, verb in ['list', 'watch']) && !rule.resources.exists(each, each in ['*', 'secrets'])"
)
_EVICTS: Final = "rule.resources == ['pods/eviction'] && rule.verbs == ['create']"
_REPORTS: Final = "rule.apiGroups == ['events.k8s.io'] && rule.verbs.all(verb, verb in ['create', 'update'])"
_TAINTS: Final = "rule.resources == ['nodes'] && rule.verbs.all(verb, verb in ['get', 'list', 'patch'])"
_PUBLISHES: Final = (
    "rule.resources == ['configmaps'] && rule.verbs == ['patch'] && "
    f"has(rule.resourceNames) && rule.resourceNames == ['{PLAN_CONFIG_MAP}']"
)
_ASKS: Final = "rule.resources == ['kubedeschedulers'] && rule.verbs == ['get']"
_FINDS: Final = (
    "rule.resources.all(each, each in ['services', 'endpoints', 'pods']) && "
    "rule.verbs.all(verb, verb in ['get', 'list', 'watch'])"
)
#: What each rule of a role may be, by plural and name. The API server lets an account grant only the rights that it
#: has.
_ROLES: Final = {
    f"clusterroles/{OPERAND}": (_READS, _EVICTS, _REPORTS),
    f"clusterroles/{SOFT_TAINTER_ACCOUNT}": (_TAINTS,),
    f"roles/{OPERAND}": (_PUBLISHES,),
    f"roles/{SOFT_TAINTER_ACCOUNT}": (_ASKS,),
    f"roles/{PROMETHEUS.account}": (_FINDS,),
}
_BINDINGS: Final = {
    f"clusterrolebindings/{OPERAND}": _Binding(OPERAND, OPERAND),
    f"clusterrolebindings/{SOFT_TAINTER_ACCOUNT}": _Binding(SOFT_TAINTER_ACCOUNT, SOFT_TAINTER_ACCOUNT),
    f"clusterrolebindings/{MONITORING_VIEW}": _Binding(VIEW, OPERAND),
    f"clusterrolebindings/{SOFT_TAINTER_MONITORING}": _Binding(VIEW, SOFT_TAINTER_ACCOUNT),
    f"rolebindings/{OPERAND}": _Binding(OPERAND, OPERAND),
    f"rolebindings/{SOFT_TAINTER_ACCOUNT}": _Binding(SOFT_TAINTER_ACCOUNT, SOFT_TAINTER_ACCOUNT),
    f"rolebindings/{PROMETHEUS.account}": _Binding(PROMETHEUS.account, PROMETHEUS.account, PROMETHEUS.namespace),
}


def rights_spec(namespace: str) -> dict[str, Any]:
    """Return the spec of the policy about roles and bindings: which may exist, what they grant, and to which subjects."""
    known = [*_ROLES, *_BINDINGS]
    validations = [
        _check(f"variables.what in {known}", "the operator may write no role or binding but its own"),
        _check(
            f"!has(object.metadata.namespace) || object.metadata.namespace in ['', '{namespace}']",
            "the operator may write no role or binding of another namespace",
        ),
        _check(_LABELLED, "the operator may not label a role: a label can make it a part of other roles"),
        *(
            _check(_if(what, _grants(rules)), f"{what} would grant more than it is for")
            for what, rules in _ROLES.items()
        ),
        *(
            _check(
                _if(what, _binds(what, binding, namespace)),
                f"{what} may only bind the role {binding.role} to the service account {binding.account}",
            )
            for what, binding in _BINDINGS.items()
        ),
    ]
    rules = [_rule("rbac.authorization.k8s.io", "clusterroles", "clusterrolebindings", "roles", "rolebindings")]
    variables = {
        "what": "request.resource.resource + '/' + object.metadata.name",
        "labels": _cel_map(LABELS),
        "labelsBefore": "oldObject != null && has(oldObject.metadata.labels) ? oldObject.metadata.labels : {}",
    }
    return _policy(namespace, rules, validations, variables)


_LABELLED: Final = "!has(object.metadata.labels) || object.metadata.labels.all(name, " + " || ".join(
    f"(name in variables.{known} && variables.{known}[name] == object.metadata.labels[name])"
    for known in ("labels", "labelsBefore")
) + ")"  # fmt: skip


def _cel_map(values: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"'{name}': '{value}'" for name, value in values.items()) + "}"


def _if(what: str, condition: str) -> str:
    return f"variables.what != '{what}' || ({condition})"


def _grants(rules: tuple[str, ...]) -> str:
    any_of = " || ".join(f"({each})" for each in rules)
    each_rule = f"has(rule.resources) && !has(rule.nonResourceURLs) && ({any_of})"
    return f"!has(object.aggregationRule) && (!has(object.rules) || object.rules.all(rule, {each_rule}))"


def _binds(what: str, binding: _Binding, namespace: str) -> str:
    kind = "Role" if what.startswith("rolebindings/") else "ClusterRole"
    fields = {"kind": "ServiceAccount", "name": binding.account, "namespace": binding.namespace or namespace}
    subject = " && ".join(f"has(subject.{name}) && subject.{name} == '{value}'" for name, value in fields.items())
    role = f"object.roleRef.kind == '{kind}' && object.roleRef.name == '{binding.role}'"
    return f"{role} && (!has(object.subjects) || object.subjects.all(subject, {subject}))"


_NOT_ROOT: Final = (
    "has(variables.pod.securityContext) && has(variables.pod.securityContext.runAsNonRoot) && "
    "variables.pod.securityContext.runAsNonRoot && !has(variables.pod.securityContext.runAsUser)"
)
_UNPRIVILEGED: Final = (
    "has(container.securityContext) && has(container.securityContext.allowPrivilegeEscalation) && "
    "!container.securityContext.allowPrivilegeEscalation && "
    "(!has(container.securityContext.privileged) || !container.securityContext.privileged) && "
    "!has(container.securityContext.runAsUser) && !has(container.securityContext.runAsNonRoot) && "
    "(!has(container.securityContext.capabilities) || !has(container.securityContext.capabilities.add))"
)
_OWN_ENVIRONMENT: Final = (
    "!has(container.envFrom) && (!has(container.env) || container.env.all(each, !has(each.valueFrom)))"
)
_SHARED: Final = ("hostNetwork", "hostPID", "hostIPC")
_OWN_VOLUME: Final = (
    f"(has(volume.configMap) && volume.configMap.name == '{CONFIG_MAP}') || "
    f"(has(volume.secret) && volume.secret.secretName == '{CERTIFICATE}')"
)


def _containers(condition: str) -> str:
    return f"variables.pod.containers.all(container, {condition})"


def workloads_spec(namespace: str) -> dict[str, Any]:
    """Return the spec of the policy about Deployments, Jobs and Services: whose pods there are, and what these may do."""
    is_pod = "request.resource.resource == 'services' || "
    validations = [
        _check(
            f"variables.what in ['deployments/{DESCHEDULER}', 'deployments/{SOFT_TAINTER}', 'services/metrics'] || "
            f"variables.what.startsWith('jobs/{DESCHEDULER}-run-')",
            "the operator may write no Deployment, Job or Service but its own",
        ),
        _check(
            is_pod
            + f"(has(variables.pod.serviceAccountName) && variables.pod.serviceAccountName in {[OPERAND, SOFT_TAINTER_ACCOUNT]})",
            f"the operator may run pods only as {OPERAND} and {SOFT_TAINTER_ACCOUNT}",
        ),
        _check(
            is_pod + f"!has(variables.pod.volumes) || variables.pod.volumes.all(volume, {_OWN_VOLUME})",
            "the operator's pods may mount nothing but their policy and their certificate",
        ),
        _check(
            is_pod + " && ".join(f"(!has(variables.pod.{each}) || !variables.pod.{each})" for each in _SHARED),
            "the operator's pods may not share the network or the processes of a node",
        ),
        _check(
            is_pod + f"(!has(variables.pod.initContainers) && {_NOT_ROOT} && {_containers(_UNPRIVILEGED)})",
            "the operator's pods may have no privileges",
        ),
        _check(
            is_pod + _containers(_OWN_ENVIRONMENT),
            "the operator's pods may read no Secret or ConfigMap into their environment",
        ),
        _check(
            "request.resource.resource != 'services' || "
            "(!has(object.spec.externalIPs) && (!has(object.spec.type) || object.spec.type == 'ClusterIP'))",
            "the operator's Service may not take traffic from outside",
        ),
    ]
    rules = [_rule("apps", "deployments"), _rule("batch", "jobs"), _rule("", "services")]
    variables = {
        "what": "request.resource.resource + '/' + object.metadata.name",
        "pod": "object.spec.template.spec",
    }
    return _policy(namespace, rules, validations, variables)


#: The spec of each policy, by its name, as a function of the namespace.
GUARDS: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    NODES: nodes_spec,
    RIGHTS: rights_spec,
    WORKLOADS: workloads_spec,
}
