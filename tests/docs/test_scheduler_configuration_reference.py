"""The reference of the scheduler configuration has every plugin with its points and weight, every field, every argument."""

from __future__ import annotations

import re

import msgspec

from docs.pages import section, text_of
from restow.scheduling.configuration.profiles import DEFAULT_PLUGINS
from restow.scheduling.configuration.registry import IN_TREE
from restow.scheduling.configuration.wire import KubeSchedulerConfiguration, KubeSchedulerProfile
from restow.scheduling.framework.declaration import POINTS, Availability, SchedulerPluginArgs

PAGE = text_of("docs/reference/scheduler-configuration.md")


def fields(cls: type[msgspec.Struct]) -> set[str]:
    return {each.encode_name for each in msgspec.structs.fields(cls)}


def words(text: str) -> set[str]:
    """What stands in code spans."""
    return set(re.findall(r"`(\w+)`", text))


def named(availability: Availability) -> set[str]:
    return {name for name, each in IN_TREE.items() if each.availability is availability}


def test_every_default_plugin_has_a_row_with_its_points_and_weight():
    found = re.findall(r"^\| (\w+) \| ([\w, ]+) \| (\d*) ?\|", section(PAGE, "## Plugins"), re.MULTILINE)
    expected = [
        (each.name, ", ".join(each.points), str(each.weight) if "score" in each.points else "")
        for each in DEFAULT_PLUGINS
    ]
    by_words = [(name, ", ".join(sorted(points.split(", "))), weight) for name, points, weight in found]
    assert by_words == [(name, ", ".join(sorted(points.split(", "))), weight) for name, points, weight in expected]


def test_every_point_and_every_plugin_that_is_no_default_is_named():
    assert set(re.findall(r"\[(\w+)\]\(#", section(PAGE, "## Plugins"))) >= named(Availability.OPTIONAL)
    assert words(section(PAGE, "## Plugins")) >= {"multiPoint", *POINTS, *named(Availability.GATED)}


def test_every_field_of_the_file_and_of_a_profile_has_a_row():
    assert words(section(PAGE, "## The file")) >= fields(KubeSchedulerConfiguration) | fields(KubeSchedulerProfile)


def test_every_argument_has_a_row():
    kinds = [each.args for each in IN_TREE.values() if each.args is not None]
    assert len(kinds) == 11
    rows = section(PAGE, "## Arguments")
    for kind in kinds:
        assert f"| {kind.__name__.removesuffix('Args')} |" in rows
        assert words(rows) >= fields(kind) - fields(SchedulerPluginArgs)
