"""Whatever the bytes: a policy, findings, or an InputError, and soon."""

from __future__ import annotations

import contextlib
import copy

from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders.policies import PLUGINS, a_config, a_policy, a_profile, an_old_policy, as_json, as_yaml
from restow.errors import InputError
from restow.policies.lint import lint_policy
from restow.policies.load import load_policy, read_policy_document, validate_policy
from restow.policies.v1alpha1 import convert

LIMITS = settings(max_examples=150, deadline=5000)

NEW = a_policy(
    a_profile(
        a_config("DefaultEvictor", {"priorityThreshold": {"value": 5}, "minPodAge": "5m", "podProtections": {}}),
        a_config(
            "LowNodeUtilization",
            {
                "thresholds": {"cpu": 20},
                "targetThresholds": {"cpu": 50},
                "metricsUtilization": {"source": "Prometheus", "prometheus": {"query": "q"}},
                "evictionLimits": {"node": 1},
            },
        ),
        a_config("RemoveFailedPods", {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}),
        a_config("PodLifeTime", {"states": ["Running"], "conditions": [{"type": "Ready"}]}),
        deschedule=["PodLifeTime", "RemoveFailedPods"],
        balance=["LowNodeUtilization"],
    ),
    metricsProviders=[{"source": "Prometheus", "prometheus": {"url": "http://p", "authToken": {}}}],
    nodeSelector="a=b",
    restow={"placement": "prove"},
)
OLD = an_old_policy(
    {
        "PodLifeTime": {"enabled": True, "params": {"podLifeTime": {"maxPodLifeTimeSeconds": 5}}},
        "LowNodeUtilization": {"enabled": True, "params": {"nodeResourceUtilizationThresholds": {}}},
    },
    evictLocalStoragePods=True,
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


def paths_of(data, path=()):
    """Every place in plain data, outermost first."""
    yield path
    steps = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, value in steps:
        yield from paths_of(value, (*path, step))


@st.composite
def mutated(draw, policy):
    """The policy with up to three values replaced."""
    policy = copy.deepcopy(policy)
    for _ in range(draw(st.integers(1, 3))):
        *around, step = draw(st.sampled_from([path for path in paths_of(policy) if path]))
        place = policy
        for outer in around:
            place = place[outer]
        place[step] = draw(VALUES)
    return policy


def try_everything(text):
    """Call every reader; anything but an InputError is a failure of the test."""
    for read in (load_policy, validate_policy, lint_policy):
        with contextlib.suppress(InputError):
            read(text, "p.yaml", PLUGINS)
    with contextlib.suppress(InputError):
        convert(read_policy_document(text, "p.yaml"))


@LIMITS
@given(text=st.binary(max_size=200))
@example(text=b"apiVersion: \xf0\x9f\x98\x80")
@example(text=b'{"a": "\\ud83d"}')
@example(text=b"? ? ? a")
@example(text=b"!!python/object:os.system x: 1")
def test_arbitrary_bytes(text):
    try_everything(text)


@LIMITS
@given(text=st.text("{}[]\"':,-&*!|>%@`#? \n\ta1<~", max_size=60))
def test_arbitrary_punctuation(text):
    try_everything(text.encode())


@LIMITS
@given(policy=mutated(NEW) | mutated(OLD))
def test_mutated_policies_as_json(policy):
    try_everything(as_json(policy))


@LIMITS
@given(policy=mutated(NEW) | mutated(OLD), cut=st.integers(0, 400), junk=st.binary(max_size=3))
def test_mutated_policies_as_damaged_yaml(policy, cut, junk):
    text = as_yaml(policy)
    try_everything(text[:cut] + junk + text[cut:])


@LIMITS
@given(policy=mutated(NEW) | mutated(OLD), other=mutated(OLD), cut=st.integers(0, 400), junk=st.text(max_size=3))
def test_mutated_policies_inside_other_files(policy, other, cut, junk):
    text = as_json(policy).decode()
    try_everything(as_json({"kind": "ConfigMap", "data": {"policy.yaml": text[:cut] + junk + text[cut:]}}))
    try_everything(as_yaml({"deschedulerPolicy": policy, "metadata": other}))
    try_everything(as_yaml({"kind": "Job", "metadata": other, "spec": {"configMap": {"name": "p"}, "x": other}}))


@LIMITS
@given(policy=mutated(NEW) | mutated(OLD))
def test_a_policy_loads_if_and_only_if_no_error_is_found(policy):
    text = as_json(policy)
    found = ["unreadable"]
    try:
        found = [each for each in validate_policy(text, "p.yaml", PLUGINS) if each.severity == "error"]
        load_policy(text, "p.yaml", PLUGINS)
    except InputError:
        loads = False
    else:
        loads = True
    assert loads == (not found)
