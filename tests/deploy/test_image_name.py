"""The image has one name: what is built is what is deployed, and no registry of others is asked for it."""

from __future__ import annotations

import re

import pytest

import restow
from deploy.manifests import CHART, KUBERNETES, ROOT, WAYS, documents, manifests, pod_of

NAME = "registry.example.com/restow"
IMAGE = f"{NAME}:{restow.__version__}"
PAGES = ("README.md", "docs/how-to/deploy.md", "deploy/Containerfile", "deploy/helm/restow/README.md")


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_builds_pushes_and_installs_is_that_image(page):
    text = (ROOT / page).read_text()
    built = re.findall(r"docker build .*?-t (\S+)|docker push (\S+)", text)
    installed = re.findall(r"image\.repository=(\S+)", text)
    assert built or installed
    assert {name for pair in built for name in pair if name} <= {IMAGE}
    assert set(installed) <= {NAME}


@pytest.mark.parametrize("way", WAYS)
def test_a_kustomization_deploys_it_and_needs_one_word_changed(way):
    (workload,) = (each for each in manifests(KUBERNETES / way) if each["kind"].lower() == way)
    (container,) = pod_of(workload)["spec"]["containers"]
    (replaced,) = documents(KUBERNETES / way / "kustomization.yaml")[0]["images"]
    assert container["image"] == IMAGE
    assert replaced == {"name": NAME, "newName": NAME, "newTag": restow.__version__}


def test_the_chart_deploys_it():
    (values,) = documents(CHART / "values.yaml")
    (chart,) = documents(CHART / "Chart.yaml")
    assert f"{values['image']['repository']}:{values['image']['tag'] or chart['appVersion']}" == IMAGE
