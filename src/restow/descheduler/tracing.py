"""Tracing as it was asked for: with a collector that speaks OpenTelemetry's protocol, or none.

Without a collector nothing is imported. Tracing is never a reason to stop: what keeps it from working is said in a sentence,
and there are no traces. The provider is this object's own; the global one stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable

from restow.descheduler.settings import TracesSettings
from restow.descheduler.spans import NoTracing, Tracing


def tracing_of(settings: TracesSettings | None, warn: Callable[[str], None]) -> Tracing:
    """Return tracing; none where it is not asked for, or, with a warning, where it cannot be had."""
    if settings is None:
        return NoTracing()
    try:
        from restow.descheduler.otlp import Traces  # noqa: PLC0415 - an extra, and slow to import

        return Traces(settings)
    except ImportError:
        warn("--otel-collector-endpoint: traces need an extra: pip install restow[tracing]")
    except (OSError, ValueError) as error:
        warn(f"failed to create tracer provider: {error}; there are no traces")
    return NoTracing()
