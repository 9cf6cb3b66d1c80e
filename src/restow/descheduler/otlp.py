"""Spans that are sent to a collector, by OTLP over gRPC; needs the extra ``tracing``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Final

import grpc
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from restow.descheduler.settings import TracesSettings
from restow.descheduler.tracing import Attribute, Span

_TRACER: Final = "sigs.k8s.io/descheduler"
#: How long the last spans may take to be sent at the end.
SECONDS_TO_FLUSH: Final = 3.0


class Traces:
    """Makes spans and sends them; OSError or ValueError for a certificate that cannot be used."""

    def __init__(self, settings: TracesSettings) -> None:
        self._provider = _provider(settings)
        self._exporter = _exporter(settings)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self._tracer = self._provider.get_tracer(_TRACER)

    @contextmanager
    def span(self, name: str, **attributes: Attribute) -> Iterator[Span]:
        """Return a span that lasts as long as its block; an exception that leaves it is written down."""
        with self._tracer.start_as_current_span(name, attributes=attributes) as current:
            yield _Current(current.add_event)

    def close(self) -> None:
        """Send what was not sent yet; a collector that does not answer is not waited for, and asked no more."""
        closing = Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        closing.join(SECONDS_TO_FLUSH)
        if closing.is_alive():
            self._exporter.shutdown()


class _Current:
    """A span of OpenTelemetry."""

    def __init__(self, add: Callable[[str, dict[str, Attribute]], None]) -> None:
        self._add = add

    def happened(self, event: str, **attributes: Attribute) -> None:
        self._add(event, attributes)


def _provider(settings: TracesSettings) -> TracerProvider:
    attributes = {"service.name": settings.service}
    if settings.service_namespace:
        attributes["service.namespace"] = settings.service_namespace
    sampler = ParentBased(TraceIdRatioBased(settings.share))
    return TracerProvider(sampler=sampler, resource=Resource.create(attributes), shutdown_on_exit=False)


def _exporter(settings: TracesSettings) -> OTLPSpanExporter:
    authority = settings.authority
    return OTLPSpanExporter(
        endpoint=settings.collector,
        insecure=authority is None,
        credentials=None if authority is None else grpc.ssl_channel_credentials(authority.read_bytes()),
    )
