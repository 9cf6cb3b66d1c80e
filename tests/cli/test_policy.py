"""``restow policy``: validate, lint and convert files as people have them."""

from __future__ import annotations

import json

import pytest

from builders import NOW
from builders.policies import a_config, a_policy, a_profile, an_old_policy, as_yaml, strategy_policy

SOUND = strategy_policy("RemoveDuplicates")
GOOD = as_yaml(SOUND)
TWICE = a_policy(a_profile(a_config("RemoveDuplicates"), a_config("RemoveDuplicates"), balance=["RemoveDuplicates"]))
REFUSED = as_yaml(strategy_policy("RemoveDuplicates", {"excludeOwnrKinds": []}))
ODD = as_yaml(strategy_policy("RemoveDuplicates", maxNoOfPodsToEvictTotal=0))
OLD = as_yaml(an_old_policy({"RemoveDuplicates": {"enabled": True, "params": {"includeSoftConstraints": True}}}))
PROBLEM = 'unknown field "excludeOwnrKinds" of RemoveDuplicates'
HINT = 'did you mean "excludeOwnerKinds"?'
PLACE = "profiles[0].pluginConfig[0].args.excludeOwnrKinds"


@pytest.fixture
def files(restow, tmp_path):
    for name, text in {
        "good": GOOD,
        "refused": REFUSED,
        "odd": ODD,
        "old": OLD,
        "broken": b"a: [",
        "empty": b"",
    }.items():
        (tmp_path / f"{name}.yaml").write_bytes(text)


def line_of(text, word):
    return next(number for number, line in enumerate(text.decode().splitlines(), 1) if word in line)


@pytest.mark.usefixtures("files")
class TestValidate:
    def test_a_valid_policy(self, restow):
        assert restow("policy", "validate", "good.yaml") == (0, "good.yaml: valid\n", "")

    def test_a_refused_policy(self, restow):
        ran = restow("policy", "validate", "refused.yaml")
        assert (ran.status, ran.err) == (2, "")
        assert ran.out == f"refused.yaml:{line_of(REFUSED, 'excludeOwnr')}: {PLACE}: {PROBLEM}; {HINT}\n"

    def test_several_files_one_of_which_is_refused(self, restow):
        ran = restow("policy", "validate", "good.yaml", "refused.yaml", "old.yaml")
        assert ran.status == 2
        assert [line.split(":")[0] for line in ran.out.splitlines()] == ["good.yaml", "refused.yaml", "old.yaml"]

    def test_an_unreadable_file_does_not_hide_the_others(self, restow):
        ran = restow("policy", "validate", "nope.yaml", "broken.yaml", "good.yaml")
        assert ran.status == 2
        lines = ran.out.splitlines()
        assert lines[0] == "nope.yaml:1: No such file or directory"
        assert lines[1].startswith("broken.yaml:2: not valid YAML: ")
        assert lines[2] == "good.yaml: valid"

    def test_warnings_are_no_reason(self, restow):
        assert restow("policy", "validate", "odd.yaml").status == 0

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (b"", "an empty file"),
            (a_policy(), "the policy has no profiles"),
            (a_policy(a_profile(a_config("RemoveDuplicates"))), "add RemoveDuplicates to plugins.balance.enabled"),
            (an_old_policy({}), "the policy enables no strategy"),
            (SOUND | {"profile": SOUND["profiles"]}, 'did you mean "profiles"?'),
            (GOOD + b"profiles: []\n", '"profiles" is written more than once'),
            (TWICE, "RemoveDuplicates is configured before"),
            (GOOD.replace(b"  pluginConfig:", b"  pluginConfig: []\n  pluginConfig:"), '"pluginConfig" is written'),
        ],
        ids=["empty", "no profiles", "not enabled", "old", "misspelled", "section twice", "plugin twice", "key twice"],
    )
    @pytest.mark.parametrize("command", ["validate", "lint"])
    def test_what_upstream_leaves_out_in_silence_is_an_error(self, restow, command, text, said):
        ran = restow("policy", command, "-", stdin=text if isinstance(text, bytes) else as_yaml(text))
        assert ran.status == 2
        assert said in " ".join(ran.out.split())

    def test_an_unknown_key_that_resembles_none_is_no_error(self, restow):
        assert restow("policy", "validate", "-", stdin=as_yaml(SOUND | {"x-owner": "shop"})).status == 0

    def test_standard_input(self, restow):
        assert restow("policy", "validate", "-", stdin=GOOD) == (0, "standard input: valid\n", "")

    def test_a_file_named_twice_is_read_once(self, restow):
        assert restow("policy", "validate", "good.yaml", "good.yaml").out == "good.yaml: valid\n"

    def test_helm_values_are_read_and_other_values_are_not_called_valid(self, restow, tmp_path):
        (tmp_path / "values.yaml").write_text("deschedulerPolicy:\n  nodeSelector: a in b\n")
        (tmp_path / "other.yaml").write_text("replicas: 1\n")
        ran = restow("policy", "validate", "values.yaml", "other.yaml")
        assert ran.status == 2
        first, second = ran.out.splitlines()
        assert first.startswith("values.yaml:2: deschedulerPolicy.nodeSelector: unable to parse requirement")
        assert second.startswith("other.yaml:1: no apiVersion: upstream runs nothing with it")


