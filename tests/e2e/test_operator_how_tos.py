"""The how-tos of the operator, typed as a reader would: their commands, in their order, on a control plane of their own.

The reader's image is in no registry, and kwok's kubelets play pods. So the programs of the pods run beside them as
processes, with the accounts and the flags that the manifests give them.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from builders import Object
from docs.pages import ROOT, files, prose
from e2e.binaries import tool
from e2e.control_plane import ControlPlane
from e2e.operators import Operator, condition, last_plan, observed, resource, the_pod
from e2e.rest import Rest, name_of
from e2e.shell import Shell, answered, with_restow
from e2e.waiting import wait_until
from e2e.workloads import deployment, pods_of, wait_for_ready
from restow.operator.resource import NAMESPACE

pytestmark = pytest.mark.e2e

_PATIENCE = 120.0
_SHOP = "shop"
_ACCOUNT = "openshift-descheduler"
_CODE = re.compile(r"(?:^    .+\n)+", re.MULTILINE)
_LEAVE = "restow operator uninstall"


def commands_of(page: str) -> list[str]:
    """The commands of a page, in order; a line that goes on is one."""
    blocks = (each.group().replace("\\\n", " ") for each in _CODE.finditer(prose((ROOT / page).read_text())))
    lines = (" ".join(line.split()) for block in blocks for line in block.splitlines())
    # An excerpt of a manifest is no command.
    return [line for line in lines if not re.match(r"\w+: ", line)]


def those_with(commands: list[str], word: str) -> list[str]:
    return [each for each in commands if each.split()[0] == word]


@pytest.fixture(scope="module")
def readers_plane(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One for all readers: each of them leaves nothing."""
    if not shutil.which("kubectl"):
        pytest.skip("kubectl is not installed")
    with ControlPlane(tmp_path_factory.mktemp("plane")) as plane:
        plane.add_nodes(3)
        plane.namespace(_SHOP)
        yield plane


@pytest.fixture
def cluster(readers_plane: ControlPlane) -> Iterator[ControlPlane]:
    """A control plane where one move would do good."""
    admin = readers_plane.admin
    with readers_plane.cordoned([name_of(each) for each in admin.items("Node")][1:]):
        admin.create(deployment("web", 2, namespace=_SHOP))
        wait_for_ready(admin, "web", 2, _SHOP, timeout=_PATIENCE)
    yield readers_plane
    readers_plane.clear(_SHOP)


class Reader:
    """Somebody who has a copy of the project, an administrator's kubeconfig, and the programs that a page asks for."""

    def __init__(self, plane: ControlPlane, directory: Path, page: str) -> None:
        directory.mkdir()
        for name in ("deploy", "examples"):
            (directory / name).symlink_to(ROOT / name)
        for name, text in files((ROOT / page).read_text()).items():
            (directory / name).write_text(text)
        self.directory = directory
        # What is typed here works with either program.
        programs = {"oc": "kubectl", "helm": str(tool("helm"))}
        self.environment = with_restow(directory / "bin", **programs) | {"KUBECONFIG": str(plane.kubeconfig)}
        self.shell = Shell(directory, self.environment)

    def types(self, command: str) -> str:
        said = self.shell.typed(command)
        assert self.shell.status == 0, (command, said)
        return said

    def types_until(self, command: str, text: str) -> str:
        """As people do who wait for something."""
        wait_until(f"{command} shows {text}", lambda: text in self.types(command), _PATIENCE)
        return self.types(command)

    def leaves(self) -> str:
        status, said = answered(_LEAVE, "y", self.directory, self.environment)
        assert status == 0, said
        return said


@pytest.fixture
def ending() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def an_operators_process(plane: ControlPlane, directory: Path, ending: ExitStack) -> Operator:
    """What the Deployment of the manifests would run, with its rights."""
    plane.wait_for_accounts(NAMESPACE)
    operator = Operator(directory, plane.kubeconfig_for(plane.token_of(_ACCOUNT, NAMESPACE), "operator"))
    operator.start()
    ending.callback(operator.kill)
    return operator


def nothing_is_left(admin: Rest) -> bool:
    gone = admin.find("Namespace", NAMESPACE) is None
    return gone and not admin.find("ClusterRole", "openshift-descheduler-operator")


