"""What the tests of scenario files read them with."""

from __future__ import annotations

import json

import pytest

from restow.errors import InputError
from restow.simulating.scenarios.folder import Folder
from restow.simulating.scenarios.reading import read_scenario

HEAD = {"apiVersion": "restow.dev/v1alpha1", "kind": "Scenario"}


@pytest.fixture
def read(tmp_path):
    """Reads a scenario that lies in ``tmp_path``; or what is wrong with it, by its path."""

    def read(**fields):
        return read_scenario(json.dumps(HEAD | fields).encode(), "s.yaml", Folder(tmp_path))

    return read


@pytest.fixture
def refusal(read):
    def refusal(**fields):
        with pytest.raises(InputError) as raised:
            read(**fields)
        return [line.removeprefix("s.yaml:1: ") for line in raised.value.sentences]

    return refusal
