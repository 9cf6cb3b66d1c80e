"""The manifests and the chart of restow scheduler are complete, unprivileged, and grant what it asks for."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from deploy.manifests import DEPLOY, KUBERNETES, documents, granted, manifests, only, pod_of
from restow.application.policies import read_scheduler_config
from restow.cli import scheduler
from restow.cli.app import app
from restow.cli.scheduler_flags import SchedulerFlags
from restow.cli.scheduler_settings import check, process_settings, scheduler_settings
from restow.client.resources import EVENTS, LEASES, RESOURCES, SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS, ApiResource
from restow.daemon.background import ENDS_WITHIN
from restow.scheduler.settings import KINDS
from restow.scheduling.configuration.registry import IN_TREE


def right(resource: ApiResource, verb: str, subresource: str = "") -> tuple[str, str, str]:
    return resource.group, f"{resource.plural}/{subresource}" if subresource else resource.plural, verb


class TestManifests:
    FOLDER = KUBERNETES / "scheduler"

    def objects(self):
        return list(manifests(self.FOLDER))

    def pod(self):
        return pod_of(only(self.objects(), "Deployment"))["spec"]

    def descheduler(self):
        return pod_of(only(manifests(KUBERNETES / "deployment"), "Deployment"))["spec"]

    def flags(self):
        (one,) = self.pod()["containers"]
        command, *arguments = one["args"]
        words = [command, *scheduler.canonical(arguments)]
        _, given, _ = app.parse_args(words, exit_on_error=False, print_error=False)
        return given.arguments["flags"]

    def test_it_may_do_what_a_scheduler_asks_for_and_no_more(self):
        roles = {each["kind"]: each for each in documents(self.FOLDER / "rights.yaml")}
        kinds = {*KINDS, *(kind for plugin in IN_TREE.values() for kind in plugin.kinds)}
        wanted = {right(RESOURCES[kind], verb) for kind in kinds for verb in ("list", "watch")}
        wanted |= {right(RESOURCES[kind], "get") for kind in ("Pod", "Node")}
        wanted |= {right(RESOURCES[kind], "patch") for kind in ("PersistentVolume", "PersistentVolumeClaim")}
        pods = RESOURCES["Pod"]
        wanted |= {right(pods, "create", "binding"), right(pods, "patch", "status"), right(pods, "delete")}
        wanted |= {right(RESOURCES["PodGroup"], "patch", "status")}
        wanted |= {right(EVENTS, "create"), right(EVENTS, "update"), right(RESOURCES["NodeMetrics"], "list")}
        wanted |= {right(TOKEN_REVIEWS, "create"), right(SUBJECT_ACCESS_REVIEWS, "create")}
        assert granted(roles["ClusterRole"]["rules"]) == wanted
        create, rest = roles["Role"]["rules"]
        assert granted([create]) == {right(LEASES, "create")}
        assert granted([rest]) == {right(LEASES, "get"), right(LEASES, "update")}
        settings = process_settings(self.flags())
        assert rest["resourceNames"] == [settings.lease.name]
        assert documents(self.FOLDER / "kustomization.yaml")[0]["namespace"] == settings.namespace

    def test_its_account_is_held_to_less_and_its_profiles_are_named(self):
        policy = only(self.objects(), "ValidatingAdmissionPolicy")["spec"]
        assert policy["failurePolicy"] == "Fail"
        binding = only(self.objects(), "ValidatingAdmissionPolicyBinding")["spec"]
        assert (binding["validationActions"], "matchResources" in binding) == (["Deny"], False)
        guarded = {
            (resource, operation)
            for rule in policy["matchConstraints"]["resourceRules"]
            for resource in rule["resources"]
            for operation in rule["operations"]
        }
        assert guarded == {
            ("pods", "UPDATE"),
            ("pods", "DELETE"),
            ("pods/status", "UPDATE"),
            ("pods/binding", "CREATE"),
            ("persistentvolumes", "UPDATE"),
            ("persistentvolumeclaims", "UPDATE"),
        }
        configuration = read_scheduler_config(str(self.FOLDER / "scheduler.yaml"))
        named = next(each["expression"] for each in policy["variables"] if each["name"] == "profiles")
        settings = scheduler_settings(self.flags(), configuration)
        assert named == str([profile.name for profile in settings.profiles])

    def test_every_rule_has_a_comment_that_says_why(self):
        lines = (self.FOLDER / "rights.yaml").read_text().splitlines()
        above = [before for before, line in pairwise(lines) if line.startswith("  - apiGroups")]
        # Rules of one purpose follow one another.
        assert all(
            line.startswith(("  # ", "    verbs: [list, watch]", "    verbs: [get, list", "    verbs: [create]"))
            for line in above
        )

    def test_its_pod_is_as_unprivileged_as_the_deschedulers(self):
        (one,) = self.pod()["containers"]
        assert self.pod()["securityContext"] == self.descheduler()["securityContext"]
        assert one["securityContext"] == self.descheduler()["containers"][0]["securityContext"]
        assert self.pod()["terminationGracePeriodSeconds"] >= ENDS_WITHIN + 5

    def test_its_arguments_can_be_used_and_fit_its_ports_and_its_configuration(self):
        flags = self.flags()
        check(flags)
        (one,) = self.pod()["containers"]
        assert flags.secure_port == one["ports"][0]["containerPort"]
        assert Path(flags.config).parent == Path(one["volumeMounts"][0]["mountPath"])
        assert {one[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} == {"https-metrics"}
        assert only(self.objects(), "Service")["spec"]["ports"][0]["port"] == flags.secure_port

    def test_its_configuration_is_read_without_a_remark(self):
        configuration = read_scheduler_config(str(self.FOLDER / "scheduler.yaml"))
        assert configuration.warnings == ()
        settings = scheduler_settings(self.flags(), configuration)
        assert [profile.name for profile in settings.profiles] == ["my-scheduler"]


class TestChart:
    CHART = DEPLOY / "helm" / "restow-scheduler"

    def test_its_files_are_the_manifests(self):
        names = {path.name for path in (self.CHART / "files").iterdir()}
        assert names == {path.name for path in TestManifests.FOLDER.iterdir()} - {"kustomization.yaml"}
        for name in names:
            assert (self.CHART / "files" / name).resolve() == TestManifests.FOLDER / name

    def test_schema_and_page_name_every_value(self):
        values = documents(self.CHART / "values.yaml")[0]
        schema = json.loads((self.CHART / "values.schema.json").read_text())
        assert set(schema["properties"]) - {"global"} == set(values)
        table = (self.CHART / "README.md").read_text().partition("|---|---|")[2].partition("\n\n")[0]
        assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == list(values)

    def test_what_it_replaces_is_there(self):
        text = "".join(path.read_text() for path in (self.CHART / "files").iterdir())
        version = documents(self.CHART / "Chart.yaml")[0]["appVersion"]
        for replaced, times in (
            (f"registry.example.com/restow:{version}", 1),
            ("name: restow-scheduler-config", 1),
            ("replicas: 2", 1),
            ("- --v=1", 1),
            ("namespace: kube-system", 2),
            ("['my-scheduler']", 1),
            (":kube-system:", 1),
        ):
            assert text.count(replaced) == times


@pytest.mark.parametrize(("file", "names"), [("packing", ["packing", "spreading"]), ("by-load", ["by-load"])])
def test_the_examples_of_profiles_are_read_without_a_remark(file, names):
    configuration = read_scheduler_config(str(DEPLOY.parent / "examples" / "schedulers" / f"{file}.yaml"))
    assert configuration.warnings == ()
    assert [profile.name for profile in configuration.profiles] == names
    assert scheduler_settings(SchedulerFlags(), configuration).profiles
