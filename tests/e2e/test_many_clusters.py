"""Commands for contexts of a kubeconfig, one of which leads to a server that is not there: they plan, explain, lint and check."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from e2e.binaries import tool
from e2e.control_plane import ControlPlane
from e2e.ports import HOST, free_ports
from e2e.prometheus import Prometheus
from e2e.workloads import deployment, wait_for_ready

pytestmark = pytest.mark.e2e

_RESTOW = (sys.executable, "-c", "from restow.cli.main import main; main()")


def restow(*arguments: str) -> tuple[int, str, str]:
    """Exit status and outputs of a command."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*_RESTOW, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def kubeconfig(plane: ControlPlane, tmp_path: Path) -> Path:
    """prod-a and prod-b are the control plane, prod-c is nowhere, staging is not asked."""
    config = yaml.safe_load(plane.kubeconfig.read_text())
    (context,), (cluster,) = config["contexts"], config["clusters"]
    nowhere = {"name": "nowhere", "cluster": {"server": f"https://{HOST}:{free_ports(1)[0]}"}}
    config["clusters"] = [cluster, nowhere]
    there = dict.fromkeys(("prod-a", "prod-b", "staging"), context["context"])
    contexts = there | {"prod-c": context["context"] | {"cluster": "nowhere"}}
    config["contexts"] = [{"name": name, "context": value} for name, value in contexts.items()]
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(config))
    return file


def test_each_context_is_planned_and_one_that_does_not_answer_is_a_row(plane, namespace, kubeconfig, tmp_path):
    plane.admin.create(deployment("web", 3, namespace=namespace))
    wait_for_ready(plane.admin, "web", 3, namespace)
    pages = tmp_path / "pages"
    arguments = ("--contexts", "prod-*", "--kubeconfig", str(kubeconfig))
    status, out, _ = restow("plan", *arguments, "-o", "json", "--pages", str(pages))
    assert status == 1
    found = {each["name"]: each for each in json.loads(out)["clusters"]}
    assert list(found) == ["prod-a", "prod-b", "prod-c"]
    assert found["prod-a"]["nodes"] == found["prod-b"]["nodes"] == len(plane.admin.items("Node"))
    assert found["prod-a"]["pods"] >= 3
    assert "nowhere" not in found["prod-c"]["error"]
    assert found["prod-c"]["error"]
    plan = json.loads((pages / "prod-a.json").read_bytes())
    assert plan["metadata"]["cluster"]["apiServer"] in plane.kubeconfig.read_text()

    saved = tmp_path / "saved"
    status, _, err = restow("snapshot", *arguments, "-o", str(saved))
    assert status == 1
    assert sorted(each.name for each in saved.iterdir()) == ["prod-a.json.gz", "prod-b.json.gz"]
    assert "prod-c: " in err

    status, out, _ = restow("plan", "--snapshots", str(saved), "-o", "json")
    assert status == 0
    again = {each["name"]: each for each in json.loads(out)["clusters"]}
    assert {name: each["pods"] for name, each in again.items()} == {
        name: found[name]["pods"] for name in ("prod-a", "prod-b")
    }


def test_a_pod_is_explained_in_each_context(plane, namespace, kubeconfig):
    plane.admin.create(deployment("web", 1, namespace=namespace))
    (pod,) = wait_for_ready(plane.admin, "web", 1, namespace)
    name = f"{namespace}/{pod['metadata']['name']}"
    status, out, _ = restow("explain", "pod", name, "--contexts", "prod-*", "--kubeconfig", str(kubeconfig))
    assert status == 1
    cells = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.startswith(" ")}
    assert cells["prod-a"] == cells["prod-b"] == [pod["spec"]["nodeName"], "stays"]
    assert cells["prod-c"] == ["-", "no", "answer"]


def test_the_policies_of_clusters_are_linted(plane, namespace, kubeconfig):
    policy = {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "maxNoOfPodsToEvictPerNod": 1,
        "profiles": [{"name": "a", "plugins": {"deschedule": {"enabled": ["PodLifeTime"]}}}],
    }
    metadata = {"name": "descheduler", "namespace": namespace}
    data = {"policy.yaml": yaml.safe_dump(policy, sort_keys=False)}
    plane.admin.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    arguments = ("policy", "lint", "--contexts", "prod-*", "--kubeconfig", str(kubeconfig), "-o", "json")
    status, out, _ = restow(*arguments, "--config-map", f"{namespace}/descheduler")
    assert status == 2
    found = json.loads(out)["findings"]
    misspelled = [(each["file"], each["line"]) for each in found if "maxNoOfPodsToEvictPerNod" in each["path"]]
    assert misspelled == [("prod-a", 3), ("prod-b", 3)]
    assert [each["file"] for each in found][-1] == "prod-c"

    status, out, _ = restow(*arguments, "--config-map", f"{namespace}/other")
    assert status == 2
    assert json.loads(out)["findings"][0]["message"] == (
        f"there is no ConfigMap {namespace}/other; name the policy's with --config-map"
    )


def test_a_rule_file_is_tried_in_each_context(plane, kubeconfig, tmp_path):
    try:
        tool("prometheus")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    address = plane.admin.items("Node")[0]["metadata"]["name"]
    query = f'label_replace(vector(0.9), "instance", "{address}:9100", "", "")'
    rules = tmp_path / "rule.yaml"
    rules.write_text(json.dumps({"Rulename": {"cpu": {"Promsql": query, "Threshold": 0.8}}}))
    arguments = ("-r", str(rules), "--contexts", "prod-*", "--kubeconfig", str(kubeconfig), "-o", "json")
    with Prometheus(tmp_path, targets={}) as prometheus:
        tenant = ("--prometheus-url", prometheus.url, "--prometheus-header", "X-Scope-OrgID: {context}")
        status, out, _ = restow("pressure", "check", *arguments, *tenant)
    assert status == 1
    found = {each["name"]: each for each in json.loads(out)["clusters"]}
    for name in ("prod-a", "prod-b"):
        assert [node["name"] for node in found[name]["check"]["nodes"] if node["over"]] == [address]
    assert found["prod-c"]["check"] is None
    assert found["prod-c"]["error"]
