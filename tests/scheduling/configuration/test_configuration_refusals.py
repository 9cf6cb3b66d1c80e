"""Configurations that cannot be used: every one gets a sentence with file, line and field."""

from __future__ import annotations

import json
import re

import pytest

from builders.long_values import LONG_VALUES, quotes_too_much, with_long_values
from restow.errors import InputError
from scheduling.configurations import HEAD, REFUSED, a_configuration, a_profile, a_set, loaded, with_args


def refusal(text: str) -> str:
    with pytest.raises(InputError) as caught:
        loaded(text)
    return str(caught.value)


@pytest.mark.parametrize(("text", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_kube_scheduler_refuses_is_refused_with_the_reason(text, sentence):
    place, _, told = refusal(text).split("\n")[0].partition(" ")
    assert re.fullmatch(r"config\.yaml:\d+:", place)
    assert told == sentence


def test_the_line_is_that_of_the_field():
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- plugins:\n"
    text += "    score:\n      enabled:\n      - name: ImageLocality\n      - name: Imagelocality\n"
    assert refusal(text) == (
        'config.yaml:8: profiles[0].plugins.score.enabled[1]: unknown plugin "Imagelocality"; '
        'did you mean "ImageLocality"?'
    )


def test_all_problems_are_told_one_a_line():
    text = a_configuration(a_profile("a", score=a_set("X", "Y")), a_profile("a"), parallelism=0)
    assert [line.partition(": ")[2].partition(":")[0] for line in refusal(text).splitlines()] == [
        "parallelism",
        "profiles[1].schedulerName",
        "profiles[0].plugins.score.enabled[0]",
        "profiles[0].plugins.score.enabled[1]",
    ]


@pytest.mark.parametrize(
    ("plugin", "point", "before"),
    [
        ("NodeResourcesFit", "filter", "preFilter"),
        ("PodTopologySpread", "score", "preScore"),
        ("TaintToleration", "score", "preScore"),
        ("VolumeBinding", "filter", "preFilter"),
    ],
)
def test_a_plugin_that_would_fail_on_every_pod_is_refused(plugin, point, before):
    """kube-scheduler starts with it, but schedules nothing."""
    first = refusal(a_configuration(a_profile(**{before: a_set(off=(plugin,))}))).splitlines()[0]
    assert first.endswith(
        f"profiles[0].plugins.{before}: {plugin} runs at {point} but not at {before}, "
        "so kube-scheduler would fail on every pod; disable it at both"
    )


@pytest.mark.parametrize(
    ("plugin", "why"),
    [
        ("GangScheduling", "GangScheduling runs for the pods that need it, enabled or not"),
        (
            "PodGroupPodsCount",
            "PodGroupPodsCount runs for the pods that need it, enabled or not",
        ),
    ],
)
def test_a_plugin_behind_a_gate_is_refused(plugin, why):
    assert refusal(a_configuration(a_profile(multiPoint=a_set(plugin)))).endswith(
        f"profiles[0].plugins.multiPoint.enabled[0]: {why}, so it cannot be enabled"
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("", "config.yaml:1: an empty file; start with", id="empty"),
        pytest.param("- a", "config.yaml:1: a list, not a KubeSchedulerConfiguration; start with", id="list"),
        pytest.param("profiles: []", "config.yaml:1: no kind; add apiVersion", id="untyped"),
        pytest.param("kind: KubeSchedulerConfiguration", "config.yaml:1: no apiVersion; add", id="unversioned"),
        pytest.param("a: 1\nb: [", "config.yaml:3: not valid YAML:", id="not YAML"),
        pytest.param('{"a": 1,\n "b" 2}', "config.yaml:2: not valid JSON:", id="not JSON"),
        pytest.param(
            a_configuration()[:-1] + ',\n"parallelism": 1,\n"parallelism": 2}',
            "config.yaml:6: parallelism: is written twice; remove one of them",
            id="key twice",
        ),
        pytest.param("a: &x\n  b: *x", "config.yaml:", id="in a circle"),
        pytest.param("[" * 30_000, "config.yaml:1: nested more than 64 levels deep", id="bottomless"),
        pytest.param(
            "a: 1\nb:\n" + "- " * 30_000, "config.yaml:3: nested more than 64 levels deep", id="bottomless list"
        ),
        pytest.param('{"a": ' * 30_000, "config.yaml:1: nested more than 64 levels deep", id="bottomless JSON"),
        pytest.param(
            '{"a": ' + "7" * 5000 + "}", "config.yaml:1: a: must be a finite number", id="JSON number of many digits"
        ),
        pytest.param("a: \x00", "config.yaml:1: not valid YAML:", id="control character"),
        pytest.param("a: .inf", "config.yaml:1: a: must be a finite number", id="infinite"),
    ],
)
def test_what_is_no_configuration_is_refused(text, sentence):
    assert refusal(text).startswith(sentence)


def test_text_that_is_no_text_is_refused():
    from restow.scheduling.configuration.load import load_scheduler_configuration

    with pytest.raises(InputError, match="not UTF-8 text"):
        load_scheduler_configuration(b"\xff", "config.yaml")


def test_a_small_file_that_expands_is_refused():
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))]
    assert "excessive aliasing" in refusal("\n".join(lines))