def test_a_reader_gets_from_nothing_to_a_predicted_plan_carries_it_out_and_leaves(
    cluster: ControlPlane, tmp_path: Path, ending: ExitStack
) -> None:
    page = "docs/how-to/operator-on-kubernetes.md"
    admin, reader = cluster.admin, Reader(cluster, tmp_path / "reader", page)
    ending.callback(reader.shell.end)
    before = {name_of(each) for each in pods_of(admin, "web", _SHOP)}
    commands = commands_of(page)
    plan, render, apply, rollout, helm, want, look, whole, why, carry_out, automatic, monitor, leave = commands
    assert (leave, helm.split()[0]) == (_LEAVE, "helm")

    # See first what it would do.
    assert "1 move" in reader.types(plan)
    assert "kind: Deployment" in reader.types(render)
    # Install the operator.
    assert "deployment.apps/descheduler-operator serverside-applied" in reader.types(apply)
    assert "successfully rolled out" in reader.types(rollout)
    operator = an_operators_process(cluster, tmp_path, ending)
    # Get a first predicted plan.
    assert "kubedescheduler.operator.openshift.io/cluster created" in reader.types(want)
    observed(admin, operator)
    with the_pod(cluster, tmp_path, "predictive"):
        wait_until("there is a plan", lambda: last_plan(admin), _PATIENCE)
        header, row = (line.split() for line in reader.types(look).splitlines() if line)
        assert dict(zip(header, row, strict=False))["MOVES"] == "1"
        (move,) = json.loads(reader.types(whole))["moves"]
        assert move["pod"]["name"] in before
        assert "Degraded=False AsExpected" in reader.types(why)
        # Carry out this one plan.
        assert "1 move" in reader.types(carry_out)
        assert {name_of(each) for each in pods_of(admin, "web", _SHOP)} == before
        reader.types(carry_out.replace("--dry-run", "--yes"))
        now = {name_of(each) for each in wait_for_ready(admin, "web", 2, _SHOP, timeout=_PATIENCE)}
        assert before - now == {move["pod"]["name"]}
    # Carry out every plan.
    reader.types(automatic)
    observed(admin, operator)
    (container,) = admin.get("Deployment", "descheduler", NAMESPACE)["spec"]["template"]["spec"]["containers"]
    assert "--dry-run=true" not in container["args"]
    # Watch it.
    samples = operator.samples()
    assert samples.total("restow_operator_leader") == 1
    assert samples.total("restow_operator_syncs_total", result="done") > 0
    assert samples.total("restow_operator_condition", condition="Degraded") == 0
    a_kind(admin, ending, "monitoring.coreos.com", "ServiceMonitor", "servicemonitors")
    reader.types_until(f"{monitor} || true", "servicemonitor.monitoring.coreos.com/descheduler-operator")
    # Leave.
    assert "nothing is left" in reader.leaves()
    assert nothing_is_left(admin)


def test_a_reader_installs_the_chart_instead_and_leaves(
    cluster: ControlPlane, tmp_path: Path, ending: ExitStack
) -> None:
    page = "docs/how-to/operator-on-kubernetes.md"
    reader = Reader(cluster, tmp_path / "reader", page)
    ending.callback(reader.shell.end)
    (helm,) = those_with(commands_of(page), "helm")
    (rollout,) = (each for each in commands_of(page) if "rollout" in each)
    (want,) = (each for each in commands_of(page) if "apply -f kubedescheduler.yaml" in each)
    assert "STATUS: deployed" in reader.types(helm)
    assert "successfully rolled out" in reader.types(rollout)
    operator = an_operators_process(cluster, tmp_path, ending)
    reader.types(want)
    assert condition(observed(cluster.admin, operator), "Degraded") == ("False", "AsExpected")
    assert "nothing is left" in reader.leaves()
    assert nothing_is_left(cluster.admin)


