"""What the Containerfile makes runs as nobody on a read-only root, for restow's manifests and the Descheduler's."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import restow
from builders import Object
from builders.policies import as_yaml, strategy_policy
from e2e.control_plane import ControlPlane
from e2e.image import Layer, built
from e2e.ports import HOST, free_ports
from e2e.shipped import ACCOUNT, DEPLOY, NAMESPACE, kustomized, rights
from e2e.workloads import deployment, pods_of, wait_for_ready

pytestmark = pytest.mark.e2e

_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_POLICY = as_yaml(strategy_policy("RemoveDuplicates")).decode()


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    """Takes about a minute, for what it installs."""
    missing = [name for name in ("unshare", "setpriv", "chroot") if shutil.which(name) is None]
    if os.geteuid() != 0 or missing:
        pytest.skip(f"the steps of the Containerfile need root, and {', '.join(missing) or 'nothing else'}")
    try:
        return built(DEPLOY / "Containerfile", tmp_path_factory.mktemp("image"))
    except OSError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def in_cluster(image: Layer, own_cluster: ControlPlane) -> dict[str, str]:
    """The environment of a container in the cluster, whose image has the files of restow's service account."""
    for thing in rights(kustomized(DEPLOY / "kubernetes" / "job")):
        own_cluster.admin.create(thing)
    image.put(f"{_ACCOUNT}/token", own_cluster.token_of(ACCOUNT, NAMESPACE))
    image.put(f"{_ACCOUNT}/namespace", NAMESPACE)
    image.put(f"{_ACCOUNT}/ca.crt", own_cluster.layout.certificates.authority.certificate.read_text())
    host, port = own_cluster.layout.server.removeprefix("https://").split(":")
    return {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}


@pytest.fixture(scope="module")
def own_cluster(built: Path, tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    with ControlPlane(tmp_path_factory.mktemp("cluster")) as plane:
        plane.add_nodes(5)
        yield plane


def container() -> Object:
    (job,) = (each for each in kustomized(DEPLOY / "kubernetes" / "job") if each["kind"] == "Job")
    found: Object = job["spec"]["template"]["spec"]["containers"][0]
    return found


def test_it_answers_to_its_own_name_and_to_the_deschedulers(image: Layer) -> None:
    own, other = image.start([*image.entry_point, "--version"]), image.start(["/bin/descheduler", "version"])
    assert own.stdout == other.stdout == f"restow {restow.__version__}\n", own.stderr + other.stderr


def test_nothing_can_be_written_and_it_is_nobody(image: Layer) -> None:
    wrote = image.start(["sh", "-c", "id -u; touch /opt/restow/x /tmp/x"])
    assert wrote.stdout == "65532\n"
    assert wrote.stderr.count("Read-only file system") == 2


def test_the_bill_of_materials_is_what_is_installed(image: Layer) -> None:
    """Of the interpreter's own view; the list of the build is not asked."""
    listing = "import importlib.metadata as m; [print(d.name.lower(), d.version) for d in m.distributions()]"
    installed = image.start(["/opt/restow/bin/python", "-I", "-c", listing]).stdout.replace("_", "-").splitlines()
    bill = json.loads(image.start(["cat", "/opt/restow/sbom.cdx.json"]).stdout)
    named = [bill["metadata"]["component"], *bill["components"]]
    packages = [each for each in named if each["purl"].startswith("pkg:pypi/")]
    assert sorted(f"{each['name']} {each['version']}" for each in packages) == sorted(installed)


@pytest.mark.parametrize(
    "way", ["restow's Job", "the Descheduler's Job"], ids=["restow's manifest", "the Descheduler's manifest"]
)
def test_a_job_finds_the_cluster_evicts_and_ends(
    image: Layer, own_cluster: ControlPlane, in_cluster: dict[str, str], way: str
) -> None:
    own_cluster.clear("default")
    with own_cluster.cordoned(["node-3", "node-4", "node-5"]):
        own_cluster.admin.create(deployment("web", 4))
        wait_for_ready(own_cluster.admin, "web", 4)
    before = {pod["metadata"]["uid"] for pod in pods_of(own_cluster.admin, "web")}
    given = container()
    if way == "restow's Job":
        (mount,) = given["volumeMounts"]
        image.put(f"{mount['mountPath']}/policy.yaml", _POLICY)
        command = [*image.entry_point, *given["args"]]
    else:
        image.put("/policy-dir/policy.yaml", _POLICY)
        command = ["/bin/descheduler", "--policy-config-file", "/policy-dir/policy.yaml", "--v", "3"]
    ran = image.start([*command, f"--bind-address={HOST}", f"--secure-port={free_ports(1)[0]}"], environment=in_cluster)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count('"Evicted pod"') == 2
    after = {pod["metadata"]["uid"] for pod in pods_of(own_cluster.admin, "web")}
    assert len(before - after) == 2
