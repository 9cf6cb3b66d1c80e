"""``restow operator render`` and ``restow plan --kubedescheduler``: what a resource comes to before it is applied."""

from __future__ import annotations

import json

import pytest
import yaml

from builders import NOW, a_list, a_node, a_pod
from builders.kubedeschedulers import EXAMPLES, an_object
from cli.conftest import TOLD, two_of_three_on_one_node
from deploy.manifests import only

UNPROTECTED = (
    "without --cluster the policy does not exclude namespaces such as openshift-monitoring; the operator's does\n"
)


@pytest.fixture
def resource(tmp_path):
    """Writes a resource; returns its name."""

    def written(*profiles, **settings):
        (tmp_path / "k.yaml").write_text(yaml.safe_dump(an_object(*profiles, **settings)))
        return "k.yaml"

    return written


def kinds(out):
    return [each["kind"] for each in yaml.safe_load_all(out) if each]


def policy_in(out):
    return only(list(yaml.safe_load_all(out)), "ConfigMap", "cluster")["data"]["policy.yaml"]


class TestRender:
    def test_every_object_is_printed_and_the_policy_is_readable(self, restow, resource):
        ran = restow("operator", "render", "-f", resource("AffinityAndTaints"))
        assert (ran.status, ran.err) == (0, UNPROTECTED)
        assert kinds(ran.out) == [
            "ServiceAccount",
            "ClusterRole",
            "ClusterRoleBinding",
            "Role",
            "RoleBinding",
            "ConfigMap",
            "ConfigMap",
            "Service",
            "Deployment",
        ]
        assert "  policy.yaml: |\n    apiVersion: descheduler/v1alpha2\n" in ran.out

    def test_its_policy_is_valid_to_the_other_command(self, restow, resource):
        out = restow("operator", "render", "-f", resource("LifecycleAndUtilization")).out
        checked = restow("policy", "validate", "-", stdin=policy_in(out).encode())
        assert checked == (0, "standard input: valid\n", "")

    def test_for_openshift(self, restow, resource):
        ran = restow("operator", "render", "-f", resource("AffinityAndTaints"), "--openshift")
        assert "ServiceMonitor" in kinds(ran.out)
        assert "--tls-cert-file=/certs-dir/tls.crt" in ran.out

    def test_the_image_is_that_of_the_option_else_of_the_environment(self, restow, resource, monkeypatch):
        name = resource("AffinityAndTaints")
        monkeypatch.setenv("RELATED_IMAGE_OPERAND_IMAGE", "from/environment:1")
        assert "image: from/environment:1\n" in restow("operator", "render", "-f", name).out
        assert "image: mine:2\n" in restow("operator", "render", "-f", name, "--image", "mine:2").out

    def test_the_soft_tainter_may_have_an_image_of_its_own(self, restow, resource, monkeypatch):
        name = resource("KubeVirtRelieveAndMigrate", mode="Automatic")
        asked = ("operator", "render", "-f", name, "--prometheus-url", "https://p.example.com", "--image", "mine:2")

        def images():
            made = [each for each in yaml.safe_load_all(restow(*asked).out) if each["kind"] == "Deployment"]
            return [each["spec"]["template"]["spec"]["containers"][0]["image"] for each in made]

        assert images() == ["mine:2", "mine:2"]
        monkeypatch.setenv("RELATED_IMAGE_SOFTTAINTER_IMAGE", "other:1")
        assert images() == ["mine:2", "other:1"]

    def test_with_a_cluster_its_protected_namespaces_are_excluded(self, restow, resource, tmp_path):
        pod = a_pod("p", namespace="openshift-monitoring", node="n1", owner=("ReplicaSet", "rs"))
        (tmp_path / "cluster.json").write_text(json.dumps(a_list(a_node("n1"), pod)))
        ran = restow("operator", "render", "-f", resource("AffinityAndTaints"), "--cluster", "cluster.json")
        assert (ran.status, ran.err) == (0, "")
        assert "- openshift-monitoring\n" in policy_in(ran.out)

    def test_a_profile_that_asks_prometheus_needs_to_know_where_it_is(self, restow, resource):
        name = resource("KubeVirtRelieveAndMigrate")
        ran = restow("operator", "render", "-f", name)
        assert (ran.status, ran.out) == (2, "")
        assert "k.yaml: unable to get openshift-monitoring/prometheus-k8s route" in ran.err
        ran = restow("operator", "render", "-f", name, "--prometheus-url", "https://p.example.com")
        assert ran.status == 0
        assert "url: https://p.example.com\n" in policy_in(ran.out)

    @pytest.mark.parametrize(
        ("state", "does"), [("Removed", "removes the descheduler"), ("Unmanaged", "touches nothing")]
    )
    def test_without_objects_it_says_why(self, restow, resource, state, does):
        ran = restow("operator", "render", "-f", resource("AffinityAndTaints", managementState=state))
        assert (ran.status, ran.out) == (0, "")
        assert ran.err.endswith(f"k.yaml: with spec.managementState {state} the operator {does}\n")

    def test_every_problem_is_a_sentence(self, restow, resource):
        name = resource("CompactAndScale", "LongLifecycle", name="mine", evictionLimits={"total": -1})
        ran = restow("operator", "render", "-f", name)
        assert (ran.status, ran.out) == (2, "")
        assert ran.err == UNPROTECTED + "k.yaml: kubedescheduler is a singleton, .metadata.name must be 'cluster'\n"
        ran = restow(
            "operator", "render", "-f", resource("CompactAndScale", "LongLifecycle", evictionLimits={"total": -1})
        )
        assert ran.err.removeprefix(UNPROTECTED).splitlines() == [
            "k.yaml: spec.evictionLimits.total in body should be greater than or equal to 0",
            "k.yaml: cannot declare CompactAndScale and LongLifecycle profiles simultaneously",
        ]

    def test_a_file_that_is_no_resource(self, restow):
        ran = restow("operator", "render", "-f", "-", stdin=b"kind: Pod\n")
        assert ran.status == 2
        assert ran.err.splitlines() == [
            "standard input:1: apiVersion: must be operator.openshift.io/v1",
            "standard input:1: kind: must be KubeDescheduler, not 'Pod'",
        ]

    def test_it_needs_a_file(self, restow):
        assert restow("operator", "render").status == 2

    @pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
    def test_every_example_is_rendered_and_its_policy_is_valid(self, restow, path):
        ran = restow("operator", "render", "-f", path, "--prometheus-url", "https://prometheus.example.com")
        assert ran.status == 0
        checked = restow("policy", "validate", "-", stdin=policy_in(ran.out).encode())
        assert checked.status == 0


