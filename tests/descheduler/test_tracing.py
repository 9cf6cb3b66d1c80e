"""Traces: none without an endpoint, a sentence where they cannot be had, spans with upstream's names otherwise."""

from __future__ import annotations

import sys
import threading

import pytest

from restow.descheduler import tracing
from restow.descheduler.descheduler import tracing_of
from restow.descheduler.settings import TracesSettings
from restow.descheduler.tracing import NoTracing

ENDPOINT = "127.0.0.1:1"


@pytest.fixture
def warnings():
    return []


def test_without_an_endpoint_nothing_is_imported(warnings, monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    traces = tracing_of(None, warnings.append)
    with traces.span(tracing.CYCLE) as span:
        span.happened("Eviction Failed", reason="x")
    traces.close()
    assert isinstance(traces, NoTracing)
    assert warnings == []


def test_without_the_extra_there_is_one_sentence(warnings, monkeypatch):
    monkeypatch.delitem(sys.modules, "restow.descheduler.otlp", raising=False)
    monkeypatch.setitem(sys.modules, "grpc", None)
    assert isinstance(tracing_of(TracesSettings(collector=ENDPOINT), warnings.append), NoTracing)
    assert warnings == ["--otel-collector-endpoint: traces need an extra: pip install restow[tracing]"]


def test_an_unreadable_authority_is_no_reason_to_stop(warnings, tmp_path):
    pytest.importorskip("opentelemetry.sdk")
    settings = TracesSettings(collector=ENDPOINT, authority=tmp_path / "gone")
    assert isinstance(tracing_of(settings, warnings.append), NoTracing)
    assert warnings[0].startswith("failed to create tracer provider: ")


class TestSpans:
    @pytest.fixture
    def spans(self, monkeypatch):
        """What would be sent, by settings."""
        pytest.importorskip("opentelemetry.sdk")
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        from restow.descheduler import otlp

        def made(**settings):
            memory = InMemorySpanExporter()
            monkeypatch.setattr(otlp, "_exporter", lambda _: memory)
            traces = otlp.Traces(TracesSettings(collector=ENDPOINT, **settings))
            with traces.span(tracing.CYCLE), traces.span("PodLifeTime", profile="p", operation="deschedule") as inner:
                inner.happened("Plugin Execution Failed", error="x")
            traces.close()
            return {span.name: span for span in memory.get_finished_spans()}

        return made

    def test_are_within_one_another(self, spans):
        sent = spans()
        assert sent["PodLifeTime"].parent.span_id == sent["runDeschedulerLoop"].context.span_id
        assert dict(sent["PodLifeTime"].attributes) == {"profile": "p", "operation": "deschedule"}
        assert [event.name for event in sent["PodLifeTime"].events] == ["Plugin Execution Failed"]

    def test_say_whose_they_are(self, spans):
        sent = spans(service="mine", service_namespace="ns")["PodLifeTime"]
        assert sent.resource.attributes["service.name"] == "mine"
        assert sent.resource.attributes["service.namespace"] == "ns"
        assert "service.namespace" not in spans()["PodLifeTime"].resource.attributes
        assert sent.instrumentation_scope.name == "sigs.k8s.io/descheduler"

    @pytest.mark.parametrize(("rate", "number"), [(0.0, 0), (1.0, 2)])
    def test_are_sampled(self, spans, rate, number):
        assert len(spans(share=rate)) == number

    def test_leave_the_global_provider_alone(self, spans):
        from opentelemetry import trace

        before = trace.get_tracer_provider()
        spans()
        assert trace.get_tracer_provider() is before


def test_a_collector_hears_of_it():
    """Over a real connection: the endpoint is host and port, as upstream's."""
    grpc = pytest.importorskip("grpc")
    from concurrent.futures import ThreadPoolExecutor

    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

    heard = []

    class Collector(trace_service_pb2_grpc.TraceServiceServicer):
        def Export(self, request, _context):  # noqa: N802 - the protocol's name
            heard.extend(
                span.name
                for resource in request.resource_spans
                for scope in resource.scope_spans
                for span in scope.spans
            )
            return trace_service_pb2.ExportTraceServiceResponse()

    server = grpc.server(ThreadPoolExecutor(1))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(Collector(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    warnings = []
    traces = tracing_of(TracesSettings(collector=f"127.0.0.1:{port}"), warnings.append)
    with traces.span(tracing.CYCLE):
        pass
    traces.close()
    server.stop(None).wait()
    assert (heard, warnings) == (["runDeschedulerLoop"], [])


def test_a_collector_that_is_not_there_does_not_hold_up_the_end(warnings, monkeypatch):
    pytest.importorskip("grpc")
    import time

    from restow.descheduler import otlp

    monkeypatch.setattr(otlp, "SECONDS_TO_FLUSH", 0.1)
    traces = tracing_of(TracesSettings(collector=ENDPOINT), warnings.append)
    with traces.span(tracing.CYCLE):
        pass
    begun = time.monotonic()
    traces.close()
    assert time.monotonic() - begun < 2
    senders = [thread for thread in threading.enumerate() if thread.name.startswith("OtelBatch")]
    for thread in senders:
        thread.join(5)
    assert not any(thread.is_alive() for thread in senders), "nothing asks on in the background"
