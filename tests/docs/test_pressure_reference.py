"""The reference of node pressure has every field of a rule, every reason for a missing value, every field of the document."""

from __future__ import annotations

import json
import re
from typing import get_args

import msgspec

from docs.pages import section, text_of
from restow.pressure.marking import Change
from restow.pressure.rules import _Rule, read_rules
from restow.pressure.situation import CheckedNode, CheckedRule, PressureCheck

PAGE = text_of("docs/reference/pressure.md")


def fields(cls: type[msgspec.Struct]) -> set[str]:
    return {each.encode_name for each in msgspec.structs.fields(cls)}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_every_field_of_a_rule_has_a_row():
    assert set(re.findall(r"^\| `(\w+)`", section(PAGE, "## The rule file"), re.MULTILINE)) == fields(_Rule)


def test_the_rule_file_of_the_page_is_one():
    (text,) = blocks("yaml")
    loaded = read_rules(text.encode(), "rule.yaml")
    assert ([rule.name for rule in loaded.rules], loaded.warnings) == (["cpu", "mem"], ())


def test_the_document_has_exactly_the_fields_that_are_written():
    (text,) = blocks("json")
    document = json.loads(text)
    assert set(document) == fields(PressureCheck)
    assert set(document["rules"][0]) == fields(CheckedRule)
    assert set(document["nodes"][0]) == fields(CheckedNode)
    assert all(f"`{change}`" in section(PAGE, "## The document") for change in get_args(Change))
