"""NodeAffinity against the rows of upstream's own tests (F)."""

from __future__ import annotations

import msgspec
import pytest

from builders import a_node, a_pod, node_affinity, node_term
from restow.kube.objects import NodeAffinity as WireNodeAffinity
from restow.scheduling.plugins.node_affinity import NodeAffinity
from scheduling.plugins.asking import INCOMING, a_context, pod_index, scores, statuses

MISMATCH = ("UAU", "node(s) didn't match Pod's node affinity/selector")
ENFORCED = ("UAU", "node(s) didn't match scheduler-enforced node affinity")
OK = ("OK",)

FOO_BAR, NVIDIA = {"foo": "bar"}, {"GPU": "NVIDIA-GRID-K1"}


def requires(*terms):
    return {"affinity": node_affinity(list(terms))}


def named(*names):
    """A term for each name is what ``metadata.name`` allows."""
    return [("metadata.name", "In", name) for name in names]


def judged(pod, labels, name="n1", added=None):
    """What the plugin says of a node with these labels."""
    context = a_context(a_node(name, labels=labels), a_pod(INCOMING, **pod))
    return statuses(context, a_plugin(context, added), pod_index(context))[name]


def a_plugin(context, added=None):
    wire = None if added is None else msgspec.convert(added["nodeAffinity"], WireNodeAffinity)
    return NodeAffinity(context, wire)


SELECTS, EXISTS = {"node_selector": FOO_BAR}, requires(node_term(("foo", "Exists")))
TWO_LABELS = {"node_selector": FOO_BAR | {"baz": "blah"}}

ROWS = {
    "F01": (SELECTS, None, MISMATCH),
    "F02": (SELECTS, FOO_BAR | {"baz": "blah"}, OK),
    "F03": (TWO_LABELS, FOO_BAR, MISMATCH),
    "F04": (requires(node_term(("foo", "In", "bar", "value2"))), FOO_BAR, OK),
    "F07": (requires(node_term(("GPU", "Exists"))), NVIDIA, OK),
    "F08": (requires(node_term(("foo", "In", "value1", "value2"))), FOO_BAR, MISMATCH),
    "F09": (requires(node_term()), FOO_BAR, MISMATCH),
    "F12": (requires(node_term(("GPU", "Exists"), ("GPU", "NotIn", "AMD", "INTER"))), NVIDIA, OK),
    "F15": (SELECTS | EXISTS, FOO_BAR, OK),
    "F16": (SELECTS | EXISTS, {"foo": "barrrrrr"}, MISMATCH),
    "F33": (requires(), FOO_BAR, MISMATCH),
    "F35": (requires(node_term(("foo", "NotIn", "a"))), None, OK),
}


@pytest.mark.parametrize(("pod", "labels", "expected"), ROWS.values(), ids=ROWS)
def test_the_selector_and_one_of_the_required_terms_must_match(pod, labels, expected):
    assert judged(pod, labels) == expected


def test_affinity_without_requirements_is_skipped_f11():
    context = a_context(a_node("n1"), a_pod(INCOMING, affinity={"nodeAffinity": {}}))
    assert a_plugin(context).prefilter(pod_index(context)).skip


NAMED = {
    "F18": (requires(node_term(fields=named("n1"))), ["n1"], {"n1": OK, "n2": MISMATCH}),
    "F19": (requires(node_term(fields=named("n2"))), ["n2"], {"n1": MISMATCH, "n2": OK}),
    "F21": (
        requires(node_term(("foo", "In", "bar"), fields=named("n1"))),
        ["n1"],
        dict.fromkeys(["n1", "n2"], MISMATCH),
    ),
    "F24": (
        requires(node_term(fields=named("n1")), node_term(fields=named("n2"))),
        ["n1", "n2"],
        {"n1": OK, "n2": OK},
    ),
}


@pytest.mark.parametrize(("pod", "allowed", "expected"), NAMED.values(), ids=NAMED)
def test_terms_that_name_nodes_leave_only_those_to_look_at(pod, allowed, expected):
    """n2 has the label foo=bar, n1 has none."""
    context = a_context(a_node("n1"), a_node("n2", labels=FOO_BAR), a_pod(INCOMING, **pod))
    plugin, asked = a_plugin(context), pod_index(context)
    names = context.state.cluster.nodes.names
    found = plugin.prefilter(asked).allowed
    assert [name for name, here in zip(names, found, strict=True) if here] == allowed
    assert statuses(context, plugin, asked) == expected


def test_a_term_that_names_two_nodes_at_once_contradicts_itself_f25():
    both = requires(node_term(fields=named("n1", "n2")))
    assert judged(both, None) == ("UAU", "pod affinity terms conflict")


ZONE_FOO = {"zone": "foo"}
ADDED = node_affinity([node_term(fields=named("n2"))])
ENFORCEMENT = {
    "F26": ("n2", "foo", OK),
    "F27": ("n2", "bar", MISMATCH),
    "F27-the-schedulers-own-reason-comes-first": ("n1", "bar", ENFORCED),
}


@pytest.mark.parametrize(("node", "zone", "expected"), ENFORCEMENT.values(), ids=ENFORCEMENT)
def test_the_scheduler_may_add_requirements_of_its_own(node, zone, expected):
    assert judged(requires(node_term(("zone", "In", zone))), ZONE_FOO, node, ADDED) == expected


KEY, AZ = {"key": "value"}, {"az": "az1"}
FOO_TERM, KEY_TERM, AZ_TERM = ("foo", "In", "bar"), ("key", "In", "value"), ("az", "In", "az1")
THREE = [(2, node_term(FOO_TERM)), (4, node_term(KEY_TERM)), (5, node_term(FOO_TERM, KEY_TERM, AZ_TERM))]
SCORE = {
    "F30": ([FOO_BAR, FOO_BAR | KEY | AZ, KEY], [18, 100, 36]),
    "F31": ([AZ, {}, {"foo": "other"}], [0, 0, 0]),
}


@pytest.mark.parametrize(("labels", "expected"), SCORE.values(), ids=SCORE)
def test_matching_preferences_add_up(labels, expected):
    nodes = [a_node(f"n{number}", labels=each) for number, each in enumerate(labels)]
    context = a_context(*nodes, a_pod(INCOMING, affinity=node_affinity(preferred=THREE)))
    assert scores(context, a_plugin(context), pod_index(context)) == expected
