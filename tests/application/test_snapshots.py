"""A snapshot is returned; it is the caller who saves it."""

from __future__ import annotations

import json

import pytest

from builders import a_list, a_node, a_pod
from restow.application.clusters import ClusterSource
from restow.application.feedback import Collected
from restow.application.snapshots import SnapshotRequest, read_snapshot
from restow.errors import InputError


@pytest.fixture
def dump(tmp_path):
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(a_list(a_node("n1"), a_node("n2"), a_pod("p", node="n1"))))
    return ClusterSource((str(path),))


def test_nothing_is_written_before_it_is_saved(dump, tmp_path, capsys):
    snapshot = read_snapshot(SnapshotRequest(dump), Collected())
    assert [each.name for each in tmp_path.iterdir()] == ["cluster.json"]
    file = tmp_path / "small.json"
    sentence = snapshot.save(str(file))
    assert sentence == f"{file}: 2 nodes, 1 pod, 0 other objects of {dump.inputs[0]}, {file.stat().st_size:,} bytes"
    assert capsys.readouterr() == ("", "")


def test_a_file_that_cannot_be_written_is_an_error_before_the_cluster_is_read(tmp_path):
    request = SnapshotRequest(ClusterSource(("missing.json",)), output=str(tmp_path))
    with pytest.raises(InputError, match="is a directory"):
        read_snapshot(request, Collected())
