"""The manifests of a shadow, of a page and of a recorder: with the rights to read, and no others."""

from __future__ import annotations

import pytest
import yaml

from deploy.manifests import KUBERNETES, documents, manifests, only, pod_of

(DEPLOYMENT,) = pod_of(only(manifests(KUBERNETES / "deployment"), "Deployment"))["spec"]["containers"]


@pytest.mark.parametrize("name", ["shadow", "page", "recording"])
def test_the_rights_to_evict_are_left_out(name):
    kustomization = documents(KUBERNETES / name / "kustomization.yaml")[0]
    gone = {(each["kind"], each["metadata"]["name"]) for each in map(yaml.safe_load, _patches(kustomization))}
    evicting = {(each["kind"], each["metadata"]["name"]) for each in documents(KUBERNETES / "base" / "evicting.yaml")}
    # A recorder has no policy.
    assert gone - {("ConfigMap", "restow-policy")} == evicting


def test_a_shadow_is_the_deployment():
    (shadow,) = pod_of(only(manifests(KUBERNETES / "shadow"), "Deployment"))["spec"]["containers"]
    own = set(shadow["args"]) - set(DEPLOYMENT["args"])
    assert own == {"--shadow", "--shadow-reports=/reports"}
    assert {key: shadow[key] for key in ("securityContext", "livenessProbe", "readinessProbe")} == {
        key: DEPLOYMENT[key] for key in ("securityContext", "livenessProbe", "readinessProbe")
    }


def test_a_page_is_reached_by_a_forwarded_port_only():
    objects = manifests(KUBERNETES / "page")
    (page,) = pod_of(only(objects, "Deployment"))["spec"]["containers"]
    assert page["args"][0] == "serve"
    assert "--bind-address=127.0.0.1" in page["args"]
    assert "ports" not in page
    assert not [each for each in objects if each["kind"] in {"Service", "Ingress"}]
    assert page["securityContext"] == DEPLOYMENT["securityContext"]


def test_a_recorder_keeps_less_than_its_claim_has():
    """What it is allowed to write must fit, or it records nothing any more."""
    objects = list(manifests(KUBERNETES / "recording"))
    (recorder,) = pod_of(only(objects, "Deployment"))["spec"]["containers"]
    (size,) = (int(each.removeprefix("--max-size=")) for each in recorder["args"] if "--max-size" in each)
    claim = only(objects, "PersistentVolumeClaim")["spec"]["resources"]["requests"]["storage"]
    assert size * (1 << 20) < int(claim.removesuffix("Gi")) * (1 << 30)
    assert recorder["securityContext"] == DEPLOYMENT["securityContext"]


def _patches(kustomization):
    return [each["patch"] for each in kustomization["patches"] if "$patch: delete" in each["patch"]]
