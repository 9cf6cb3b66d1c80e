"""``restow schedule``: every pending pod in the queue's order, or one; one answer on stdout, everything else on stderr."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from builders import (
    NOW,
    RS,
    a_list,
    a_namespace,
    a_node,
    a_pdb,
    a_pod,
    a_replica_set,
    a_service,
    claim_volume,
    pod_affinity,
)
from builders.affinity import pod_term, selector
from builders.devices import a_claim, a_claim_template, a_device, a_device_class, a_request, a_slice, exactly, uses
from restow.reporting.schedule_result import ScheduleResult
from scheduling.numa.numa_nodes import a_topology_object

TEAM = {"matchLabels": {"team": "a"}}


class TestVersion:
    CLUSTER = (a_node("n", taints=["gpu=yes:NoSchedule"]), a_pod("p"))

    @staticmethod
    def of(version):
        node, pod = TestVersion.CLUSTER
        return msgspec.json.encode(
            a_list(node | {"status": {**node["status"], "nodeInfo": {"kubeletVersion": version}}}, pod)
        )

    def test_of_a_dump_it_is_assumed_and_kubelets_of_another_one_are_told(self, restow):
        ran = restow("schedule", "-f", "-", stdin=self.of("v1.34.2"))
        assert "1.36 is assumed; its newest kubelet is of 1.34, so --scheduler-version 1.34 may be right" in ran.err
        assert "untolerated taint(s)" in ran.out

    def test_what_is_asked_for_is_not_assumed(self, restow):
        ran = restow("schedule", "-f", "-", "--scheduler-version", "1.33", stdin=self.of("v1.34.2"))
        assert "assumed" not in ran.err
        assert "untolerated taint {gpu: yes}" in ran.out


def test_of_devices_it_says_how_many_are_free_and_how_many_are_wanted(restow):
    claim = a_claim("c", exactly(a_request("r", "gpu", count=2)))
    pod = a_pod("p", spec={"resourceClaims": [uses("d", claim="c")]})
    nodes = [each for name in ("n1", "n2") for each in (a_node(name), a_slice(name, [a_device("a")], node=name))]
    dump = a_list(*nodes, a_device_class("gpu"), claim, a_claim_template("t"), pod)
    ran = restow("schedule", "-f", "-", "--pod", "default/p", stdin=msgspec.json.encode(dump))
    assert " 2  DynamicResources  cannot allocate all claims\n    n1, n2: 1 of 1 devices of class" in ran.out


def test_of_numa_nodes_it_says_where_the_kubelet_refuses_the_pod(restow):
    """The scheduler knows nothing of it, and chooses the node all the same."""
    amounts = {"cpu": "4", "memory": "1Gi"}
    pod = a_pod("p", containers=[{"name": "c", "resources": {"requests": amounts, "limits": amounts}}])
    objects = [a_node("n1", cpu="8"), a_topology_object("n1", {"cpu": (3, 3)}, {"cpu": (5, 3)}), pod]
    busy = {"requests": {"cpu": "2", "memory": "1Mi"}, "limits": {"cpu": "2", "memory": "1Mi"}}
    objects.append(a_pod("busy", node="n1", containers=[{"name": "c", "resources": busy}]))
    ran = restow("schedule", "-f", "-", "--pod", "default/p", stdin=msgspec.json.encode(a_list(*objects)))
    assert "default/p goes to n1" in ran.out
    assert (
        " n1: the kubelet refuses it: it wants 4 CPUs of one NUMA node, and none has more\n   than 3 CPUs free"
        in ran.out
    )


def contest():
    """Room for one of two small pods; a big one fits nowhere, an important one pushes another out."""
    return [
        a_node("n1", cpu="2"),
        a_node("n2", cpu="1"),
        a_node("n3", cpu="8", taints=["gpu=yes:NoSchedule"]),
        a_service("any"),
        a_pdb("any"),
        a_pod("low", node="n1", cpu="1500m", priority=-5),
        a_pod("first", cpu="500m", created="2026-11-21T00:00:01Z"),
        a_pod("second", cpu="700m", created="2026-11-21T00:00:02Z"),
        a_pod("urgent", cpu="2", priority=10, created="2026-11-21T00:00:03Z"),
        a_pod("gated", spec={"schedulingGates": [{"name": "quota"}]}),
    ]


@pytest.fixture
def schedule(restow, tmp_path):
    """Runs the command on a dump of some objects."""
    dump = tmp_path / "cluster.json"

    def ran(objects, *arguments):
        dump.write_text(json.dumps(a_list(*objects)))
        return restow("schedule", "-f", "cluster.json", *arguments)

    return ran


@pytest.fixture
def pods(schedule):
    """The outcomes by name, in their order."""

    def told(objects, *arguments):
        ran = schedule(objects, "-o", "json", *arguments)
        assert ran.status == 0, ran.err
        return {pod["pod"]["name"]: pod for pod in json.loads(ran.out)["pods"]}

    return told


def test_every_pod_is_placed_on_what_the_one_before_has_left(pods):
    told = pods(contest())
    assert list(told) == ["urgent", "first", "second", "gated"]
    assert {name: pod["node"] for name, pod in told.items()} == {
        "urgent": None,
        "first": "n2",
        "second": None,
        "gated": None,
    }


def test_a_pod_that_preempts_is_nominated_and_its_victims_stay(pods):
    told = pods(contest())
    assert told["urgent"]["nominatedNode"] == "n1"
    assert [victim["name"] for victim in told["urgent"]["victims"]] == ["low"]
    assert told["second"]["rejected"]["n1"] == {
        "plugin": "NodeResourcesFit",
        "reasons": ["Insufficient cpu"],
        "unresolvable": False,
    }


def test_a_gated_pod_comes_last_and_says_why(pods):
    assert pods(contest())["gated"]["gated"] == "waiting for scheduling gates: [quota]"


@pytest.mark.parametrize(("asked", "scored"), [((), False), (("--scores-for", "all"), True)])
def test_one_feasible_node_has_scores_only_if_asked_for(pods, asked, scored):
    found = pods([a_node("n1"), a_pod("p")], *asked)["p"]
    assert bool(found["scores"]) is scored
    assert (found["feasible"], found["best"], found["node"]) == (["n1"], ["n1"], "n1")


def test_scores_are_weighted_and_add_up(pods):
    scores = pods([a_node("n1"), a_node("n2"), a_pod("p")])["p"]["scores"]
    assert list(scores) == ["n1", "n2"]
    for by_plugin in scores.values():
        assert by_plugin["TaintToleration"] == 300
        assert by_plugin.pop("total") == sum(by_plugin.values())


def test_the_json_is_the_schema(schedule):
    ran = schedule(contest(), "-o", "json", "--now", NOW)
    result = msgspec.json.decode(ran.out, type=ScheduleResult)
    assert [str(each.pod) for each in result.pods] == [
        f"default/{name}" for name in ("urgent", "first", "second", "gated")
    ]
    assert (result.api_version, result.kind) == ("restow.dev/v1alpha1", "ScheduleResult")
    assert result.metadata.generated_at == NOW
    assert schedule(contest(), "-o", "json", "--now", NOW) == ran


def test_without_pending_pods_there_is_nothing(schedule, pods):
    objects = [a_node("n1"), a_pod("p", node="n1")]
    assert pods(objects) == {}
    ran = schedule(objects)
    assert (ran.status, ran.err) == (0, "")
    assert "No pod is pending" in ran.out


def test_the_table_has_the_answer_first(schedule):
    lines = schedule(contest()).out.splitlines()
    assert lines[0] == "cluster  3 nodes, 5 pods   cluster.json"
    assert lines[2] == "1 of 4 pending pods finds a node"
    assert max(map(len, lines)) <= 80


CLAIMING = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}


class TestWhatRestowDoesNotModel:
    """A pod with resource claims gets no node, and nothing is kept for it; every form says why."""

    WHY = "where it goes is unknown: it claims devices, and objects of kind ResourceClaim are not known here"
    OBJECTS = (
        a_node("n1", cpu="1"),
        a_pod("claiming", cpu="1", priority=10, spec=CLAIMING),
        a_pod("low", cpu="1", node="n1"),
        a_pod("plain", cpu="100m", priority=5),
    )

    def test_json(self, pods):
        found = pods(self.OBJECTS)
        claiming = found["claiming"]
        assert (claiming["node"], claiming["nominatedNode"], claiming["feasible"]) == (None, None, [])
        assert (claiming["message"], claiming["unknown"]) == (self.WHY, self.WHY.partition(": ")[2])
        assert found["plain"]["unknown"] is None
        assert found["plain"]["nominatedNode"] == "n1", "its place is not taken by one that nobody knows a node for"

    def test_table(self, schedule):
        out = schedule(self.OBJECTS).out
        assert "None of the 2 pending pods finds a node" in out
        assert self.WHY in " ".join(out.split())

    def test_one_pod(self, schedule):
        out = schedule(self.OBJECTS, "--pod", "default/claiming").out
        assert "default/claiming gets no node" in out
        assert self.WHY in " ".join(out.split())


@pytest.mark.parametrize("form", ["table", "json"])
def test_nothing_but_the_answer_is_on_stdout_and_nothing_on_stderr(schedule, form):
    assert schedule(contest(), "-o", form).err == ""


def test_timings_are_seconds_by_phase(schedule):
    timings = json.loads(schedule(contest(), "-o", "json", "--timings").out)["metadata"]["timings"]
    assert list(timings) == ["load", "schedule", "report"]
    assert "timings" not in json.loads(schedule(contest(), "-o", "json").out)["metadata"]
    assert re.match(r"cluster  .* cluster\.json, \d+\.\d s\n", schedule(contest(), "--timings").out)


def test_verbose_tells_the_phases_on_stderr(schedule):
    ran = schedule(contest(), "-v", "1")
    assert re.fullmatch(r"load \d+\.\d\d s\nschedule \d+\.\d\d s\nreport \d+\.\d\d s\n", ran.err)


class TestOnePod:
    def test_it_is_asked_on_the_cluster_as_it_is(self, pods):
        assert pods(contest(), "--pod", "default/second")["second"]["node"] == "n2"

    def test_only_it_is_answered(self, pods):
        assert list(pods(contest(), "--pod", "default/second")) == ["second"]

    def test_how_many_are_ahead_of_it_is_told(self, schedule):
        assert "the 2 pods ahead of it in the queue are ignored" in schedule(contest(), "--pod", "default/second").out

    def test_one_that_has_a_node_is_taken_off_it_first(self, schedule, pods):
        told = pods(contest(), "--pod", "default/low")["low"]
        assert (told["currentNode"], told["node"]) == ("n1", "n1")
        ran = schedule(contest(), "--pod", "default/low")
        assert "on n1; scheduled as if it were pending" in ran.out
        assert "default/low stays on n1" in ran.out

    def test_one_on_a_node_that_the_input_does_not_hold(self, schedule):
        ran = schedule([a_node("n1"), a_pod("p", node="gone")], "--pod", "default/p")
        assert "on a node that is missing from the input" in ran.out
        assert "default/p goes to n1" in ran.out

    def test_a_gated_one(self, schedule, pods):
        assert pods(contest(), "--pod", "default/gated")["gated"]["gated"]
        assert (
            "default/gated is gated\n waiting for scheduling gates: [quota]"
            in schedule(contest(), "--pod", "default/gated").out
        )

    @pytest.mark.parametrize(
        ("name", "sentence"),
        [
            ("default/web", "the input holds no pod default/web; did you mean default/web-7f-abc?"),
            ("default/web-7f-abd", "the input holds no pod default/web-7f-abd; did you mean default/web-7f-abc?"),
            ("defautl/web-7f-abx", "the input holds no pod defautl/web-7f-abx; did you mean default/web-7f-abc?"),
            ("other/web-7f-abc", "the input holds no pod other/web-7f-abc; did you mean default/web-7f-abc?"),
            ("web-7f-abc", "web-7f-abc is not of the form NAMESPACE/NAME; did you mean default/web-7f-abc?"),
            ("web", "web is not of the form NAMESPACE/NAME"),
            ("zzz/q", "the input holds no pod zzz/q"),
            ("default/done", "default/done is Succeeded: it is not scheduled again"),
            ("default/going", "default/going is being deleted: it is not scheduled again"),
            (
                "default/foreign",
                "default/foreign asks for the scheduler volcano, whose configuration is not known",
            ),
        ],
    )
    def test_one_that_cannot_be_asked_about(self, schedule, name, sentence):
        objects = [
            a_node("n1"),
            a_pod("web-7f-abc"),
            a_pod("done", node="n1", phase="Succeeded"),
            a_pod("going", deleted=NOW),
            a_pod("foreign", spec={"schedulerName": "volcano"}),
        ]
        ran = schedule(objects, "--pod", name)
        assert (ran.status, ran.out, ran.err) == (2, "", f"--pod: {sentence}\n")


class TestNotes:
    """What is no part of the answer goes to stderr."""

    def told(self, schedule, *objects):
        ran = schedule([a_node("n1"), *objects], "-o", "json")
        assert ran.status == 0
        json.loads(ran.out)
        return ran.err

    def test_pods_of_other_schedulers_are_counted(self, schedule):
        others = [
            a_pod(f"p{at}", spec={"schedulerName": name}) for at, name in enumerate(["volcano", "kueue", "volcano"])
        ]
        assert self.told(schedule, *others) == (
            "3 pending pods use other schedulers and are left out: kueue 1, volcano 2\n"
        )
        assert self.told(schedule, others[0]) == "1 pending pod uses another scheduler and is left out: volcano 1\n"

    @pytest.mark.parametrize(
        ("pod", "kinds"),
        [
            pytest.param(a_pod("p"), "Services", id="default spreading"),
            pytest.param(a_pod("p", owner=RS), "Services and ReplicaSets", id="its owner"),
            pytest.param(
                a_pod("p", volumes=[claim_volume("c")]), "PersistentVolumeClaims, CSINodes and Services", id="claims"
            ),
            pytest.param(
                a_pod("p", affinity=pod_affinity([pod_term(selector(), namespace_selector=TEAM)])),
                "Namespaces and Services",
                id="namespace selector",
            ),
            pytest.param(
                a_pod("p", affinity=pod_affinity([pod_term(selector(), namespace_selector={})])),
                "Services",
                id="every namespace",
            ),
        ],
    )
    def test_kinds_that_an_answer_depends_on_and_the_input_does_not_tell_of(self, schedule, pod, kinds):
        told = self.told(schedule, pod)
        assert told.startswith(f"answers depend on {kinds}, which the input lacks; ")
        assert "kubectl get " in told
        assert told.count("\n") == 1

    def test_budgets_matter_where_a_pod_preempts(self, schedule):
        full = [a_service("s"), a_pod("low", node="n1", cpu="4", priority=-1), a_pod("p", cpu="4")]
        assert "PodDisruptionBudgets" in self.told(schedule, *full)

    def test_kinds_that_the_input_holds_are_not_named(self, schedule):
        held = [a_service("s"), a_replica_set("rs"), a_namespace("default")]
        assert self.told(schedule, *held, a_pod("p", owner=RS)) == ""

    def test_kinds_that_no_pod_depends_on_are_not_named(self, schedule):
        assert self.told(schedule, a_pod("p", node="n1", volumes=[claim_volume("c")])) == ""


class TestConfiguration:
    """The configuration decides who is scheduled, and how."""

    @pytest.fixture
    def configuration(self, tmp_path):
        path = tmp_path / "scheduler.yaml"
        path.write_text(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
            "profiles: [{schedulerName: default-scheduler, plugins: {score: {disabled: [{name: '*'}], enabled: ["
            "{name: NodeResourcesFit, weight: 5}]}}}, {schedulerName: other}]\n"
        )
        return path.name

    def test_its_profiles_score(self, pods, configuration):
        scores = pods([a_node("n1"), a_node("n2"), a_pod("p")], "--scheduler-config", configuration)["p"]["scores"]
        assert set(scores["n1"]) == {"NodeResourcesFit", "total"}
        assert scores["n1"]["total"] % 5 == 0

    def test_pods_of_any_of_its_profiles_are_scheduled(self, schedule, configuration):
        objects = [a_node("n1"), a_pod("p", spec={"schedulerName": "other"})]
        assert "finds a node" in schedule(objects, "--scheduler-config", configuration).out

    def test_the_table_names_it(self, schedule, configuration):
        lines = schedule(contest(), "--scheduler-config", configuration).out.splitlines()
        assert lines[1] == "config   scheduler.yaml"

    def test_one_that_cannot_be_read(self, schedule):
        ran = schedule(contest(), "--scheduler-config", "nope.yaml")
        assert (ran.status, ran.out, ran.err) == (2, "", "nope.yaml: No such file or directory\n")

    def test_standard_input_once(self, restow):
        ran = restow("schedule", "-f", "-", "--scheduler-config", "-")
        assert ran.status == 2
        assert ran.err.startswith("standard input (-) can be read only once")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "no cluster: "),
        (("-f", "c.json", "--context", "staging"), "-f names a dump and --context a live cluster"),
        (("-f", "nope.json"), "nope.json: no such file or directory"),
        (("-f", "-", "-f", "-"), "standard input (-) can be read only once"),
        (("-f", "c.json", "--now", "soon"), '--now: "soon" is not a time'),
        (("-f", "c.json", "-o", "yaml"), 'Invalid value "yaml" for -o'),
        (("c.json",), 'Unexpected argument "c.json"; did you mean -f c.json?'),
    ],
)
def test_unusable_arguments_are_one_sentence(restow, arguments, sentence):
    ran = restow("schedule", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(sentence)
