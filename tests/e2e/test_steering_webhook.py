"""Replacements gated by restow's own webhook on a real control plane, without the admission policy, as before 1.36.

The objects are those that are shipped; but restow runs outside of the cluster, so the API server is given a URL.
"""

from __future__ import annotations

import base64
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from builders import Object
from e2e.control_plane import ControlPlane
from e2e.ports import HOST, free_ports
from e2e.running import Descheduler
from e2e.shipped import DEPLOY, LEASE, NAMESPACE, USER, kubeconfig_of_restow, kustomized, rights
from e2e.steered import PACK, entries, gated, nodes_of, spread_out, web
from e2e.test_steering import creates_gated
from e2e.waiting import wait_until
from e2e.workloads import deployment, pods_of, replica_set, wait_for_ready

pytestmark = pytest.mark.e2e

#: The command of docs/how-to/steer.md, for the address at which restow is here.
_CERTIFICATE = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj /CN=restow-steering "
    f"-addext subjectAltName=IP:{HOST} -keyout tls.key -out tls.crt"
)
_STEERED = "replacements are steered"
_NOT_STEERED = "replacements are not steered"
_DONE = "Number of evictions/requests"
_PATIENCE = 120.0
_CONFIG_MAP = ("ConfigMap", "restow-steering")
_ADMISSION = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingWebhookConfiguration")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a certificate that signs itself."""
    directory = tmp_path_factory.mktemp("certificate")
    subprocess.run(_CERTIFICATE.split(), cwd=directory, check=True, capture_output=True)
    return directory


