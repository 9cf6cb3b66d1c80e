"""What of an object is recorded: what decisions and controllers read, and nothing that is nobody's business."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import a_container, a_deployment, a_node, a_pod
from restow.errors import InputError
from restow.kube.manifests import manifest_of
from restow.recordings.redaction import TEMPLATE_DIGEST, Redactor, redactor

_SECRET = "hunter2"


def redacted(thing, key=b"key"):
    return Redactor(key).redacted(thing["kind"], json.dumps(thing).encode())


def secretive(name="web", secret=_SECRET, annotations=None):
    """A Deployment with a secret in everything that is not recorded."""
    container = a_container("c", image="example/app:1", requests={"cpu": "100m"}) | {
        "env": [{"name": "PASSWORD", "value": secret}],
        "command": ["sh", "-c", f"echo {secret}"],
        "args": [secret],
        "livenessProbe": {"exec": {"command": [secret]}},
        "volumeMounts": [{"name": secret, "mountPath": "/"}],
    }
    template = {
        "metadata": {"labels": {"app": name}, "annotations": annotations or {}},
        "spec": {"containers": [container], "volumes": [{"name": "v", "secret": {"secretName": secret}}]},
    }
    made = a_deployment(name, replicas=2, selector={"matchLabels": {"app": name}})
    made["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": secret}
    made["spec"]["template"] = template
    return made


def test_nothing_of_environment_commands_probes_and_secrets_is_recorded():
    assert _SECRET not in json.dumps(redacted(secretive()))


def test_the_same_holds_for_pods_jobs_cron_jobs_and_revisions():
    template = secretive()["spec"]["template"]
    pod = a_pod("p") | {"spec": template["spec"]}
    job = {"kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template}}
    cron = {"kind": "CronJob", "metadata": {"name": "c"}, "spec": {"jobTemplate": {"spec": {"template": template}}}}
    revision = {"kind": "ControllerRevision", "metadata": {"name": "r"}, "data": {"spec": {"template": template}}}
    for each in (pod, job, cron, revision):
        found = json.dumps(redacted(each))
        assert _SECRET not in found
        assert "100m" in found


def test_what_schedules_a_pod_and_ends_it_is_recorded():
    pod = a_pod(
        "p", requests={"cpu": "1"}, node_selector={"zone": "a"}, tolerations=[{"key": "t", "operator": "Exists"}]
    )
    pod["spec"]["restartPolicy"] = "Never"
    found = redacted(pod)
    for name in ("containers", "nodeSelector", "tolerations", "restartPolicy"):
        assert found["spec"][name], name
    assert manifest_of(found).spec["containers"][0]["resources"]["requests"]["cpu"] == "1"


def test_a_template_that_differs_only_in_what_is_left_out_has_another_digest():
    digests = [digest_of(secretive(secret=each)) for each in ("one", "two", "one")]
    assert digests[0] == digests[2] != digests[1]


def test_annotations_that_restart_pods_are_in_the_digest():
    restarted = {"kubectl.kubernetes.io/restartedAt": "2026-11-21T09:00:00Z"}
    assert digest_of(secretive()) != digest_of(secretive(annotations=restarted))


def test_a_replica_set_has_the_digest_of_its_deployment():
    """Its template has one label more."""
    replicas = secretive() | {"kind": "ReplicaSet"}
    replicas["spec"]["template"]["metadata"]["labels"] = {"app": "web", "pod-template-hash": "abc"}
    assert digest_of(replicas) == digest_of(secretive())


def test_digests_differ_with_the_key():
    assert digest_of(secretive()) != digest_of(secretive(), b"another")


def digest_of(thing, key=b"key"):
    return redacted(thing, key)["spec"]["template"]["metadata"]["annotations"][TEMPLATE_DIGEST]


def test_heartbeats_are_no_change():
    node = a_node("n")
    later = json.loads(json.dumps(node))
    node["metadata"]["resourceVersion"], later["metadata"]["resourceVersion"] = "1", "2"
    for each, time in ((node, "2026-11-21T09:00:00Z"), (later, "2026-11-21T09:05:00Z")):
        each["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastHeartbeatTime": time}]
    assert redacted(node) == redacted(later)


def test_the_key_stays_in_the_directory_and_is_for_its_owner_only(tmp_path: Path):
    first, second = redactor(tmp_path), redactor(tmp_path)
    (file,) = tmp_path.iterdir()
    assert first == second
    assert file.stat().st_mode & 0o077 == 0


def test_a_broken_key_is_named(tmp_path: Path):
    (tmp_path / "digest.key").write_text("not hexadecimal")
    with pytest.raises(InputError, match=r"digest\.key"):
        redactor(tmp_path)
