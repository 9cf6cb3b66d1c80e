"""What ``restow scheduler`` makes of its flags, and what it refuses."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest
from msgspec import structs

from restow.cli.app import app
from restow.cli.daemon_flags import ignored_flags
from restow.cli.scheduler import canonical
from restow.cli.scheduler_flags import SchedulerFlags, UnheededFlags
from restow.cli.scheduler_settings import check, process_settings, scheduler_settings, shown_settings, with_file
from restow.client.leader_election import Timing
from restow.daemon.connecting import ApiSettings
from restow.daemon.electing import LeaseSettings
from restow.scheduler.settings import SchedulerSettings
from restow.scheduling.configuration.load import SchedulerConfiguration, load_scheduler_configuration
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE
from restow.scheduling.queueing.queued_pods import BackoffSettings
from restow.serving.server import ListenAddress

KUBE_SCHEDULER = """
allow-metric-labels allow-metric-labels-manifest authentication-kubeconfig authentication-skip-lookup
authentication-token-webhook-cache-ttl authentication-tolerate-lookup-failure authorization-always-allow-paths
authorization-kubeconfig authorization-webhook-cache-authorized-ttl
authorization-webhook-cache-unauthorized-ttl bind-address cert-dir client-ca-file config contention-profiling
disable-http2-serving disabled-metrics emulated-version feature-gates http2-max-streams-per-connection
kube-api-burst kube-api-content-type kube-api-qps kubeconfig leader-elect leader-elect-lease-duration
leader-elect-renew-deadline leader-elect-resource-lock leader-elect-resource-name
leader-elect-resource-namespace leader-elect-retry-period log-flush-frequency log-json-info-buffer-size
log-json-split-stream log-text-info-buffer-size log-text-split-stream logging-format master
min-compatibility-version permit-address-sharing permit-port-sharing pod-max-in-unschedulable-pods-duration
profiling requestheader-allowed-names requestheader-client-ca-file requestheader-extra-headers-prefix
requestheader-group-headers requestheader-uid-headers requestheader-username-headers secure-port
show-hidden-metrics-for-version tls-cert-file tls-cipher-suites tls-curve-preferences tls-min-version
tls-private-key-file tls-sni-cert-key v version vmodule write-config-to
"""


def flags(*arguments: str) -> SchedulerFlags:
    words = ["scheduler", *canonical(arguments)]
    _, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    given: SchedulerFlags = bound.arguments.get("flags", SchedulerFlags())
    return given


def test_the_defaults_are_kube_schedulers_but_for_the_name() -> None:
    settings = process_settings(flags())

    assert settings.api == ApiSettings(kubeconfig=None, qps=50.0, burst=100)
    assert settings.lease == LeaseSettings(name="my-scheduler", timing=Timing(15.0, 10.0, 2.0))
    assert settings.namespace == "kube-system"
    assert settings.https is not None
    assert settings.https.endpoint == ListenAddress("0.0.0.0", 10259)
    assert flags().scheduler_name == "my-scheduler"


def test_it_is_called_as_kube_scheduler_is() -> None:
    given = flags(
        "--kubeconfig",
        "F",
        "--leader-elect=false",
        "--bind-address",
        "127.0.0.1",
        "--secure-port=7",
        "--authorization-always-allow-paths=/healthz,/metrics",
        "--profile=random",
    )
    settings = process_settings(given)

    assert (settings.api.kubeconfig, settings.lease) == ("F", None)
    assert settings.https is not None
    assert settings.https.endpoint == ListenAddress("127.0.0.1", 7)
    check(given)
    assert list(ignored_flags(given)) == []


def test_what_changes_nothing_is_said() -> None:
    assert list(ignored_flags(flags("--profiling=false", "--authentication-kubeconfig=F"))) == [
        "--authentication-kubeconfig has no effect: the API server of --kubeconfig says who may read pages",
        "--profiling has no effect: there is no page of profiles",
    ]


#: kube-scheduler's that are refused: kubeconfigs name the server, and nothing is written.
NOT_TAKEN = {"master", "write-config-to", "version"}


def test_every_flag_of_kube_scheduler_is_taken() -> None:
    """Source: kube-scheduler --help, Kubernetes 1.36."""
    known = {each.name.replace("_", "-") for each in fields(SchedulerFlags)}
    assert set(KUBE_SCHEDULER.split()) - known == NOT_TAKEN


def test_every_flag_without_effect_has_its_reason() -> None:
    changed = {each.name: not each.default if isinstance(each.default, bool) else "x" for each in fields(UnheededFlags)}
    assert len(list(ignored_flags(replace(SchedulerFlags(), **changed)))) == len(changed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ((), ("/healthz", "/readyz", "/livez")),
        (("--authorization-always-allow-paths=/healthz,/metrics",), ("/healthz", "/metrics")),
        (("--authorization-always-allow-paths=/a", "--authorization-always-allow-paths", "/b"), ("/a", "/b")),
    ],
)
def test_pages_that_need_no_token(arguments: tuple[str, ...], paths: tuple[str, ...]) -> None:
    assert process_settings(flags(*arguments)).open_paths == paths


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(
            ("--profile=random", "--scheduler-name=a,spec.nodeName=b"),
            "--scheduler-name 'a,spec.nodeName=b' is no name of a scheduler: "
            "use lower-case letters, digits, hyphens and dots, 63 at most",
            id="a name that is more than a name",
        ),
        pytest.param(
            ("--profile=random", "--secure-port=65536"),
            "--secure-port 65536: invalid port; it must be between 0 and 65535",
            id="port",
        ),
        pytest.param(
            ("--profile=random", "--kube-api-burst=0"),
            "--kube-api-burst 0 lets no request through; it must be greater than 0",
            id="burst",
        ),
        pytest.param(
            ("--profile=random", "--tls-cert-file=F"),
            "--tls-cert-file and --tls-private-key-file go together: one of them is missing",
            id="half a pair",
        ),
        pytest.param(
            ("--profile=random", "--tls-sni-cert-key=C,K"),
            '--tls-sni-cert-key "C,K" does not say for which names: write cert,key:names',
            id="a certificate for no names",
        ),
        pytest.param(
            ("--profile=random", "--leader-elect-renew-deadline=20s"),
            "--leader-elect: leaseDuration must be greater than renewDeadline",
            id="lease",
        ),
        pytest.param(
            ("--profile=random", "--config=F"),
            "--config says nothing of --profile random: leave one of them out",
            id="two ways at once",
        ),
        pytest.param(
            ("--pod-max-in-unschedulable-pods-duration=0s",),
            "--pod-max-in-unschedulable-pods-duration 0s is too short: it must be above 0s",
            id="no time to wait",
        ),
    ],
)
def test_what_cannot_be(restow, arguments: tuple[str, ...], problem: str) -> None:
    ran = restow("scheduler", *arguments)

    assert ran.status == 2
    assert ran.err == f"{problem}\n"


def test_another_profile_is_unknown(restow) -> None:
    ran = restow("scheduler", "--profile=best")
    assert ran.status == 2
    assert "best" in ran.err


# The configuration


def configured(text: str) -> SchedulerConfiguration:
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    return load_scheduler_configuration((head + text).encode(), "config.yaml")


def test_without_a_file_there_is_one_profile_as_kube_schedulers_own() -> None:
    scheduling = scheduler_settings(flags("--seed=3"), SchedulerConfiguration((DEFAULT_PROFILE,)))

    assert scheduling == SchedulerSettings(profiles=(structs.replace(DEFAULT_PROFILE, name="my-scheduler"),), seed=3)


def test_the_file_says_how_long_pods_wait_and_how_to_connect() -> None:
    configuration = configured(
        """
