"""The flags of ``restow scheduler``.

They are all of kube-scheduler's, with its defaults, and restow's own. Those that restow ignores are accepted so that existing
command lines work; each is declared with the reason, which a warning gives. Source: kube-scheduler 1.36,
cmd/kube-scheduler/app/options.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from cyclopts import Group, Parameter

from restow.cli import options as option
from restow.cli.daemon_flags import (
    ElectionFlags,
    LeaseDuration,
    LeaseName,
    LoggingFormat,
    RenewDeadline,
    RetryPeriod,
    ServerFlags,
    ServerPort,
)
from restow.cli.go_flags import comma_list, duration
from restow.cli.options import API_SERVER, ELECTION, LOGS, SERVER, UNHEEDED
from restow.kube.duration import MINUTE, SECOND

_Text = Annotated[str, option.value(UNHEEDED, "VALUE", "")]
_Texts = Annotated[tuple[str, ...], option.items(UNHEEDED, "VALUES", "", comma_list)]
_Switch = Annotated[bool, option.switch(UNHEEDED, "")]

_SAME: Final = option.Ignored("the API server of --kubeconfig says who may read pages")
_TOKENS: Final = option.Ignored("readers of pages authenticate with a token, which the API server reviews")
_KEPT: Final = option.Ignored("what the API server says of a token counts for ten seconds")
_RELEASE: Final = option.Ignored("restow decides as kube-scheduler 1.36 does without feature gates")
_METRICS: Final = option.Ignored("all metrics are served, with all labels")
_HTTP: Final = option.Ignored("only HTTP/1.1 is served")
_LOGS: Final = option.Ignored("lines are written one by one, to stderr")
_PROFILES: Final = option.Ignored("there is no page of profiles")


@dataclass(frozen=True, kw_only=True)
class UnheededFlags:
    """Names are the flags', with underscores."""

    authentication_kubeconfig: Annotated[_Text, _SAME] = ""
    authorization_kubeconfig: Annotated[_Text, _SAME] = ""
    client_ca_file: Annotated[_Text, _TOKENS] = ""
    requestheader_client_ca_file: Annotated[_Text, _TOKENS] = ""
    requestheader_allowed_names: Annotated[_Texts, _TOKENS] = ()
    requestheader_extra_headers_prefix: Annotated[_Texts, _TOKENS] = ()
    requestheader_group_headers: Annotated[_Texts, _TOKENS] = ()
    requestheader_uid_headers: Annotated[_Texts, _TOKENS] = ()
    requestheader_username_headers: Annotated[_Texts, _TOKENS] = ()
    authentication_skip_lookup: Annotated[_Switch, _TOKENS] = False
    authentication_tolerate_lookup_failure: Annotated[_Switch, _TOKENS] = False
    authentication_token_webhook_cache_ttl: Annotated[_Text, _KEPT] = ""
    authorization_webhook_cache_authorized_ttl: Annotated[_Text, _KEPT] = ""
    authorization_webhook_cache_unauthorized_ttl: Annotated[_Text, _KEPT] = ""
    feature_gates: Annotated[_Texts, _RELEASE] = ()
    emulated_version: Annotated[_Texts, _RELEASE] = ()
    min_compatibility_version: Annotated[_Texts, _RELEASE] = ()
    allow_metric_labels_manifest: Annotated[_Text, _METRICS] = ""
    show_hidden_metrics_for_version: Annotated[_Text, _METRICS] = ""
    allow_metric_labels: Annotated[_Texts, _METRICS] = ()
    disabled_metrics: Annotated[_Texts, _METRICS] = ()
    http2_max_streams_per_connection: Annotated[_Text, _HTTP] = ""
    disable_http2_serving: Annotated[_Switch, _HTTP] = False
    log_flush_frequency: Annotated[_Text, _LOGS] = ""
    log_json_info_buffer_size: Annotated[_Text, _LOGS] = ""
    log_text_info_buffer_size: Annotated[_Text, _LOGS] = ""
    log_json_split_stream: Annotated[_Switch, _LOGS] = False
    log_text_split_stream: Annotated[_Switch, _LOGS] = False
    profiling: Annotated[_Switch, _PROFILES] = True
    contention_profiling: Annotated[_Switch, _PROFILES] = True
    cert_dir: Annotated[_Text, option.Ignored("nothing is written; the certificate is made in memory")] = ""
    kube_api_content_type: Annotated[_Text, option.Ignored("requests are JSON")] = ""
    permit_address_sharing: Annotated[_Switch, option.Ignored("addresses are always shared")] = False
    tls_curve_preferences: Annotated[_Texts, option.Ignored("the curves are OpenSSL's")] = ()
    vmodule: Annotated[_Text, option.Ignored("its patterns name files of kube-scheduler")] = ""


PROFILES = Group("Profiles", sort_key=1)

#: What pods name where nothing else is said, and the lease.
_NAME: Final = "my-scheduler"


@dataclass(frozen=True, kw_only=True)
class SchedulerFlags(UnheededFlags, ServerFlags, ElectionFlags):
    """What a scheduler was started with. Names are the flags', with underscores; durations are nanoseconds."""

    profile: Annotated[
        Literal["random"] | None,
        option.value(
            PROFILES,
            "NAME",
            "random: each pod goes to any ready node, whether it fits there or not; a teaching example. Default: --config.",
        ),
    ] = None
    scheduler_name: Annotated[
        str,
        option.value(
            PROFILES, "NAME", "The scheduler that pods name in spec.schedulerName, where --config names none."
        ),
    ] = _NAME
    config: Annotated[
        str,
        option.value(
            PROFILES, "FILE", "KubeSchedulerConfiguration (v1). Default: one profile, as kube-scheduler's own."
        ),
    ] = ""
    pod_max_in_unschedulable_pods_duration: Annotated[
        int,
        option.time_span(PROFILES, "How long a pod that fits nowhere waits at most until it is tried again.", duration),
    ] = 5 * MINUTE
    seed: Annotated[
        int | None, option.value(PROFILES, "N", "Choose among equally good nodes in the same way each time.")
    ] = None
    kubeconfig: Annotated[str, option.value(API_SERVER, "FILE", option.KUBECONFIG_OF_A_DAEMON)] = ""
    kube_api_qps: Annotated[
        float, option.value(API_SERVER, "N", "Maximum requests per second; a negative value is no limit.")
    ] = 50.0
    kube_api_burst: Annotated[int, option.value(API_SERVER, "N", "Burst of requests allowed above that limit.")] = 100
    leader_elect: Annotated[
        bool, option.switch(ELECTION, "Schedule only while holding a lease; --leader-elect=false does without.")
    ] = True
    leader_elect_lease_duration: LeaseDuration = 15 * SECOND
    leader_elect_renew_deadline: RenewDeadline = 10 * SECOND
    leader_elect_retry_period: RetryPeriod = 2 * SECOND
    leader_elect_resource_name: LeaseName = _NAME
    secure_port: ServerPort = 10259
    authorization_always_allow_paths: Annotated[
        tuple[str, ...],
        option.items(
            SERVER, "PATHS", "Pages that need no token; /* is all of them. Default: the health checks.", comma_list
        ),
    ] = ("/healthz", "/readyz", "/livez")
    explain_pods: Annotated[
        bool, option.switch(SERVER, "Serve /pods/NAMESPACE/NAME, which says why a pod waits, node by node.")
    ] = False
    logging_format: LoggingFormat = "text"
    v: Annotated[
        int,
        Parameter(
            name=["-v", "--v"], group=LOGS, metavar="N", help="Log verbosity; from 2 on, each attempt has a line."
        ),
    ] = 0