class TestPlan:
    def plan(self, restow, cluster, name, *options):
        return restow("plan", "-f", cluster, "--kubedescheduler", name, "--now", NOW, *options)

    def test_it_plans_what_the_operators_policy_would_do(self, restow, cluster, resource):
        ran = self.plan(restow, cluster, resource("TopologyAndDuplicates", mode="Automatic"), "-o", "json")
        assert (ran.status, ran.err) == (0, "")
        (move,) = json.loads(ran.out)["moves"]
        assert (move["plugin"], move["profile"]) == ("RemoveDuplicates", "TopologyAndDuplicates")

    def test_predictive_mode_is_told(self, restow, cluster, resource):
        ran = self.plan(restow, cluster, resource("TopologyAndDuplicates"))
        assert "k.yaml: spec.mode is Predictive: these moves are logged and not made; Automatic makes them\n" in ran.err
        assert "policy   k.yaml" in ran.out

    def test_the_policy_knows_the_namespaces_of_the_cluster(self, restow, resource, tmp_path):
        objects = two_of_three_on_one_node()
        for each in objects:
            if each["kind"] == "Pod":
                each["metadata"]["namespace"] = "openshift-monitoring"
        (tmp_path / "c.json").write_text(json.dumps(a_list(*objects, *TOLD)))
        ran = self.plan(restow, "c.json", resource("TopologyAndDuplicates", mode="Automatic"), "-o", "json")
        assert json.loads(ran.out)["moves"] == []

    @pytest.mark.parametrize(
        ("options", "named"),
        [
            (("--policy-config-file", "p.yaml"), "--policy-config-file"),
            (
                ("--node-selector", "a=b"),
                "--node-selector, --max-pods-to-evict-per-node and --evict-local-storage-pods",
            ),
        ],
    )
    def test_only_one_thing_says_what_the_policy_is(self, restow, cluster, resource, options, named):
        ran = self.plan(restow, cluster, resource("TopologyAndDuplicates"), *options)
        assert ran == (2, "", f"--kubedescheduler says what the policy is; leave {named} out\n")

    def test_what_the_cluster_stands_against_is_told(self, restow, cluster, resource):
        ran = self.plan(restow, cluster, resource("KubeVirtRelieveAndMigrate"))
        assert ran.status == 2
        assert ran.err.endswith(
            "k.yaml: profile KubeVirtRelieveAndMigrate can only be used when KubeVirt is properly deployed\n"
        )

    def test_without_a_descheduler_there_is_nothing_to_plan(self, restow, cluster, resource):
        ran = self.plan(restow, cluster, resource("TopologyAndDuplicates", managementState="Removed"))
        assert ran.status == 2
        assert ran.err.endswith(
            "k.yaml: with spec.managementState Removed the operator removes the descheduler, so there is nothing to plan\n"
        )

    def test_a_resource_that_cannot_be_read_is_told_before_the_cluster_is(self, restow, resource):
        ran = self.plan(restow, "nowhere.json", resource("TopologyAndDuplicates", mode="x"))
        assert ran.status == 2
        assert "nowhere.json" not in ran.err

    def test_standard_input_is_read_once(self, restow):
        ran = restow("plan", "-f", "-", "--kubedescheduler", "-")
        assert ran == (2, "", "standard input (-) can be read only once; put the other input into a file\n")
