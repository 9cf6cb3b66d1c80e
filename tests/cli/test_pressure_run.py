"""What a daemon of node pressure is told to do by flags, in both spellings, and what cannot be."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from restow.cli.app import app
from restow.cli.pressure import canonical
from restow.cli.pressure_run import settings_of
from restow.client.leader_election import Timing
from restow.daemon.electing import LeaseSettings
from restow.daemon.logs import Log
from restow.errors import InputError
from restow.kube.duration import MINUTE, SECOND
from restow.pressure.daemon import PressureSettings
from restow.pressure.evaluation import MissingDataPolicy
from restow.pressure.marking import Mark
from restow.serving.server import ListenAddress
from restow.serving.tls import KeyPair

RULES = "Rulename: {cpu: {Promsql: up, Threshold: 0.8}}"


@pytest.fixture
def rules(tmp_path: Path) -> str:
    file = tmp_path / "rule.yaml"
    file.write_text(RULES)
    return str(file)


def settings(*arguments: str) -> PressureSettings:
    words = ["pressure", *canonical(arguments)]
    _, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    return settings_of(bound.arguments["flags"], Log(io.StringIO()))


def test_the_options_of_the_dynamic_scheduler_work_as_they_stand(rules: str) -> None:
    found = settings("-kubeconfig", "F", "-prom", "http://p:9090", "-r", rules, "-s", "10", "-webaddr", ":9000")
    assert found == settings(
        "--kubeconfig=F", "--prometheus-url=http://p:9090", f"--rules={rules}", "--interval=10s", "--listen=:9000"
    )
    assert found.api.kubeconfig == "F"
    assert found.prometheus.server == "http://p:9090"
    assert (found.interval, found.namespace) == (10.0, "kube-system")
    assert found.listening is not None
    assert (found.listening.endpoint.address, found.listening.endpoint.port) == ("0.0.0.0", 9000)


@pytest.mark.parametrize("spelling", [["-prom=http://p"], ["--prom", "http://p"], ["--prom=http://p"]])
def test_short_options_as_go_takes_them(rules: str, spelling: list[str]) -> None:
    assert settings(*spelling, "-r", rules, "-s=3").interval == 3.0


def test_defaults(rules: str) -> None:
    found = settings("-prom", "http://p", "-r", rules)
    assert found.criteria.missing_data == MissingDataPolicy(5 * MINUTE, "clear")
    assert (found.criteria.mark, found.criteria.most) == (Mark("status", "presure"), 0.5)
    assert (found.interval, found.dry_run, found.lease) == (10.0, False, None)


def test_everything_else(rules: str, tmp_path: Path) -> None:
    given = [
        "--grace-period=1m",
        "--after-grace=stay",
        "--label=load=hot",
        "--max-share=1",
        "--dry-run",
        "--leader-elect",
    ]
    lease = ["--leader-elect-lease-duration=30s", "--leader-elect-renew-deadline=20s", "--leader-elect-retry-period=5s"]
    pages = ["--listen=[::1]:1", "--tls-cert-file=a", "--tls-private-key-file=b"]
    found = settings("-prom", "http://p", "-r", rules, *given, *lease, *pages)
    assert found.criteria.missing_data == MissingDataPolicy(60 * SECOND, "stay")
    assert (found.criteria.mark, found.criteria.most, found.dry_run) == (Mark("load", "hot"), 1.0, True)
    assert found.lease == LeaseSettings(name="restow-pressure", timing=Timing(30, 20, 5))
    assert found.listening is not None
    assert found.listening.endpoint == ListenAddress("::1", 1, origin="--listen")
    assert found.listening.certificate == KeyPair(Path("a"), Path("b"))
    assert settings("-prom", "http://p", "-r", rules, "--listen=").listening is None


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["-s", "0"], "--interval 0s is too short"),
        (["--grace-period=-1s"], "--grace-period -1s is too short"),
        (["--max-share=2"], "--max-share must be above 0, up to 1"),
        (["--label=x"], "it must have the form KEY=VALUE"),
        (["--listen=9000"], "--listen '9000' is no address such as :9000"),
        (["--listen=:70000"], "--listen ':70000' is no address"),
        (["--tls-cert-file=a"], "--tls-cert-file and --tls-private-key-file go together"),
        (["--prometheus-cert-file=a"], "--prometheus-cert-file and --prometheus-key-file go together"),
        (["--prometheus-header=X-Scope-OrgID team"], "--prometheus-header 'X-Scope-OrgID team' is no header"),
        (["--leader-elect", "--leader-elect-lease-duration=1s"], "leaseDuration must be greater than renewDeadline"),
    ],
)
def test_what_cannot_be_is_told(rules: str, more: list[str], told: str) -> None:
    with pytest.raises(InputError) as error:
        settings("-prom", "http://p", "-r", rules, *more)
    assert told in error.value.sentences[0]


def test_a_command_without_rules_says_what_is_missing(restow) -> None:
    ran = restow("pressure")
    assert ran.status == 2
    assert ran.err.startswith("-r is missing\n")