def test_every_unknown_key_is_named_and_what_else_is_wrong():
    args = {"NodeResourcesFit": {"a": 1, "scoringStrategy": {"b": 1}}, "NodeAffinity": {"c": 1}}
    places = [line.split(": ")[1] for line in refusal(a_configuration(a_profile(args=args), parallelism=0)).split("\n")]
    assert places == [
        "parallelism",
        "profiles[0].pluginConfig[0].args.a",
        "profiles[0].pluginConfig[0].args.scoringStrategy.b",
        "profiles[0].pluginConfig[1].args.c",
    ]


def test_a_configuration_inside_a_config_map_is_pointed_at():
    text = json.dumps({"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "", "config.yaml": a_configuration()}})
    assert refusal(text).endswith('not "ConfigMap"; data.config.yaml holds one: write that text into a file of its own')


def test_a_line_feed_in_a_key_of_arguments_is_no_new_sentence():
    with pytest.raises(InputError) as caught:
        loaded(a_configuration(a_profile(args={"NodeAffinity": {"a\nb": 1}})))
    assert len(caught.value.sentences) == 1


@pytest.mark.parametrize("kind", LONG_VALUES)
def test_a_message_quotes_at_most_200_characters_of_a_value(kind):
    strategy = {"type": "RequestedToCapacityRatio", "resources": [{"name": "cpu", "weight": 1}]}
    args = {"NodeResourcesFit": {"scoringStrategy": strategy}, "InterPodAffinity": {"hardPodAffinityWeight": 5}}
    document = json.loads(a_configuration(a_profile("x", args=args, score=a_set("NodeAffinity=5", off=("*",)))))
    for changed in with_long_values(document, LONG_VALUES[kind]):
        try:
            messages = list(map(str, loaded(json.dumps(changed)).warnings))
        except InputError as error:
            messages = [str(error)]
        assert [message[:300] for message in messages if quotes_too_much(message)] == []


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ({"safeVarianceMargin": "1"}, "safeVarianceMargin: must be a number, not text"),
        ({"windowSeconds": 0}, "windowSeconds: Invalid value: 0: not in valid range [1, 31622400]"),
        ({"guardSeconds": -1}, "guardSeconds: Invalid value: -1: not in valid range [0, 31622400]"),
        ({"margin": 1}, 'unknown field "margin"'),
    ],
    ids=str,
)
def test_arguments_of_load_variation_that_cannot_be_used(args, sentence):
    assert sentence in refusal(with_args("LoadVariationRiskBalancing", **args))


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf"])
@pytest.mark.parametrize("name", ["safeVarianceMargin", "safeVarianceSensitivity"])
def test_factors_of_load_variation_are_finite(name, value):
    text = "".join(f"{key}: {each}\n" for key, each in HEAD.items())
    text += f"profiles:\n- pluginConfig:\n  - name: LoadVariationRiskBalancing\n    args: {{{name}: {value}}}\n"
    assert refusal(text).startswith(f"config.yaml:6: profiles[0].pluginConfig[0].args.{name}: must be a finite number")
