"""Any events in any order: a run goes on, and what was seen of it is what there is."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import a_node
from simulating.manifests import a_bare_pod, a_controller
from simulating.scenarios.staging import Staged
from simulating.scenarios.test_event_applier import budget, written
from simulating.scenarios.test_observing import seen_from_nothing

NODES = st.sampled_from(["n1", "n2", "n3", "n9", "zone=a", "!zone"])
WORKLOADS = st.sampled_from(
    ["deployment/web", "statefulset/db", "daemonset/agent", "rs/old", "job/none", "deployment/x"]
)
SCALED = st.sampled_from(["deployment/web", "statefulset/db", "rs/old", "rc/none"])
TAINTS = st.sampled_from(["a=1:NoSchedule", "a=2:NoExecute", "b=:PreferNoSchedule"])
OBJECTS = [
    written(a_controller("Deployment", "web", 4)),
    written(a_controller("StatefulSet", "db", 2)),
    written(a_controller("DaemonSet", "agent")),
    written(a_controller("ReplicaSet", "old", 2)),
    written(a_bare_pod("once", restartPolicy="Never")),
    budget(max_unavailable=1),
    a_node("n9", cpu="4", memory="8Gi"),
]


def on_nodes(word, **more):
    return st.fixed_dictionaries({word: NODES, **more})


ACTIONS = st.one_of(
    *(on_nodes(word) for word in ("cordon", "uncordon", "drain", "failNode", "restartNode")),
    on_nodes("taint", **{"with": TAINTS}),
    on_nodes("untaint", **{"with": st.sampled_from(["a", "a:NoExecute", "b"])}),
    st.fixed_dictionaries({"scale": SCALED, "to": st.integers(0, 8)}),
    st.fixed_dictionaries({"delete": WORKLOADS | st.sampled_from(["node/n1", "pod/once", "pdb/web", "pod/db-0"])}),
    st.fixed_dictionaries({"apply": st.sampled_from(OBJECTS)}),
    st.fixed_dictionaries(
        {
            "label": st.sampled_from(["node/n1", "node/n2", "deployment/web", "pod/db-0"]),
            "with": st.sampled_from([{"zone": "a"}, {"zone": None}, {"app": "other"}]),
        }
    ),
    st.fixed_dictionaries(
        {
            "setImage": st.sampled_from(["deployment/web", "statefulset/db", "daemonset/agent", "pod/once"]),
            "to": st.sampled_from([{"c": "i:2"}, {"c": "i:3"}, {"d": "i"}]),
        }
    ),
    st.fixed_dictionaries({"setUsage": WORKLOADS | st.just("node/n1"), "to": st.just({"cpu": "100m"})}),
)
EVENTS = st.lists(st.tuples(st.integers(0, 900), ACTIONS), max_size=12)


@given(EVENTS, st.sampled_from([1, 60, 950, 2000]))
@settings(max_examples=40, deadline=None)
def test_whatever_happens_a_run_goes_on_and_is_seen_as_it_is(events, seconds):
    written_events = [{"at": f"{time}s"} | action for time, action in events]
    scene = Staged(start=OBJECTS[:6], events=written_events, seed=3).run(seconds)
    scene.check()
    scene.observer.finish()
    found, fresh = scene.observer.judge._view, seen_from_nothing(scene)
    assert (found.pods, found.nodes) == (fresh.pods, fresh.nodes)
    assert +found.users == +fresh.users
