"""Codes are written down once: each is in use, and nowhere is one spelled out again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path

import msgspec
import pytest

import restow
from restow.policies import codes
from restow.policies.codes import OutcomeCode, RefusalCode, SteeringMode, SteeringSetting

ENUMS = [each for each in vars(codes).values() if isinstance(each, type) and issubclass(each, StrEnum)]
ENUMS.remove(StrEnum)
#: Rooms that decide, carry out and report.
ROOMS = ("cli", "descheduling", "executing", "live", "reporting", "running", "serving")
#: Codes that are also words of Kubernetes, of policies, or names of classes.
WORDS = {
    RefusalCode.UNKNOWN,
    RefusalCode.TERMINATING,
    RefusalCode.PODS_WITH_PVC,
    RefusalCode.PODS_WITHOUT_PDB,
    RefusalCode.PODS_WITH_LOCAL_STORAGE,
    RefusalCode.PODS_WITH_RESOURCE_CLAIMS,
    RefusalCode.DAEMON_SET_PODS,
    RefusalCode.SYSTEM_CRITICAL_PODS,
    OutcomeCode.FAILED,
}


@cache
def sources(*rooms: str) -> list[ast.Module]:
    root = Path(restow.__file__).parent
    paths = sorted(path for room in rooms or (".",) for path in (root / room).rglob("*.py") if path.name != "codes.py")
    return [ast.parse(path.read_text(encoding="utf-8")) for path in paths]


def texts(tree: ast.Module) -> Iterator[str]:
    return (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))


@cache
def used() -> set[tuple[str, str]]:
    """Enum and member of every mention."""
    return {
        (node.value.id, node.attr)
        for tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }


@pytest.mark.parametrize("code", [*RefusalCode], ids=str)
def test_every_refusal_code_is_somewhere_given(code: RefusalCode) -> None:
    assert (type(code).__name__, code.name) in used()


def test_no_code_is_spelled_out_beside_its_enum() -> None:
    found = {text for tree in sources(*ROOMS) for text in texts(tree)}
    assert found & (({*RefusalCode} | {*OutcomeCode}) - WORDS) == set()


@pytest.mark.parametrize("enum", ENUMS, ids=lambda each: each.__name__)
def test_a_code_is_written_as_its_value(enum: type[StrEnum]) -> None:
    """In JSON, in a sentence and as a key of a mapping."""
    for code in enum:
        assert msgspec.json.encode(code) == f'"{code.value}"'.encode()
        assert f"{code}" == code.value
        assert {code.value: 1}[code] == 1


def test_a_policy_may_ask_for_every_mode_of_steering() -> None:
    assert set(SteeringSetting) - {SteeringSetting.AUTO} == set(SteeringMode)
