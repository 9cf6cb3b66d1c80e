"""restow's own plugins: each has the methods of its points, under the name by which it is registered."""

from __future__ import annotations

import pytest

from builders import a_node
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.configuration.registry import IN_TREE
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.extension_points import FilterPlugin, ScorePlugin

MADE = [each for each in IN_TREE.values() if each.make is not None]
#: What it scores by is behind a feature gate that is off.
SILENT = "VolumeBinding"


@pytest.mark.parametrize("plugin", MADE, ids=lambda each: each.name)
def test_a_plugin_has_the_methods_of_its_points(plugin):
    made = plugin.make(Context.of(ClusterState(a_cluster(a_node("n")))), plugin.args() if plugin.args else None)
    assert made.name == plugin.name
    assert isinstance(made, FilterPlugin) == bool({"preFilter", "filter"}.intersection(plugin.points))
    assert isinstance(made, ScorePlugin) == ("score" in plugin.points and plugin.name != SILENT)


def test_plugins_at_post_filter_can_be_made():
    at_post_filter = {name for name, each in IN_TREE.items() if "postFilter" in each.points}
    assert at_post_filter == {name for name, each in IN_TREE.items() if each.make_post_filter is not None}


@pytest.mark.parametrize("plugin", [each for each in IN_TREE.values() if each.args], ids=lambda each: each.name)
def test_default_arguments_are_valid_and_need_no_more_defaults(plugin):
    args = plugin.args()
    assert plugin.with_defaults(args) == args
    assert not list(plugin.check(args))
