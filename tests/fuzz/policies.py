"""Policies of both versions with their ``restow:`` section, and hostile changes of them."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from builders import NOW, Object
from fuzz.cases import Case, Facts
from fuzz.furnished import furnished_objects
from fuzz.hostile_values import DURATIONS, TEXTS, Token
from fuzz.mutations import Draw, copied, mutated
from fuzz.writing import encoded, one_file, words, written
from oracle.chance import Chance
from oracle.random_faults import a_faulty_policy
from oracle.random_old_policies import an_old_policy
from oracle.random_policies import a_mixed_policy

_BASES = 300
_WINDOW = {"start": "0 22 * * 1-5", "duration": "8h", "timeZone": "Europe/Berlin"}
SECTION: Object = {
    "placement": "prove",
    "certainty": "certain",
    "namespaces": "all",
    "perWorkload": "50%",
    "waitForReady": "10m",
    "waitForBudget": "5m",
    "windows": [_WINDOW, {"start": "*/5 * * * *", "duration": "1m"}],
}
_STARTS = (
    "0 22 * * 1-5",
    "60 * * * *",
    "* * * * * *",
    "@daily",
    "*/0 * * * *",
    "0-99999999999 * * * *",
    "9" * 5000,
    f"*/{'9' * 5000} * * * *",
    "0 0 30 2 *",
    "1,1,1 L * * 5#6",
    "",
)
_ZONES = (
    "UTC",
    "Europe/Berlin",
    "../../etc/passwd",
    "/etc/passwd",
    "",
    "a" * 5000,
    "\x00",
    "Nowhere/Land",
    ".",
    "posixrules",
)
_SHARES = (
    "1%",
    "0%",
    "101%",
    "9" * 5000 + "%",
    "\u0661%",
    "1.5%",
    "%",
    -1,
    0,
    2**63,
    Token("9" * 5000),
    Token(".nan"),
    True,
    None,
)


@lru_cache(maxsize=_BASES)
def _base(seed: int) -> Object:
    chance = Chance(seed)
    chance.choose_traits(())
    policy: Object = chance.choice([a_mixed_policy, a_mixed_policy, a_faulty_policy, an_old_policy])(chance)
    return policy | ({"restow": copied(SECTION)} if chance.maybe(0.5) and "profiles" in policy else {})


@lru_cache(maxsize=1)
def small_cluster() -> bytes:
    """A dump that plans well."""
    return json.dumps({"kind": "List", "apiVersion": "v1", "items": furnished_objects()}).encode()


@st.composite
def hostile_policies(draw: Draw) -> Case:
    """A policy after a few changes, as every command takes it; what is valid must make a plan."""
    policy = draw(st.integers(0, _BASES - 1).map(_base))
    document = draw(mutated(policy) | _hostile_sections(policy) | st.just(policy))
    files = draw(one_file(document, "policy"))
    name = next(iter(files))
    plan = f"plan -f cluster.json --policy-config-file {name} -o {draw(st.sampled_from(['json', 'table', 'html']))} --now {NOW}"
    other = draw(
        st.sampled_from([f"lint {name}", f"convert {name}", f"lint -o json {name}", f"validate -o json {name}"])
    )
    return Case(
        kind="policy",
        commands=tuple(words(f"policy validate {name}", f"policy {other}", plan)),
        files={**files, "cluster.json": small_cluster()},
        facts=Facts(validated=True),
    )


def _hostile_sections(policy: Object) -> st.SearchStrategy[Any]:
    """The policy with a section whose values nearly fit."""
    section = st.fixed_dictionaries(
        {},
        optional={
            "perWorkload": st.sampled_from(_SHARES),
            "waitForReady": st.sampled_from(DURATIONS),
            "waitForBudget": st.sampled_from(DURATIONS),
            "placement": st.sampled_from(["prove", "upstream", "", *TEXTS]),
            "namespaces": st.sampled_from(["all", "annotated", *TEXTS]),
            "windows": st.lists(
                st.fixed_dictionaries(
                    {"start": st.sampled_from(_STARTS)},
                    optional={"duration": st.sampled_from(DURATIONS), "timeZone": st.sampled_from(_ZONES)},
                ),
                max_size=2,
            ),
        },
    )
    return section.map(lambda each: policy | {"restow": each})


def as_file(document: Any) -> bytes:
    """A document as JSON, which is YAML too."""
    return encoded(written(document))
