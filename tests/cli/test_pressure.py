"""``restow pressure check``: arguments and rule files that cannot be used end in a sentence, before anybody is asked."""

from __future__ import annotations

import pytest

RULES = "Rulename: {cpu: {Promsql: up, Threshold: 0.8}}"


@pytest.fixture
def check(restow, tmp_path):
    (tmp_path / "rule.yaml").write_text(RULES)

    def ran(*more, rules="rule.yaml", url="http://127.0.0.1:1"):
        return restow("pressure", "check", "-r", rules, "-prom", url, *more)

    return ran


@pytest.mark.parametrize(
    ("options", "more", "told"),
    [
        ({"rules": "nope.yaml"}, (), "nope.yaml: No such file or directory"),
        (
            {"url": "prometheus:9090"},
            (),
            "--prometheus-url 'prometheus:9090' is not an http:// or https:// URL such as",
        ),
        ({}, ("--max-share", "0"), "--max-share must be above 0, up to 1, where 1 is all nodes"),
        ({}, ("--max-share", "nan"), "--max-share must be above 0, up to 1, where 1 is all nodes"),
        ({}, ("--label", "presure"), "--label 'presure': it must have the form KEY=VALUE"),
        ({}, ("--label", "a b=c"), "--label 'a b=c': "),
        ({}, (), "no cluster: "),
    ],
)
def test_what_cannot_be_used_is_told(check, options, more, told):
    ran = check(*more, **options)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(told)
    assert ran.err.count("\n") == 1


def test_a_broken_rule_file_is_told_with_all_its_problems(check, tmp_path):
    (tmp_path / "broken.yaml").write_text("Rulename:\n  cpu: {Promsql: up}\n  mem: {Threshold: high, Promsql: up}\n")
    ran = check(rules="broken.yaml")
    assert ran.status == 2
    assert ran.err.splitlines() == [
        "broken.yaml:2: Rulename.cpu: has no Threshold; add it",
        "broken.yaml:3: Rulename.mem.Threshold: must be a number, not text",
    ]


def test_a_password_in_the_url_is_not_told(check):
    assert "secret" not in check(url="ftp://me:secret@prometheus").err


@pytest.mark.parametrize("missing", ["-r", "-prom"])
def test_rules_and_prometheus_are_required(restow, missing):
    given = {"-r": "rule.yaml", "-prom": "http://p"}
    ran = restow(
        "pressure", "check", *(each for name, value in given.items() if name != missing for each in (name, value))
    )
    assert ran.status == 2
    assert {"-r": "-r", "-prom": "--prometheus-url"}[missing] in ran.err