clientConnection: {kubeconfig: K, qps: 7, burst: 9}
leaderElection: {leaderElect: true, leaseDuration: 30s, resourceName: mine}
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 4
profiles: [{schedulerName: a}, {schedulerName: b}]
"""
    )
    effective = with_file(flags("--leader-elect-renew-deadline=20s"), configuration)
    settings = process_settings(effective)
    scheduling = scheduler_settings(effective, configuration)

    assert settings.api == ApiSettings(kubeconfig="K", qps=7.0, burst=9)
    assert settings.lease == LeaseSettings(name="mine", timing=Timing(30.0, 20.0, 2.0))
    assert [profile.name for profile in scheduling.profiles] == ["a", "b"]
    assert scheduling.queue.backoff == BackoffSettings(2, 4)
    assert shown_settings(effective)["leaderElection"]["leaseDuration"] == "30s"


def test_a_flag_overrides_the_file() -> None:
    configuration = configured("leaderElection: {leaderElect: true, resourceName: mine}\n")
    effective = with_file(flags("--leader-elect=false", "--leader-elect-resource-name=other"), configuration)
    assert (effective.leader_elect, effective.leader_elect_resource_name) == (False, "other")


def test_a_profile_without_a_name_has_the_flags() -> None:
    configuration = configured("profiles: [{percentageOfNodesToScore: 50}]\n")
    scheduling = scheduler_settings(flags("--scheduler-name=other"), configuration)
    assert [(each.name, each.percentage_of_nodes_to_score) for each in scheduling.profiles] == [("other", 50)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            """
profiles:
- {schedulerName: a, pluginConfig: [{name: DynamicResources, args: {}}]}
- {schedulerName: b, plugins: {filter: {enabled: [{name: NodeDeclaredFeatures}]}}}
""",
            "profile a asks for DynamicResources, which restow scheduler does not have; "
            "remove it from plugins and pluginConfig, or leave these pods to kube-scheduler\n"
            "profile b asks for NodeDeclaredFeatures, which restow scheduler does not have; "
            "remove it from plugins and pluginConfig, or leave these pods to kube-scheduler\n",
            id="what is not modelled",
        ),
        pytest.param(
            "extenders: [{urlPrefix: http://e}]\n",
            "config.yaml:3: extenders: restow calls no extenders, so it cannot tell where pods would go; remove them\n",
            id="extenders",
        ),
        pytest.param(
            "profiles: [{schedulerName: a, plugins: {score: {enabled: [{name: Foreign}]}}}]\n",
            'config.yaml:3: profiles[0].plugins.score.enabled[0]: unknown plugin "Foreign"',
            id="a plugin that is not installed",
        ),
        pytest.param(
            "leaderElection: {leaseDuration: long}\n",
            '--config: leaderElection.leaseDuration: time: invalid duration "long"\n',
            id="no duration",
        ),
    ],
)
def test_what_a_file_asks_for_and_cannot_have(restow, text: str, problem: str) -> None:
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    Path("config.yaml").write_text(head + text.lstrip("\n"))

    ran = restow("scheduler", "--config=config.yaml")

    assert ran.status == 2
    assert ran.err.startswith(problem)
