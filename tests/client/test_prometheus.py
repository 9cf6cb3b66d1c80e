"""Instant queries: what goes out, what the answers mean, and what is said where there is none."""

from __future__ import annotations

import math
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from client.double import Answer as Reply
from client.double import Double, a_double, an_answer
from restow.client.prometheus import QueryError, VectorSample, WrongFormError, prometheus_endpoint, query, query_history
from restow.client.sessions import open_session
from restow.client.transport import Api
from restow.errors import ClientError, InputError

pytestmark = pytest.mark.asyncio

QUERY = "/api/v1/query"


@pytest_asyncio.fixture
async def double() -> Any:
    async with a_double() as running:
        yield running


async def asked(double: Double, promql: str = "up", *, url: str = "", token_file: str | None = None) -> Any:
    endpoint = prometheus_endpoint(url or double.url, token_file, None, {})
    async with open_session() as session:
        return await query(replace(Api(endpoint, session, None), time_out=20.0), promql)


def a_vector(*series: tuple[dict[str, str], float, str], **headers: str) -> Reply:
    result = [{"metric": labels, "value": [at, value]} for labels, at, value in series]
    return an_answer({"status": "success", "data": {"resultType": "vector", "result": result}}, **headers)


async def test_the_query_goes_out_unchanged_and_each_series_is_a_sample(double: Double) -> None:
    promql = 'sum(rate(x{a!="b"}[2m])) by (instance) > 0 # {\'&%+}'
    series = [({"instance": "a:1", "job": "j"}, 5.5, "0.25"), ({}, 6, "NaN"), ({"instance": "b"}, 6, "+Inf")]
    double.answers("GET", QUERY, a_vector(*series, Date="Sat, 21 Nov 2026 00:00:00 GMT"))

    answer = await asked(double, promql)

    assert double.asked[0].params == {"query": promql}
    assert answer.samples[0] == VectorSample("a:1", 0.25, 5.5)
    assert (answer.samples[1].instance, math.isnan(answer.samples[1].value)) == ("", True)
    assert answer.samples[2] == VectorSample("b", math.inf, 6.0)
    assert answer.at == pytest.approx(1795219200, abs=2)


@pytest.mark.parametrize(
    "point", [[6, "x"], [6, "1_000"], [6, " 1"], [6, "١٢"], [6, 5], ["6", "5"], [None, "5"], [6], {}, None], ids=repr
)
@pytest.mark.parametrize("kind", ["vector", "matrix"])
async def test_a_value_that_cannot_be_read_is_that_of_one_node(double: Double, kind: str, point: Any) -> None:
    good, bad = ({"instance": "a"}, [5, "0.5"]), ({"instance": "b"}, point)
    named = {"vector": lambda each: {"value": each}, "matrix": lambda each: {"values": [each]}}[kind]
    series = [{"metric": labels} | named(each) for labels, each in (bad, good)]
    double.answers("GET", QUERY, an_answer({"data": {"resultType": kind, "result": series}}))
    async with open_session() as session:
        prometheus = Api(prometheus_endpoint(double.url, None, None, {}), session, None)
        answer = await (query(prometheus, "up") if kind == "vector" else query_history(prometheus, "up", 3600, 60))
    unreadable, readable = answer.samples
    assert (unreadable.instance, math.isnan(unreadable.value)) == ("b", True)
    assert readable == VectorSample("a", 0.5, 5.0)


async def test_the_history_of_a_query_has_the_samples_of_each_series_in_order(double: Double) -> None:
    """The query may end in a comment, and the clock of Prometheus says when now is."""
    ranges = [{"metric": {"instance": "a"}, "values": [[5, "0.5"], [65, "0.75"]]}, {"metric": {}, "values": []}]
    double.answers("GET", QUERY, an_answer({"data": {"resultType": "matrix", "result": ranges}}))

    async with open_session() as session:
        prometheus = Api(prometheus_endpoint(double.url, None, None, {}), session, None)
        answer = await query_history(prometheus, "up # all", 3600, 60)

    assert double.asked[0].params == {"query": "(up # all\n)[3600s:60s]"}
    assert answer.samples == (VectorSample("a", 0.5, 5.0), VectorSample("a", 0.75, 65.0))


@pytest.mark.parametrize("bad", ["1_000", "x", "", "0x10", "1 2"])
async def test_a_value_that_is_no_number_takes_nothing_from_other_nodes(double: Double, bad: str) -> None:
    double.answers("GET", QUERY, a_vector(({"instance": "a"}, 5, bad), ({"instance": "b"}, 5, "1e-03")))
    first, second = (await asked(double)).samples
    assert math.isnan(first.value)
    assert second == VectorSample("b", 0.001, 5.0)


async def test_an_empty_answer_has_no_samples(double: Double) -> None:
    double.answers("GET", QUERY, a_vector())
    assert (await asked(double)).samples == ()


