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
    """Refusal codes: the first argument of Check, and a word before a sentence in a tuple; or names of such words."""
    found = set()
    for path in (ROOT / "src" / "restow" / "descheduling").glob("*.py"):
        if path.name == "replaying.py":
            # Codes of moves that do not hold any more are in no plan: the reference of apply has them.
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named = named_words(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Check":
                found.add(word(node.args[0], named))
            elif isinstance(node, ast.Tuple):
                pairs = zip(node.elts, node.elts[1:], strict=False)
                found.update(word(one, named) for one, other in pairs if is_sentence(other))
    return {value for value in found if _CODE.fullmatch(value)}


def named_words(tree: ast.Module) -> dict[str, str]:
    """The constants of a module that are texts, also those of one line together."""
    named = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                named[name] = text
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                named |= {each.id: text.value for each, text in zip(targets, values, strict=True)}
    return named


def word(node: ast.expr, named: dict[str, str]) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return named.get(name, "")
    return ""


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
