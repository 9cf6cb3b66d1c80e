"""Objects of scenarios are refused before a run if somebody could not read them during it."""

from __future__ import annotations

import re

import pytest

from restow.cluster.snapshot import ClusterStore
from restow.simulating.scenarios.folder import read_object


def an_object(kind, api_version="v1", **fields):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}} | fields


ODD_CONTAINER = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "much"}}}]}
ODD_TEMPLATE = {"template": {"spec": ODD_CONTAINER}}

REFUSED = [
    (an_object("Pod", spec={"containers": "x"}), "Pod a: spec.containers: "),
    (
        an_object("Pod", spec=ODD_CONTAINER),
        'Pod a: spec.containers[0].resources.requests: cpu: "much" is not a quantity',
    ),
    (an_object("Pod", spec={"affinity": {"nodeAffinity": 3}}), "Pod a: spec.affinity.nodeAffinity: "),
    (an_object("Pod", spec={"overhead": {"memory": "100E"}}), "Pod a: memory is more than"),
    (an_object("Node", status={"allocatable": {"cpu": "x"}}), "Node a: status.allocatable: cpu: "),
    (an_object("Deployment", "apps/v1", spec=ODD_TEMPLATE), "Deployment a: Pod of the template: spec.containers[0]"),
    (
        an_object("CronJob", "batch/v1", spec={"jobTemplate": {"spec": ODD_TEMPLATE}}),
        "CronJob a: Pod of the template: ",
    ),
    (an_object("CronJob", "batch/v1", spec=3), "CronJob a: spec: "),
    (an_object("Anything", "example.com/v1", metadata={"name": "a", "labels": 3}), "Anything a: "),
]


@pytest.mark.parametrize(("document", "sentence"), REFUSED, ids=lambda each: str(each)[:60])
def test_what_nobody_can_read_is_refused(document, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        read_object(document, ClusterStore())


def test_objects_of_other_kinds_are_kept_as_they_are():
    made = read_object(an_object("Anything", "example.com/v1", spec={"deep": [1, {"er": None}]}), ClusterStore())
    assert made.manifest.content["spec"] == {"deep": [1, {"er": None}]}
