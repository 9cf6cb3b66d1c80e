"""The reference of the plan has every field and every refusal code, and no others."""

from __future__ import annotations

import ast
import re

from docs.fields import fields_of
from docs.pages import ROOT, rows, section, text_of
from restow.descheduling.plan import Plan

PAGE = text_of("docs/reference/plan-json.md")
_CODE = re.compile(r"[A-Z]+[a-z]+([A-Z][A-Za-z]*)?")


def test_every_field_of_the_plan_has_a_row_and_no_row_is_of_another():
    assert set(rows(section(PAGE, "## Fields"))) == set(fields_of(Plan))


def codes_in_the_source() -> set[str]:
    """Refusal codes: the first argument of Check, and a word before a sentence in a tuple."""
    found = set()
    for path in (ROOT / "src" / "restow" / "descheduling").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Check":
                found.add(node.args[0])
            elif isinstance(node, ast.Tuple):
                found.update(one for one, other in zip(node.elts, node.elts[1:], strict=False) if is_sentence(other))
    values = (node.value for node in found if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {value for value in values if _CODE.fullmatch(value)}


def is_sentence(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str(text)):
            return " " in text
        case ast.Name(id=name):
            return name in {"message", "text"}
    return isinstance(node, ast.JoinedStr | ast.IfExp)


def test_codes_are_found_in_the_source():
    assert {"MirrorPod", "MinReplicas", "NoFit", "MaxPodsToEvictTotal", "MissingUID"} <= codes_in_the_source()


def test_every_refusal_code_has_a_row_and_no_row_is_of_another():
    assert set(rows(section(PAGE, "## Stages and codes"))) == codes_in_the_source()
