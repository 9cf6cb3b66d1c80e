"""The manifests are complete, alike, unprivileged, and grant exactly what restow asks the API server for."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from builders.policies import PLUGINS
from deploy.manifests import CHART, DEPLOY, KUBERNETES, WAYS, documents, granted, manifests, only, pod_of
from restow.cli.app import app
from restow.cli.pressure_run import settings_of
from restow.cli.run import canonical, run
from restow.cli.run_flags import Flags
from restow.client.resources import (
    CONFIG_MAPS,
    EVENTS,
    LEASES,
    MIGRATIONS,
    MUTATING_POLICY_BINDINGS,
    MUTATING_WEBHOOKS,
    RESOURCES,
    VALIDATING_POLICIES,
    VALIDATING_POLICY_BINDINGS,
    VIRTUAL_MACHINE_INSTANCES,
    ApiResource,
)
from restow.cluster.pod_reading import STEERING_GATE
from restow.daemon.background import ENDS_WITHIN, MOST_LAG
from restow.daemon.logs import Log
from restow.descheduler import cycles
from restow.descheduler.prerequisites import BINDING, CONFIGURATION, FENCING_GUARD, STEERING_GUARD
from restow.executing.admission import PATH
from restow.executing.confirming import KINDS
from restow.executing.fencing import LEASE as FENCE_LEASE
from restow.executing.steering import CONFIG_MAP
from restow.executing.surroundings import ExecutionSettings
from restow.kube.taints import FENCE
from restow.live.reading import METRICS, READ
from restow.policies.lint import lint_policy
from restow.pressure.marking import Mark
from restow.pressure.rules import read_rules

WORKLOADS = {"job": "Job", "cronjob": "CronJob", "deployment": "Deployment"}
RULES = ("base/reading.yaml", "base/evicting.yaml", "deployment/leader-election.yaml", "metrics-api/metrics-api.yaml")
YAML = [path for path in sorted(DEPLOY.rglob("*.yaml")) if "templates" not in path.parts]


def workload(way):
    return only(manifests(KUBERNETES / way), WORKLOADS[way])


def container(way):
    (one,) = pod_of(workload(way))["spec"]["containers"]
    return one


def right(resource: ApiResource, verb: str, subresource: str = "") -> tuple[str, str, str]:
    return resource.group, f"{resource.plural}/{subresource}" if subresource else resource.plural, verb


def rules(file: str):
    return next(each["rules"] for each in documents(KUBERNETES / file) if each["kind"] in {"ClusterRole", "Role"})


@pytest.mark.parametrize("file", YAML, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_every_file_of_yaml_can_be_read(file: Path):
    assert documents(file)


@pytest.mark.parametrize("way", WAYS)
def test_every_resource_of_a_kustomization_is_there(way):
    kinds = [each["kind"] for each in manifests(KUBERNETES / way)]
    assert kinds[:1] == ["ServiceAccount"]
    assert WORKLOADS[way] in kinds


def test_reading_is_granted_for_the_kinds_that_restow_reads_and_no_others():
    wanted = {right(RESOURCES[kind], verb) for kind in READ for verb in ("list", "watch")}
    assert granted(rules("base/reading.yaml")) == wanted


def test_evicting_is_granted_as_the_client_evicts_and_tells():
    wanted = {right(RESOURCES["Pod"], "create", "eviction"), right(EVENTS, "create"), right(EVENTS, "update")}
    assert granted(rules("base/evicting.yaml")) == wanted


def test_only_the_lease_of_the_flags_defaults_is_granted_and_in_its_namespace_only():
    file = "deployment/leader-election.yaml"
    create, rest = rules(file)
    assert granted([create]) == {right(LEASES, "create")}
    assert granted([rest]) == {right(LEASES, "get"), right(LEASES, "update")}
    assert rest["resourceNames"] == [Flags.leader_elect_resource_name]
    assert documents(KUBERNETES / file)[0]["kind"] == "Role"
    kustomization = documents(KUBERNETES / "deployment" / "kustomization.yaml")[0]
    assert kustomization["namespace"] == Flags.leader_elect_resource_namespace


def test_usage_is_granted_apart():
    wanted = {right(RESOURCES[kind], "list") for kind in METRICS}
    assert granted(rules("metrics-api/metrics-api.yaml")) == wanted


def test_steering_is_granted_apart_and_no_more_than_it_writes():
    roles = {each["metadata"]["name"]: each for each in documents(KUBERNETES / "steering" / "rights.yaml")[::2]}
    wanted = {
        right(RESOURCES["Pod"], "patch"),
        right(RESOURCES["Pod"], "patch", "status"),
        right(MUTATING_POLICY_BINDINGS, "get"),
        right(VALIDATING_POLICIES, "get"),
        right(VALIDATING_POLICY_BINDINGS, "get"),
    }
    assert granted(roles["restow-steering"]["rules"]) == wanted
    assert roles["restow-gating"]["kind"] == "Role"
    assert granted(roles["restow-gating"]["rules"]) == {right(CONFIG_MAPS, "patch")}
    named = [rule["resourceNames"] for role in roles.values() for rule in role["rules"] if "resourceNames" in rule]
    assert named == [[BINDING], [STEERING_GUARD.name], [CONFIG_MAP]]


def test_fencing_is_granted_apart_and_no_more_than_it_writes():
    roles = {each["kind"]: each for each in documents(KUBERNETES / "fencing" / "rights.yaml")[::2]}
    assert granted(roles["ClusterRole"]["rules"]) == {
        right(RESOURCES["Node"], "patch"),
        right(VALIDATING_POLICIES, "get"),
        right(VALIDATING_POLICY_BINDINGS, "get"),
    }
    (named,) = (rule["resourceNames"] for rule in roles["ClusterRole"]["rules"] if "resourceNames" in rule)
    assert named == [FENCING_GUARD.name]
    create, rest = roles["Role"]["rules"]
    assert granted([create]) == {right(LEASES, "create")}
    assert granted([rest]) == {right(LEASES, "get"), right(LEASES, "update")}
    assert rest["resourceNames"] == [FENCE_LEASE]


def test_whoever_patches_nodes_is_held_to_one_taint():
    """Without the policy the right to patch nodes would be one to evict all of their pods."""
    objects = list(manifests(KUBERNETES / "fencing"))
    guard = only(objects, "ValidatingAdmissionPolicy")["spec"]
    assert guard["failurePolicy"] == "Fail"
    assert guard["matchConstraints"]["resourceRules"][0]["resources"] == ["nodes", "nodes/status"]
    assert all(f"taint.key != '{FENCE}'" in each["expression"] for each in guard["variables"])
    binding = only(objects, "ValidatingAdmissionPolicyBinding")
    assert binding["metadata"]["name"] == FENCING_GUARD.name
    assert binding["spec"]["validationActions"] == ["Deny"]


def test_confirming_is_granted_apart_and_held_to_dry_runs():
    role = documents(KUBERNETES / "confirming" / "rights.yaml")[0]
    reading = {right(RESOURCES[kind], "get") for kind in (*KINDS, "ControllerRevision")}
    assert granted(role["rules"]) == {right(RESOURCES["Pod"], "create"), *reading}
    objects = list(manifests(KUBERNETES / "confirming"))
    guard = only(objects, "ValidatingAdmissionPolicy")["spec"]
    assert guard["failurePolicy"] == "Fail"
    only_dry_runs, unless_it_has_placeholders = guard["validations"][0]["expression"].split(" || ")
    assert only_dry_runs == "(has(request.dryRun) && request.dryRun)"
    assert "check('delete').allowed()" in unless_it_has_placeholders
    assert only(objects, "ValidatingAdmissionPolicyBinding")["spec"]["validationActions"] == ["Deny"]


def test_migrating_is_granted_apart_and_no_more_than_kubevirt_is_asked_for():
    role = documents(KUBERNETES / "migrating" / "rights.yaml")[0]
    asked = {right(MIGRATIONS, verb) for verb in ("create", "get", "delete")}
    assert granted(role["rules"]) == asked | {right(VIRTUAL_MACHINE_INSTANCES, "get")}


def test_the_objects_of_steering_have_the_names_that_restow_asks_for():
    objects = list(manifests(KUBERNETES / "steering"))
    (binding,) = (each for each in objects if each["kind"] == MUTATING_POLICY_BINDINGS.kind)
    assert binding["metadata"]["name"] == BINDING
    assert binding["spec"]["paramRef"]["name"] == CONFIG_MAP == only(objects, "ConfigMap")["metadata"]["name"]
    policy = only(objects, "MutatingAdmissionPolicy")["spec"]
    assert policy["failurePolicy"] == "Ignore"
    assert STEERING_GATE in policy["mutations"][0]["applyConfiguration"]["expression"]
    assert binding["spec"]["paramRef"]["parameterNotFoundAction"] == "Allow"


def test_the_webhook_is_granted_apart_and_may_not_change_its_configuration():
    cluster_wide, _, in_its_namespace, _ = documents(KUBERNETES / "steering-webhook" / "rights.yaml")
    assert cluster_wide["kind"] == "ClusterRole"
    assert granted(cluster_wide["rules"]) == {right(MUTATING_WEBHOOKS, "get")}
    assert in_its_namespace["kind"] == "Role"
    assert granted(in_its_namespace["rules"]) == {right(CONFIG_MAPS, verb) for verb in ("list", "watch")}
    named = [role["rules"][0]["resourceNames"] for role in (cluster_wide, in_its_namespace)]
    assert named == [[CONFIGURATION], [CONFIG_MAP]]


def test_no_pod_needs_the_webhook_and_it_is_asked_about_those_that_the_policy_would_gate():
    (configuration,) = documents(KUBERNETES / "steering-webhook" / "webhook.yaml")
    (webhook,) = configuration["webhooks"]
    assert configuration["metadata"]["name"] == CONFIGURATION
    assert (webhook["failurePolicy"], webhook["timeoutSeconds"], webhook["sideEffects"]) == ("Ignore", 1, "None")
    assert webhook["clientConfig"]["service"]["path"] == PATH
    policy = only(manifests(KUBERNETES / "steering"), "MutatingAdmissionPolicy")["spec"]
    (asked,) = webhook["rules"]
    assert asked == policy["matchConstraints"]["resourceRules"][0] | {"scope": "Namespaced"}
    assert webhook["matchConditions"][0] == policy["matchConditions"][0]


def test_the_service_of_the_webhook_is_where_the_server_is():
    (service,) = documents(KUBERNETES / "steering-webhook" / "service.yaml")
    (configuration,) = documents(KUBERNETES / "steering-webhook" / "webhook.yaml")
    asked = configuration["webhooks"][0]["clientConfig"]["service"]
    assert asked["name"] == service["metadata"]["name"]
    assert service["spec"]["ports"][0] == {"name": "https", "port": 443, "targetPort": Flags.secure_port}
    labels = pod_of(workload("deployment"))["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()


def test_whoever_patches_pods_is_held_to_less():
    """Without the policy the right to patch pods would be one to change their images."""
    guard, binding = (each["spec"] for each in named(STEERING_GUARD.name))
    assert guard["failurePolicy"] == "Fail"
    assert guard["matchConstraints"]["resourceRules"][0]["resources"] == ["pods", "pods/status"]
    assert binding["validationActions"] == ["Deny"]


def named(name):
    """A validating policy of steering, and its binding."""
    kinds = (VALIDATING_POLICIES.kind, VALIDATING_POLICY_BINDINGS.kind)
    found = {each["kind"]: each for each in manifests(KUBERNETES / "steering") if each["metadata"]["name"] == name}
    return [found[kind] for kind in kinds]


def test_nobody_else_gives_the_gate_and_no_pod_needs_the_policy_to_start():
    policy, binding = (each["spec"] for each in named("restow-steering-gate"))
    gating = only(manifests(KUBERNETES / "steering"), "MutatingAdmissionPolicyBinding")["spec"]
    assert policy["failurePolicy"] == "Ignore"
    assert (binding["validationActions"], binding["paramRef"]) == (["Deny"], gating["paramRef"])
    (condition,) = policy["matchConditions"]
    assert f"gate.name == '{STEERING_GATE}'" in condition["expression"]


@pytest.mark.parametrize("file", RULES)
def test_every_rule_has_a_comment_that_says_why(file):
    lines = (KUBERNETES / file).read_text().splitlines()
    above = [before for before, line in pairwise(lines) if line.startswith("  - apiGroups")]
    assert len(above) == len(rules(file))
    assert all(line.startswith("  # ") for line in above)


@pytest.mark.parametrize("way", WAYS)
def test_a_pod_has_no_more_rights_on_its_node_than_it_needs(way):
    pod = pod_of(workload(way))["spec"]
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container(way)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container(way)["resources"]["requests"].keys() == {"cpu", "memory"}


def test_the_three_pods_differ_only_in_what_a_loop_needs():
    job, cronjob, deployment = (pod_of(workload(way)) for way in WAYS)
    assert cronjob == job
    for only_there in ("ports", "livenessProbe", "readinessProbe"):
        del deployment["spec"]["containers"][0][only_there]
    del deployment["spec"]["topologySpreadConstraints"]
    del job["spec"]["restartPolicy"]
    shared = job["spec"]["containers"][0]["args"]
    assert deployment["spec"]["containers"][0].pop("args")[: len(shared)] == job["spec"]["containers"][0].pop("args")
    assert deployment == job


@pytest.mark.parametrize("way", WAYS)
def test_restow_comes_to_its_end_before_the_kubelet_kills_it(way):
    """With what a busy node may take until SIGTERM is heard."""
    assert pod_of(workload(way))["spec"]["terminationGracePeriodSeconds"] >= ENDS_WITHIN + 5


@pytest.mark.parametrize("way", ["job", "cronjob"])
def test_a_job_that_hangs_is_ended_but_not_before_restow_itself_would_give_up(way):
    """Else a CronJob that forbids two at once would never start another."""
    spec = workload(way)["spec"]
    job = spec.get("jobTemplate", workload(way))["spec"]
    assert job["activeDeadlineSeconds"] == documents(CHART / "values.yaml")[0]["activeDeadlineSeconds"]
    settings = ExecutionSettings()
    moving = settings.budget + 2 * settings.ready + cycles._MOVING
    assert job["activeDeadlineSeconds"] > cycles._LOOKING + cycles._DECIDING + moving


def test_a_drain_takes_one_replica_and_never_waits_for_one_that_is_not_ready():
    deployment = workload("deployment")["spec"]
    budget = only(manifests(KUBERNETES / "deployment"), "PodDisruptionBudget")["spec"]
    assert budget["selector"] == deployment["selector"]
    assert budget["maxUnavailable"] == 1 < deployment["replicas"]
    assert budget["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    chart = documents(CHART / "values.yaml")[0]["podDisruptionBudget"]
    assert chart["enabled"]
    assert chart["unhealthyPodEvictionPolicy"] == budget["unhealthyPodEvictionPolicy"]


def test_a_network_policy_is_about_restows_pods_and_only_where_it_is_asked_for():
    (policy,) = documents(KUBERNETES / "network-policy" / "network-policy.yaml")
    for way in WAYS:
        assert "NetworkPolicy" not in {each["kind"] for each in manifests(KUBERNETES / way)}
        labels = pod_of(workload(way))["metadata"]["labels"]
        assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    (ingress,) = policy["spec"]["ingress"]
    assert [port["port"] for port in ingress["ports"]] == [Flags.secure_port]
    assert not documents(CHART / "values.yaml")[0]["networkPolicy"]["enabled"]


@pytest.mark.parametrize("way", WAYS)
def test_the_arguments_are_flags_of_restow_run(way):
    command, *arguments = container(way)["args"]
    assert command == run.__name__
    named = {re.split("[ =]", each.removeprefix("--"))[0].replace("-", "_") for each in canonical(arguments)}
    assert named <= Flags.__dataclass_fields__.keys()


def test_probes_and_metrics_are_where_the_server_is():
    one = container("deployment")
    (port,) = one["ports"]
    service = only(manifests(KUBERNETES / "deployment"), "Service")["spec"]
    assert port["containerPort"] == service["ports"][0]["port"] == Flags.secure_port
    assert {one[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} == {port["name"]}


def test_a_process_that_is_stuck_is_started_anew_and_a_busy_one_is_not():
    """An event loop that is busy for as long as the watchdog allows answers in between."""
    probes = (container("deployment")["livenessProbe"], documents(CHART / "values.yaml")[0]["livenessProbe"])
    for probe in probes:
        assert probe["httpGet"]["path"] == "/livez"
        assert probe["timeoutSeconds"] >= 5
        assert probe["periodSeconds"] * (probe["failureThreshold"] - 1) > MOST_LAG


def test_the_policy_is_one_without_a_remark():
    file = KUBERNETES / "base" / "policy.yaml"
    assert lint_policy(file.read_bytes(), file.name, PLUGINS) == []


class TestNodeMemory:
    """The DaemonSet that pushes each node's memory."""

    @staticmethod
    def pod():
        return pod_of(only(manifests(KUBERNETES / "node-memory"), "DaemonSet"))["spec"]

    def test_it_has_no_rights_and_reads_one_directory_of_the_host(self):
        pod = self.pod()
        (one,) = pod["containers"]
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
        assert one["securityContext"] == container("deployment")["securityContext"]
        (mounted,) = one["volumeMounts"]
        assert mounted["readOnly"]
        assert pod["volumes"] == [{"name": "cgroup", "hostPath": {"path": "/sys/fs/cgroup", "type": "Directory"}}]
        assert f"--cgroup-root={mounted['mountPath']}" in one["args"]

    def test_its_arguments_are_those_of_the_command(self):
        (one,) = self.pod()["containers"]
        assert one["args"][:2] == ["pressure", "push"]
        _, given, _ = app.parse_args(one["args"], exit_on_error=False, print_error=False)
        assert given.arguments["interval"] == "30s"
        assert given.arguments["instance"] == "$(NODE_ADDRESS)"

    def test_it_is_on_every_node(self):
        assert self.pod()["tolerations"] == [{"operator": "Exists"}]


