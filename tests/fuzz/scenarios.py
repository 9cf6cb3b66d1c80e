"""Scenarios with hostile changes, and hostile files beside them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from builders import Object, a_deployment, a_node
from fuzz.cases import Case
from fuzz.mutations import Draw, copied, mutated
from fuzz.policies import as_file
from fuzz.writing import one_file, words

_COLUMNS = {"name": "pod", "arrives": "start", "departs": "end", "requests": {"cpu": "cores"}, "units": {"cpu": "m"}}
_SCENARIO: Object = {
    "apiVersion": "restow.dev/v1alpha1",
    "kind": "Scenario",
    "description": "All words.",
    "for": "1h",
    "seed": 7,
    "begins": "2026-11-21T00:00:00Z",
    "start": ["cluster.json", a_node("n2"), a_deployment("old") | {"apiVersion": "extensions/v1beta1"}],
    "events": [
        {"at": "0s", "apply": [a_deployment("web")]},
        {"at": "1m", "scale": "deployment/web", "to": 6},
        {"at": "2m", "setImage": "deployment/web", "to": {"web": "nginx"}},
        {"at": "2m", "setUsage": "deployment/web", "to": {"cpu": "500m"}},
        {"at": "3m", "label": "node/n2", "with": {"zone": "b", "rack": None}},
        {"at": "3m", "taint": "n2", "with": ["a=b:NoSchedule"]},
        {"at": "4m", "untaint": "zone in (a,b)", "with": "a"},
        {"at": "5m", "drain": "n2"},
        {"at": "6m", "delete": "pod/shop/web-0"},
    ],
    "arrivals": [{"trace": "pods.csv", "at": "1m", "faster": 2, "columns": _COLUMNS, "pod": {"spec": {"priority": 1}}}],
    "descheduler": {"every": "5m", "placement": "prove"},
    "kubelets": {"start": "1s", "ready": "2s"},
    "expect": [
        {"eventually": {"pods": "ready", "of": "deployment/web", "exactly": 3}, "after": "1m", "within": "5m"},
        {
            "never": {"pods": "any", "with": "app=web", "in": "shop", "onNodes": "zone=a", "skewAcross": "zone"},
            "for": "1m",
        },
        {"always": {"evictions": "any", "by": "drain", "atMost": 5}, "until": "10m"},
        {"always": {"spread": "cpu", "atLeast": 0, "atMost": 0.5}},
    ],
}
_TRACE = b"pod,start,end,cores\na,1,2,500\nb,2026-11-21T00:00:10Z,,1\n"
_CELLS = (
    b"1e999999",
    b"9" * 5000,
    b"-1",
    b'"',
    b"\x1b[2J",
    b"1.5",
    b"",
    b"2026-13-01T00:00:00Z",
    b"\xff",
    b"a/b",
    b"a\nb,1,,1",
)


@st.composite
def hostile_scenarios(draw: Draw) -> Case:
    """A scenario after a few changes, or a scenario whose files have some."""
    document: Any = copied(_SCENARIO)
    trace, cluster = _TRACE, as_file(a_node("n1"))
    match draw(st.integers(0, 4)):
        case 0:
            trace = trace.replace(
                draw(st.sampled_from([b"500", b"1,2", b"a", b"2026-11-21T00:00:10Z"])), draw(st.sampled_from(_CELLS))
            )
        case 1:
            cluster = as_file(draw(mutated(a_deployment("web") | {"apiVersion": "apps/v1beta1"})))
        case _:
            document = draw(mutated(document))
    files = draw(one_file(document, "scenario"))
    name = next(iter(files))
    commands = words(f"simulate check -f {name}", f"simulate check -f {name} -o json")
    return Case(kind="scenario", commands=tuple(commands), files={**files, "cluster.json": cluster, "pods.csv": trace})
