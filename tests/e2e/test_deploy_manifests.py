"""Every manifest, and what Helm makes of the chart, is taken by a real API server as it stands."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders import Object
from e2e.binaries import tool
from e2e.control_plane import ControlPlane
from e2e.shipped import DEPLOY, NAMESPACE, kustomized, rendered, rights, try_out
from restow.cli.descheduler import as_restow
from restow.cli.run import canonical
from restow.cli.run_flags import Flags

pytestmark = pytest.mark.e2e

WAYS = ("job", "cronjob", "deployment")
EVERYTHING: dict[str, Any] = {
    "kind": "Deployment",
    "replicas": 2,
    "leaderElection": {"enabled": True, "leaseDuration": "60s", "renewDeadline": "40s", "retryPeriod": "10s"},
    "commonLabels": {"team": "platform"},
    "podLabels": {"tier": "infra"},
    "podAnnotations": {"a": "b"},
    "imagePullSecrets": [{"name": "registry"}],
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"operator": "Exists"}],
    "dnsConfig": {"nameservers": ["10.0.0.1"]},
    "service": {"enabled": True, "ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]},
    "podDisruptionBudget": {"enabled": True, "minAvailable": 0, "unhealthyPodEvictionPolicy": "IfHealthyBudget"},
    "networkPolicy": {
        "enabled": True,
        "apiServer": {"to": [{"ipBlock": {"cidr": "10.0.0.1/32"}}]},
        "extraEgress": [{"ports": [{"protocol": "TCP", "port": 4317}]}],
    },
    "serviceAccount": {"create": True, "annotations": {"a": "b"}, "automountServiceAccountToken": False},
    "automountServiceAccountToken": True,
    "simulating": {"enabled": True},
    "cmdOptions": {"v": 4, "dry-run": None},
}
CHARTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "a CronJob with everything": {
        "timeZone": "Europe/Berlin",
        "startingDeadlineSeconds": 60,
        "successfulJobsHistoryLimit": 0,
        "failedJobsHistoryLimit": 3,
        "ttlSecondsAfterFinished": 600,
        "activeDeadlineSeconds": 300,
        "cronJobAnnotations": {"a": "b"},
        "cronJobLabels": {"c": "d"},
        "jobAnnotations": {"e": "f"},
        "jobLabels": {"g": "h"},
    },
    "a Deployment": {"kind": "Deployment"},
    "a Deployment with everything": EVERYTHING,
}


@pytest.fixture(autouse=True)
def _rendering(built: Path) -> None:
    for name in ("helm", "kustomize"):
        try:
            tool(name)
        except FileNotFoundError as missing:
            pytest.skip(str(missing))


def of_kind(objects: list[Object], kind: str) -> list[Object]:
    return [each for each in objects if each["kind"] == kind]


def rules_of(objects: list[Object]) -> list[Any]:
    """The rules of all roles, whatever these are called."""
    return sorted(json.dumps(rule, sort_keys=True) for each in rights(objects) for rule in each.get("rules", ()))


def container_of(workload: Object) -> Object:
    spec = workload["spec"]
    (container,) = spec.get("jobTemplate", {"spec": spec})["spec"]["template"]["spec"]["containers"]
    return container  # type: ignore[no-any-return]


@pytest.mark.parametrize("way", [*WAYS, "shadow", "page", "recording"])
def test_a_kustomization_is_accepted(plane: ControlPlane, way: str) -> None:
    for thing in kustomized(DEPLOY / "kubernetes" / way):
        answer = try_out(plane.admin, thing)
        assert answer.status == 201, (thing["kind"], answer.body)


def test_a_shadow_may_read_and_nothing_else() -> None:
    roles = [each for each in kustomized(DEPLOY / "kubernetes" / "shadow") if "Role" in each["kind"]]
    assert [(each["kind"], each["metadata"]["name"]) for each in roles] == [
        ("ClusterRole", "restow-reading"),
        ("ClusterRoleBinding", "restow-reading"),
    ]


def with_component(component: str, folder: Path) -> list[Object]:
    """The kustomization of the Job with a component."""
    for name in ("base", "job", component):
        (folder / name).mkdir()
        for file in (DEPLOY / "kubernetes" / name).iterdir():
            (folder / name / file.name).write_text(file.read_text())
    file = folder / "job" / "kustomization.yaml"
    file.write_text(file.read_text() + f"components: [../{component}]\n")
    return kustomized(folder / "job")


def test_the_component_for_usage_is_accepted(plane: ControlPlane, tmp_path: Path) -> None:
    roles = of_kind(with_component("metrics-api", tmp_path), "ClusterRole")
    assert any("metrics.k8s.io" in rule["apiGroups"] for role in roles for rule in role["rules"])
    assert {try_out(plane.admin, role).status for role in roles} == {201}


def test_the_network_policy_is_accepted_and_that_of_the_chart_is_the_same(plane: ControlPlane, tmp_path: Path) -> None:
    (policy,) = of_kind(with_component("network-policy", tmp_path), "NetworkPolicy")
    assert policy["metadata"]["namespace"] == NAMESPACE
    assert try_out(plane.admin, policy).status == 201
    (chart,) = of_kind(rendered(kind="Deployment", networkPolicy={"enabled": True}), "NetworkPolicy")
    for rule in ("ingress", "egress", "policyTypes"):
        assert chart["spec"][rule] == policy["spec"][rule]


def test_nobody_may_connect_to_a_job(built: Path) -> None:
    (policy,) = of_kind(rendered(networkPolicy={"enabled": True}), "NetworkPolicy")
    assert "Ingress" in policy["spec"]["policyTypes"]
    assert "ingress" not in policy["spec"]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param({}, {"maxUnavailable": 1}, id="neither"),
        pytest.param({"maxUnavailable": 0}, {"maxUnavailable": 0}, id="none may go"),
        pytest.param({"minAvailable": "50%"}, {"minAvailable": "50%"}, id="some have to stay"),
        pytest.param({"minAvailable": "", "maxUnavailable": ""}, {"maxUnavailable": 1}, id="empty is neither"),
    ],
)
def test_a_budget_has_one_number_which_leaves_room_for_a_drain(given: Object, wanted: Object) -> None:
    (budget,) = of_kind(rendered(kind="Deployment", podDisruptionBudget=given), "PodDisruptionBudget")
    assert {
        name: budget["spec"].get(name) for name in ("minAvailable", "maxUnavailable") if name in budget["spec"]
    } == wanted


def steered(
    tmp_path: Path, way: str, namespace: str | None = None, components: Sequence[str] = ("steering",)
) -> list[Object]:
    """A way with the components, as docs/how-to/steer.md puts them together."""
    copy = tmp_path / "kubernetes"
    shutil.copytree(DEPLOY / "kubernetes", copy)
    layers = {
        "placed": {"resources": [f"../{way}"]},
        "mine": {"resources": ["../placed"], "components": [f"../{each}" for each in components]},
    }
    if namespace is not None:
        layers["placed"]["namespace"] = namespace
    for name, kustomization in layers.items():
        (copy / name).mkdir()
        (copy / name / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    return kustomized(copy / "mine")


def steering_of(objects: list[Object]) -> dict[tuple[str, str], Object]:
    """The objects of steering, without labels."""
    found = {}
    for each in objects:
        if each["metadata"]["name"] in {
            "restow-steering",
            "restow-steering-gate",
            "restow-gating",
            "restow-steering-webhook",
            "restow-announced",
        }:
            each["metadata"].pop("labels", None)
            found[each["kind"], each["metadata"]["name"]] = each
    return found


#: Steering as one has it also without a standby.
OVERRIDDEN = ("without-standby", "steering")


@pytest.mark.parametrize("component", ["steering", "fencing"])
@pytest.mark.parametrize("way", ["job", "cronjob"])
def test_steering_and_fencing_without_a_standby_are_refused_unless_that_is_overridden(
    built: Path, tmp_path: Path, way: str, component: str
) -> None:
    """Nobody would free what a killed run leaves."""
    with pytest.raises(ValueError, match="needs-Deployment"):
        steered(tmp_path / "refused", way, components=(component,))
    (workload,) = of_kind(steered(tmp_path / "overridden", way, components=("without-standby", component)), KINDS[way])
    assert workload["metadata"]["annotations"] == {"restow.dev/needs-Deployment": "overridden"}
    (plain,) = of_kind(steered(tmp_path / "deployment", "deployment", components=(component,)), "Deployment")
    assert "annotations" not in plain["metadata"]


KINDS = {"job": "Job", "cronjob": "CronJob"}


@pytest.mark.parametrize("value", ["steering", "fencing"])
def test_the_chart_refuses_a_cron_job_that_steers_or_fences_unless_that_is_overridden(built: Path, value: str) -> None:
    with pytest.raises(ValueError, match=rf"{value}.enabled needs kind: Deployment.*{value}.allowCronJob=true"):
        rendered(**{value: {"enabled": True}})
    (job,) = of_kind(rendered(**{value: {"enabled": True, "allowCronJob": True}}), "CronJob")
    assert job["metadata"]["name"] == "restow"


@pytest.mark.parametrize("way", WAYS)
def test_the_component_for_steering_is_accepted(plane: ControlPlane, tmp_path: Path, way: str) -> None:
    found = steering_of(steered(tmp_path, way, components=OVERRIDDEN))
    assert len(found) == 11
    assert {try_out(plane.admin, each).status for each in found.values()} == {201}


@pytest.mark.parametrize("way", WAYS)
def test_steering_is_in_the_namespace_of_the_account_and_holds_that_account(tmp_path: Path, way: str) -> None:
    found = steering_of(steered(tmp_path, way, "tools", OVERRIDDEN))
    assert "kube-system" not in json.dumps(list(found.values()))
    binding = found["MutatingAdmissionPolicyBinding", "restow-steering"]
    assert binding["spec"]["paramRef"]["namespace"] == found["ConfigMap", "restow-steering"]["metadata"]["namespace"]
    refusing = found["ValidatingAdmissionPolicyBinding", "restow-steering-gate"]
    assert refusing["spec"]["paramRef"] == binding["spec"]["paramRef"]
    held, _ = found["ValidatingAdmissionPolicy", "restow-steering"]["spec"]["matchConditions"]
    assert held["expression"] == "request.userInfo.username == 'system:serviceaccount:tools:restow'"


def test_the_chart_steers_as_the_component_does(plane: ControlPlane, tmp_path: Path) -> None:
    chart = rendered(kind="Deployment", steering={"enabled": True})
    assert steering_of(chart) == steering_of(steered(tmp_path, "deployment"))
    assert {try_out(plane.admin, each).status for each in steering_of(chart).values()} == {201}
    assert steering_of(rendered(kind="Deployment")) == {}


def test_the_chart_holds_the_account_that_it_runs_as() -> None:
    account = {"create": False, "name": "mine"}
    found = steering_of(
        rendered(namespaceOverride="tools", serviceAccount=account, kind="Deployment", steering={"enabled": True})
    )
    held, _ = found["ValidatingAdmissionPolicy", "restow-steering"]["spec"]["matchConditions"]
    assert held["expression"] == "request.userInfo.username == 'system:serviceaccount:tools:mine'"


BY_WEBHOOK = ("network-policy", "steering-webhook", "steering-certificate")


def test_the_component_for_the_webhook_is_accepted(plane: ControlPlane, tmp_path: Path) -> None:
    """But for the objects of cert-manager, which nobody has here; and the admission policy is not among them."""
    everything = steered(tmp_path, "deployment", components=BY_WEBHOOK)
    taken = [each for each in everything if not each["apiVersion"].startswith("cert-manager.io/")]
    assert len(taken) == len(everything) - 2
    assert {each["kind"] for each in taken} >= {"MutatingWebhookConfiguration", "ValidatingAdmissionPolicy"}
    assert not any(each["kind"].startswith("MutatingAdmissionPolicy") for each in taken)
    for each in taken:
        answer = try_out(plane.admin, each)
        assert answer.status == 201, (each["kind"], answer.body)


def test_the_webhook_is_in_the_namespace_of_the_account(tmp_path: Path) -> None:
    objects = steered(tmp_path, "deployment", "tools", BY_WEBHOOK)
    found = steering_of(objects)
    assert "kube-system" not in json.dumps(list(found.values()))
    (webhook,) = found["MutatingWebhookConfiguration", "restow-steering"]["webhooks"]
    assert webhook["clientConfig"]["service"]["namespace"] == "tools"
    assert found["Certificate", "restow-steering"]["spec"]["dnsNames"] == ["restow-steering.tools.svc"]


def test_the_webhook_can_be_reached_and_shows_the_certificate(tmp_path: Path) -> None:
    objects = steered(tmp_path, "deployment", components=BY_WEBHOOK)
    (policy,), (deployment,) = of_kind(objects, "NetworkPolicy"), of_kind(objects, "Deployment")
    assert {"ports": [{"protocol": "TCP", "port": 10258}]} in policy["spec"]["ingress"]
    assert container_of(deployment)["args"][-2:] == [
        "--tls-cert-file=/steering-tls/tls.crt",
        "--tls-private-key-file=/steering-tls/tls.key",
    ]
    (secret,) = (each["secret"] for each in deployment["spec"]["template"]["spec"]["volumes"] if "secret" in each)
    (certificate,) = of_kind(objects, "Certificate")
    assert secret["secretName"] == certificate["spec"]["secretName"]


@pytest.mark.parametrize("way", ["job", "cronjob"])
def test_a_way_that_is_not_always_there_has_no_webhook(tmp_path: Path, way: str) -> None:
    """Else every new pod of the cluster would wait for nobody."""
    with pytest.raises(ValueError, match="Deployment"):
        steered(tmp_path, way, components=("without-standby", "steering-webhook"))
    if way == "cronjob":
        with pytest.raises(ValueError, match="needs kind: Deployment"):
            rendered(steering={"enabled": True, "by": "webhook", "allowCronJob": True})


def test_the_chart_steers_by_its_webhook_as_the_component_does(plane: ControlPlane, tmp_path: Path) -> None:
    mine = {"secretName": "mine", "annotations": {"cert-manager.io/inject-ca-from": "kube-system/restow-steering"}}
    values = {"enabled": True, "by": "webhook", "webhook": mine}
    chart = steering_of(rendered(kind="Deployment", steering=values))
    component = steering_of(steered(tmp_path, "deployment", components=("steering-webhook",)))
    # A release may stand beside others.
    chart["Service", "restow-steering"]["spec"]["selector"].pop("app.kubernetes.io/instance")
    assert chart == component
    assert {try_out(plane.admin, each).status for each in chart.values()} == {201}


def test_the_chart_makes_a_certificate_that_the_api_server_is_to_trust(plane: ControlPlane) -> None:
    objects = rendered(kind="Deployment", steering={"enabled": True, "by": "webhook"})
    (secret,), (configuration,) = of_kind(objects, "Secret"), of_kind(objects, "MutatingWebhookConfiguration")
    assert configuration["webhooks"][0]["clientConfig"]["caBundle"] == secret["data"]["tls.crt"]
    assert {try_out(plane.admin, each).status for each in (secret, configuration)} == {201}
    (deployment,) = of_kind(objects, "Deployment")
    mounted = [each["secret"]["secretName"] for each in deployment["spec"]["template"]["spec"]["volumes"][1:]]
    assert mounted == [secret["metadata"]["name"]]


@pytest.mark.parametrize("values", CHARTS.values(), ids=CHARTS.keys())
def test_the_chart_is_accepted(plane: ControlPlane, values: dict[str, Any]) -> None:
    for thing in rendered(**values):
        answer = try_out(plane.admin, thing)
        assert answer.status == 201, (thing["kind"], answer.body)


@pytest.mark.parametrize("values", CHARTS.values(), ids=CHARTS.keys())
def test_the_arguments_of_the_chart_are_flags_of_restow_run(values: dict[str, Any]) -> None:
    (workload,) = (each for each in rendered(**values) if each["kind"] in {"CronJob", "Deployment"})
    container = container_of(workload)
    assert container["command"] == ["/bin/descheduler"]
    _, *flags = as_restow(container["args"])
    names = {flag.removeprefix("--").partition("=")[0].replace("-", "_") for flag in canonical(flags)}
    assert names <= Flags.__dataclass_fields__.keys()


def test_the_rules_of_the_chart_are_those_of_the_manifests() -> None:
    usage = {"metricsProviders": [{"source": "KubernetesMetrics"}]}
    chart = rendered(kind="Deployment", leaderElection={"enabled": True}, deschedulerPolicy=usage)
    metrics_api = yaml.safe_load_all((DEPLOY / "kubernetes" / "metrics-api" / "metrics-api.yaml").read_text())
    assert rules_of(chart) == rules_of([*kustomized(DEPLOY / "kubernetes" / "deployment"), *metrics_api])


def test_rights_that_are_not_needed_are_not_asked_for() -> None:
    rules = rules_of(rendered())
    assert not any("leases" in rule or "metrics.k8s.io" in rule for rule in rules)
    assert rights(rendered(rbac={"create": False}, serviceAccount={"create": False})) == []


def test_a_policy_of_the_old_format_and_with_templates_is_rendered() -> None:
    policy = {"nodeSelector": "pool={{ .Release.Name }}", "strategies": {"RemoveDuplicates": {"enabled": True}}}
    objects = rendered("blue", deschedulerPolicy=policy, deschedulerPolicyAPIVersion="descheduler/v1alpha1")
    (config,) = of_kind(objects, "ConfigMap")
    written = yaml.safe_load(config["data"]["policy.yaml"])
    assert (written["apiVersion"], written["nodeSelector"]) == ("descheduler/v1alpha1", "pool=blue")


def test_a_service_monitor_selects_the_service() -> None:
    objects = rendered(
        kind="Deployment", service={"enabled": True}, serviceMonitor={"enabled": True, "interval": "30s"}
    )
    (service,), (monitor,) = of_kind(objects, "Service"), of_kind(objects, "ServiceMonitor")
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["port"] == service["spec"]["ports"][0]["name"]
    assert endpoint["tlsConfig"] == {"insecureSkipVerify": True}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        pytest.param({"kind": "Deployment", "replicas": 2}, "must set leaderElection", id="replicas without election"),
        pytest.param(
            {"kind": "Deployment", "podDisruptionBudget": {"minAvailable": 1, "maxUnavailable": 1}},
            "minAvailable or maxUnavailable, not both",
            id="two numbers of a budget",
        ),
        pytest.param({"kind": "DaemonSet"}, "must be one of 'CronJob', 'Deployment'", id="another kind"),
        pytest.param({"replica": 2}, "additional properties 'replica' not allowed", id="a misspelt value"),
        pytest.param({"leaderElection": {"enable": True}}, "additional properties 'enable'", id="a misspelt key"),
        pytest.param({"deschedulingInterval": "5 minutes"}, "does not match pattern", id="no duration"),
    ],
)
def test_values_that_make_no_sense_are_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        rendered(**values)


def test_the_daemon_set_that_pushes_memory_is_accepted(plane: ControlPlane) -> None:
    (found,) = kustomized(DEPLOY / "kubernetes" / "node-memory")
    assert found["metadata"]["namespace"] == "kube-system"
    assert try_out(plane.admin, found).status == 201
