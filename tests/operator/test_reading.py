"""Files are read as the API server would read them; whatever they hold, the errors name file, line and field."""

from __future__ import annotations

from contextlib import suppress

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.kubedeschedulers import an_object
from restow.errors import InputError
from restow.operator.resource import KubeDeschedulerSpec, read_resource, resource_of

HEAD = "apiVersion: operator.openshift.io/v1\nkind: KubeDescheduler\nmetadata: {name: cluster}\n"


def refused(text: str) -> list[str]:
    with pytest.raises(InputError) as error:
        read_resource(text.encode(), "k.yaml")
    return list(error.value.sentences)


def test_defaults_are_those_of_the_definition():
    read = read_resource(f"{HEAD}spec: {{}}\n".encode(), "k.yaml")
    assert read.spec == KubeDeschedulerSpec()
    assert (read.spec.mode, read.spec.management_state) == ("Predictive", "Managed")
    assert read.spec.descheduling_interval_seconds == 3600


def test_an_empty_choice_is_none():
    custom = dict.fromkeys(
        ["devLowNodeUtilizationThresholds", "devHighNodeUtilizationThresholds", "devDeviationThresholds"], ""
    )
    spec = resource_of(an_object("AffinityAndTaints", custom=custom, logLevel="", operatorLogLevel="")).spec
    assert spec == KubeDeschedulerSpec(profiles=("AffinityAndTaints",))


def test_what_openshifts_operator_left_in_a_resource_is_no_error():
    spec = {"observedConfig": {"servingInfo": {"minTLSVersion": "VersionTLS12"}}, "unsupportedConfigOverrides": None}
    thing = an_object("AffinityAndTaints", custom={"devEnableSoftTainter": False}, **spec)
    thing |= {"status": {"readyReplicas": 0, "conditions": []}}
    thing["metadata"] |= {"managedFields": [{"manager": "kubectl"}], "resourceVersion": "7"}
    assert read_resource(yaml.safe_dump(thing).encode(), "k.yaml").spec.profiles == ("AffinityAndTaints",)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("mod: Automatic", 'k.yaml:5: spec.mod: unknown field "mod"; did you mean "mode"?'),
        ("mode: automatic", "k.yaml:5: spec.mode: must be Automatic or Predictive, not 'automatic'"),
        (
            "deschedulingIntervalSeconds: 1h",
            "k.yaml:5: spec.deschedulingIntervalSeconds: must be a whole number, not text",
        ),
        ("managementState: ''", "k.yaml:5: spec.managementState: must be Force or Managed or Removed or Unmanaged"),
        ("profiles: [null]", "k.yaml:5: spec.profiles[0]: must be AffinityAndTaints or"),
        ("profiles: AffinityAndTaints", "k.yaml:5: spec.profiles: must be a list"),
        (
            "profileCustomizations: {podLifetime: 1 day}",
            "k.yaml:5: spec.profileCustomizations.podLifetime: must be a duration such as 1h30m",
        ),
        (
            "profileCustomizations: {thresholdPriority: 3000000000}",
            "k.yaml:5: spec.profileCustomizations.thresholdPriority: must be at most 2147483647",
        ),
    ],
)
def test_a_field_that_no_api_server_accepts(spec, sentence):
    (told,) = refused(f"{HEAD}spec:\n  {spec}\n")
    assert told.startswith(sentence)


def test_a_field_that_is_written_twice():
    text = f"{HEAD}spec:\n  mode: Predictive\n  mode: Automatic\n"
    assert refused(text) == ["k.yaml:6: spec.mode: is written twice; remove one of them"]


def test_every_error_is_told():
    assert len(refused(f"{HEAD}spec:\n  mode: x\n  logLevel: y\n  profile: []\n")) == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "k.yaml:1: apiVersion: must be operator.openshift.io/v1"),
        ("kind: DeschedulerPolicy\n", "k.yaml:1: apiVersion: must be operator.openshift.io/v1"),
        (HEAD.replace("KubeDescheduler", "List"), "k.yaml:2: kind: must be KubeDescheduler, not 'List'"),
        (f"{HEAD}---\n{HEAD}", "k.yaml: holds several documents; put the KubeDescheduler into a file of its own"),
    ],
)
def test_a_file_that_is_something_else(text, sentence):
    assert refused(text)[0] == sentence


def test_the_api_servers_objects_are_refused_by_field():
    with pytest.raises(InputError, match=r"^spec\.mode: must be Automatic or Predictive"):
        resource_of(an_object(mode="x"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["Low", "", "Managed"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["profiles", "mode", "evictionLimits", "profileCustomizations", "logLevel", "observedConfig"])


@settings(max_examples=80)
@given(spec=st.dictionaries(NAMES, JSON, max_size=4) | JSON, metadata=JSON)
def test_whatever_is_written_is_a_resource_or_a_sentence(spec, metadata):
    thing = an_object() | {"spec": spec, "metadata": metadata}
    with suppress(InputError):
        assert resource_of(thing).kind == "KubeDescheduler"
