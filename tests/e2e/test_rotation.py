"""A cluster whose certificates are all replaced: the authority, what the API server shows, and who we are."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.policies import strategy_policy
from client.configurations import a_kubeconfig
from e2e.certificates import Pair, self_signed, sign, sign_serving
from e2e.control_plane import ControlPlane
from e2e.running import Descheduler

pytestmark = pytest.mark.e2e

USER = {"client-certificate": "jane.crt", "client-key": "jane.key"}


def write(directory: Path, authority: Pair) -> None:
    """Our files as they are when an authority is in force."""
    sign(directory, "jane", authority, subject="/O=system:masters/CN=jane")
    (directory / "ca.pem").write_bytes(authority.certificate.read_bytes())


def rotate(plane: ControlPlane, directory: Path) -> Pair:
    """Give the API server a new authority, for itself and for its clients; returns the authority."""
    authority = self_signed(directory, "new-ca")
    shown = sign_serving(directory, authority)
    made = plane.layout.certificates
    for new, old in ((shown.certificate, made.serving.certificate), (shown.key, made.serving.key)):
        old.write_bytes(new.read_bytes())
    made.authority.certificate.write_bytes(authority.certificate.read_bytes())
    plane.restart("kube-apiserver", wait=False)
    return authority


def test_a_daemon_goes_on_through_a_rotation_of_all_certificates(own_plane: ControlPlane, tmp_path: Path) -> None:
    """The server has its new certificate before we have the new authority, as after a kubelet's minute."""
    write(tmp_path, own_plane.layout.certificates.authority)
    file = a_kubeconfig(tmp_path / "config", USER, server=own_plane.layout.server, certificate_authority="ca.pem")
    policy = strategy_policy("RemoveDuplicates")
    (tmp_path / "new").mkdir()
    with Descheduler(tmp_path, kubeconfig=Path(file), policy=policy, flags=["--descheduling-interval=2s"]) as restow:
        restow.wait_for_line("Skipping descheduling cycle")
        authority = rotate(own_plane, tmp_path / "new")
        restow.wait_for_line("the server's certificate cannot be verified")
        write(tmp_path, authority)
        restow.wait_for_line("the cluster state is up to date again", timeout=120)
        assert restow.is_running
