"""What an API server may answer: lists page by page, watches, refusals - broken, cut, oversized, of wrong types, odd in headers."""

from __future__ import annotations

import gzip
import json
from functools import cache

from hypothesis import strategies as st

from builders import NOW, Object
from fuzz.cases import Answer, Case
from fuzz.clusters import POLICY
from fuzz.furnished import furnished_objects
from fuzz.kubeconfigs import PLAIN
from fuzz.mutations import Draw, changed, copied
from fuzz.policies import as_file
from fuzz.writing import encoded, words, written
from restow.client.resources import RESOURCES

_JSON = ("Content-Type", "application/json")
_STATUSES = (200, 201, 204, 206, 301, 304, 400, 401, 403, 404, 409, 410, 418, 422, 429, 500, 503, 504, 599)
_HEADERS = (
    *(
        ("Retry-After", value)
        for value in (
            "0",
            "1",
            "999999999",
            "-1",
            "9" * 400,
            "\u0661",
            "²",
            "Wed, 21 Oct 2015 07:28:00 GMT",
            "soon",
            "Fri, 31 Dec 99999 23:59:59 GMT",
        )
    ),
    *(("Content-Type", value) for value in ("text/html", "application/json; charset=utf-16", "x" * 5000, "")),
    *(("Content-Encoding", value) for value in ("gzip", "br", "identity", "nonsense")),
    ("Location", "http://127.0.0.1:1/"),
    ("Warning", '299 - "\x9b31mred"'),
    ("X-Long", "Q" * 7000),
    ("X-Longer", "Q" * 70_000),
)
_RAW = (
    b"",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n{}",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
    b"HTTP/1.1 999 \x1b[31mODD\r\n\r\n{}",
    b"HTTP/9.9 200 OK\r\n\r\n{}",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    b"\x15\x03\x01\x00\x02\x02\x16",
    b"SSH-2.0-OpenSSH_9\r\n",
    b"\x1b[31m" * 1000,
    b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 5000 + b"\r\n{}",
)
_STATUS: Object = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": 'pods is forbidden: User "system:serviceaccount:a:b" cannot list resource "pods"',
    "reason": "Forbidden",
    "details": {"kind": "pods", "retryAfterSeconds": 1, "causes": [{"reason": "x", "message": "y", "field": "z"}]},
    "code": 403,
}
_LISTING = (
    f"plan --kubeconfig config -o json --now {NOW}",
    f"plan --kubeconfig config --policy-config-file policy.yaml --now {NOW}",
    f"schedule --kubeconfig config --now {NOW}",
    "snapshot --kubeconfig config",
)
_ONCE = "run --kubeconfig config --policy-config-file policy.yaml --dry-run --secure-port 0 --v 2"


@cache
def lists() -> dict[str, Object]:
    """The list of each kind by its path, as the API server would give it."""
    items: dict[str, list[Object]] = {}
    for each in furnished_objects():
        items.setdefault(each["kind"], []).append({k: v for k, v in each.items() if k not in {"kind", "apiVersion"}})
    return {
        resource.path(): {
            "kind": f"{kind}List",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": "7"},
            "items": items.get(kind, []),
        }
        for kind, resource in RESOURCES.items()
    }


@st.composite
def hostile_lists(draw: Draw) -> Case:
    """Commands on a live cluster, of which one to three kinds are answered oddly, once or always."""
    answers = {path: (_good(whole),) for path, whole in _bodies().items()}
    for path in draw(_PATHS):
        answers[path] = _answers(draw, path)
    command = draw(st.sampled_from(_LISTING))
    return Case(kind="api-list", commands=tuple(words(command)), files=_files(), answers=answers)


@st.composite
def hostile_watches(draw: Draw) -> Case:
    """The state that ``restow run`` keeps, while watches bring what they should not."""
    answers = {path: (_good(whole),) for path, whole in _bodies().items()}
    for path in draw(_PATHS):
        items = lists()[path]["items"]
        answers[f"{path}?watch"] = tuple(
            _stream(draw, items) if draw(_OFTEN) else _one(draw, _STATUS) for _ in range(draw(st.integers(1, 3)))
        )
        if draw(st.booleans()):
            answers[path] = (_good(_bodies()[path]), *_answers(draw, path), _good(_bodies()[path]))
    entry = draw(st.sampled_from(["fuzz.following:run", "fuzz.following:run", "restow.cli.main:run"]))
    commands = tuple(words(_ONCE if entry.startswith("restow") else "config"))
    return Case(kind="api-watch", commands=commands, files=_files(), answers=answers, entry=entry)


