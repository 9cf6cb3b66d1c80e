"""The flags of ``restow run``, as a Deployment of the Descheduler gives them."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
from cyclopts import App, CycloptsError, Parameter

from restow.cli.app import sentences_of
from restow.cli.help_pages import PlainPages
from restow.cli.run import canonical, run
from restow.cli.run_flags import Flags
from restow.kube.duration import SECOND

app = App(name="restow", help_formatter=PlainPages(), default_parameter=Parameter(negative=(), show_choices=False))
app.command(run)


@pytest.fixture(autouse=True)
def _nothing_runs(monkeypatch):
    """The flags are what a command comes to."""
    monkeypatch.setattr("restow.cli.run_settings.deschedule", lambda flags: flags)


def flags(line):
    """What a command line comes to."""
    arguments = ["run", *canonical(line.split())]
    return app(arguments, exit_on_error=False, print_error=False, result_action="return_value")


def sentence(line):
    with pytest.raises(CycloptsError) as raised:
        flags(line)
    return sentences_of(raised.value)[0]


def test_nothing_given_is_the_defaults():
    assert flags("") == Flags()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--v=4", {"v": 4}),
        ("--v 4", {"v": 4}),
        ("-v 4", {"v": 4}),
        ("-v=4", {"v": 4}),
        ("-v4", {"v": 4}),
        ("-v 1 --v=3", {"v": 3}),
        ("--dry-run", {"dry_run": True}),
        ("--dry-run=true", {"dry_run": True}),
        ("--dry-run=false", {}),
        ("--dry-run --dry-run=false", {}),
        ("--dry_run --descheduling_interval=1h30m", {"dry_run": True, "descheduling_interval": 5400 * SECOND}),
        ("--descheduling-interval 5m --descheduling-interval=6m", {"descheduling_interval": 360 * SECOND}),
        ("--client-connection-qps -1", {"client_connection_qps": -1.0}),
        ("--client-connection-qps=50 --client-connection-burst=100", None),
        ("--kubeconfig a", {"client_connection_kubeconfig": "a"}),
        ("--client-connection-kubeconfig=a --kubeconfig b", {"client_connection_kubeconfig": "b"}),
        ("--kubeconfig b --client-connection-kubeconfig=a", {"client_connection_kubeconfig": "a"}),
        ("--tls-cipher-suites TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384", None),
        ("--feature-gates AllAlpha=true,AllBeta=false", {"feature_gates": ("AllAlpha=true", "AllBeta=false")}),
        ("--feature-gates AllAlpha=true --feature-gates AllBeta=true", None),
        (
            "--tls-sni-cert-key a,b:x --tls-sni-cert-key c,d:y",
            {"tls_sni_cert_key": ("a,b:x", "c,d:y")},
        ),
        ("--policy-config-file=", {}),
        ("--secure-port=0 --bind-address ::1", {"secure_port": 0, "bind_address": "::1"}),
        ("--logging-format json", {"logging_format": "json"}),
        ("--placement upstream", {"placement": "upstream"}),
        ("--placement prove --scheduler-config=s.yaml", {"placement": "prove", "scheduler_config": "s.yaml"}),
        ("--cert-dir /tmp --vmodule a=3 --log-flush-frequency 1s --tls-curve-preferences 23,29", None),
        (
            "--node-selector a=b --max-pods-to-evict-per-node 0",
            {"node_selector": "a=b", "max_pods_to_evict_per_node": 0},
        ),
        ("--leader-elect --descheduling-interval=5m --leader-elect-retry-period=5s", None),
    ],
)
def test_go_style(line, expected):
    read = flags(line)
    if expected is not None:
        assert read == Flags(**expected)


def test_the_arguments_of_upstreams_deployment():
    line = "--policy-config-file /policy-dir/policy.yaml --descheduling-interval 5m --v 3"
    assert flags(line) == Flags(policy_config_file="/policy-dir/policy.yaml", descheduling_interval=300 * SECOND, v=3)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "--descheduling-interval=5x",
            'invalid argument "5x" for "--descheduling-interval" flag: time: unknown unit "x" in duration "5x"',
        ),
        (
            "--leader-elect-retry-period -",
            'invalid argument "-" for "--leader-elect-retry-period" flag: time: invalid duration "-"',
        ),
        ("--nope", "Unknown option"),
        ("--nope=1", "Unknown option"),
        ("--v=x", "unable to convert"),
        ("--dry-run false", 'Unexpected argument "false"'),
        ("--descheduling-interval", "requires an argument"),
        ("--logging-format xml", "Invalid value"),
        ("--placement both", "Invalid value"),
        ("foo", 'Unexpected argument "foo"'),
    ],
)
def test_what_cannot_be_read_is_a_sentence(line, expected):
    assert expected in sentence(line)


def test_the_help_page_has_every_flag(capsys):
    app(["run", "--help"], exit_on_error=False, print_error=False, result_action="return_value")
    shown = set(re.findall(r"--([a-z0-9-]+)", capsys.readouterr().out))
    assert {each.name.replace("_", "-") for each in fields(Flags)} | {"kubeconfig"} <= shown


class TestCanonical:
    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (["a", "-", "b"], ["a", "-", "b"]),
            (["--dry-run", "x"], ["--dry-run", "x"]),
            (["--", "--dry-run"], ["--", "--dry-run"]),
            (["--help"], ["--help"]),
            (["-h"], ["--help"]),
            (["--unknown", "--dry-run"], ["--unknown=--dry-run"]),
            (["--policy-config-file"], ["--policy-config-file"]),
            (["--policy-config-file", "a_b"], ["--policy-config-file=a_b"]),
        ],
        ids=str,
    )
    def test_pieces(self, arguments, expected):
        assert canonical(arguments) == expected
