"""Values that have ended programs before: extreme, misshapen, of the wrong type, long, deep, and escapes for terminals.

``Token`` is a text that stands in a document as it is, so a value may be what no JSON writer would write.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Self

from hypothesis import strategies as st

#: Around a token. Writers take it away, and the quotes beside it.
MARK = "\ue001"


class Token(str):
    """Stands in a document without quotes."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        return super().__new__(cls, f"{MARK}{text}{MARK}")


LONG = 5_000

# Tables, not programs.
# fmt: off

NUMBERS = [
    *(0, 1, -1, 100, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**30),
    *(0.5, -0.5, 1e308, 5e-324, 1e18, -1e19),
    *map(Token, ("1e400", "-1e400", "-0", "1e-400", "9" * LONG, "-" + "9" * LONG, f"0.{'9' * LONG}", f"1e{'9' * 40}")),
    *map(Token, ("NaN", "Infinity", "-Infinity", ".nan", ".inf", "-.inf", "0x1F", "0o17", "0b1", "1_000", "1:30")),
]
TEXTS = [
    *(
        "", " ", "a", "true", "null", "~", "1", "-1", "*", "a=b", "/", "a/b/c", "..", "-", "%s%n{}{0}", "{{.}}",
        "Q" * 64,
    ),
    *(
        "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x00", "\x7f", "\x9b31m", "a\nb", "a\rb", "\u202eabc", "\u2028",
        "\ufeff",
    ),
    *(
        "Q" * 300, "Q" * LONG, "Q" * 100_000, "9" * LONG, "é" * 300, "\U0001f600" * 80, "İ", "ß", "\u0661\u0662",
        "\uff11\uff12",
    ),
    *map(Token, ('"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"\\q"', '"unfinished')),
]
QUANTITIES = [
    *(
        "0", "1", "-1", "1m", "-1m", "1n", "0.1n", "1500m", "1.5", ".5", "5.", "+1", "1k", "1Ki", "1K", "1e3", "1E3",
        "1E", "1e",
    ),
    *(
        "8Pi", "9Pi", "8Ei", "7Ei", "16Ei", "1e18", "1e19", "9223372036854775807", "9223372036854775808",
        "-9223372036854775809",
    ),
    *(
        "9007199254740993", "1e3000", "1e999999999", "1e-999999999", "1e99999999999999999999", "9" * LONG,
        "9" * LONG + "Gi",
    ),
    *(f"0.{'0' * LONG}1", "1 Gi", "Gi", "1GiB", "1e3Ki", "0x10", "1_0", "\u0661", "\uff11Gi", "NaN", "inf", ""),
]
DURATIONS = [
    *(
        "0s", "0", "1", "-1h", "1h", "1h1h", "1.5h", "1µs", "1us", "1d", "1e3h", ".5s", "5.s", "h", "+1h", "1h-1m",
        "9" * LONG + "h",
    ),
    *("2562047h47m16.854775807s", "2562047h47m16.854775808s", f"0.{'9' * LONG}s", "99999999999h", "\uff11h"),
]
TIMES = [
    *("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123456789Z", "2026-01-01t00:00:00z", "2026-01-01 00:00:00Z"),
    *(
        "0001-01-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "1677-09-21T00:12:43Z",
        "2262-04-11T23:47:17Z",
    ),
    *(
        "9999-12-31T23:59:59.999999999Z",
        "9999-12-31T23:59:59-23:59",
        "0001-01-01T00:00:00+23:59",
        "99999-01-01T00:00:00Z",
    ),
    *(
        "2026-02-30T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T23:59:60Z",
        "2026-01-01T00:00:00+99:99",
        "2026-01-01",
    ),
    *(f"2026-01-01T00:00:00.{'9' * LONG}Z", "now", "\uff12\uff10\uff12\uff16-01-01T00:00:00Z", "-001-01-01T00:00:00Z"),
]
SELECTORS = [
    *(
        "a in (b", "a in ()", "a,,b", "!", "!!a", "a notin (b,c)", "a>1", "a<x", f"a>{'9' * LONG}", "a==b=c",
        "a=b,a!=b", "(", ")",
    ),
    *(
        "a" * 64, f"a={'b' * 64}", "a" * LONG, ",".join(f"k{i}=v" for i in range(2000)), "é=b", "a = b", "a/b/c=d",
        "\x1b[1m=x",
    ),
]
LABEL_SELECTORS = [
    {"matchLabels": {}}, {"matchLabels": {"app": 1}}, {"matchLabels": {"": ""}}, {"matchLabels": ["a"]},
    {"matchExpressions": [{}]},
    *({"matchExpressions": [{"key": "app", "operator": word}]} for word in ("In", "Exists", "Gt", "in", "", "\x1b[1m")),
    {"matchExpressions": [{"key": "app", "operator": "In", "values": ["x"] * 5000}]},
    {"matchExpressions": [{"key": "app", "operator": "Gt", "values": ["9" * LONG]}]},
    {"matchExpressions": [{"key": "app", "operator": "Exists", "values": ["x"]}] * 300},
]
WORDS = [
    *(
        "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", "NoSchedule", "NoExecute", "PreferNoSchedule",
        "Honor", "Ignore",
    ),
    *(
        "DoNotSchedule", "ScheduleAnyway", "Running", "Succeeded", "Failed", "Pending", "Unknown", "True", "False",
        "TCP", "UDP",
    ),
    *(
        "ReplicaSet", "Job", "DaemonSet", "Node", "List", "PodList", "v1", "v2", "0%", "100%", "101%",
        f"{'9' * LONG}%", "50.5%",
    ),
    *("kubernetes.io/hostname", "metadata.name", "default", "kube-system", "system-node-critical", "Always", "Never"),
]
DEEP = [
    *(Token("[" * depth + "]" * depth) for depth in (99, 101, 900, 1_100, 30_000, 200_000)),
    *(Token('{"a":' * depth + "1" + "}" * depth) for depth in (99, 900, 30_000)),
    Token("[" * 30_000),
    Token('{"a":' * 30_000),
]
WIDE: list[Any] = [
    ["a"] * 20_000, [{}] * 20_000, {f"k{i}": "v" for i in range(5_000)}, [[], [[]], {}], [None], {"": None},
]
SHAPES: list[Any] = [
    None, True, False, [], {}, [[]], {"a": "b"}, ["a"], [1], [None], {"a": None}, [{}], {"a": {"b": []}},
]
#: Seven aliases, ten million values.
_LAUGHS = (
    "[&a [x], "
    + ", ".join(f"&{b} [{', '.join([f'*{a}'] * 10)}]" for a, b in zip("abcdefg", "bcdefgh", strict=True))
    + "]"
)
#: Only YAML knows these; in JSON they are mistakes.
YAML_ONLY = list(
    map(
        Token,
        (
            *(
                "&a [*a]", "*nobody", "&a {b: *a}", "!!python/object/apply:os.system ['true']", "!!binary aGk=",
                "!!set {a}",
            ),
            *(
                "{<<: *nobody}", "{<<: 1}", "{? [a] : b}", "!<tag:x> 1", "2026-01-01", "|", "@", "`", "%",
                "{a: b, a: c}",
            ),
            _LAUGHS,
        ),
    )
)

