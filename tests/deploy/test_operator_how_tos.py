"""The pages about the operator name files, objects and fields as they are."""

from __future__ import annotations

import re

import pytest
import yaml

from builders.kubedeschedulers import INSTALLED
from deploy.manifests import DEPLOY, ROOT, documents, only, pod_of
from docs.pages import files
from restow.descheduler.publishing import PLAN
from restow.operator.desired import desired
from restow.operator.facts import Facts
from restow.operator.resource import NAMESPACE, resource_of
from restow.operator.rights import PLAN_CONFIG_MAP
from restow.operator.uninstalling import OPERATOR

PAGES = {
    name: (ROOT / "docs" / "how-to" / f"{name}.md").read_text() for name in ("openshift", "operator-on-kubernetes")
}
TEXT = "".join(PAGES.values())


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\b(?:deploy|examples)/[\w./-]*\w", TEXT))))
def test_every_file_that_they_name_exists(path):
    assert (ROOT / path).exists()


def test_every_namespace_is_the_one_that_counts():
    assert set(re.findall(r"(?:-n|--namespace) (\S+)", TEXT)) == {NAMESPACE}


def test_the_operator_that_is_waited_for_is_that_of_the_manifests():
    deployment = only(documents(DEPLOY / "operator" / "deployment.yaml"), "Deployment")
    assert set(re.findall(r"rollout status deployment/(\S+)", TEXT)) == {deployment["metadata"]["name"]} == {OPERATOR}


def test_the_plan_is_where_the_descheduler_writes_it():
    assert set(re.findall(r"get configmap (\S+)", TEXT)) == {PLAN_CONFIG_MAP}
    assert set(re.findall(r"\.binaryData\.(\S+)\}'", TEXT)) == {PLAN.replace(".", r"\.")}


def test_the_column_that_they_name_is_one():
    definition = only(documents(DEPLOY / "operator" / "crd.yaml"), "CustomResourceDefinition")
    columns = {each["name"].upper() for each in definition["spec"]["versions"][0]["additionalPrinterColumns"]}
    assert set(re.findall(r"`([A-Z]+)` is how many", TEXT)) <= columns


def test_their_example_is_a_resource():
    (text,) = files(PAGES["operator-on-kubernetes"]).values()
    done = desired(resource_of(yaml.safe_load(text)), Facts(), INSTALLED)
    assert (done.action, done.notices) == ("apply", ())


def test_the_arguments_that_take_a_prometheus_are_those_of_the_deployment():
    (line,) = re.findall(r"^    args: (.+)$", PAGES["operator-on-kubernetes"], re.MULTILINE)
    command, option = yaml.safe_load(line)
    (container,) = pod_of(only(documents(DEPLOY / "operator" / "deployment.yaml"), "Deployment"))["spec"]["containers"]
    assert container["args"] == [command]
    assert option.startswith("--prometheus-url=")
