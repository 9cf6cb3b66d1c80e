"""How tests load dumps."""

from __future__ import annotations

import json

import pytest

from restow.sources.documents import load_cluster


@pytest.fixture
def load(tmp_path):
    """Loads objects or texts, one file each; ``load.report`` is what was found beside the cluster."""

    def write(position, content):
        path = tmp_path / f"{position}.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return str(path)

    def load(*contents):
        cluster, load.report = load_cluster([write(i, content) for i, content in enumerate(contents)])
        return cluster

    load.folder = tmp_path
    return load
