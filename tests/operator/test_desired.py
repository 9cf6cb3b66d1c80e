"""What should be in the cluster: the objects, how the descheduler is run, and when it is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from builders.kubedeschedulers import INSTALLED, OPENSHIFT, a_kubedescheduler, an_object
from deploy.manifests import KUBERNETES, documents, granted, manifests, only, pod_of
from restow.cli.app import app
from restow.cli.descheduler import as_restow
from restow.cli.run import canonical
from restow.cli.run_flags import Flags
from restow.kube.duration import SECOND
from restow.operator.desired import desired
from restow.operator.facts import Facts
from restow.operator.operand import arguments
from restow.operator.resource import NAMESPACE, resource_of
from restow.operator.rights import OPERAND
from restow.operator.rules import SINGLETON, OperatorCondition

VANILLA = Facts(namespaces=("kube-system", "shop"))
POLICY = ["--policy-config-file=/policy-dir/policy.yaml", "--logging-format=text"]
PUBLISHED = f"--publish-plan={NAMESPACE}/descheduler-plan"
CERTIFICATE = ["--tls-cert-file=/certs-dir/tls.crt", "--tls-private-key-file=/certs-dir/tls.key"]


def done(*profiles: str, facts: Facts = OPENSHIFT, **settings: Any) -> Any:
    return desired(a_kubedescheduler(*profiles, **settings), facts, INSTALLED)


def objects(*profiles: str, **settings: Any) -> list[Any]:
    return list(done(*profiles, **settings).objects)


def container(*profiles: str, kind: str = "Deployment", **settings: Any) -> Any:
    workloads = [each for each in objects(*profiles, **settings) if each["metadata"]["name"] == "descheduler"]
    (one,) = pod_of(only(workloads, kind))["spec"]["containers"]
    return one


def of_kinds(things: list[Any]) -> list[tuple[str, str]]:
    return [(each["kind"], each["metadata"]["name"]) for each in things]


class TestArguments:
    @pytest.mark.parametrize(
        ("profile", "settings", "gate"),
        [
            ("LifecycleAndUtilization", {}, []),
            (
                "LifecycleAndUtilization",
                {"custom": {"devEnableEvictionsInBackground": True}},
                ["--feature-gates=EvictionsInBackground=true"],
            ),
            ("DevKubeVirtRelieveAndMigrate", {}, ["--feature-gates=EvictionsInBackground=true"]),
        ],
    )
    def test_those_of_openshifts_operator_in_its_order(self, profile, settings, gate):
        args = container(profile, mode="Automatic", deschedulingIntervalSeconds=10, **settings)["args"]
        assert args == [*POLICY, *CERTIFICATE, "--descheduling-interval=10s", *gate, PUBLISHED, "-v=2"]

    def test_predictive_is_a_dry_run_and_the_default(self):
        assert "--dry-run=true" in container("AffinityAndTaints")["args"]
        assert "--dry-run=true" not in container("AffinityAndTaints", mode="Automatic")["args"]

    @pytest.mark.parametrize(("level", "v"), [("", 2), ("Normal", 2), ("Debug", 4), ("Trace", 6), ("TraceAll", 8)])
    def test_log_levels(self, level, v):
        assert container("AffinityAndTaints", logLevel=level)["args"][-1] == f"-v={v}"

    def test_tls_as_openshift_is_set_up(self):
        facts = replace(OPENSHIFT, tls_min_version="VersionTLS12", tls_cipher_suites=("A", "B"))
        args = container("AffinityAndTaints", facts=facts, mode="Automatic")["args"]
        assert args[-4:-2] == ["--tls-cipher-suites=A,B", "--tls-min-version=VersionTLS12"]

    def test_without_openshift_restow_makes_its_own_certificate(self):
        one = container("AffinityAndTaints", facts=VANILLA)
        assert not any("tls" in each for each in one["args"])
        assert [each["mountPath"] for each in one["volumeMounts"]] == ["/policy-dir"]

    @pytest.mark.parametrize("facts", [OPENSHIFT, VANILLA], ids=["OpenShift", "Kubernetes"])
    def test_they_are_flags_of_restow_run(self, facts):
        spec = a_kubedescheduler("LongLifecycle", custom={"devEnableEvictionsInBackground": True}).spec
        facts = replace(facts, tls_min_version="VersionTLS13", tls_cipher_suites=("TLS_AES_128_GCM_SHA256",))
        command, *flags = as_restow(arguments(spec, facts, NAMESPACE))
        words = [command, *canonical(flags)]
        _, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
        (given,) = bound.arguments.values()
        assert (given.dry_run, given.descheduling_interval, given.v) == (True, 3600 * SECOND, 2)


class TestObjects:
    def test_on_openshift(self):
        assert of_kinds(objects("AffinityAndTaints")) == [
            ("ServiceAccount", "openshift-descheduler-operand"),
            ("ClusterRole", "openshift-descheduler-operand"),
            ("ClusterRoleBinding", "openshift-descheduler-operand"),
            ("Role", "openshift-descheduler-operand"),
            ("RoleBinding", "openshift-descheduler-operand"),
            ("ConfigMap", "descheduler-plan"),
            ("ConfigMap", "cluster"),
            ("Service", "metrics"),
            ("ServiceMonitor", "kube-descheduler"),
            ("Role", "prometheus-k8s"),
            ("RoleBinding", "prometheus-k8s"),
            ("Deployment", "descheduler"),
        ]

    def test_only_a_policy_that_names_a_prometheus_comes_with_the_right_to_ask_that_of_openshift(self):
        view = ("ClusterRoleBinding", "cluster-monitoring-view-cr")
        custom = {"devActualUtilizationProfile": "PrometheusCPUUsage"}
        assert view in of_kinds(objects("LongLifecycle", custom=custom))
        assert view in of_kinds(objects("KubeVirtRelieveAndMigrate"))
        assert view not in of_kinds(objects("LongLifecycle"))
        facts = replace(OPENSHIFT, is_openshift=False)
        assert view not in of_kinds(objects("LongLifecycle", custom=custom, facts=facts))

    def test_elsewhere(self):
        assert of_kinds(objects("AffinityAndTaints", facts=VANILLA)) == [
            ("ServiceAccount", "openshift-descheduler-operand"),
            ("ClusterRole", "openshift-descheduler-operand"),
            ("ClusterRoleBinding", "openshift-descheduler-operand"),
            ("Role", "openshift-descheduler-operand"),
            ("RoleBinding", "openshift-descheduler-operand"),
            ("ConfigMap", "descheduler-plan"),
            ("ConfigMap", "cluster"),
            ("Service", "metrics"),
            ("Deployment", "descheduler"),
        ]

    def test_elsewhere_with_service_monitors(self):
        facts = replace(VANILLA, has_service_monitors=True)
        monitor = only(objects("AffinityAndTaints", facts=facts), "ServiceMonitor")
        (endpoint,) = monitor["spec"]["endpoints"]
        assert endpoint["tlsConfig"] == {"insecureSkipVerify": True}
        assert "bearerTokenFile" not in endpoint

    def test_the_config_map_holds_the_policy(self):
        made = done("AffinityAndTaints")
        data = only(list(made.objects), "ConfigMap", "cluster")["data"]
        assert data == {"policy.yaml": made.policy}
        assert yaml.safe_load(made.policy)["kind"] == "DeschedulerPolicy"

    def test_rights_are_those_of_the_manifests(self):
        reading = documents(KUBERNETES / "base" / "reading.yaml")[0]["rules"]
        evicting = documents(KUBERNETES / "base" / "evicting.yaml")[0]["rules"]
        role = only(objects("AffinityAndTaints", mode="Automatic"), "ClusterRole")
        assert granted(role["rules"]) == granted([*reading, *evicting])

    def test_in_predictive_mode_nothing_can_be_evicted_whatever_is_run(self):
        role = only(objects("AffinityAndTaints"), "ClusterRole")
        assert {verb for _, _, verb in granted(role["rules"])} == {"list", "watch"}

    @pytest.mark.parametrize("mode", ["Predictive", "Automatic"])
    def test_the_one_thing_that_it_may_write_in_its_namespace_is_its_last_plan(self, mode):
        things = objects("AffinityAndTaints", mode=mode)
        (rule,) = only(things, "Role", OPERAND)["rules"]
        assert rule == {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": ["descheduler-plan"],
            "verbs": ["patch"],
        }
        # What it writes there is not the operator's.
        assert "data" not in only(things, "ConfigMap", "descheduler-plan")

    def test_the_pod_is_that_of_the_manifests(self):
        """Apart from names, from what tells replicas from one another, and from where things are mounted."""
        ours = pod_of(only(objects("AffinityAndTaints", facts=VANILLA), "Deployment"))["spec"]
        theirs = pod_of(only(manifests(KUBERNETES / "deployment"), "Deployment"))["spec"]
        for field in ("priorityClassName", "securityContext", "terminationGracePeriodSeconds"):
            assert ours[field] == theirs[field]
        mine, other = ours["containers"][0], theirs["containers"][0]
        for field in ("resources", "securityContext"):
            assert mine[field] == other[field]
        for probe in ("livenessProbe", "readinessProbe"):
            ports = {"httpGet": other[probe]["httpGet"] | {"port": "https"}}
            assert mine[probe] == other[probe] | ports

    def test_the_service_selects_the_pods(self):
        things = objects("AffinityAndTaints")
        service, monitor = only(things, "Service"), only(things, "ServiceMonitor")
        assert service["spec"]["selector"] == pod_of(only(things, "Deployment"))["metadata"]["labels"]
        assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        assert service["spec"]["ports"][0]["port"] == Flags.secure_port

    def test_a_changed_policy_changes_the_pods(self):
        def template(**limits: int) -> Any:
            return pod_of(only(objects("AffinityAndTaints", evictionLimits=limits), "Deployment"))["metadata"]

        assert template() == template()
        assert template() != template(total=1)

    def test_there_are_never_two_at_a_time(self):
        spec = only(objects("AffinityAndTaints"), "Deployment")["spec"]
        assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})

    def test_an_interval_of_zero_is_a_single_run_for_each_generation(self):
        thing = an_object("AffinityAndTaints", deschedulingIntervalSeconds=0)
        thing["metadata"]["generation"] = 7
        made = list(desired(resource_of(thing), OPENSHIFT, INSTALLED).objects)
        assert {"Deployment", "Service", "ServiceMonitor"}.isdisjoint(each["kind"] for each in made)
        job = only(made, "Job")
        assert job["metadata"]["name"] == "descheduler-run-7"
        pod = job["spec"]["template"]["spec"]
        assert pod["restartPolicy"] == "Never"
        assert "--descheduling-interval=0s" in pod["containers"][0]["args"]
        assert "livenessProbe" not in pod["containers"][0]
        # Nobody would make the certificate.
        assert [each["name"] for each in pod["volumes"]] == ["policy-volume"]
        assert not any("tls" in each for each in pod["containers"][0]["args"])

    def test_what_is_in_the_namespace_is_owned_by_the_resource_and_the_rest_cannot_be(self):
        thing = an_object("AffinityAndTaints")
        thing["metadata"]["uid"] = "u-1"
        for each in desired(resource_of(thing), OPENSHIFT, INSTALLED).objects:
            metadata = each["metadata"]
            owners = [owner["uid"] for owner in metadata.get("ownerReferences", ())]
            assert owners == (["u-1"] if "namespace" in metadata else [])
            assert metadata["labels"]["app.kubernetes.io/managed-by"] == "restow-operator"

    def test_a_file_owns_nothing(self):
        assert not any("ownerReferences" in each["metadata"] for each in objects("AffinityAndTaints"))

    def test_the_image_and_the_namespace_are_those_of_the_installation(self):
        installed = replace(INSTALLED, image="mine", namespace="tools")
        thing = an_object("AffinityAndTaints")
        thing["metadata"]["namespace"] = "tools"
        made = list(desired(resource_of(thing), OPENSHIFT, installed).objects)
        assert NAMESPACE not in yaml.safe_dump([each for each in made if each["kind"] != "ConfigMap"])
        assert pod_of(only(made, "Deployment"))["spec"]["containers"][0]["image"] == "mine"

    def test_the_same_resource_comes_to_the_same_objects(self):
        assert done("LongLifecycle") == done("LongLifecycle")


class TestActions:
    @pytest.mark.parametrize("state", ["Managed", "Force"])
    def test_managed(self, state):
        assert done("AffinityAndTaints", managementState=state).action == "apply"

    @pytest.mark.parametrize(("state", "action"), [("Unmanaged", "leave"), ("Removed", "remove")])
    def test_not_managed(self, state, action):
        made = done("AffinityAndTaints", managementState=state)
        assert (made.action, made.objects) == (action, ())
        assert {each.status for each in made.conditions} == {"False"}

    def test_what_cannot_be_removed_can_always_be_left(self):
        """A resource that nobody could carry out is removed all the same."""
        assert done(managementState="Removed").action == "remove"

    def test_a_plain_problem_leaves_the_descheduler_with_its_policy(self):
        custom = {"thresholdPriority": 1, "thresholdPriorityClassName": "a"}
        made = done("LifecycleAndUtilization", custom=custom)
        assert (made.action, made.objects, made.policy) == ("leave", (), "")

    def test_a_grave_problem_stops_the_descheduler(self):
        facts = replace(OPENSHIFT, has_kubevirt_nodes=False)
        assert done("DevKubeVirtRelieveAndMigrate", facts=facts).action == "stop"

    def test_a_bad_interval_stops_the_descheduler(self):
        assert done("AffinityAndTaints", deschedulingIntervalSeconds=-10).action == "stop"

    def test_another_name_touches_nothing_and_is_told_why(self):
        made = done("AffinityAndTaints", name="other")
        assert (made.action, made.objects) == ("leave", ())
        assert made.conditions[0] == OperatorCondition(
            "TargetConfigControllerDegraded", "True", "NotTheSingleton", SINGLETON
        )


class TestConditions:
    def test_all_is_well(self):
        assert done("AffinityAndTaints").conditions == (
            OperatorCondition("TargetConfigControllerDegraded", "False", "AsExpected"),
            OperatorCondition("Degraded", "False", "AsExpected"),
            OperatorCondition("Limited", "False", "AsExpected"),
        )

    def test_every_problem_is_in_the_message_and_the_first_gives_the_reason(self):
        custom = {"namespaces": {"included": ["kube-system"], "excluded": ["a"]}}
        first, second, _ = done("LongLifecycle", "LifecycleAndUtilization", custom=custom).conditions
        assert (first.type, second.type) == ("TargetConfigControllerDegraded", "Degraded")
        assert first.reason == second.reason == "ConflictingProfiles"
        assert first.message.count("; ") == 2

    def test_what_has_less_effect_than_it_says_is_told(self):
        made = done("KubeVirtRelieveAndMigrate", "AffinityAndTaints")
        limited = made.conditions[-1]
        assert (limited.type, limited.status) == ("Limited", "True")
        assert [each.reason for each in made.notices] == [
            "NoMigrationCooldown",
            "OnlyKubeVirtNodes",
        ]