@pytest.fixture(scope="module")
def cluster(kustomize: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    objects = _shipped(tmp_path_factory.mktemp("shipped"))
    with ControlPlane(tmp_path_factory.mktemp("webhook")) as plane:
        plane.add_nodes(5, cpu="4")
        for thing in rights(objects):
            plane.admin.create(thing)
        for thing in objects:
            if thing["kind"] in _ADMISSION or (thing["kind"], thing["metadata"]["name"]) == _CONFIG_MAP:
                plane.admin.create(thing)
        assert plane.admin.items("MutatingAdmissionPolicy") == []
        yield plane


@pytest.fixture
def spread(cluster: ControlPlane) -> Iterator[ControlPlane]:
    with spread_out(cluster, web()) as spread:
        yield spread


def _shipped(directory: Path) -> list[Object]:
    copy = directory / "kubernetes"
    shutil.copytree(DEPLOY / "kubernetes", copy)
    (copy / "mine").mkdir()
    mine = {"resources": ["../deployment"], "components": ["../steering-webhook"]}
    (copy / "mine" / "kustomization.yaml").write_text(yaml.safe_dump(mine))
    return kustomized(copy / "mine")


def restow(cluster: ControlPlane, directory: Path, pair: Path, *options: str) -> Descheduler:
    """Not started, and the API server asks it from now on."""
    files = (f"--tls-cert-file={pair / 'tls.crt'}", f"--tls-private-key-file={pair / 'tls.key'}")
    flags = ("--descheduling-interval=1h", "--v=3", *files, *options)
    running = Descheduler(directory, policy=PACK, kubeconfig=kubeconfig_of_restow(cluster), flags=flags)
    ask(cluster, running.port, pair)
    return running


def ask(cluster: ControlPlane, port: int, pair: Path) -> None:
    """Have the API server ask at a port of this machine."""
    whole = cluster.admin.get("MutatingWebhookConfiguration", "restow-steering")
    authority = base64.b64encode((pair / "tls.crt").read_bytes()).decode()
    url = f"https://{HOST}:{port}/admission/steer"
    whole["webhooks"][0]["clientConfig"] = {"url": url, "caBundle": authority}
    cluster.admin.replace(whole)


def ends(running: Descheduler) -> None:
    running.send(signal.SIGTERM)
    assert running.wait() == 0


def test_replacements_land_on_their_targets(spread: ControlPlane, tmp_path: Path, pair: Path) -> None:
    with restow(spread, tmp_path, pair) as running:
        assert "that restow's webhook gives" in running.wait_for_line(_STEERED)
        running.wait_for_line(_DONE)
        wait_for_ready(spread.admin, "web", 6)
        assert set(nodes_of(spread, "web")) <= {"node-1", "node-2"}
        samples = running.samples()
        assert samples.total("restow_predictions_total", result="hit", certainty="steered") == 6
        assert samples.total("restow_gates_released_total") == 0
        assert samples.total("restow_webhook_reviews_total", result="gated") == 6
        assert {pod["status"].get("nominatedNodeName") for pod in pods_of(spread.admin, "web")} == {None}
        ends(running)
    assert [call for call in spread.audit.calls(user=USER) if call.response_status.code == 403] == []


def test_killed_in_the_middle_nothing_stays_gated_after_its_next_start(
    spread: ControlPlane, tmp_path: Path, pair: Path
) -> None:
    with restow(spread, tmp_path, pair) as running:
        wait_until("an entry is written", lambda: entries(spread), timeout=_PATIENCE, every=0.01)
        running.kill()
        spread.admin.create(deployment("meanwhile", 2))
        wait_for_ready(spread.admin, "meanwhile", 2)
        running.start()
        running.wait_for_line(_DONE)
        wait_until("nothing is gated", lambda: not gated(spread), timeout=_PATIENCE)
        wait_for_ready(spread.admin, "web", 6)
        ends(running)


def test_a_replica_that_does_not_lead_answers_too_and_lets_go_what_is_left(
    cluster: ControlPlane, tmp_path: Path, pair: Path
) -> None:
    cluster.clear("default")
    cluster.admin.create(replica_set("late", 0))
    uid = cluster.admin.get("ReplicaSet", "late")["metadata"]["uid"]
    with _led_by_somebody_else(cluster), restow(cluster, tmp_path, pair, "--leader-elect") as standby:
        standby.wait_ready()
        cluster.admin.patch("ConfigMap", "restow-steering", {"data": {uid: "default/late-0"}}, NAMESPACE)
        wait_until("a new pod is gated", lambda: creates_gated(cluster), timeout=_PATIENCE)
        cluster.admin.patch("ConfigMap", "restow-steering", {"data": None}, NAMESPACE)
        wait_until("nothing is gated", lambda: not gated(cluster), timeout=_PATIENCE)
        assert standby.lines(_STEERED) == []
        ends(standby)


@pytest.mark.parametrize("how", ["nobody listens", "nobody answers"])
def test_pods_start_as_ever_while_the_webhook_is_down(cluster: ControlPlane, pair: Path, how: str) -> None:
    cluster.clear("default")
    with socket.create_server((HOST, 0)) as silent:
        ask(cluster, silent.getsockname()[1] if how == "nobody answers" else free_ports(1)[0], pair)
        cluster.admin.create(deployment("web", 3))
        wait_for_ready(cluster.admin, "web", 3)
        assert gated(cluster) == []


def test_a_certificate_that_the_api_server_would_not_trust_is_named_and_nothing_is_steered(
    spread: ControlPlane, tmp_path: Path, pair: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    subprocess.run(_CERTIFICATE.split(), cwd=other, check=True, capture_output=True)
    running = restow(spread, tmp_path, pair)
    ask(spread, running.port, other)
    with running:
        assert f"asks {HOST}, and its caBundle and restow's certificate" in running.wait_for_line(_NOT_STEERED)
        running.wait_for_line(_DONE)
        assert running.samples().total("restow_predictions_total", certainty="steered") == 0
        ends(running)


@contextmanager
def _led_by_somebody_else(cluster: ControlPlane) -> Iterator[None]:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": LEASE, "namespace": NAMESPACE},
        "spec": {
            "holderIdentity": "somebody",
            "leaseDurationSeconds": 3600,
            "acquireTime": "2026-01-01T00:00:00.000000Z",
            "renewTime": "2026-01-01T00:00:00.000000Z",
            "leaseTransitions": 0,
        },
    }
    cluster.admin.create(lease)
    try:
        yield
    finally:
        cluster.admin.delete("Lease", LEASE, NAMESPACE)
