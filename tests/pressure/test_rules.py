"""Rule files: the format of the dynamic scheduler as it stands, and restow's own fields."""

from __future__ import annotations

import pytest

from restow.errors import InputError
from restow.pressure.rules import Rule, read_rules

ORIGINAL = """\
PromJob:
  Name: node
Rulename:
  cpu:
    Promsql: 'sum(rate(node_cpu_seconds_total{mode!="idle"}[2m])) by (instance)'
    Threshold: 0.8
  load:
    Promsql: node_load1
    Threshold: 16
"""


def rules_of(text: str) -> tuple[Rule, ...]:
    return read_rules(text.encode(), "rule.yaml").rules


def a_rule(more: str, threshold: str = "0.8") -> str:
    return f"Rulename:\n  cpu:\n    Promsql: up\n    Threshold: {threshold}\n    {more}\n"


def refusal(text: str) -> list[str]:
    with pytest.raises(InputError) as raised:
        read_rules(text.encode(), "rule.yaml")
    return str(raised.value).splitlines()


def test_a_file_of_the_dynamic_scheduler_is_read_as_it_stands():
    loaded = read_rules(ORIGINAL.encode(), "rule.yaml")

    assert [(rule.name, rule.query, rule.threshold) for rule in loaded.rules] == [
        ("cpu", 'sum(rate(node_cpu_seconds_total{mode!="idle"}[2m])) by (instance)', 0.8),
        ("load", "node_load1", 16.0),
    ]
    assert [(rule.direction, rule.hold, rule.clear, rule.weight, rule.effect) for rule in loaded.rules] == [
        ("above", 0, 0.8, 1.0, "label"),
        ("above", 0, 16.0, 1.0, "label"),
    ]
    assert loaded.warnings == ()


def test_every_extension_is_read():
    (rule,) = rules_of(
        a_rule("{direction: below, for: 2m, clear: 0.9, weight: 1, effect: taint}"[1:-1].replace(", ", "\n    "))
    )
    assert rule == Rule("cpu", "up", 0.8, "below", 120 * 10**9, 0.9, 1.0, "taint")  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("", "rule.yaml:1: Rulename: no rules: no node would ever be marked; write Rulename", id="empty"),
        pytest.param("- a", "rule.yaml:1: a list, not a rule file; start with Rulename", id="list"),
        pytest.param("Rulename: {a: {Threshold: 1}}", "rule.yaml:1: Rulename.a: has no Promsql; add it", id="query"),
        pytest.param("Rulename: {a: {Promsql: up}}", "rule.yaml:1: Rulename.a: has no Threshold; add it", id="threshold"),
        pytest.param("Rulename: {a: {Promsql: ' ', Threshold: 1}}", "rule.yaml:1: Rulename.a.Promsql: is empty", id="-"),
        pytest.param(
            a_rule("", '"0.8"'),
            "rule.yaml:4: Rulename.cpu.Threshold: must be a number, not text; remove the quotes",
            id="quotes",
        ),
        pytest.param(
            a_rule("direction: up"), "rule.yaml:5: Rulename.cpu.direction: must be above or below, not 'up'", id="word"
        ),
        pytest.param(a_rule("for: 5"), "rule.yaml:5: Rulename.cpu.for: must be a duration such as 1h30m", id="for"),
        pytest.param(a_rule("for: -5m"), "rule.yaml:5: Rulename.cpu.for: must not be negative", id="negative"),
        pytest.param(a_rule("weight: 0"), "rule.yaml:5: Rulename.cpu.weight: must be above 0, up to 1", id="weight"),
        pytest.param(
            a_rule("weight: 0.5"),
            "rule.yaml:1: Rulename: the weights of all rules with effect label come to 0.5: no node would ever be marked",
            id="too little weight",
        ),
        pytest.param(
            a_rule("clear: 0.9"),
            "rule.yaml:5: Rulename.cpu.clear: must be at most the Threshold, 0.8, where direction is above",
            id="clear above",
        ),
        pytest.param(
            a_rule("direction: below\n    clear: 0.7"),
            "rule.yaml:6: Rulename.cpu.clear: must be at least the Threshold, 0.8, where direction is below",
            id="clear below",
        ),
        pytest.param(a_rule("Threshold: 1"), "rule.yaml:5: Rulename.cpu.Threshold: is written twice", id="twice"),
    ],
)  # fmt: skip
def test_what_is_no_rule_is_refused_with_file_line_and_field(text, sentence):
    assert refusal(text)[0].startswith(sentence)


def test_all_problems_are_told():
    assert len(refusal("Rulename: {a: {}, b: {Promsql: 5, Threshold: x}}")) == 4


def test_fields_that_nobody_reads_are_told_of():
    loaded = read_rules(a_rule("xyz: 5m").encode() + b"PromJobs: {}\n---\n", "rule.yaml")

    assert [str(each) for each in loaded.warnings] == [
        'rule.yaml:5: Rulename.cpu.xyz: unknown field "xyz" is ignored',
        'rule.yaml:6: PromJobs: unknown field "PromJobs" is ignored; did you mean "PromJob"?',
        "rule.yaml:1: only the first YAML document of a file is read",
    ]


def test_weights_of_tenths_come_to_one():
    fields = "{Promsql: up, Threshold: 1, weight: 0.1}"
    assert len(rules_of(f"Rulename: {{{', '.join(f'r{number}: {fields}' for number in range(10))}}}")) == 10
