"""The reference of the scheduler configuration has every plugin with its points and weight, every field, every argument."""

from __future__ import annotations

import re

import msgspec

from docs.pages import section, text_of
from restow.scheduling import plugin_arguments
from restow.scheduling.configuration.wire import KubeSchedulerConfiguration, KubeSchedulerProfile
from restow.scheduling.in_tree import DEFAULT_PLUGINS, GATED, IN_TREE, OPTIONAL, POINTS
from restow.scheduling.plugin_arguments import PluginArgs

PAGE = text_of("docs/reference/scheduler-configuration.md")


def fields(cls: type[msgspec.Struct]) -> set[str]:
    return {each.encode_name for each in msgspec.structs.fields(cls)}


def words(text: str) -> set[str]:
    """What stands in code spans."""
    return set(re.findall(r"`(\w+)`", text))


def test_every_default_plugin_has_a_row_with_its_points_and_weight():
    found = re.findall(r"^\| (\w+) \| ([\w, ]+) \| (\d*) ?\|", section(PAGE, "## Plugins"), re.MULTILINE)
    expected = [
        (name, ", ".join(IN_TREE[name].points), str(weight) if "score" in IN_TREE[name].points else "")
        for name, weight in DEFAULT_PLUGINS
    ]
    by_words = [(name, ", ".join(sorted(points.split(", "))), weight) for name, points, weight in found]
    assert by_words == [(name, ", ".join(sorted(points.split(", "))), weight) for name, points, weight in expected]


def test_every_point_and_every_plugin_that_is_no_default_is_named():
    assert set(re.findall(r"\[(\w+)\]\(#", section(PAGE, "## Plugins"))) >= OPTIONAL
    assert words(section(PAGE, "## Plugins")) >= {"multiPoint", *POINTS, *GATED}


def test_every_field_of_the_file_and_of_a_profile_has_a_row():
    assert words(section(PAGE, "## The file")) >= fields(KubeSchedulerConfiguration) | fields(KubeSchedulerProfile)


def test_every_argument_has_a_row():
    kinds = [
        each
        for each in vars(plugin_arguments).values()
        if isinstance(each, type) and issubclass(each, PluginArgs) and each is not PluginArgs
    ]
    assert len(kinds) == 9
    rows = section(PAGE, "## Arguments")
    for kind in kinds:
        assert f"| {kind.__name__.removesuffix('Args')} |" in rows
        assert words(rows) >= fields(kind) - fields(PluginArgs)