@cache
def _files() -> dict[str, bytes]:
    return {"config": as_file(PLAIN), "policy.yaml": POLICY}


@cache
def _bodies() -> dict[str, bytes]:
    """The same lists as they are written."""
    return {path: json.dumps(whole).encode() for path, whole in lists().items()}


def _good(body: bytes) -> Answer:
    return Answer(pieces=(body,))


def _answers(draw: Draw, path: str) -> tuple[Answer, ...]:
    """Answers to the requests for one list, in their order."""
    return tuple(
        _MAKERS[draw(st.integers(0, len(_MAKERS) - 1))](draw, lists()[path]) for _ in range(draw(st.integers(1, 4)))
    )


def _page(draw: Draw, whole: Object) -> Answer:
    """A page that names a next one, whatever that will be."""
    about = {"continue": draw(_TOKENS), "resourceVersion": draw(_VERSIONS)}
    return Answer(pieces=(encoded(written(whole | {"metadata": about})),))


def _one(draw: Draw, document: Object) -> Answer:
    """One document, changed, under any status and headers, whole or cut."""
    if draw(_SELDOM):
        return Answer(pieces=(draw(st.sampled_from(_RAW)),), raw=True, cut=True)
    body = encoded(written(changed(draw, document) if draw(_OFTEN) else document))
    body = draw(_SPOILT)(body)
    extra = draw(_EXTRA)
    middle = len(body) // 2
    return Answer(
        status=draw(st.sampled_from([200] * 10 + list(_STATUSES))),
        headers=(_JSON, *extra) if not extra or extra[0][0] != "Content-Type" else tuple(extra),
        pieces=(body[:middle], body[middle:]) if draw(_SELDOM) else (body,),
        cut=draw(_SELDOM),
    )


def _refusal(draw: Draw, _whole: Object) -> Answer:
    return _one(draw, _STATUS)


def _stream(draw: Draw, items: list[Object]) -> Answer:
    """The events of one watch."""
    events = [_event(draw, items) + draw(_ENDS) for _ in range(draw(st.integers(1, 5)))]
    text = b"".join(events)
    at = draw(st.integers(0, len(text)))
    return Answer(pieces=(text[:at], text[at:]), cut=draw(st.booleans()))


def _event(draw: Draw, items: list[Object]) -> bytes:
    known = items or [{"metadata": {"name": "x"}}]
    thing = known[draw(st.integers(0, len(known) - 1))]
    thing = changed(draw, thing) if draw(_OFTEN) else copied(thing)
    if isinstance(thing, dict) and isinstance(thing.get("metadata"), dict):
        thing["metadata"]["resourceVersion"] = draw(st.sampled_from(["8", "9", "", 9, "x"]))
    word = draw(_EVENTS)
    event = {"type": word, "object": _STATUS if word == "ERROR" and draw(st.booleans()) else thing}
    return encoded(written(event if draw(_OFTEN) else changed(draw, event, most=1)))


#: Of the answers to lists, most are lists.
_MAKERS = (_one, _one, _refusal, _page)
#: Kinds that change what happens, and one that nothing depends on.
_PATHS = st.lists(
    st.sampled_from(["Pod", "Node", "Namespace", "PodDisruptionBudget", "ReplicaSet", "CSINode"]),
    min_size=1,
    max_size=3,
    unique=True,
).map(lambda kinds: [RESOURCES[kind].path() for kind in kinds])
_OFTEN, _SELDOM = st.sampled_from([True, True, False]), st.sampled_from([False] * 9 + [True])
_TOKENS = st.sampled_from(["2", "", "\x1b[1m", "Q" * 3000, "a b&c=d#e%00", 5, None, {}])
_VERSIONS = st.sampled_from(["7", "", "0", "-1", 7, None, "9" * 5000])
_EXTRA = st.lists(st.sampled_from(_HEADERS), max_size=1)
_ENDS = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\n\n \n", b""])
_EVENTS = st.sampled_from(["ADDED", "MODIFIED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "added", "", 1, None])
_SPOILT = st.sampled_from(
    [lambda body: body] * 5
    + [
        lambda body: body[: len(body) // 2],
        lambda _body: b"",
        lambda _body: b"\xff\xfe{}",
        lambda _body: b"<html>\x1b[31mno</html>",
        lambda _body: b" " * 1_000_000,
        gzip.compress,
    ]
)
