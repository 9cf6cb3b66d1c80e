"""Traces of usage as CSV."""

from __future__ import annotations

import gzip
import io
import json

import pytest
from hypothesis import given

from builders import a_list, a_node, a_pod
from cluster.histories import SAMPLES, samples_of
from restow.cluster.usage_series import unpacked
from restow.errors import InputError
from restow.kube.timestamps import SECOND, format_time
from restow.sources.compact import CompactCluster
from restow.sources.documents import load_cluster, read_objects
from restow.usage.csv_files import read_trace
from restow.usage.stored import stored_history

HEADER = "node,time,resource,value\n"


def read(rows, header=HEADER):
    return {(each.node, each.resource): samples_of(unpacked(each)) for each in read_trace(header + rows, "usage.csv")}


def test_a_sample_a_line_in_any_order():
    rows = "n1,2026-11-21T00:05:00Z,cpu,1500m\nn2,1795219200,memory,3Gi\n\nn1,1795219200.7, cpu ,2.5\n"
    assert read(rows) == {
        ("n1", "cpu"): {1795219200: 2500, 1795219500: 1500},
        ("n2", "memory"): {1795219200: 3 << 30},
    }


def test_columns_stand_in_any_order():
    assert read("1k,cpu,5,n1\n", "value,resource,time,node\n") == {("n1", "cpu"): {5: 1_000_000}}


@given(SAMPLES)
def test_what_is_written_is_what_is_read(samples):
    seconds = {time % (2**63 // SECOND): value for time, value in samples.items()}
    rows = "".join(f"n1,{format_time(time * SECOND)},memory,{value}\n" for time, value in seconds.items())
    assert read(rows) == {("n1", "memory"): seconds}


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ("n1,now,cpu,1\n", "usage.csv:2: time: .*; write 2026-11-21T00:00:00Z or seconds since 1970$"),
        ("n1,1969-12-31T23:59:59Z,cpu,1\n", "usage.csv:2: time: 1969-12-31T23:59:59Z is before 1970$"),
        ("n1,5,cpu,1\nn1,5,cpu,2\n", "usage.csv:3: time: n1 has a value of cpu at this time already$"),
        (",5,cpu,1\n", "usage.csv:2: node: is empty$"),
        ("n1,5,disk,1\n", 'usage.csv:2: resource: "disk" is not one of cpu, memory, share$'),
        ("n1,5,cpu,much\n", 'usage.csv:2: value: "much" is not a quantity'),
        ("n1,5,cpu,NaN\n", "usage.csv:2: value: "),
        ("n1,5,cpu,-1\n", "usage.csv:2: value: cpu is -1, but an amount cannot be negative$"),
        ("n1,5,memory,10E\n", "usage.csv:2: memory is more than 9223372036854775807"),
        ("n1,5,cpu\n", "usage.csv:2: has 3 columns, not 4$"),
        ('n1,5,cpu,"1\n', "usage.csv:2: not valid CSV: "),
        ("", "usage.csv: holds no samples; write one a line below node,time,resource,value$"),
    ],
)
def test_a_row_that_cannot_be_read_is_told_with_file_line_and_column(rows, why):
    with pytest.raises(InputError, match=f"^{why}"):
        read(rows)


@pytest.mark.parametrize("header", ["", "\n", "node,time,cpu\n", "node,time,resource,value,unit\n", "n1,5,cpu,1\n"])
def test_the_first_line_names_the_columns(header):
    with pytest.raises(InputError, match=r"^usage.csv:1: the first line must be node,time,resource,value, not "):
        read("n1,5,cpu,1\n", header)


def test_every_row_that_cannot_be_read_is_told():
    with pytest.raises(InputError) as refused:
        read("n1,x,cpu,1\nn1,1,cpu,1\nn1,y,cpu,1\n")
    assert [each.partition(": ")[0] for each in refused.value.sentences] == ["usage.csv:2", "usage.csv:4"]


@pytest.mark.parametrize("name", ["usage.csv", "usage.csv.gz"])
def test_a_trace_is_one_of_the_inputs_and_part_of_a_snapshot(tmp_path, name):
    """A snapshot of both inputs says what they say."""
    cluster, trace = tmp_path / "cluster.json", tmp_path / name
    cluster.write_text(json.dumps(a_list(a_node("n1"), a_pod("p"))))
    rows = f"{HEADER}n1,5,cpu,1\nn1,65,cpu,1500m\n".encode()
    trace.write_bytes(gzip.compress(rows) if name.endswith("gz") else rows)
    compact, written = CompactCluster(), io.BytesIO()
    read_objects([str(cluster), str(trace)], compact)
    compact.write(written)
    (tmp_path / "snapshot.json").write_bytes(written.getvalue())

    for inputs in ([cluster, trace], [tmp_path / "snapshot.json"]):
        loaded, _ = load_cluster([str(each) for each in inputs])
        series = stored_history(loaded).series("n1", "cpu")
        assert series is not None
        assert samples_of(series) == {5: 1000, 65: 1500}


def test_a_later_input_replaces_the_series_that_it_has(tmp_path):
    (tmp_path / "cluster.json").write_text(json.dumps(a_list(a_node("n1"), a_pod("p"))))
    (tmp_path / "a.csv").write_text(f"{HEADER}n1,5,cpu,1\nn1,5,memory,1\n")
    (tmp_path / "b.csv").write_text(f"{HEADER}n1,9,cpu,2\n")
    loaded, report = load_cluster([str(tmp_path / name) for name in ("cluster.json", "a.csv", "b.csv")])
    found = {resource: samples_of(each) for resource, each in stored_history(loaded).nodes["n1"].items()}
    assert found == {"cpu": {9: 2000}, "memory": {5: 1}}
    assert report.replaced == 1
