"""Which changes help a pod that NodeResourcesFit rejected, after the tables of upstream's own tests of its hints."""

from __future__ import annotations

from functools import partial

import pytest

from builders import a_node, a_pod
from restow.scheduling.plugins.node_resources_fit import PLUGIN, NodeResourcesFitArgs
from scheduling.plugins.hinting import helped, nominated

A, B = "example.com/aaa", "example.com/bbb"

pod = partial(a_pod, "p", cpu="1", memory=None)
other = partial(a_pod, "other", memory=None)
on_node = partial(other, node="fake-node")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(on_node(cpu="1"), None, True, id="queue-on-other-pod-deleted"),
        pytest.param(other(), None, False, id="skip-queue-on-unscheduled-pod-deleted"),
        pytest.param(nominated(other(cpu="2")), None, True, id="queue-on-nominated-pod-deleted"),
        pytest.param(other(cpu="2"), other(cpu="1"), False, id="skip-queue-on-other-unscheduled-pod"),
        pytest.param(
            on_node(cpu=None, requests={"memory": "2"}),
            on_node(cpu=None, requests={"memory": "1"}),
            False,
            id="skip-queue-on-unrelated-resource-scaled-down",
        ),
        pytest.param(on_node(cpu="2"), on_node(cpu="1"), True, id="queue-on-other-pod-some-resource-scale-down"),
        pytest.param(on_node(cpu="1"), on_node(cpu="2"), False, id="scale-up"),
        pytest.param(pod(cpu="2"), pod(cpu="1"), True, id="queue-on-target-pod-some-resource-scale-down"),
        pytest.param(pod(cpu="1"), pod(cpu="1", labels={"a": "b"}), False, id="own-labels"),
        pytest.param(None, on_node(), False, id="pod-added"),
    ],
)
def test_a_pod_leaves_room(old, new, expected):
    assert helped(PLUGIN, pod(), old, new) is expected


def node(memory=None, **resources):
    return a_node("n", cpu=None, memory=memory, extended={{"a": A, "b": B}[name]: v for name, v in resources.items()})


WANTS_BOTH = a_pod("p", cpu=None, memory="2", requests={A: "1"})


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(a_pod("p", cpu=None, memory="2"), None, node("1"), False, id="skip-add-without-sufficient"),
        pytest.param(
            a_pod("p", cpu=None, memory=None, requests={A: "1"}), None, node(b=1), False, id="skip-add-without-type"
        ),
        pytest.param(WANTS_BOTH, None, node("4", a=2), True, id="queue-add-with-sufficient"),
        pytest.param(WANTS_BOTH, node("2", a=2), node("2", a=1, b=2), False, id="skip-on-unrelated-changes"),
        pytest.param(WANTS_BOTH, node("2", a=1), node("2", a=2), True, id="queue-on-requested-resources-increase"),
        pytest.param(WANTS_BOTH, node("4", a=2), node("1", a=2), False, id="skip-from-suitable-to-unsuitable"),
        pytest.param(WANTS_BOTH, node("1", a=2), node("4", a=2), True, id="queue-from-unsuitable-to-suitable"),
        pytest.param(pod(cpu="4"), None, a_node("n", cpu="2"), False, id="U09-would-not-fit-the-empty-node"),
        pytest.param(pod(), None, a_node("n", pods=0), False, id="no-pod-fits"),
        pytest.param(pod(), a_node("n", pods=1), a_node("n", pods=2), True, id="more-pods"),
        pytest.param(pod(), a_node("n", memory="1Gi"), a_node("n", memory="2Gi"), False, id="more-of-something-else"),
        pytest.param(pod(), a_node("n", cpu="8"), None, False, id="node-deleted"),
        pytest.param(pod(requests={"unknown": "1"}), None, a_node("n"), True, id="what-nobody-accounts-for"),
    ],
)
def test_a_node_has_room(waiting, old, new, expected):
    assert helped(PLUGIN, waiting, old, new) is expected


def test_resources_that_are_ignored_are_looked_at_nevertheless():
    """Upstream's hint does not know the arguments, so such a pod waits until it is woken by something else."""
    args = NodeResourcesFitArgs(ignored_resources=(A,))
    assert not helped(PLUGIN, WANTS_BOTH, None, node("4"), args)
