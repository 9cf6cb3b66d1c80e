"""The reference of explanations has every field and every kind of change, and no others."""

from __future__ import annotations

from typing import get_args

import pytest

from docs.fields import fields_of
from docs.pages import rows, section, text_of
from restow.explaining.explanation import ChangeKind, NodeExplanation, PodExplanation

PAGE = text_of("docs/reference/explain.md")


@pytest.mark.parametrize(
    ("heading", "document"), [("## Fields of a pod", PodExplanation), ("## Fields of a node", NodeExplanation)]
)
def test_every_field_has_a_row_and_no_row_is_of_another(heading, document):
    assert set(rows(section(PAGE, heading))) == set(fields_of(document))


def test_every_kind_of_change_has_a_row_and_no_row_is_of_another():
    assert set(rows(section(PAGE, "## Kinds of changes"))) == set(get_args(ChangeKind))
