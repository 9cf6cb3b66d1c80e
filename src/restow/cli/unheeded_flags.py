"""Flags of kube-scheduler that ``restow scheduler`` accepts and ignores, so that existing command lines work.

A warning for each given flag says why it has no effect.
"""

# No postponed annotations: cyclopts evaluates those of an inherited field in the module that inherits it.
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Final

from restow.cli import options as option
from restow.cli.flag_values import comma_list
from restow.cli.options import UNHEEDED

_Text = Annotated[str, option.value(UNHEEDED, "VALUE", "")]
_Texts = Annotated[tuple[str, ...], option.items(UNHEEDED, "VALUES", "", comma_list)]
_Switch = Annotated[bool, option.switch(UNHEEDED, "")]

_SAME: Final = "the API server of --kubeconfig says who may read pages"
_TOKENS: Final = "whoever reads pages shows a token, which the API server reviews"
_KEPT: Final = "what the API server says of a token counts for ten seconds"
_RELEASE: Final = "restow decides as kube-scheduler 1.36 does without feature gates"
_METRICS: Final = "all metrics are served, with all labels"
_HTTP: Final = "only HTTP/1.1 is served"
_LOGS: Final = "lines are written one by one, to stderr"
_PROFILES: Final = "there is no page of profiles"
#: Why a flag has no effect, by field.
_REASONS: Final = {
    "authentication_kubeconfig": _SAME,
    "authorization_kubeconfig": _SAME,
    "client_ca_file": _TOKENS,
    "requestheader_client_ca_file": _TOKENS,
    "requestheader_allowed_names": _TOKENS,
    "requestheader_extra_headers_prefix": _TOKENS,
    "requestheader_group_headers": _TOKENS,
    "requestheader_uid_headers": _TOKENS,
    "requestheader_username_headers": _TOKENS,
    "authentication_skip_lookup": _TOKENS,
    "authentication_tolerate_lookup_failure": _TOKENS,
    "authentication_token_webhook_cache_ttl": _KEPT,
    "authorization_webhook_cache_authorized_ttl": _KEPT,
    "authorization_webhook_cache_unauthorized_ttl": _KEPT,
    "feature_gates": _RELEASE,
    "emulated_version": _RELEASE,
    "min_compatibility_version": _RELEASE,
    "allow_metric_labels_manifest": _METRICS,
    "show_hidden_metrics_for_version": _METRICS,
    "allow_metric_labels": _METRICS,
    "disabled_metrics": _METRICS,
    "http2_max_streams_per_connection": _HTTP,
    "disable_http2_serving": _HTTP,
    "log_flush_frequency": _LOGS,
    "log_json_info_buffer_size": _LOGS,
    "log_text_info_buffer_size": _LOGS,
    "log_json_split_stream": _LOGS,
    "log_text_split_stream": _LOGS,
    "profiling": _PROFILES,
    "contention_profiling": _PROFILES,
    "cert_dir": "nothing is written; the certificate is made in memory",
    "kube_api_content_type": "requests are JSON",
    "permit_address_sharing": "addresses are always shared",
    "tls_curve_preferences": "the curves are OpenSSL's",
    "vmodule": "its patterns name files of kube-scheduler",
}


@dataclass(frozen=True, kw_only=True)
class UnheededFlags:
    """Names are the flags', with underscores."""

    authentication_kubeconfig: _Text = ""
    authorization_kubeconfig: _Text = ""
    client_ca_file: _Text = ""
    requestheader_client_ca_file: _Text = ""
    requestheader_allowed_names: _Texts = ()
    requestheader_extra_headers_prefix: _Texts = ()
    requestheader_group_headers: _Texts = ()
    requestheader_uid_headers: _Texts = ()
    requestheader_username_headers: _Texts = ()
    authentication_skip_lookup: _Switch = False
    authentication_tolerate_lookup_failure: _Switch = False
    authentication_token_webhook_cache_ttl: _Text = ""
    authorization_webhook_cache_authorized_ttl: _Text = ""
    authorization_webhook_cache_unauthorized_ttl: _Text = ""
    feature_gates: _Texts = ()
    emulated_version: _Texts = ()
    min_compatibility_version: _Texts = ()
    allow_metric_labels_manifest: _Text = ""
    show_hidden_metrics_for_version: _Text = ""
    allow_metric_labels: _Texts = ()
    disabled_metrics: _Texts = ()
    http2_max_streams_per_connection: _Text = ""
    disable_http2_serving: _Switch = False
    log_flush_frequency: _Text = ""
    log_json_info_buffer_size: _Text = ""
    log_text_info_buffer_size: _Text = ""
    log_json_split_stream: _Switch = False
    log_text_split_stream: _Switch = False
    profiling: _Switch = True
    contention_profiling: _Switch = True
    cert_dir: _Text = ""
    kube_api_content_type: _Text = ""
    permit_address_sharing: _Switch = False
    tls_curve_preferences: _Texts = ()
    vmodule: _Text = ""


def ignored_flags(flags: UnheededFlags) -> Iterator[str]:
    """Return a sentence for each given flag without effect."""
    for each in fields(UnheededFlags):
        if getattr(flags, each.name) != each.default:
            yield f"--{each.name.replace('_', '-')} has no effect: {_REASONS[each.name]}"
