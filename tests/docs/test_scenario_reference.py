"""The reference of scenarios has every field, action, state and conversion, and its examples can be used."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest
import yaml

from docs.pages import ROOT, blocks, files, section, text_of
from restow.errors import InputError
from restow.kube.old_versions import CONVERSIONS
from restow.simulating.controllers.horizontal_pod_autoscalers import AutoscalerSettings
from restow.simulating.kubelets import KubeletSettings
from restow.simulating.scenarios.autoscaling_reading import WrittenClusterAutoscaler, WrittenNodeGroup
from restow.simulating.scenarios.events import WrittenEvent
from restow.simulating.scenarios.expectations import NodeState, PodState, WrittenExpectation, WrittenStatement
from restow.simulating.scenarios.folder import Folder
from restow.simulating.scenarios.reading import WrittenScenario, WrittenScheduler, WrittenTrace, read_scenario
from restow.simulating.scenarios.scenario import Descheduling
from restow.simulating.scenarios.traces import Columns
from simulating.scenarios.staging import Staged

PAGE = text_of("docs/reference/scenario.md")
AUTOSCALERS = (AutoscalerSettings, WrittenClusterAutoscaler, WrittenNodeGroup)
HEAD = {"apiVersion": "restow.dev/v1alpha1", "kind": "Scenario"}


def fields(*classes):
    return {each.encode_name for cls in classes for each in msgspec.structs.fields(cls)}


def rows(text):
    """The words in the first cells of tables."""
    cells = re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE)
    return {word.partition(":")[0] for cell in cells for word in re.findall(r"`([^`]+)`", cell)}


def part(heading, end="\n## "):
    return PAGE.partition(f"\n{heading}\n")[2].partition(end)[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (part("## The file"), fields(WrittenScenario)),
        (part("## Events"), fields(WrittenEvent) - {"at", "to", "with", "cascade"}),
        (part("## Arrivals", "\n### "), fields(WrittenTrace, Columns)),
        (part("## Who acts"), fields(Descheduling, WrittenScheduler, KubeletSettings, *AUTOSCALERS)),
        (
            part("## Expectations"),
            (fields(WrittenExpectation) | {"pods", "nodes", "evictions", "loops", "spread"})
            | {*get_args(PodState), *get_args(NodeState)},
        ),
    ],
    ids=["file", "events", "arrivals", "who-acts", "expectations"],
)
def test_every_word_has_a_row_and_every_row_is_a_word(text, words):
    assert rows(text) == words


def test_every_word_of_a_statement_is_explained():
    text = part("## Expectations")
    assert {word for word in fields(WrittenStatement) if f"`{word}" not in text} == set()


def test_every_conversion_is_in_the_table():
    cells = re.findall(r"^\| (`[^|]*) \| ([^|]*) \|", part("## Objects"), re.MULTILINE)
    told = {
        (version, kind)
        for versions, kinds in cells
        for version, of_version in zip(
            re.findall(r"`([^`]+)`", versions), kinds.split("; ") * (1 if ";" in kinds else 9), strict=False
        )
        for kind in of_version.split(", ")
    }
    assert told == {*CONVERSIONS}


def test_the_examples_of_events_can_be_read():
    events = [
        yaml.safe_load("\n".join(["at: 1m", action, more.replace("`", "")]).replace("`", ""))
        for action, more in re.findall(r"^\| (`\w+: [^|]*`) \| (`[^|]*`)? ?\|", part("## Events"), re.MULTILINE)
        if not action.startswith("`apply")
    ]
    assert len(events) == len(fields(WrittenEvent)) - 5
    assert read_scenario(yaml.safe_dump(HEAD | {"events": events}).encode(), "page", Folder(Path())).events


@pytest.mark.parametrize("text", [each.text for each in blocks(PAGE) if each.language == "yaml" and not each.mark])
def test_every_part_of_a_scenario_on_the_page_is_one_but_for_files_that_are_not_there(text):
    words = yaml.safe_load(text)
    with pytest.raises(InputError) as raised:
        read_scenario(yaml.safe_dump(HEAD | words).encode(), "page", Folder(ROOT / "nowhere"))
    assert [line for line in raised.value.sentences if "no such file" not in line.lower()] == []


def test_the_first_scenario_of_the_page_goes_as_it_expects(tmp_path):
    for name, text in files(PAGE).items():
        (tmp_path / name).write_text(text)
    scene = Staged(nodes=0, folder=tmp_path, **yaml.safe_load(files(PAGE)["node-fails.yaml"])).run(3600)
    assert [outcome for outcome, _ in scene.outcomes()] == ["met"] * 4
    assert scene.applier.failed_events == []


def test_the_page_of_the_command_line_links_here():
    assert "(scenario.md)" in section(text_of("docs/reference/command-line.md"), "## restow simulate check")