class TestPressure:
    """The Deployment of restow pressure."""

    FOLDER = KUBERNETES / "pressure"

    def objects(self):
        return list(manifests(self.FOLDER))

    def pod(self):
        return pod_of(only(self.objects(), "Deployment"))["spec"]

    def flags(self):
        (one,) = self.pod()["containers"]
        _, given, _ = app.parse_args(one["args"], exit_on_error=False, print_error=False)
        return given.arguments["flags"]

    def test_its_rights_are_what_it_reads_and_writes_and_its_own_lease(self):
        roles = {each["kind"]: each for each in documents(self.FOLDER / "rights.yaml")}
        assert granted(roles["ClusterRole"]["rules"]) == {
            right(RESOURCES["Node"], verb) for verb in ("list", "watch", "patch")
        }
        create, rest = roles["Role"]["rules"]
        assert granted([create]) == {right(LEASES, "create")}
        assert granted([rest]) == {right(LEASES, "get"), right(LEASES, "update")}
        assert rest["resourceNames"] == [self.flags().leader_elect_resource_name]
        assert (
            documents(self.FOLDER / "kustomization.yaml")[0]["namespace"]
            == self.flags().leader_elect_resource_namespace
        )

    def test_every_rule_has_a_comment_that_says_why(self):
        lines = (self.FOLDER / "rights.yaml").read_text().splitlines()
        above = [before for before, line in pairwise(lines) if line.startswith("  - apiGroups")]
        assert all(line.startswith("  # ") for line in above)

    def test_whoever_patches_nodes_is_held_to_the_mark(self):
        guard = only(self.objects(), "ValidatingAdmissionPolicy")["spec"]
        assert guard["failurePolicy"] == "Fail"
        assert guard["matchConstraints"]["resourceRules"][0]["resources"] == ["nodes", "nodes/status"]
        key = Mark().key
        assert self.flags().label == f"{key}={Mark().value}"
        assert all(f"'{key}'" in each["expression"] for each in guard["variables"][2:])
        assert only(self.objects(), "ValidatingAdmissionPolicyBinding")["spec"]["validationActions"] == ["Deny"]

    def test_its_pod_is_as_unprivileged_as_the_deschedulers(self):
        (one,) = self.pod()["containers"]
        assert self.pod()["securityContext"] == pod_of(workload("deployment"))["spec"]["securityContext"]
        assert one["securityContext"] == container("deployment")["securityContext"]
        assert self.pod()["terminationGracePeriodSeconds"] >= ENDS_WITHIN + 5

    def test_its_arguments_can_be_used_and_fit_its_ports_and_rules(self):
        flags = replace(self.flags(), rules=str(self.FOLDER / "rule.yaml"))
        settings = settings_of(flags, Log(sys.stderr))
        (one,) = self.pod()["containers"]
        assert settings.listening.endpoint.port == one["ports"][0]["containerPort"]
        assert settings.lease.timing.check() is None
        assert Path(self.flags().rules).parent == Path(one["volumeMounts"][0]["mountPath"])
        assert {one[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} == {"http"}
        assert only(self.objects(), "Service")["spec"]["ports"][0]["port"] == settings.listening.endpoint.port

    def test_its_rules_are_read_without_a_remark(self):
        file = self.FOLDER / "rule.yaml"
        assert read_rules(file.read_bytes(), file.name).warnings == ()
