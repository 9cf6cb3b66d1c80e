"""Which nodes rules are about, by which names samples may call them, and whose label they bear."""

from __future__ import annotations

import pytest

from pressure.marked_nodes import MANAGER, a_marked_node, owner, read
from restow.pressure.nodes import index_of, labels_of, markable


def test_nodes_of_the_control_plane_are_left_out_and_the_others_sorted():
    nodes = [
        a_marked_node("b"),
        a_marked_node("m", labels={"node-role.kubernetes.io/master": ""}),
        a_marked_node("a"),
        a_marked_node("c", labels={"node-role.kubernetes.io/control-plane": ""}),
    ]
    assert [node.name for node in markable(map(read, nodes))] == ["a", "b"]


def test_a_node_goes_by_its_name_its_internal_addresses_and_its_host_name():
    addresses = (("InternalIP", "10.0.0.1"), ("InternalIP", "fd00::1"), ("Hostname", "h1"), ("ExternalIP", "1.2.3.4"))
    assert index_of([read(a_marked_node("a", *addresses))]) == {"a": 0, "10.0.0.1": 0, "fd00::1": 0, "h1": 0}


def test_what_two_nodes_go_by_names_none_of_them():
    nodes = [a_marked_node(name, ("InternalIP", "10.0.0.1"), ("Hostname", name)) for name in ("a", "b")]
    assert index_of(map(read, nodes)) == {"a": 0, "b": 1}


@pytest.mark.parametrize(
    ("fields", "ours"),
    [
        pytest.param([owner(MANAGER, "status")], True, id="ours"),
        pytest.param([owner("kubectl-label", "status")], False, id="by hand"),
        pytest.param([owner("kubectl-label", "status"), owner(MANAGER, "status")], True, id="both"),
        pytest.param([owner(MANAGER, "other")], False, id="another label"),
        pytest.param([{"manager": MANAGER, "fieldsV1": {"f:metadata": []}}], False, id="odd fields"),
        pytest.param([{"manager": MANAGER}], False, id="no fields"),
        pytest.param(None, False, id="nobody"),
    ],
)
def test_a_label_is_of_the_manager_that_owns_it(fields, ours):
    node = read(a_marked_node("a", labels={"status": "presure"}, managedFields=fields))

    assert labels_of(node, MANAGER) == ({"status": "presure"} if ours else {})