async def test_a_prefix_a_password_and_a_token_file_are_used(double: Double, tmp_path: Path) -> None:
    double.answers("GET", f"/prom{QUERY}", a_vector())
    (tmp_path / "token").write_text("secret\n")

    await asked(double, url=double.url.replace("http://", "http://me:p%40ss@") + "/prom/")
    await asked(double, url=f"{double.url}/prom", token_file=str(tmp_path / "token"))

    assert [each.headers["Authorization"] for each in double.asked] == ["Basic bWU6cEBzcw==", "Bearer secret"]


@pytest.mark.parametrize(
    ("kind", "result", "told"),
    [
        ("scalar", [0, "1"], "it comes to one number without labels"),
        ("string", [0, "x"], "it comes to a text"),
        ("matrix", [], "it comes to a range of values"),
    ],
)
async def test_a_query_that_is_no_instant_vector_is_told_so(double: Double, kind: str, result: Any, told: str) -> None:
    double.answers("GET", QUERY, an_answer({"data": {"resultType": kind, "result": result}}))
    with pytest.raises(WrongFormError, match=told) as raised:
        await asked(double)
    assert raised.value.form == kind


async def test_a_query_that_prometheus_refuses_is_told_in_its_words(double: Double) -> None:
    refusal = {"status": "error", "errorType": "bad_data", "error": "1:3: parse error: unexpected <eof>"}
    double.answers("GET", QUERY, an_answer(refusal, status=400))
    with pytest.raises(QueryError, match=r"Prometheus at http://.* refuses the query: 1:3: parse error"):
        await asked(double)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        pytest.param(an_answer({}, status=404), r"Prometheus at http://.* answered 404", id="no prometheus"),
        pytest.param(an_answer({}, status=302), r"answered 302", id="login page"),
        pytest.param(Reply((b"<html>",)), r"is not complete JSON", id="page"),
        pytest.param(an_answer({"data": 5}), r"does not match the API", id="odd"),
        pytest.param(
            an_answer({"data": {"resultType": "vector", "result": [5]}}),
            r"answered what is no instant vector",
            id="no series",
        ),
    ],
)
async def test_another_answer_is_an_error_in_a_sentence(double: Double, reply: Reply, told: str) -> None:
    double.answers("GET", QUERY, reply)
    with pytest.raises(ClientError, match=told) as raised:
        await asked(double)
    assert not isinstance(raised.value, QueryError)


@pytest.mark.parametrize("url", ["", "prometheus:9090", "ftp://x", "http://", "http://me:secret@"])
async def test_an_url_that_is_none_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(InputError, match=r"--prometheus-url .* is not an http:// or https:// URL") as raised:
        prometheus_endpoint(url, None, None, {})
    assert "secret" not in str(raised.value)


async def test_authorities_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("no certificate")
    for name, told in (("ca.crt", "contains no PEM certificate"), ("nope", "No such file")):
        with pytest.raises(InputError, match=rf"--prometheus-ca-file .*{name}.*{told}"):
            prometheus_endpoint("https://p", None, str(tmp_path / name), {})


async def test_more_headers_go_with_each_query(double: Double) -> None:
    double.answers("GET", QUERY, a_vector())
    headers = ("X-Scope-OrgID: team-a", "x-b:c")
    endpoint = prometheus_endpoint(double.url.replace("http://", "http://me:x@"), None, None, {}, headers=headers)
    async with open_session() as session:
        await query(Api(endpoint, session, None), "up")
    (asked,) = double.asked
    assert (asked.headers["X-Scope-OrgID"], asked.headers["x-b"]) == ("team-a", "c")
    assert asked.headers["Authorization"].startswith("Basic ")


@pytest.mark.parametrize("header", ["no colon", "a b: secret", ": secret", "a: b\nc: secret"])
async def test_what_is_no_header_is_told_without_its_value(header: str) -> None:
    with pytest.raises(InputError, match=r"--prometheus-header .* is no header such as") as error:
        prometheus_endpoint("http://p", None, None, {}, headers=(header,))
    assert "secret" not in str(error.value)


async def test_a_certificate_of_ours_is_shown_and_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    trustme = pytest.importorskip("trustme")
    authority = trustme.CA()
    server, client = authority.issue_cert("127.0.0.1"), authority.issue_cert("me@example.com")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.configure_cert(tls)
    authority.configure_trust(tls)
    tls.verify_mode = ssl.CERT_REQUIRED
    authority.cert_pem.write_to_path(tmp_path / "ca")
    client.cert_chain_pems[0].write_to_path(tmp_path / "cert")
    client.private_key_pem.write_to_path(tmp_path / "key")
    files = str(tmp_path / "cert"), str(tmp_path / "key")
    async with a_double(tls) as running, open_session() as session:
        running.answers("GET", QUERY, a_vector())
        endpoint = prometheus_endpoint(running.url, None, str(tmp_path / "ca"), {}, certificate=files)
        assert (await query(Api(endpoint, session, None), "up")).samples == ()
        with pytest.raises(InputError, match=r"--prometheus-key-file .*nope: No such file"):
            prometheus_endpoint(running.url, None, None, {}, certificate=(files[0], str(tmp_path / "nope")))