# fmt: on
#: What a field with such an ending may hold, right or nearly right.
_BY_ENDING: tuple[tuple[tuple[str, ...], list[Any]], ...] = (
    (
        ("cpu", "memory", "storage", "pods", "capacity", "Requests", "Limits", "sizeLimit", "gpu"),
        [*QUANTITIES, *NUMBERS],
    ),
    (("Timestamp", "Time", "timestamp"), TIMES),
    (("Seconds", "Interval", "Age", "duration", "Ready", "Budget", "Timeout"), [*DURATIONS, *NUMBERS]),
    (("elector", "Terms", "Expressions", "Labels"), [*LABEL_SELECTORS, *SELECTORS]),
    (
        ("values",),
        [["9" * LONG], ["-" + "9" * LONG], ["9223372036854775808"], ["1", "2"], [], ["x"] * 5000, ["é"], [""]],
    ),
    (
        ("name", "namespace", "Name", "uid", "key", "value", "message", "reason", "labels", "annotations"),
        [*TEXTS, *WORDS],
    ),
)

_ANY = st.one_of(
    *map(st.sampled_from, (NUMBERS, TEXTS, WORDS, SHAPES, QUANTITIES, TIMES, DURATIONS, DEEP, WIDE, YAML_ONLY))
)
_SMALL = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)
ANY_VALUE: st.SearchStrategy[Any] = _ANY | _SMALL


def values_for(key: object) -> st.SearchStrategy[Any]:
    """Hostile values for a field: mostly such as nearly fit it."""
    return _fitting(_rows(key))


def values_like(key: object, value: object) -> st.SearchStrategy[Any]:
    """Hostile values for a field, of the type that it has: decoders take them, and rules meet them."""
    return _of_type(_rows(key), type(value))


def _rows(key: object) -> tuple[bool, ...]:
    """Which rows of ``_BY_ENDING`` are about a field."""
    return tuple(isinstance(key, str) and key.endswith(endings) for endings, _ in _BY_ENDING)


# A strategy is dear to make, so each is made once.
@cache
def _fitting(rows: tuple[bool, ...]) -> st.SearchStrategy[Any]:
    return st.one_of(*(st.sampled_from(each) for each in _chosen(rows) for _ in range(2)), ANY_VALUE)


@cache
def _of_type(rows: tuple[bool, ...], kind: type) -> st.SearchStrategy[Any]:
    """Of the chosen rows, or of all where these have none of the type."""
    for tables in (_chosen(rows), (NUMBERS, TEXTS, WORDS, SHAPES, WIDE)):
        alike = [each for table in tables for each in table if type(each) is kind]
        if alike:
            return st.sampled_from(alike)
    return ANY_VALUE


def _chosen(rows: tuple[bool, ...]) -> list[list[Any]]:
    return [values for is_fit, (_, values) in zip(rows, _BY_ENDING, strict=True) if is_fit]
