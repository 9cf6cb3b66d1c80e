"""Traces: the openb trace by its own columns, any other by a mapping, and rows that cannot be read."""

from __future__ import annotations

import pytest

from restow.cluster.snapshot import ClusterStore
from restow.errors import InputError
from restow.simulating.scenarios.traces import Columns, Template, read_arrivals, read_nodes

SECOND = 10**9
OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "late,6000,12288,1,460,,LS,Running,120,200,121\n"
    "early,12000,16384,2,1000,T4|P100,BE,Running,100,150,100\n"
    "small,0,100,0,0,,LS,Running,130,,130\n"
)
OPENB_NODES = "sn,cpu_milli,memory_mib,gpu,model\nn1,32000,262144,0,\nn2,64000,1024,2,T4\n"
COLUMNS = Columns("pod", "start", "end", "team", {"cpu": "cores", "memory": "mib"}, {"memory": "Mi"}, {"app": "app"})
OWN = "pod,team,app,start,end,cores,mib\na,x,web,2026-11-21T00:00:10Z,2026-11-21T00:01:00Z,0.5,100\nb,y,,1795219200,,1,0\n"


def arrivals(text, columns=None, template=None):
    return read_arrivals(text, "t.csv", columns, Template(template or {}, ClusterStore()))


def requests(arrival):
    return arrival.pod.spec["containers"][0]["resources"]["requests"]


def refusal(text, columns=COLUMNS):
    with pytest.raises(InputError) as raised:
        arrivals(text, columns)
    return list(raised.value.sentences)


def test_pods_of_openb_come_by_their_times_since_the_first():
    found = arrivals(OPENB)
    assert [(each.pod.metadata.name, each.at, each.departs) for each in found] == [
        ("early", 0, 50 * SECOND),
        ("late", 20 * SECOND, 100 * SECOND),
        ("small", 30 * SECOND, None),
    ]


def test_pods_of_openb_request_what_they_say_and_gpus_in_thousandths():
    early, late, small = arrivals(OPENB)
    assert requests(late) == {"cpu": "6000m", "memory": "12288Mi", "alibabacloud.com/gpu-milli": "460"}
    assert requests(early)["alibabacloud.com/gpu-milli"] == "2000"
    assert requests(small) == {"memory": "100Mi"}
    assert late.pod.metadata.labels == {"alibabacloud.com/qos": "LS"}


def test_pods_of_openb_run_on_the_models_that_they_name():
    early, late, _ = arrivals(OPENB)
    (term,) = early.pod.spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"] == [
        {"key": "alibabacloud.com/gpu-card-model", "operator": "In", "values": ["T4", "P100"]}
    ]
    assert "affinity" not in late.pod.spec


def test_nodes_of_openb():
    plain, gpus = read_nodes(OPENB_NODES, "n.csv", ClusterStore())
    assert plain.status.allocatable == {"cpu": "32000m", "memory": "262144Mi", "pods": "110"}
    assert gpus.status.allocatable["alibabacloud.com/gpu-milli"] == "2000"
    assert gpus.metadata.labels == {"kubernetes.io/hostname": "n2", "alibabacloud.com/gpu-card-model": "T4"}


def test_other_columns_by_a_mapping():
    b, a = arrivals(OWN, COLUMNS)
    assert (b.at, b.departs, a.at, a.departs) == (0, None, 10 * SECOND, 60 * SECOND)
    assert (a.pod.metadata.namespace, a.pod.metadata.labels) == ("x", {"app": "web"})
    assert (requests(a), requests(b)) == ({"cpu": "0.5", "memory": "100Mi"}, {"cpu": "1"})


def test_pods_are_made_of_the_template():
    template = {
        "metadata": {"labels": {"from": "trace"}, "namespace": "batch"},
        "spec": {"schedulerName": "other", "containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "j"}]},
    }
    columns = Columns("pod", "start", requests={"cpu": "cores"}, labels={"app": "app"})
    _, a = arrivals(OWN, columns, template)
    assert a.pod.metadata.labels == {"from": "trace", "app": "web"}
    assert (a.pod.metadata.namespace, a.pod.spec["schedulerName"]) == ("batch", "other")
    assert a.pod.spec["containers"] == [
        {"name": "c", "image": "i", "resources": {"requests": {"cpu": "0.5"}}}, {"name": "d", "image": "j"},
    ]  # fmt: skip
    assert "resources" not in template["spec"]["containers"][0]


def with_row(row):
    return f"pod,team,app,start,end,cores,mib\n{row}\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (with_row("a,x,,soon,,1,1"), "t.csv:2: start: "),
        (with_row("a,x,,10,5,1,1"), "t.csv:2: end: is before start"),
        (with_row("a,x,,10,,much,1"), "t.csv:2: cores: "),
        (with_row(",x,,10,,1,1"), "t.csv:2: a Pod without metadata.name"),
        (with_row("a,x,,10,,1"), "t.csv:2: has 6 columns, not 7"),
        (with_row("a,x,,10,,1,1\na,x,,11,,1,1"), "t.csv: column pod: several pods have the same name"),
        (with_row(""), "t.csv: holds no rows below its first line"),
        ("pod,team,app,strat,end,cores,mib\n", 't.csv:1: no column "start"; did you mean "strat"?'),
        ('a,"b\n', "t.csv:1: not valid CSV: "),
    ],
)
def test_rows_that_cannot_be_read(text, sentence):
    assert refusal(text)[0].startswith(sentence)


def test_every_bad_row_is_told():
    assert [line.partition(": ")[0] for line in refusal(with_row("a,x,,soon,,1,1\nb,x,,1,,?,1"))] == [
        "t.csv:2",
        "t.csv:3",
    ]


def test_a_column_without_a_name_is_none():
    assert refusal(OWN, Columns("", "start", labels={"app": ""})) == ['t.csv:1: no column ""', 't.csv:1: no column ""']


def test_other_columns_need_a_mapping():
    assert refusal(OWN, None) == [
        (
            "t.csv:1: these are neither the columns of the openb trace nor those of restow record arrivals; "
            "say under columns what each is"
        )
    ]


def test_a_trace_of_recorded_arrivals_needs_none():
    """Behind its first four columns stand resources, with quantities; an empty departure is never."""
    text = (
        "namespace,name,arrives,departs,cpu,nvidia.com/gpu\n"
        "batch,a,2026-11-21T00:00:00Z,2026-11-21T00:01:00Z,250m,0\n"
        "batch,b,2026-11-21T00:00:30Z,,1,2\n"
    )
    first, second = arrivals(text)
    assert (first.at, first.departs, second.at, second.departs) == (0, 60 * SECOND, 30 * SECOND, None)
    assert first.pod.metadata.namespace == "batch"
    assert [requests(each) for each in (first, second)] == [{"cpu": "250m"}, {"cpu": "1", "nvidia.com/gpu": "2"}]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name,cpu\n", "n.csv:1: not the nodes of the openb trace, which begin with sn,cpu_milli,memory_mib,gpu,model"),
        ("sn,cpu_milli,memory_mib,gpu,model\nn,?,1,0,\n", 'n.csv:2: cpu_milli: "?" is no whole number'),
    ],
)
def test_nodes_that_cannot_be_read(text, sentence):
    with pytest.raises(InputError) as raised:
        read_nodes(text, "n.csv", ClusterStore())
    assert raised.value.sentences == (sentence,)
