"""From the flags of ``restow run`` to the settings of a descheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from restow.cli.election_flags import ElectionFlags
from restow.cli.feature_gates import is_open
from restow.cli.flag_values import key_pair
from restow.cli.run_flags import Flags
from restow.client.leadership import Timing
from restow.kube.duration import SECOND
from restow.policies.fallbacks import Fallbacks
from restow.running.settings import (
    ApiSettings,
    CycleSettings,
    HttpsSettings,
    LeaseSettings,
    PlanConfigMap,
    Settings,
    TracesSettings,
)
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.serving.server import Endpoint
from restow.serving.tls import KeyPair, TlsSettings, ciphers, tls_version


def settings_of(
    flags: Flags,
    profiles: tuple[SchedulerProfile, ...] = (DEFAULT_PROFILE,),
    scheduler_configuration: dict[str, Any] | None = None,
) -> Settings:
    """The settings that flags ask for, which ``check_flags`` has let pass.

    ``profiles`` are the cluster's schedulers', from ``scheduler_configuration`` where there is one.
    """
    return Settings(
        api=ApiSettings(
            kubeconfig=flags.client_connection_kubeconfig or None,
            qps=flags.client_connection_qps,
            burst=flags.client_connection_burst,
        ),
        cycles=_cycles(flags, profiles, scheduler_configuration),
        namespace=flags.leader_elect_resource_namespace,
        lease=lease_of(flags),
        https=_https(flags) if flags.secure_port > 0 else None,
        traces=_traces(flags) if flags.otel_collector_endpoint else None,
        published_plan=PlanConfigMap(*flags.publish_plan.split("/")) if flags.publish_plan else None,
    )


def _cycles(
    flags: Flags, profiles: tuple[SchedulerProfile, ...], scheduler_configuration: dict[str, Any] | None
) -> CycleSettings:
    fallbacks = Fallbacks(flags.node_selector, flags.max_pods_to_evict_per_node, flags.evict_local_storage_pods)
    return CycleSettings(
        interval=flags.descheduling_interval / SECOND,
        policy_file=flags.policy_config_file,
        fallbacks=fallbacks,
        dry_run=flags.dry_run,
        placement=flags.placement,
        profiles=profiles,
        scheduler_configuration=scheduler_configuration,
        in_background=is_open(flags.feature_gates, "EvictionsInBackground"),
    )


def lease_of(flags: ElectionFlags) -> LeaseSettings | None:
    """Return the lease that is asked for, None for none."""
    if not flags.leader_elect:
        return None
    timing = Timing(
        flags.leader_elect_lease_duration / SECOND,
        flags.leader_elect_renew_deadline / SECOND,
        flags.leader_elect_retry_period / SECOND,
    )
    return LeaseSettings(name=flags.leader_elect_resource_name, timing=timing)


def _https(flags: Flags) -> HttpsSettings:
    pairs = [KeyPair(*key_pair(text)) for text in flags.tls_sni_cert_key]
    if flags.tls_cert_file:
        pairs.insert(0, KeyPair(Path(flags.tls_cert_file), Path(flags.tls_private_key_file)))
    return HttpsSettings(
        endpoint=Endpoint(flags.bind_address, flags.secure_port, flags.permit_port_sharing),
        tls=TlsSettings(tls_version(flags.tls_min_version), ciphers(flags.tls_cipher_suites)),
        certificates=tuple(pairs),
        metrics=not flags.disable_metrics,
    )


def _traces(flags: Flags) -> TracesSettings:
    authority = flags.otel_transport_ca_cert
    return TracesSettings(
        collector=flags.otel_collector_endpoint,
        authority=Path(authority) if authority else None,
        service=flags.otel_service_name,
        service_namespace=flags.otel_trace_namespace,
        share=min(max(flags.otel_sample_rate, 0.0), 1.0),
    )
