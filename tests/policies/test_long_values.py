"""A value of 5,000 characters, anywhere in a policy: findings or an InputError, and never the whole value in it."""

from __future__ import annotations

import copy

import pytest

from builders.long_values import LONG_VALUES, quotes_too_much, with_long_values
from builders.policies import PLUGINS, as_json, as_yaml
from policies.test_fuzz import NEW, OLD
from restow.errors import InputError
from restow.policies.lint import lint_policy
from restow.policies.load import load_policy, validate_policy

_WINDOW = {"start": "0 22 * * 1-5", "duration": "8h", "timeZone": "Europe/Berlin"}
_RESTOW = {"perWorkload": "25%", "waitForReady": "5m", "waitForBudget": "5m", "windows": [_WINDOW]}
WHOLE = copy.deepcopy(NEW) | {"restow": _RESTOW}


def said(text):
    """All that is told of a policy."""
    found = []
    for read in (validate_policy, lint_policy):
        try:
            found += map(str, read(text, "p.yaml", PLUGINS))
        except InputError as error:
            found.append(str(error))
    try:
        found += map(str, load_policy(text, "p.yaml", PLUGINS).warnings)
    except InputError as error:
        found.append(str(error))
    return found


@pytest.mark.parametrize("kind", LONG_VALUES)
@pytest.mark.parametrize("policy", [WHOLE, OLD], ids=["v1alpha2", "v1alpha1"])
def test_a_message_quotes_at_most_200_characters_of_a_value(policy, kind):
    for changed in with_long_values(policy, LONG_VALUES[kind]):
        assert [message[:300] for message in said(as_yaml(changed)) if quotes_too_much(message)] == []


@pytest.mark.parametrize("text", ["7" * 5000, "-" + "7" * 5000, "7" * 5000 + ".5"])
def test_a_number_of_any_digits_is_read(text):
    policy = as_json(WHOLE).replace(b'"25%"', text.encode())
    (first, *_) = said(policy)
    assert "restow.perWorkload: must be" in first
