"""Command lines: every command with flags of its own and of others, right and wrong values, once and twice."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache

from hypothesis import strategies as st

from builders import NOW
from fuzz.cases import Case
from fuzz.clusters import POLICY
from fuzz.hostile_values import DURATIONS, QUANTITIES, SELECTORS, TEXTS, TIMES, WORDS
from fuzz.mutations import Draw
from fuzz.policies import small_cluster
from restow.cli.run_flags import Flags

_COMMANDS = (
    *(
        "plan",
        "schedule",
        "explain pod",
        "explain node",
        "policy validate",
        "policy lint",
        "policy convert",
        "simulate check",
        "snapshot",
        "generate",
        "run",
    ),
    *("", "policy", "explain", "nothing"),
)
_FLAGS = (
    *(
        "-f",
        "--filename",
        "--policy-config-file",
        "-o",
        "--output",
        "--placement",
        "--scheduler-config",
        "--now",
        "--node-selector",
    ),
    *(
        "--max-pods-to-evict-per-node",
        "--evict-local-storage-pods",
        "--timings",
        "-v",
        "--v",
        "--kubeconfig",
        "--context",
        "--pod",
    ),
    *(
        "--scores-for",
        "--nodes",
        "--pods",
        "--seed",
        "--profile",
        "--policy",
        "--help",
        "--version",
        "--",
        "-",
        "--no-timings",
        "-x",
    ),
)
_VALUES = (
    *(
        "cluster.json",
        "policy.yaml",
        "missing",
        ".",
        "-",
        "out.json",
        "default/hungry",
        "n1",
        "table",
        "json",
        "wide",
        "html",
        "yaml",
    ),
    *(
        "prove",
        "upstream",
        "all",
        "needed",
        "mixed",
        "low-utilization",
        "0",
        "1",
        "3",
        "-1",
        "1e3",
        "99999999999999",
        "9" * 5000,
        "nan",
        "inf",
        "true",
    ),
    *("false", "AllAlpha=true", "1h", "0s", "a,b", "127.0.0.1:1", NOW),
)
#: What cannot be an argument of a process at all.
_IMPOSSIBLE = "\x00"


@lru_cache(maxsize=1)
def _flags_of_run() -> tuple[str, ...]:
    return tuple(f"--{each.name.replace('_', '-')}" for each in fields(Flags))


@st.composite
def hostile_command_lines(draw: Draw) -> Case:
    """A command with up to six words after it, over a folder that has what it needs."""
    command = tuple(draw(st.sampled_from(_COMMANDS)).split())
    flags = _flags_of_run() if command == ("run",) else _FLAGS
    rest: list[str] = []
    for _ in range(draw(st.integers(0, 4))):
        flag, value = draw(st.sampled_from(flags)), draw(_values())
        rest += draw(st.sampled_from([[flag, value], [flag, value], [f"{flag}={value}"], [flag], [value]]))
    if command and command[0] in {"plan", "schedule", "snapshot", "explain"} and draw(st.booleans()):
        rest += ["-f", "cluster.json"]
    files = {"cluster.json": small_cluster(), "policy.yaml": POLICY}
    return Case(
        kind="flags",
        commands=((*command, *rest),),
        files=files,
        stdin=draw(st.sampled_from([b"", POLICY, small_cluster()])),
    )


def _values() -> st.SearchStrategy[str]:
    texts = [
        each
        for each in (*TEXTS, *SELECTORS, *DURATIONS, *TIMES, *QUANTITIES, *WORDS)
        if isinstance(each, str) and type(each) is str
    ]
    usable = [each for each in texts if _IMPOSSIBLE not in each and not each.startswith("/")]
    return st.sampled_from(_VALUES) | st.sampled_from(_VALUES) | st.sampled_from(usable)
