"""What holds the operator: whether it is in force, and that nodes are protected as by the guard of fences."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from builders import Object
from builders.kubedeschedulers import INSTALLED, OPENSHIFT, a_kubedescheduler
from builders.operator_scenes import Scene
from deploy.manifests import KUBERNETES, documents, only
from restow.operator.desired import desired
from restow.operator.guards import GUARDS, guards, is_in_force, nodes_spec, rights_spec, workloads_spec
from restow.operator.resource import NAMESPACE
from restow.operator.soft_taints import EFFECT, KEYS

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
PLURALS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
KUBEVIRT = "KubeVirtRelieveAndMigrate"


def path_of(guard: Object) -> str:
    return f"{ADMISSION}/{PLURALS[guard['kind']]}/{guard['metadata']['name']}"


def with_defaults(guard: Object) -> Object:
    """A guard as the API server stores it."""
    live = copy.deepcopy(guard)
    constraints = live["spec"].get("matchConstraints")
    if constraints:
        constraints |= {"namespaceSelector": {}, "objectSelector": {}, "matchPolicy": "Equivalent"}
        for rule in constraints["resourceRules"]:
            rule["scope"] = "*"
    return live


def test_each_policy_has_a_binding_that_denies():
    policies, bindings = guards(NAMESPACE)[::2], guards(NAMESPACE)[1::2]
    assert [each["metadata"]["name"] for each in policies] == [*GUARDS]
    for policy, binding in zip(policies, bindings, strict=True):
        assert policy["spec"]["failurePolicy"] == "Fail"
        assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}


@pytest.mark.parametrize("spec", [nodes_spec, rights_spec, workloads_spec])
def test_they_are_for_every_service_account_of_the_namespace_and_for_no_other(spec):
    (condition,) = spec("tools")["matchConditions"]
    assert "'system:serviceaccounts:tools' in request.userInfo.groups" in condition["expression"]
    assert NAMESPACE not in str(spec("tools"))


def test_of_a_node_only_the_soft_taints_change():
    for variable in nodes_spec(NAMESPACE)["variables"]:
        assert all(f"'{key}'" in variable["expression"] for key in KEYS)
        assert f"taint.effect == '{EFFECT}'" in variable["expression"]


def test_all_else_of_a_node_is_protected_as_by_the_guard_of_fences():
    fences = only(documents(KUBERNETES / "fencing" / "guarding.yaml"), "ValidatingAdmissionPolicy")["spec"]
    ours = nodes_spec(NAMESPACE)
    assert ours["matchConstraints"] == fences["matchConstraints"]

    def rest(spec: Any) -> list[set[str]]:
        status, _, *others = (each["expression"] for each in spec["validations"])
        metadata, all_else = others[-2:]
        return [{term.replace("(", "").replace(")", "").strip() for term in text.split("&&")} for text in
                (status, metadata, _unlike(all_else))]  # fmt: skip

    def _unlike(text: str) -> str:
        return "&&".join(term for term in text.split("&&") if "unschedulable" not in term)

    assert rest(ours) == rest(fences)


def test_a_node_is_not_uncordoned():
    (text,) = (
        each["expression"] for each in nodes_spec(NAMESPACE)["validations"] if "spec.providerID" in each["expression"]
    )
    assert "spec.unschedulable" in text


def test_every_role_and_binding_that_the_operator_makes_is_known_to_its_guard():
    made = desired(a_kubedescheduler(KUBEVIRT, mode="Automatic"), OPENSHIFT, INSTALLED).objects
    text = rights_spec(NAMESPACE)["validations"][0]["expression"]
    for each in made:
        if "rbac" in each["apiVersion"]:
            assert f"'{each['kind'].lower()}s/{each['metadata']['name']}'" in text


class TestInForce:
    @pytest.mark.parametrize("guard", guards(NAMESPACE), ids=lambda each: f"{each['kind']} {each['metadata']['name']}")
    def test_one_as_the_api_server_stores_it_is(self, guard):
        assert is_in_force(with_defaults(guard), guard)
        assert not is_in_force({}, guard)

    @pytest.mark.parametrize(
        "change",
        [
            {"failurePolicy": "Ignore"},
            {"matchConditions": [{"name": "never", "expression": "false"}]},
            {"validations": []},
            {"variables": []},
            {"matchConstraints": {"resourceRules": []}},
            {"matchConstraints": nodes_spec(NAMESPACE)["matchConstraints"] | {"objectSelector": {"matchLabels": {"a": "b"}}}},
            {"matchConstraints": nodes_spec(NAMESPACE)["matchConstraints"] | {"excludeResourceRules": [{}]}},
        ],
        ids=str,
    )  # fmt: skip
    def test_a_policy_that_refuses_less_is_not(self, change):
        policy = guards(NAMESPACE)[0]
        assert not is_in_force({**policy, "spec": policy["spec"] | change}, policy)

    @pytest.mark.parametrize(
        "change",
        [
            {"validationActions": ["Warn"]},
            {"validationActions": ["Audit"]},
            {"policyName": "other"},
            {"matchResources": {"namespaceSelector": {"matchLabels": {"a": "b"}}}},
            {"paramRef": {"name": "x"}},
        ],
        ids=str,
    )
    def test_a_binding_that_denies_less_is_not(self, change):
        binding = guards(NAMESPACE)[1]
        assert not is_in_force({**binding, "spec": binding["spec"] | change}, binding)


@pytest.mark.parametrize("index", range(6))
def test_a_guard_that_is_weakened_while_the_operator_works_ends_the_soft_tainter(index: int):
    scene = Scene(installation=replace(INSTALLED, prometheus_url="https://prometheus.example.com"))
    scene.api.put("/api/v1/nodes/n1", {"metadata": {"name": "n1", "labels": {"kubevirt.io/schedulable": "true"}}})
    for guard in guards(NAMESPACE):
        scene.api.put(path_of(guard), with_defaults(guard))
    scene.with_resource(KUBEVIRT, mode="Automatic")
    scene.sync()
    tainter = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/softtainter"
    assert tainter in scene.made(), scene.status["conditions"]
    del scene.api.stored[path_of(guards(NAMESPACE)[index])]
    scene.sync()
    assert tainter not in scene.made()
    assert scene.condition("Limited")[1] == "NotGuarded"
