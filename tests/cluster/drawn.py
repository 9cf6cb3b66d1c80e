"""Hypothesis strategies of small clusters of builder objects."""

from __future__ import annotations

from hypothesis import strategies as st

from builders import a_node, a_pod, a_taint, pod_anti_affinity, pod_term, selector

NODES = ("n1", "n2", "n3")
LABELS = st.dictionaries(st.sampled_from(["app", "tier", "zone"]), st.sampled_from(["a", "b", "1", "10"]), max_size=3)
_OWNERS = st.lists(st.sampled_from([("ReplicaSet", "rs"), ("ReplicaSet", "rt"), ("Job", "job")]), max_size=2)
_ANTI = pod_anti_affinity([pod_term(selector(labels={"app": "a"}))])


@st.composite
def nodes(draw, names=NODES):
    """A node for each name."""
    return [
        a_node(
            name,
            labels=draw(LABELS),
            cpu=draw(st.sampled_from(["1", "2500m"])),
            taints=draw(st.sampled_from([None, [a_taint("gpu=yes:NoSchedule")]])),
            extended=draw(st.sampled_from([None, {"example.com/gpu": 2}])),
            unschedulable=draw(st.booleans()),
        )
        for name in names
    ]


@st.composite
def pods(draw, max_size=8):
    """Pods with distinct names: on a node, on an unknown one, or pending; of any phase."""
    count = draw(st.integers(0, max_size))
    return [draw(_pod(f"p{index}")) for index in range(count)]


@st.composite
def _pod(draw, name):
    return a_pod(
        name,
        namespace=draw(st.sampled_from(["default", "other"])),
        node=draw(st.sampled_from([None, *NODES, "gone"])),
        cpu=draw(st.sampled_from([None, "0", "100m", "1"])),
        requests=draw(st.sampled_from([None, {"example.com/gpu": "1"}, {"example.com/disk": "3"}])),
        labels=draw(LABELS),
        owner=draw(_OWNERS) or None,
        priority=draw(st.sampled_from([None, 0, 7])),
        tolerations=draw(st.sampled_from([None, ["gpu=yes:NoSchedule"]])),
        affinity=draw(st.sampled_from([None, _ANTI])),
        created=draw(st.sampled_from([None, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z"])),
        deleted=draw(st.sampled_from([None, "2026-01-01T00:00:00Z"])),
        phase=draw(st.sampled_from([None, "Pending", "Running", "Succeeded", "Failed"])),
    )
