"""Which settings may be searched, and a policy with other values of them."""

from __future__ import annotations

import pytest
import yaml

from restow.errors import InputError
from restow.tuning.space import applied, read_space, value_at

HEAD = "apiVersion: restow.dev/v1alpha1\nkind: TuningSpace\n"
POLICY = yaml.safe_load("""
maxNoOfPodsToEvictPerNode: 3
profiles:
  - name: load
    pluginConfig:
      - {name: DefaultEvictor}
      - {name: LowNodeUtilization, args: {thresholds: {cpu: 20}}}
""")
CPU = "profiles.load.pluginConfig.LowNodeUtilization.args.thresholds.cpu"


def space(text: str):
    return read_space(f"{HEAD}settings:\n{text}".encode(), "space.yaml")


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("{path: a, from: 10, to: 30, step: 10}", (10, 20, 30)),
        ("{path: a, from: 0, to: 0.3, step: 0.1}", (0, 0.1, 0.2, 0.3)),
        ("{path: a, from: 1, to: 4, step: 2}", (1, 3)),
        ("{path: a, choices: [5m, 1h]}", ("5m", "1h")),
        ("{path: a, choices: [true, false]}", (True, False)),
    ],
)
def test_a_setting_has_the_values_of_its_range_or_its_choices(written, values):
    (setting,) = space(f"  - {written}\n")
    assert setting.values == values


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("{path: a}", "needs from and to, or choices"),
        ("{path: a, from: 3, to: 3}", "from must be below to"),
        ("{path: a, from: 1, to: 3, step: 0}", "step above 0"),
        ("{path: a, from: 0, to: 1, step: 0.00001}", "more than 10,000 values"),
        ("{path: a, choices: [1]}", "needs two choices or more"),
        ("{path: a, choices: [1, 2], from: 1}", "has choices, and from or to"),
        ("{path: a..b, choices: [1, 2]}", "path must be keys and names"),
        ("{path: descheduler.every, from: 1, to: 3}", "needs choices, such as [1m, 5m, 15m]"),
        ("{path: descheduler.every, choices: [0s, 1m]}", "must be durations above 0"),
        ("{path: a, values: [1, 2]}", 'unknown field "values"'),
        ("{path: a, choices: [1, 2]}\n  - {path: a, choices: [1, 2]}", "a is there twice"),
    ],
)
def test_what_is_wrong_with_a_setting_is_said_with_its_line(written, sentence):
    with pytest.raises(InputError) as caught:
        space(f"  - {written}\n")
    assert sentence in str(caught.value)
    assert str(caught.value).startswith(("space.yaml:4:", "space.yaml:5:"))


@pytest.mark.parametrize("text", ["", "kind: Scenario", f"{HEAD}settings: []"])
def test_a_file_without_settings_is_no_space(text):
    with pytest.raises(InputError, match=r"^space.yaml"):
        read_space(text.encode(), "space.yaml")


def test_values_are_put_where_paths_lead_and_keys_are_added():
    evictor = "profiles.load.pluginConfig.DefaultEvictor.args.minReplicas"
    changed = applied(POLICY, {CPU: 40, evictor: 2, "maxNoOfPodsToEvictTotal": 9, "descheduler.every": "5m"})
    assert value_at(changed, CPU) == 40
    assert value_at(changed, evictor) == 2
    assert changed["maxNoOfPodsToEvictTotal"] == 9
    assert "descheduler" not in changed
    assert value_at(POLICY, CPU) == 20
    assert value_at(POLICY, evictor) is None


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("profiles.loud.x", 'no item of the name "loud" there; did you mean "load"?'),
        ("maxNoOfPodsToEvictPerNode.x.y", 'the policy has a value where the path has "x"'),
        ("maxNoOfPodsToEvictPerNode.x", "the policy has no mapping there"),
    ],
)
def test_a_path_that_leads_nowhere_is_named(path, sentence):
    with pytest.raises(InputError, match=path) as caught:
        applied(POLICY, {path: 1})
    assert sentence in str(caught.value)
