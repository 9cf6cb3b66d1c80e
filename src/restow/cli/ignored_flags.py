"""Flags that are accepted and change nothing, so that a Deployment of the Descheduler starts as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from restow.cli.run_flags import Flags

_BUFFERS: Final = "lines are written one by one"
_HTTP2: Final = "only HTTP/1.1 is served"

#: By field, why it is so. Address sharing and the frequency of flushing are left out: what they ask for is always done.
IGNORED: Final = {
    "cert_dir": "nothing is written; the certificate is made in memory, as by the Descheduler",
    "tls_curve_preferences": "the curves are OpenSSL's",
    "enable_http2": _HTTP2,
    "disable_http2_serving": _HTTP2,
    "http2_max_streams_per_connection": _HTTP2,
    "vmodule": "its patterns name files of the Descheduler",
    "log_text_split_stream": "everything goes to stderr",
    "log_json_split_stream": "everything goes to stderr",
    "log_text_info_buffer_size": _BUFFERS,
    "log_json_info_buffer_size": _BUFFERS,
}


def ignored_flags(flags: Flags) -> Iterator[str]:
    """Return a sentence for each flag that was given and changes nothing."""
    for name, why in IGNORED.items():
        if getattr(flags, name) != getattr(Flags, name):
            yield f"--{name.replace('_', '-')} has no effect: {why}"
