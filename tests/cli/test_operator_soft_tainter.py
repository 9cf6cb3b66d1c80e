"""``restow operator soft-tainter``: it takes what the operator starts it with, and refuses what it cannot use."""

from __future__ import annotations

from builders.kubedeschedulers import INSTALLED, OPENSHIFT, a_kubedescheduler
from restow.cli.app import app
from restow.operator.desired import desired
from restow.operator.operand import SOFT_TAINTER_PORT, soft_tainter_arguments
from restow.operator.resource import NAMESPACE


def test_it_takes_what_the_operator_starts_it_with():
    spec = a_kubedescheduler("KubeVirtRelieveAndMigrate", logLevel="Trace").spec
    command, bound, _ = app.parse_args(soft_tainter_arguments(spec, "tools"), exit_on_error=False, print_error=False)
    given = command.__kwdefaults__ | bound.arguments
    assert given["policy_config_file"] == "/policy-dir/policy.yaml"
    assert (given["namespace"], given["verbose"], given["secure_port"]) == ("tools", 6, SOFT_TAINTER_PORT)
    assert command.__kwdefaults__["namespace"] == NAMESPACE


def test_without_a_policy_it_does_not_start(restow):
    assert restow("operator", "soft-tainter").status == 2
    ran = restow("operator", "soft-tainter", "--policy-config-file", "none.yaml")
    assert (ran.status, ran.err) == (2, "none.yaml: No such file or directory (--policy-config-file)\n")


def test_without_a_cluster_it_does_not_start(restow, tmp_path, monkeypatch):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    (tmp_path / "policy.yaml").write_text(
        desired(a_kubedescheduler("KubeVirtRelieveAndMigrate"), OPENSHIFT, INSTALLED).policy
    )
    ran = restow(
        "operator", "soft-tainter", "--policy-config-file", "policy.yaml", "--secure-port", "0", "--kubeconfig", "none"
    )
    assert ran.status == 2
    assert "none" in ran.err
