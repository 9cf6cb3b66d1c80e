"""The manifests of a shadow: the Deployment, without the rights to evict."""

from __future__ import annotations

import yaml

from deploy.manifests import KUBERNETES, documents, manifests, only, pod_of

(DEPLOYMENT,) = pod_of(only(manifests(KUBERNETES / "deployment"), "Deployment"))["spec"]["containers"]


def test_a_shadow_is_the_deployment_without_the_rights_to_evict():
    kustomization = documents(KUBERNETES / "shadow" / "kustomization.yaml")[0]
    gone = {(each["kind"], each["metadata"]["name"]) for each in map(yaml.safe_load, _patches(kustomization))}
    assert gone == {
        (each["kind"], each["metadata"]["name"]) for each in documents(KUBERNETES / "base" / "evicting.yaml")
    }
    (shadow,) = pod_of(only(manifests(KUBERNETES / "shadow"), "Deployment"))["spec"]["containers"]
    own = set(shadow["args"]) - set(DEPLOYMENT["args"])
    assert own == {"--shadow", "--shadow-reports=/reports"}
    assert {key: shadow[key] for key in ("securityContext", "livenessProbe", "readinessProbe")} == {
        key: DEPLOYMENT[key] for key in ("securityContext", "livenessProbe", "readinessProbe")
    }


def _patches(kustomization):
    return [each["patch"] for each in kustomization["patches"] if "$patch: delete" in each["patch"]]
