"""What a watch of pods says of those that come and go."""

from __future__ import annotations

from typing import Any, cast

from bench.live.pod_watch import PodWatch
from builders import Object, a_pod
from e2e.control_plane import ControlPlane

GATE = {"schedulingGates": [{"name": "restow.dev/steer"}]}
READY = [{"type": "Ready", "status": "True"}]


def a_watch(**features: Any) -> PodWatch:
    """It is never started: events are given to it."""
    return PodWatch(cast(ControlPlane, None), **features)


def changed(name: str = "new", **features: Any) -> Object:
    return {"type": "MODIFIED", "object": a_pod(name, **({"phase": "Pending"} | features))}


def test_a_replacement_is_followed_from_its_gate_to_its_node() -> None:
    nominated: list[str] = []
    watch = a_watch(nominated=lambda pod: nominated.append(pod["metadata"]["name"]))
    watch.take(changed(spec=GATE), 1.0)
    watch.take(changed(spec=GATE, nominated_node="t"), 1.25)
    watch.take(changed(), 1.5)
    watch.take(changed(node="t", conditions=READY), 2.0)
    watch.take(changed(node="t", conditions=READY), 3.0)
    (new,) = watch.new.values()
    assert (new.node, new.target, new.waited, new.ready) == ("t", "t", 0.5, 2.0)
    assert nominated == ["new"]


def test_it_is_quiet_once_as_many_are_ready_as_have_left() -> None:
    watch = a_watch()
    old = changed("old", node="a")
    old["object"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    watch.take(old, 1.0)
    assert not watch.is_quiet
    watch.take(changed(), 1.5)
    assert not watch.is_quiet
    watch.take(changed(node="t", conditions=READY), 4.0)
    watch.take(old | {"type": "DELETED"}, 5.0)
    assert watch.is_quiet
    assert (len(watch.left), watch.seconds) == (1, 3.0)


def test_bookmarks_and_what_is_skipped_do_not_count() -> None:
    watch = a_watch(skips=lambda pod: pod["metadata"]["name"] == "filler")
    watch.take(changed("filler"), 1.0)
    watch.take({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "7"}}}, 1.0)
    assert not watch.new