def a_kind(admin: Rest, ending: ExitStack, group: str, kind: str, plural: str, *, namespaced: bool = True) -> None:
    """Has a cluster serve a kind of somebody else's until the test ends."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": group,
        "scope": "Namespaced" if namespaced else "Cluster",
        "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
        "versions": [version],
    }
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    approved = {"api-approved.kubernetes.io": "unapproved, for a test"}
    name = f"{plural}.{group}"
    admin.create({**head, "metadata": {"name": name, "annotations": approved}, "spec": spec})
    ending.callback(remove_kind, admin, name)
    path = f"/apis/{group}/v1/{plural}"
    wait_until(f"{path} is served", lambda: admin.ask("GET", path).status == 200, _PATIENCE)


def remove_kind(admin: Rest, name: str) -> None:
    admin.delete("CustomResourceDefinition", name)
    wait_until(f"{name} is gone", lambda: admin.find("CustomResourceDefinition", name) is None, _PATIENCE)


def openshift(admin: Rest, ending: ExitStack) -> None:
    """Has a cluster look like OpenShift: with the kinds by which the operator knows it."""
    a_kind(admin, ending, "config.openshift.io", "Scheduler", "schedulers", namespaced=False)
    a_kind(admin, ending, "config.openshift.io", "APIServer", "apiservers", namespaced=False)
    a_kind(admin, ending, "route.openshift.io", "Route", "routes")
    a_kind(admin, ending, "monitoring.coreos.com", "ServiceMonitor", "servicemonitors")
    modern = {"spec": {"tlsSecurityProfile": {"type": "Modern"}}}
    head = {"apiVersion": "config.openshift.io/v1", "kind": "APIServer", "metadata": {"name": "cluster"}}
    assert admin.ask("POST", "/apis/config.openshift.io/v1/apiservers", head | modern).status == 201


def their_operator(admin: Rest, reader: Reader) -> None:
    """What OpenShift's operator leaves to the one that comes after it: its definition of the resource, and a resource."""
    (definition,) = yaml.safe_load_all((ROOT / "deploy" / "operator" / "crd.yaml").read_text())
    definition["metadata"]["annotations"] = {"include.release.openshift.io/self-managed-high-availability": "true"}
    version = definition["spec"]["versions"][0]
    version["additionalPrinterColumns"] = []
    properties = version["schema"]["openAPIV3Schema"]["properties"]
    properties["spec"]["properties"]["profiles"]["description"] = "Theirs."
    (reader.directory / "theirs.yaml").write_text(yaml.safe_dump(definition))
    reader.types("kubectl create -f theirs.yaml --field-manager=olm")
    namespace: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    admin.create(namespace)
    reader.types_until("kubectl apply -f examples/kubedeschedulers/automatic.yaml || true", "kubedescheduler.operator")


def test_a_reader_on_openshift_keeps_the_resource_changes_operators_and_leaves(
    cluster: ControlPlane, tmp_path: Path, ending: ExitStack
) -> None:
    page = "docs/how-to/openshift.md"
    admin, reader = cluster.admin, Reader(cluster, tmp_path / "reader", page)
    ending.callback(reader.shell.end)
    openshift(admin, ending)
    their_operator(admin, reader)
    commands = commands_of(page)
    keep, plan, render, apply, rollout, build, push, run, guard, want, look, whole, carry_out, *rest = commands
    automatic, monitor, leave = rest
    # Of these there is neither a registry nor OLM here.
    assert [each.split()[0] for each in (build, push, run)] == ["docker", "docker", "operator-sdk"]
    assert leave == _LEAVE

    # If OpenShift's operator is installed.
    reader.types(keep)
    assert "move" in reader.types(plan)
    assert "serving-cert" in reader.types(render)
    reader.types(f"oc delete kubedeschedulers cluster -n {NAMESPACE}")
    # Install the operator.
    assert "kubedeschedulers.operator.openshift.io serverside-applied" in reader.types(apply)
    assert "successfully rolled out" in reader.types(rollout)
    reader.types(guard)
    operator = an_operators_process(cluster, tmp_path, ending)
    # Get a first predicted plan.
    reader.types(want)
    assert condition(observed(admin, operator), "Degraded") == ("False", "AsExpected")
    (container,) = admin.get("Deployment", "descheduler", NAMESPACE)["spec"]["template"]["spec"]["containers"]
    assert "--tls-min-version=VersionTLS13" in container["args"]
    monitors = admin.ask("GET", f"/apis/monitoring.coreos.com/v1/namespaces/{NAMESPACE}/servicemonitors").body
    assert [name_of(each) for each in monitors["items"]] == ["kube-descheduler"]
    assert "MOVES" in reader.types(look)
    with the_pod(cluster, tmp_path, "predictive"):
        wait_until("there is a plan", lambda: last_plan(admin), _PATIENCE)
        (move,) = json.loads(reader.types(whole))["moves"]
        assert "1 move" in reader.types(carry_out)
    assert move["pod"]["namespace"] == _SHOP
    # Carry out every plan, watch it, and leave.
    reader.types(automatic)
    assert resource(admin)["spec"]["mode"] == "Automatic"
    reader.types(monitor)
    assert "nothing is left" in reader.leaves()
    assert nothing_is_left(admin)
