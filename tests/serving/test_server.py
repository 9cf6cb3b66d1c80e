"""Real requests over HTTPS."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import zlib

import pytest

from restow.serving.certificate import self_signed
from restow.serving.health import Health
from restow.serving.metrics import Metrics
from restow.serving.pages import pages
from restow.serving.server import ListenAddress, serving
from restow.serving.tls import TlsSettings, ciphers, context_of_pem
from serving.scraping import HERE, get, served

pytestmark = pytest.mark.asyncio

TLS = context_of_pem(
    self_signed("restow@1", [HERE]),
    TlsSettings(ssl.TLSVersion.TLSv1_2, ciphers(())),
)


async def page(path, *, health=None, metrics=None, **options):
    async with served(pages(health or Health(), metrics), TLS) as port:
        return await get(port, path, **options)


@pytest.mark.parametrize("path", ["/healthz", "/healthz/Descheduler", "/livez", "/livez/Descheduler"])
async def test_a_process_that_answers_is_healthy_even_before_it_is_ready(path):
    assert (await page(path))[::2] == (200, "ok")


@pytest.mark.parametrize("name", ["healthz", "livez"])
async def test_health_in_more_words(name):
    assert (await page(f"/{name}?verbose")).text == f"[+]Descheduler ok\n{name} check passed\n"


async def test_the_program_is_named():
    named = Health(program="scheduler")
    assert (await page("/healthz?verbose", health=named)).text == "[+]scheduler ok\nhealthz check passed\n"
    assert (await page("/livez/scheduler", health=named)).text == "ok"
    assert (await page("/livez/Descheduler", health=named)).status == 404


async def test_whoever_is_stuck_should_be_started_anew():
    health = Health()
    health.watchdog.expect("cycle", "decision", -1)
    for path in ("/livez", "/livez/Descheduler"):
        answer = await page(path, health=health)
        assert (answer.status, answer.text) == (
            503,
            "[-]Descheduler stuck: the cycle: no decision for -1 s\nlivez check failed\n",
        )
    assert (await page("/healthz", health=health)).status == 200
    health.watchdog.rest("cycle")
    assert (await page("/livez", health=health))[::2] == (200, "ok")


async def test_ready_only_when_told_so():
    health = Health()
    assert (await page("/readyz", health=health)).status == 503
    health.ready()
    assert (await page("/readyz", health=health))[::2] == (200, "ok")
    health.not_ready("the API server does not answer")
    answer = await page("/readyz", health=health)
    assert answer.status == 503
    assert "not ready: the API server does not answer" in answer.text


async def test_not_ready_while_what_protects_pods_is_lost():
    lost = [None]
    health = Health(lambda: lost[0])
    health.ready()
    assert (await page("/readyz", health=health)).status == 200
    lost[0] = "the API server has not reported on namespaces for 200 s"
    health.ready()
    answer = await page("/readyz", health=health)
    assert answer.status == 503
    assert "not ready: the API server has not reported on namespaces for 200 s" in answer.text
    lost[0] = None
    assert (await page("/readyz", health=health)).status == 200


async def test_metrics_are_prometheus_text():
    answer = await page("/metrics", metrics=Metrics().text)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "\ndescheduler_loop_duration_seconds_count 0\n" in answer.text


async def test_metrics_are_compressed_for_who_wants_it():
    async with served(pages(Health(), lambda: "a 1\n" * 100), TLS) as port:
        answer = await get(port, "/metrics", headers=["Accept-Encoding: deflate"])
    assert answer.headers["Content-Encoding"] == "deflate"
    assert zlib  # the coding is aiohttp's business


@pytest.mark.parametrize("path", ["/", "/metrics", "/debug/pprof", "/healthz/other", "//etc/passwd", "/../x"])
async def test_other_pages_and_metrics_that_are_switched_off_are_not_there(path):
    assert (await page(path))[::2] == (404, "404 page not found\n")


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT"])
async def test_nothing_can_be_written(method):
    assert (await page("/metrics", metrics=Metrics().text, method=method)).status == 405


async def test_a_webhook_answers_what_it_is_asked():
    application = pages(Health(), None, {"/ask": lambda body: b'{"was": %d}' % len(body)})
    async with served(application, TLS) as port:
        answer = await get(port, "/ask", method="POST", body=b"x" * (3 << 19))
        assert (answer.status, answer.text) == (200, '{"was": 1572864}')
        assert answer.headers["Content-Type"] == "application/json"
        assert (await get(port, "/ask")).status == 405


async def test_a_question_that_is_longer_than_any_object_is_not_read():
    async with served(pages(Health(), None, {"/ask": lambda body: body}), TLS) as port:
        assert (await get(port, "/ask", method="POST", body=b"x" * (3 << 20))).status == 413


async def test_questions_that_do_not_come_are_not_waited_for():
    """From whoever sends headers only, on more connections than are read from at a time."""
    async with served(pages(Health(), None, {"/ask": lambda body: body}), TLS) as port:
        idle = (get(port, "/ask", method="POST", headers=["Content-Length: 9"]) for _ in range(12))
        assert {each.status for each in await asyncio.gather(*idle)} == {408}
        assert (await get(port, "/ask", method="POST", body=b"what")).text == "what"


async def test_nobody_is_told_of_what_the_server_is_made():
    assert "Server" not in (await page("/healthz")).headers
    assert "Server" not in (await page("/nowhere")).headers


async def test_a_port_that_is_taken_is_a_sentence():
    async with served(pages(Health(), None), TLS) as port:
        with pytest.raises(OSError, match=rf"cannot listen on 127\.0\.0\.1, port {port} .*in use"):
            async with serving(pages(Health(), None), ListenAddress(HERE, port), TLS):
                pass


async def test_a_server_that_has_stopped_leaves_its_port():
    async with served(pages(Health(), None), TLS) as port:
        pass
    async with serving(pages(Health(), None), ListenAddress(HERE, port), TLS) as again:
        assert again == port


async def test_plain_http_is_not_answered():
    import asyncio

    async with served(pages(Health(), None), TLS) as port:
        reader, writer = await asyncio.open_connection(HERE, port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            assert not (await reader.read()).startswith(b"HTTP/1.1 200")
        writer.close()
