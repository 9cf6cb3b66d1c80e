"""The manifests of the operator: it may do what it does, it has what it grants, and it is held to it."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest

from builders.kubedeschedulers import INSTALLED, OPENSHIFT, a_kubedescheduler
from deploy.manifests import DEPLOY, KUBERNETES, documents, granted, manifests, only, pod_of
from restow.operator.desired import desired
from restow.operator.facts import Facts
from restow.operator.guards import ADMISSION, GUARDS, guards
from restow.operator.resource import NAMESPACE, resource_of

OPERATOR = DEPLOY / "operator"
RIGHTS = documents(OPERATOR / "rights.yaml")
CLUSTER_WIDE, WITHIN = only(RIGHTS, "ClusterRole")["rules"], only(RIGHTS, "Role")["rules"]
KUBEVIRT = "KubeVirtRelieveAndMigrate"
#: What the monitoring of OpenShift lets be read; the operator may bind it.
MONITORING = "cluster-monitoring-view"
#: They alone have a number in their names.
UNNAMED = {("batch", "jobs")}


def made() -> list[Any]:
    """Every object that the operator makes, for any resource."""
    profiles = (KUBEVIRT, "LongLifecycle", "AffinityAndTaints")
    facts = (OPENSHIFT, Facts(prometheus_route=OPENSHIFT.prometheus_route))
    return [
        each
        for profile in profiles
        for mode in ("Automatic", "Predictive")
        for interval in (0, 60)
        for fact in facts
        for each in desired(
            a_kubedescheduler(profile, mode=mode, deschedulingIntervalSeconds=interval), fact, INSTALLED
        ).objects
    ]


def of_kind(thing: Any) -> tuple[str, str]:
    """Group and plural."""
    group, _, _ = thing["apiVersion"].rpartition("/")
    return group, f"{thing['kind'].lower()}s"


def named(rules: list[Any], group: str, plural: str, name: str) -> set[str]:
    """The verbs for one object."""
    return {
        verb
        for rule in rules
        if group in rule["apiGroups"] and plural in rule["resources"]
        if name in rule.get("resourceNames", [name])
        for verb in rule["verbs"]
    }


def test_it_may_write_every_object_that_it_makes():
    for thing in made():
        group, plural = of_kind(thing)
        rules = CLUSTER_WIDE if "namespace" not in thing["metadata"] else [*CLUSTER_WIDE, *WITHIN]
        name = thing["metadata"]["name"]
        wanted = {"list", "watch", "create", "get", "patch", "update", "delete"}
        assert wanted <= named(rules, group, plural, name), (plural, name)


@pytest.mark.parametrize("verb", ["create", "update", "patch", "delete"])
def test_it_may_write_nothing_else_of_these_kinds(verb):
    """A rule for a kind that it makes has the names of what it makes; server-side apply creates by name."""
    names: dict[tuple[str, str], set[str]] = {}
    for thing in made():
        names.setdefault(of_kind(thing), set()).add(thing["metadata"]["name"])
    for rule in (*CLUSTER_WIDE, *WITHIN):
        kinds = {(group, plural) for group in rule["apiGroups"] for plural in rule["resources"]}
        if verb in rule["verbs"] and kinds & names.keys() - UNNAMED:
            listed = set(rule.get("resourceNames", ()))
            assert listed, rule
            for kind in kinds:
                assert listed <= names[kind], rule


def test_it_writes_no_admission_policy_and_may_see_whether_the_guards_are_there():
    (rule,) = (rule for rule in CLUSTER_WIDE if "admissionregistration.k8s.io" in rule["apiGroups"])
    assert rule["verbs"] == ["get"]
    assert rule["resourceNames"] == [*GUARDS]
    assert not any(each["apiVersion"] == ADMISSION for each in made())


def test_it_has_every_right_that_it_grants():
    """The API server would refuse it the role otherwise."""
    given = [rule for thing in made() if thing["kind"] in {"Role", "ClusterRole"} for rule in thing["rules"]]
    assert granted(given) <= granted([*CLUSTER_WIDE, *WITHIN])
    bound = {each["roleRef"]["name"] for each in made() if each["kind"] == "ClusterRoleBinding"}
    own = {each["metadata"]["name"] for each in made() if each["kind"] == "ClusterRole"}
    bindable = {name for rule in CLUSTER_WIDE if "bind" in rule["verbs"] for name in rule["resourceNames"]}
    assert bound - own == {MONITORING} == bindable


def test_it_can_neither_escalate_nor_impersonate_nor_delete_what_it_does_not_make():
    deletable = {kind for _, kind, verb in granted([*CLUSTER_WIDE, *WITHIN]) if verb == "delete"}
    assert deletable <= {plural for _, plural in map(of_kind, made())}
    forbidden = {"*", "deletecollection", "escalate", "impersonate", "approve", "sign"}
    assert not any(verb in forbidden for _, _, verb in granted([*CLUSTER_WIDE, *WITHIN]))


def test_it_reads_no_secrets():
    assert not any(resource in {"secrets", "*"} for _, resource, _ in granted([*CLUSTER_WIDE, *WITHIN]))


def test_every_rule_has_a_comment_that_says_why():
    """Or it goes with the rule above, which is for the same resources."""
    lines = (OPERATOR / "rights.yaml").read_text().splitlines()
    above = [before for before, line in pairwise(lines) if line.startswith("  - apiGroups")]
    assert len(above) == len(CLUSTER_WIDE) + len(WITHIN)
    bare = [before for before in above if not before.startswith("  # ")]
    assert len(bare) < len(above)


def test_the_guards_are_those_that_the_operator_looks_for():
    account = only(RIGHTS, "ServiceAccount")["metadata"]
    assert documents(OPERATOR / "guarding.yaml") == guards(account["namespace"])
    for each in guards(NAMESPACE)[::2]:
        (condition,) = each["spec"]["matchConditions"]
        assert f"'system:serviceaccounts:{NAMESPACE}' in request.userInfo.groups" in condition["expression"]
    written = {
        name
        for rule in CLUSTER_WIDE
        if {"create", "patch"} & {*rule["verbs"]}
        for name in rule.get("resourceNames", ())
    }
    assert not written & GUARDS.keys()


def test_everything_is_in_the_one_namespace_that_counts():
    objects = list(manifests(OPERATOR))
    assert only(objects, "Namespace")["metadata"]["name"] == NAMESPACE
    assert {each["metadata"].get("namespace", NAMESPACE) for each in objects} == {NAMESPACE}
    files = documents(OPERATOR / "kustomization.yaml")[0]["resources"]
    assert sorted(files) == sorted({path.name for path in OPERATOR.glob("*.yaml")} - {"kustomization.yaml"})


def test_its_pod_is_as_unprivileged_as_restows():
    mine, other = (
        pod_of(only(manifests(path), "Deployment"))["spec"] for path in (OPERATOR, KUBERNETES / "deployment")
    )
    for field in ("priorityClassName", "securityContext", "terminationGracePeriodSeconds"):
        assert mine[field] == other[field]
    (ours,), (theirs,) = mine["containers"], other["containers"]
    assert ours["securityContext"] == theirs["securityContext"]
    for probe in ("livenessProbe", "readinessProbe"):
        assert ours[probe] == theirs[probe] | {"httpGet": theirs[probe]["httpGet"] | {"port": "https"}}


def test_it_makes_its_own_image_run():
    (container,) = pod_of(only(documents(OPERATOR / "deployment.yaml"), "Deployment"))["spec"]["containers"]
    images = {each["value"] for each in container["env"] if each["name"].startswith("RELATED_IMAGE_")}
    assert images == {container["image"]}


def test_prometheus_finds_its_metrics_by_its_service():
    service = documents(OPERATOR / "service.yaml")[0]
    monitor = documents(DEPLOY / "monitoring" / "operator-service-monitor.yaml")[0]
    deployment = only(documents(OPERATOR / "deployment.yaml"), "Deployment")
    (container,) = pod_of(deployment)["spec"]["containers"]
    (port,) = service["spec"]["ports"]
    (endpoint,) = monitor["spec"]["endpoints"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert service["spec"]["selector"].items() <= pod_of(deployment)["metadata"]["labels"].items()
    assert endpoint["port"] == port["name"]
    assert {port["targetPort"]} == {each["name"] for each in container["ports"]}
    assert endpoint["scheme"] == "https"
    places = {each["metadata"]["namespace"] for each in (service, monitor, deployment)}
    assert places == {NAMESPACE}


class TestBundle:
    """The bundle for OLM has no rules of its own."""

    bundle = OPERATOR / "bundle"
    csv = only(documents(bundle / "manifests" / "restow-operator.clusterserviceversion.yaml"), "ClusterServiceVersion")

    def test_its_rules_and_its_deployment_are_those_of_the_manifests(self):
        strategy = self.csv["spec"]["install"]["spec"]
        account = only(RIGHTS, "ServiceAccount")["metadata"]["name"]
        assert strategy["clusterPermissions"] == [{"serviceAccountName": account, "rules": CLUSTER_WIDE}]
        assert strategy["permissions"] == [{"serviceAccountName": account, "rules": WITHIN}]
        deployment = only(documents(OPERATOR / "deployment.yaml"), "Deployment")
        assert strategy["deployments"] == [{"name": deployment["metadata"]["name"], "spec": deployment["spec"]}]

    def test_it_has_the_definition(self):
        (owned,) = self.csv["spec"]["customresourcedefinitions"]["owned"]
        definition = only(documents(OPERATOR / "crd.yaml"), "CustomResourceDefinition")
        names = definition["spec"]["names"]
        assert (owned["name"], owned["kind"]) == (definition["metadata"]["name"], names["kind"])
        assert owned["version"] == definition["spec"]["versions"][0]["name"]
        assert "COPY crd.yaml service.yaml bundle/manifests/ /manifests/" in (self.bundle / "Containerfile").read_text()

    def test_its_example_is_a_resource_in_the_namespace_that_it_suggests(self):
        annotations = self.csv["metadata"]["annotations"]
        (example,) = json.loads(annotations["alm-examples"])
        assert example["metadata"]["namespace"] == annotations["operatorframework.io/suggested-namespace"] == NAMESPACE
        assert desired(resource_of(example), Facts(), INSTALLED).action == "apply"

    def test_the_image_has_the_labels_of_the_annotations(self):
        annotations = documents(self.bundle / "metadata" / "annotations.yaml")[0]["annotations"]
        lines = (self.bundle / "Containerfile").read_text().splitlines()
        labels = dict(line.removeprefix("LABEL ").split("=", 1) for line in lines if line.startswith("LABEL "))
        assert labels == annotations


class TestChart:
    chart = DEPLOY / "helm" / "restow-operator"

    def test_its_manifests_are_those_of_the_directory(self):
        for name in ("rights", "guarding", "deployment", "service"):
            assert (self.chart / "files" / f"{name}.yaml").resolve() == OPERATOR / f"{name}.yaml"
        monitor = self.chart / "files" / "service-monitor.yaml"
        assert monitor.resolve() == DEPLOY / "monitoring" / "operator-service-monitor.yaml"
        assert (self.chart / "crds" / "kubedeschedulers.yaml").resolve() == OPERATOR / "crd.yaml"

    def test_schema_and_page_name_every_value(self):
        values = documents(self.chart / "values.yaml")[0]
        schema = json.loads((self.chart / "values.schema.json").read_text())
        assert set(schema["properties"]) - {"global"} == set(values)
        table = (self.chart / "README.md").read_text().partition("|---|---|")[2].partition("\n\n")[0]
        assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == list(values)

    def test_what_it_replaces_is_there(self):
        text = (OPERATOR / "deployment.yaml").read_text()
        assert "args: [operator]\n" in text
        assert text.count(f"registry.example.com/restow:{documents(self.chart / 'Chart.yaml')[0]['appVersion']}") == 3