@pytest.mark.usefixtures("files")
class TestLint:
    def test_a_finding_has_its_line_and_severity(self, restow):
        ran = restow("policy", "lint", "odd.yaml")
        assert (ran.status, ran.err) == (0, "")
        assert ran.out.splitlines() == [
            "odd.yaml",
            "   3  warning  maxNoOfPodsToEvictTotal: maxNoOfPodsToEvictTotal: 0 allows no",
            "               eviction at all; leave the key out for no limit",
            "1 warning",
        ]

    @pytest.mark.parametrize(("file", "status"), [("good.yaml", 0), ("odd.yaml", 1), ("refused.yaml", 2)])
    def test_strict_counts_warnings(self, restow, file, status):
        assert restow("policy", "lint", file, "--strict").status == status

    def test_an_error_is_unusable(self, restow):
        ran = restow("policy", "lint", "odd.yaml", "refused.yaml")
        assert ran.status == 2
        assert ran.out.splitlines()[-1] == "1 error, 1 warning"

    def test_nothing_to_say(self, restow):
        assert restow("policy", "lint", "good.yaml") == (0, "good.yaml\nno findings\n", "")

    def test_a_file_cannot_write_to_the_terminal(self, restow):
        nasty = as_yaml(a_policy(a_profile(a_config("RemoveDuplicates"), name="\x1b[2J", balance=["Rem\x1bove"])))
        for command in ("lint", "validate"):
            assert "\x1b" not in restow("policy", command, "-", stdin=nasty).out


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", ["validate", "lint"])
class TestDocument:
    def test_the_schema(self, restow, command):
        ran = restow("policy", command, "refused.yaml", "good.yaml", "-o", "json")
        assert (ran.status, ran.err) == (2, "")
        assert json.loads(ran.out) == {
            "apiVersion": "restow.dev/v1alpha1",
            "kind": "PolicyFindings",
            "findings": [
                {
                    "file": "refused.yaml",
                    "line": line_of(REFUSED, "excludeOwnr"),
                    "severity": "error",
                    "path": PLACE,
                    "message": PROBLEM,
                    "hint": HINT,
                }
            ],
            "summary": {"files": 2, "errors": 1, "warnings": 0, "notes": 0},
        }

    def test_an_unreadable_file_is_a_finding(self, restow, command):
        ran = restow("policy", command, "nope.yaml", "-o", "json")
        (finding,) = json.loads(ran.out)["findings"]
        assert finding["message"] == "No such file or directory"
        assert (finding["file"], finding["line"]) == ("nope.yaml", 1)

    def test_the_help_page_names_every_field(self, restow, command):
        page = restow("policy", command, "-h").out
        document = json.loads(restow("policy", command, "refused.yaml", "-o", "json").out)
        for name in (*document, *document["findings"][0], *document["summary"]):
            assert f'"{name}"' in page

    @pytest.mark.parametrize(
        ("files", "sentence"),
        [
            ([], "say which policy: a file, several, or - for standard input"),
            (["-", "-"], "standard input (-) can be read only once"),
        ],
        ids=["none", "twice"],
    )
    def test_unusable_files(self, restow, command, files, sentence):
        assert restow("policy", command, *files) == (2, "", f"{sentence}\n")


@pytest.mark.usefixtures("files")
class TestConvert:
    def test_an_old_policy_becomes_a_new_one(self, restow):
        ran = restow("policy", "convert", "old.yaml")
        assert ran.status == 0
        assert ran.out.startswith("apiVersion: descheduler/v1alpha2\n")
        assert restow("policy", "validate", "-", stdin=ran.out.encode()).status == 0

    def test_what_had_no_effect_is_told(self, restow):
        told = restow("policy", "convert", "old.yaml").err
        assert told.endswith("includeSoftConstraints has no effect on RemoveDuplicates\n")

    def test_standard_input(self, restow):
        assert restow("policy", "convert", "-", stdin=GOOD) == (0, GOOD.decode(), "")

    def test_every_error_is_named(self, restow):
        policy = as_yaml(a_policy(a_profile(a_config("Zed"), balance=["Zed"])))
        ran = restow("policy", "convert", "-", stdin=policy)
        assert (ran.status, ran.out) == (2, "")
        assert [line.split(": ")[1] for line in ran.err.splitlines()] == [
            "profiles[0].pluginConfig[0].name",
            "profiles[0].plugins.balance.enabled[0]",
        ]

    def test_the_policy_of_a_config_map_is_converted(self, restow):
        inner = "".join(f"    {line}\n" for line in OLD.decode().splitlines())
        ran = restow("policy", "convert", "-", stdin=f"kind: ConfigMap\ndata:\n  policy.yaml: |\n{inner}".encode())
        assert (ran.status, ran.out) == (0, restow("policy", "convert", "old.yaml").out)

    @pytest.mark.parametrize("file", ["refused.yaml", "empty.yaml", "nope.yaml", "broken.yaml"])
    def test_what_cannot_be_converted(self, restow, file):
        ran = restow("policy", "convert", file)
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.startswith(file)


def test_the_default_is_the_policy_that_restow_plan_goes_by(restow, cluster, tmp_path):
    path = tmp_path / "default.yaml"
    path.write_text(restow("policy", "default").out)
    arguments = ("plan", "-f", str(cluster), "--now", NOW, "-o", "json")
    assert restow(*arguments, "--policy-config-file", str(path)).out == restow(*arguments).out
