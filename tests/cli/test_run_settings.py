"""What a descheduler is told to do by flags."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from restow.cli.run_flags import Flags
from restow.cli.run_settings import settings_of
from restow.client.leader_election import Timing
from restow.daemon.connecting import ApiSettings
from restow.daemon.electing import LeaseSettings
from restow.descheduler.settings import CycleSettings, HistorySettings, TracesSettings
from restow.kube.duration import SECOND
from restow.policies.fallbacks import Fallbacks
from restow.serving.server import ListenAddress
from restow.serving.tls import KeyPair


def test_no_flags_are_one_cycle_that_is_served_and_holds_no_lease() -> None:
    settings = settings_of(Flags())
    assert (settings.api, settings.cycles) == (ApiSettings(), CycleSettings())
    assert (settings.lease, settings.traces, settings.namespace) == (None, None, "kube-system")
    assert settings.https is not None
    assert settings.https.endpoint == ListenAddress("0.0.0.0", 10258)
    assert (settings.https.metrics, tuple(settings.https.certificates)) == (True, ())
    assert settings.https.tls.minimum is ssl.TLSVersion.TLSv1_2


def test_a_shadow_evicts_nothing_and_writes_reports_where_they_are_wanted(tmp_path: Path) -> None:
    settings = settings_of(Flags(shadow=True, descheduling_interval=SECOND))
    assert settings.cycles.dry_run
    assert settings.shadow is not None
    assert settings.shadow.write is None
    reporting = settings_of(Flags(shadow=True, shadow_reports=str(tmp_path / "reports")))
    assert reporting.shadow is not None
    assert reporting.shadow.write is not None
    assert (settings_of(Flags()).shadow, settings_of(Flags()).history) == (None, None)


def test_the_history() -> None:
    assert settings_of(Flags(history="restow.db", history_days=7)).history == HistorySettings("restow.db", 7)


@pytest.mark.parametrize(("port", "serves"), [(-1, False), (0, False), (1, True)])
def test_port_0_serves_nothing(port: int, serves: bool) -> None:
    assert (settings_of(Flags(secure_port=port)).https is not None) is serves


def test_the_server() -> None:
    flags = Flags(
        bind_address="::1",
        secure_port=1,
        permit_port_sharing=True,
        disable_metrics=True,
        tls_cert_file="a",
        tls_private_key_file="b",
        tls_sni_cert_key=("c,d:x",),
        tls_min_version="VersionTLS13",
    )
    https = settings_of(flags).https
    assert https is not None
    assert https.endpoint == ListenAddress("::1", 1, share_port=True)
    assert not https.metrics
    assert https.certificates == (KeyPair(Path("a"), Path("b")), KeyPair(Path("c"), Path("d"), ("x",)))
    assert https.tls.minimum is ssl.TLSVersion.TLSv1_3


def test_the_api_server() -> None:
    flags = Flags(client_connection_kubeconfig="k", client_connection_qps=2.5, client_connection_burst=7)
    assert settings_of(flags).api == ApiSettings(kubeconfig="k", qps=2.5, burst=7)


def test_cycles() -> None:
    flags = Flags(
        descheduling_interval=90 * SECOND,
        policy_config_file="p",
        dry_run=True,
        placement="upstream",
        feature_gates=("AllAlpha=true",),
        node_selector="a=b",
        max_pods_to_evict_per_node=3,
        evict_local_storage_pods=True,
    )
    assert settings_of(flags).cycles == CycleSettings(
        interval=90.0,
        policy_file="p",
        fallbacks=Fallbacks("a=b", 3, evict_local_storage_pods=True),
        dry_run=True,
        placement="upstream",
        in_background=True,
    )


def test_the_lease() -> None:
    flags = Flags(
        leader_elect=True,
        leader_elect_resource_name="mine",
        leader_elect_resource_namespace="there",
        leader_elect_lease_duration=3 * SECOND,
        leader_elect_renew_deadline=2 * SECOND,
        leader_elect_retry_period=SECOND // 2,
    )
    settings = settings_of(flags)
    assert (settings.lease, settings.namespace) == (LeaseSettings(name="mine", timing=Timing(3, 2, 0.5)), "there")


@pytest.mark.parametrize(("rate", "share"), [(-1.0, 0.0), (0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (7.0, 1.0)])
def test_traces(rate: float, share: float) -> None:
    """A rate beyond what there is means all, or none. Source: OpenTelemetry, TraceIDRatioBased."""
    flags = Flags(
        otel_collector_endpoint="c:1",
        otel_transport_ca_cert="ca",
        otel_service_name="mine",
        otel_trace_namespace="ns",
        otel_sample_rate=rate,
    )
    assert settings_of(flags).traces == TracesSettings(
        collector="c:1", authority=Path("ca"), service="mine", service_namespace="ns", share=share
    )
