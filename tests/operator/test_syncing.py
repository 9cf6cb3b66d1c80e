"""Syncs and removals, on an API server in memory."""

from __future__ import annotations

import asyncio

import pytest

from builders import Object
from builders.kubedeschedulers import an_object
from builders.operator_scenes import BINDING, CONFIG, DEPLOYMENT, PLAN, RESOURCE, Scene
from restow.client.errors import Forbidden, NotFound, NotPermitted
from restow.errors import ClientError
from restow.operator.resource import NAMESPACE
from restow.operator.rules import SINGLETON
from restow.operator.syncing import sync


def ready(scene: Scene) -> None:
    """The Deployment is rolled out."""
    generation = scene.api.stored[DEPLOYMENT]["metadata"]["generation"]
    figures = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "updatedReplicas"), 1)
    scene.api.stored[DEPLOYMENT]["status"] = {**figures, "observedGeneration": generation}


class TestSync:
    def test_it_makes_the_objects_and_tells_of_the_generation(self) -> None:
        scene = Scene().with_resource("LongLifecycle")
        scene.sync()
        assert {CONFIG, PLAN, DEPLOYMENT, BINDING} <= scene.made().keys()
        assert scene.status["observedGeneration"] == 1
        assert scene.condition("Degraded")[:2] == ("False", "AsExpected")
        assert scene.condition("Available")[:2] == ("False", "NotReady")
        assert scene.condition("Progressing")[:2] == ("True", "RollingOut")
        ready(scene)
        scene.sync()
        assert scene.condition("Available")[:2] == ("True", "AsExpected")
        assert scene.condition("Progressing")[:2] == ("False", "AsExpected")
        assert scene.status["readyReplicas"] == 1

    def test_one_that_finds_everything_as_it_should_be_writes_nothing(self) -> None:
        scene = Scene().with_resource("LongLifecycle")
        scene.sync()
        assert scene.sync() == []

    def test_before_kopf_has_written_the_finalizer_nothing_is_made(self) -> None:
        scene = Scene().with_resource("LongLifecycle")
        del scene.api.stored[RESOURCE]["metadata"]["finalizers"]
        assert scene.sync() == []

    def test_a_resource_that_is_being_deleted_is_left_to_its_removal(self) -> None:
        scene = Scene().with_resource("LongLifecycle")
        scene.api.stored[RESOURCE]["metadata"]["deletionTimestamp"] = "2026-11-22T00:00:00Z"
        assert scene.sync() == []

    def test_a_changed_resource_changes_only_what_depends_on_it(self) -> None:
        scene = Scene().with_resource("LongLifecycle")
        scene.sync()
        scene.with_resource("LongLifecycle", logLevel="Debug")
        assert scene.sync() == [("PATCH", DEPLOYMENT), ("PATCH", f"{RESOURCE}/status")]

    def test_a_new_protected_namespace_is_excluded_by_the_next_one(self) -> None:
        scene = Scene().with_resource("LongLifecycle")
        scene.sync()
        scene.api.put("/api/v1/namespaces/openshift-new", {"metadata": {"name": "openshift-new"}})
        assert ("PATCH", CONFIG) in scene.sync()
        assert "openshift-new" in scene.api.stored[CONFIG]["data"]["policy.yaml"]

    def test_what_cannot_be_changed_is_made_anew(self) -> None:
        scene = Scene().with_resource("LongLifecycle")
        scene.sync()
        scene.api.stored[BINDING]["roleRef"] = {"kind": "ClusterRole", "name": "admin"}
        assert scene.sync() == [("PATCH", BINDING), ("DELETE", BINDING), ("PATCH", BINDING)]
        assert scene.api.stored[BINDING]["roleRef"]["name"] == "openshift-descheduler-operand"

    def test_what_is_wanted_no_more_goes(self) -> None:
        scene = Scene().with_resource("LongLifecycle")
        scene.sync()
        scene.with_resource("LongLifecycle", deschedulingIntervalSeconds=0)
        scene.sync()
        assert DEPLOYMENT not in scene.made()
        assert f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/descheduler-run-2" in scene.made()

    def test_a_run_that_has_begun_is_not_changed(self) -> None:
        scene = Scene().with_resource("LongLifecycle", deschedulingIntervalSeconds=0)
        scene.sync()
        scene.api.put("/api/v1/namespaces/openshift-new", {"metadata": {"name": "openshift-new"}})
        assert scene.sync() == [("PATCH", CONFIG)]

    @pytest.mark.parametrize(
        ("figures", "available", "progressing"),
        [
            ({"active": 1}, "AsExpected", "Running"),
            ({"succeeded": 1}, "AsExpected", "AsExpected"),
            ({"failed": 1}, "RunFailed", "AsExpected"),
        ],
        ids=["runs", "has ended", "has failed"],
    )
    def test_a_single_run_is_told_of(self, figures: Object, available: str, progressing: str) -> None:
        scene = Scene().with_resource("LongLifecycle", deschedulingIntervalSeconds=0)
        scene.sync()
        scene.api.stored[f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/descheduler-run-1"]["status"] = figures
        scene.sync()
        assert (scene.condition("Available")[1], scene.condition("Progressing")[1]) == (available, progressing)

    def test_a_deployment_that_does_not_come_about_degrades_the_resource(self) -> None:
        scene = Scene().with_resource("LongLifecycle")
        scene.sync()
        stuck = {"type": "Progressing", "status": "False", "message": "timed out"}
        scene.api.stored[DEPLOYMENT]["status"] = {"conditions": [stuck]}
        scene.sync()
        assert scene.condition("Degraded") == ("True", "DeploymentFailing", "Deployment descheduler: timed out")

    def test_the_time_of_a_condition_stays_while_its_status_does(self) -> None:
        scene = Scene().with_resource("LongLifecycle")
        scene.sync()
        for each in scene.status["conditions"]:
            each["lastTransitionTime"] = "2026-01-01T00:00:00Z"
        ready(scene)
        scene.sync()
        times = {each["type"]: each["lastTransitionTime"] for each in scene.status["conditions"]}
        assert times["Degraded"] == "2026-01-01T00:00:00Z"
        assert times["Available"] != "2026-01-01T00:00:00Z"


class TestStates:
    def test_unmanaged_writes_nothing_but_the_status(self) -> None:
        scene = Scene().with_resource("LongLifecycle")
        scene.sync()
        del scene.api.stored[CONFIG]
        scene.with_resource("LongLifecycle", managementState="Unmanaged")
        assert scene.sync() == [("PATCH", f"{RESOURCE}/status")]
        assert scene.status["observedGeneration"] == 2

    def test_removed_has_none_of_the_objects(self) -> None:
        scene = Scene().with_resource("LongLifecycle")
        scene.sync()
        scene.with_resource("LongLifecycle", managementState="Removed")
        scene.sync()
        assert scene.made() == {}
        assert scene.condition("Available")[:2] == ("False", "Removed")

    def test_a_problem_that_stops_has_no_pod_run_and_is_told(self) -> None:
        scene = Scene().with_resource("LongLifecycle")
        scene.sync()
        scene.with_resource("LongLifecycle", "LifecycleAndUtilization")
        scene.sync()
        assert scene.api.stored[DEPLOYMENT]["spec"]["replicas"] == 0
        assert scene.condition("Degraded")[:2] == ("True", "ConflictingProfiles")
        assert scene.sync() == []
        scene.with_resource("LongLifecycle")
        scene.sync()
        assert scene.api.stored[DEPLOYMENT]["spec"]["replicas"] == 1

    def test_another_name_is_told_why_it_does_not_count(self) -> None:
        scene = Scene().with_resource("LongLifecycle")
        other = RESOURCE.replace("/cluster", "/other")
        scene.api.put(other, an_object("LongLifecycle", name="other"))
        scene.sync()
        (told,) = (each for each in scene.api.stored[other]["status"]["conditions"] if each["type"] == "Degraded")
        assert (told["reason"], told["message"]) == ("NotTheSingleton", SINGLETON)
        assert scene.condition("Degraded")[0] == "False"

    def test_without_a_resource_nothing_stays(self) -> None:
        scene = Scene().with_resource("LongLifecycle")
        scene.sync()
        del scene.api.stored[RESOURCE]
        scene.sync()
        assert scene.made() == {}


class TestErrors:
    def test_what_cannot_be_read_is_told(self) -> None:
        scene = Scene().with_resource("LongLifecycle", evictionLimits={"total": "many"})
        scene.sync()
        status, reason, message = scene.condition("Degraded")
        assert (status, reason) == ("True", "UnreadableResource")
        assert "spec.evictionLimits.total" in message
        assert scene.status["observedGeneration"] == 1

    def test_a_right_that_is_lacking_is_told_and_tried_again(self) -> None:
        def forbidden(method: str, path: str) -> None:
            if method == "PATCH" and path == CONFIG:
                raise Forbidden(403, "Forbidden", "no configmaps for you")

        scene = Scene().with_resource("LongLifecycle")
        scene.api.trouble = forbidden
        with pytest.raises(Forbidden):
            scene.sync()
        assert scene.condition("Degraded") == (
            "True",
            "Forbidden",
            "the API server answered 403 Forbidden: no configmaps for you",
        )
        assert scene.condition("TargetConfigControllerDegraded")[0] == "True"
        scene.healed()
        scene.sync()
        assert scene.condition("Degraded")[0] == "False"

    def test_whatever_goes_wrong_is_told(self) -> None:
        def broken(method: str, path: str) -> None:
            if path == CONFIG:
                raise RuntimeError("nobody foresaw this")

        scene = Scene().with_resource("LongLifecycle")
        scene.api.trouble = broken
        with pytest.raises(RuntimeError):
            scene.sync()
        assert scene.condition("Degraded") == ("True", "RuntimeError", "nobody foresaw this")

    def test_without_the_definition_it_says_what_to_install(self) -> None:
        def unknown(_: str, path: str) -> None:
            if path.endswith("/kubedeschedulers"):
                raise NotFound(404, "NotFound", "the server could not find the requested resource")

        scene = Scene()
        scene.api.trouble = unknown
        with pytest.raises(ClientError, match="the cluster does not know KubeDescheduler; install deploy/operator/crd"):
            scene.sync()

    def test_the_log_level_of_the_operator_holds_from_then_on(self) -> None:
        scene = Scene().with_resource("LongLifecycle", operatorLogLevel="TraceAll")
        operator = scene.operator
        assert not operator.writing.log.enabled_for(8)
        asyncio.run(sync(operator))
        assert operator.writing.log.enabled_for(8)
        scene.with_resource("LongLifecycle")
        asyncio.run(sync(operator))
        assert not operator.writing.log.enabled_for(5)

    def test_without_the_lease_nothing_is_written(self) -> None:
        scene = Scene().with_resource("LongLifecycle")

        def gone(method: str, _: str) -> None:
            if method == "PATCH":
                raise NotPermitted("the lease is lost")

        scene.api.trouble = gone
        with pytest.raises(NotPermitted):
            scene.sync()
        assert scene.api.written == []

    @pytest.mark.parametrize("number", range(10))
    def test_one_that_is_cut_short_before_any_write_is_made_good_by_the_next(self, number: int) -> None:
        whole = Scene().with_resource("LongLifecycle")
        whole.sync()
        scene = Scene().with_resource("LongLifecycle")
        scene.failing(number)
        with pytest.raises(ClientError):
            scene.sync()
        scene.healed()
        scene.sync()
        assert scene.made().keys() == whole.made().keys()
        assert scene.condition("Degraded")[0] == "False"
        assert scene.sync() == []

    @pytest.mark.parametrize("number", range(9))
    def test_a_removal_that_is_cut_short_is_made_good_by_the_next(self, number: int) -> None:
        scene = Scene().with_resource("LongLifecycle")
        scene.sync()
        scene.failing(number)
        with pytest.raises(ClientError):
            scene.leave()
        scene.healed()
        scene.leave()
        assert scene.made() == {}


class TestPlan:
    SUMMARY = (
        '{"time": "2026-11-22T00:00:00Z", "dryRun": true, "moves": 3, "evicted": 0, "refused": 1, '
        '"refusals": {"NoFit": 1}, "nodesOutOfBalance": 2, "landed": {}}'
    )

    def with_plan(self, text: str) -> Scene:
        scene = Scene().with_resource("LongLifecycle")
        scene.sync()
        scene.api.stored[PLAN]["data"] = {"summary.json": text}
        return scene

    def test_the_status_tells_of_the_last_plan_and_where_it_is(self) -> None:
        scene = self.with_plan(self.SUMMARY)
        assert scene.sync() == [("PATCH", f"{RESOURCE}/status")]
        told = scene.status["lastPlan"]
        assert (told["moves"], told["refusals"], told["nodesOutOfBalance"]) == (3, {"NoFit": 1}, 2)
        assert told["configMap"] == "descheduler-plan"
        assert scene.sync() == []

    @pytest.mark.parametrize(
        "text",
        ["", "{", "[]", '{"time": 3}', '{"x": "' + "y" * 20_000 + '"}'],
        ids=["none", "cut", "list", "type", "big"],
    )
    def test_one_that_cannot_be_read_is_left_out(self, text: str) -> None:
        scene = self.with_plan(text)
        scene.sync()
        assert "lastPlan" not in scene.status
