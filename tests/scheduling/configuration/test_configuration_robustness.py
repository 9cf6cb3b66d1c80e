"""Whatever a configuration file holds, reading it ends in profiles or in one sentence a problem."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from restow.errors import InputError
from restow.scheduling.configuration.load import load_scheduler_configuration
from restow.scheduling.configuration.registry import IN_TREE
from restow.scheduling.framework.declaration import POINTS
from scheduling.configurations import HEAD

KEYS = [
    *POINTS,
    *("multiPoint", "enabled", "disabled", "name", "weight", "plugins", "pluginConfig", "args", "schedulerName"),
    *("scoringStrategy", "resources", "shape", "addedAffinity", "defaultConstraints", "defaultingType", "kind"),
]
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from([*IN_TREE, "*", "x", ""])
)


def holding(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Leaves, and lists and mappings of what is inside."""
    return LEAVES | st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)


VALUES = holding(holding(holding(LEAVES)))
PLUGINS = st.dictionaries(st.sampled_from(["multiPoint", *POINTS]), VALUES, max_size=3)
CONFIGS = st.lists(st.fixed_dictionaries({"name": st.sampled_from([*IN_TREE]), "args": VALUES}), max_size=3)
PROFILES = st.lists(st.fixed_dictionaries({"plugins": PLUGINS | VALUES, "pluginConfig": CONFIGS | VALUES}), max_size=2)


def problems(text: bytes) -> list[str]:
    """What is wrong with a configuration, a sentence each."""
    try:
        load_scheduler_configuration(text, "config.yaml")
    except InputError as error:
        return str(error).splitlines()
    return []


def read(text: bytes) -> None:
    assert all(sentence.startswith("config.yaml:") for sentence in problems(text))


@settings(max_examples=150)
@given(PROFILES | VALUES, st.booleans())
def test_any_profiles_are_read_or_refused(profiles, as_yaml):
    document = HEAD | {"profiles": profiles}
    lines = [f"{key}: {json.dumps(value)}" for key, value in document.items()]
    read("\n".join(lines).encode() if as_yaml else json.dumps(document).encode())


@settings(max_examples=100)
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused(text):
    read(text)
    read(json.dumps(HEAD, indent=1).encode() + text)
