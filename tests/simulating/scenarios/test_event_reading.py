"""Events of scenario files: what each does, and every way in which one means nothing."""

from __future__ import annotations

import json

import pytest

from builders import a_deployment
from restow.kube.labels import parse_selector
from restow.kube.objects import Taint
from restow.simulating.scenarios import events
from restow.simulating.scenarios.references import NodeChoice, Reference

SECOND, MINUTE = 10**9, 60 * 10**9
WEB = Reference("Deployment", "default", "web")
NODE_1 = NodeChoice("node-1")
ZONE_A = NodeChoice(labels=parse_selector("zone=a"))


EVENTS = [
    ({"delete": "po/shop/web-0"}, events.Delete(Reference("Pod", "shop", "web-0"))),
    ({"delete": "node/node-1"}, events.Delete(Reference("Node", "", "node-1"))),
    ({"delete": "deploy/web", "cascade": "background"}, events.Delete(WEB)),
    ({"delete": "deploy/web", "cascade": "orphan"}, events.Delete(WEB, "orphan")),
    ({"delete": "deploy/web", "cascade": "foreground"}, events.Delete(WEB, "foregroundDeletion")),
    ({"scale": "deployment/web", "to": 0}, events.ScaleWorkload(WEB, 0)),
    ({"label": "deploy/web", "with": {"a": "b", "c": None}}, events.SetLabels(WEB, {"a": "b", "c": None})),
    ({"setImage": "deployments/web", "to": {"web": "nginx:2"}}, events.SetImage(WEB, {"web": "nginx:2"})),
    ({"setUsage": "Deployment/web", "to": {"cpu": 2}}, events.SetUsage(WEB, {"cpu": "2"})),
    ({"taint": "node-1", "with": "a=b:NoSchedule"}, events.AddTaints(NODE_1, (Taint("a", "b", "NoSchedule"),))),
    (
        {"taint": "zone=a", "with": ["a:NoExecute", "b=:PreferNoSchedule"]},
        events.AddTaints(ZONE_A, (Taint("a", "", "NoExecute"), Taint("b", "", "PreferNoSchedule"))),
    ),
    ({"untaint": "node-1", "with": "a"}, events.RemoveTaints(NODE_1, (Taint("a", "", ""),))),
    ({"cordon": "zone=a"}, events.Cordon(ZONE_A)),
    ({"uncordon": "node-1"}, events.Uncordon(NODE_1)),
    ({"drain": "node-1"}, events.Drain(NODE_1)),
    ({"failNode": "node-1"}, events.FailNode(NODE_1)),
    ({"restartNode": "node-1"}, events.RestartNode(NODE_1)),
]


@pytest.mark.parametrize(("written", "action"), EVENTS, ids=lambda each: str(each)[:40])
def test_what_an_event_does(read, written, action):
    (event,) = read(events=[{"at": "90s"} | written]).events
    assert (event.at, event.action, event.word) == (90 * SECOND, action, next(iter(written)))


def test_objects_are_applied_as_they_stand_or_from_a_file(read, tmp_path):
    (tmp_path / "web.json").write_text(json.dumps(a_deployment("web")))
    for written in ("web.json", a_deployment("web"), [a_deployment("web")]):
        (event,) = read(events=[{"at": "0s", "apply": written}]).events
        assert [each.metadata.name for each in event.action.manifests] == ["web"]


ODD_EVENTS = [
    ({}, "events[0]: has no action; write one of apply, delete, scale"),
    ({"cordon": "n", "drain": "n"}, "events[0]: has 2 actions (cordon, drain); write one of apply, delete, scale"),
    ({"cordon": "n", "to": 1}, "events[0].to: means nothing to cordon"),
    ({"scale": "deployment/web", "with": 1}, "events[0].with: means nothing to scale; write to"),
    ({"scale": "deployment/web"}, "events[0].to: must be a number of pods; write to: 3"),
    ({"scale": "deployment/web", "to": -1}, "events[0].to: must be a number of pods; write to: 3"),
    ({"scale": "deployment/web", "to": True}, "events[0].to: must be a number of pods; write to: 3"),
    ({"scale": "daemonset/web", "to": 1}, "events[0].scale: must be about one of deployment, replicaset"),
    ({"scale": "web", "to": 1}, 'events[0].scale: "web" is not of the form KIND/NAME or KIND/NAMESPACE/NAME'),
    ({"delete": "deploymnt/web"}, 'events[0].delete: "deploymnt" is no kind that a scenario knows; did you mean'),
    ({"delete": "deployment/web", "cascade": "orphans"}, "events[0].cascade: must be one of background, orphan"),
    ({"cordon": "n", "cascade": "orphan"}, "events[0].cascade: means nothing to cordon"),
    ({"delete": "node/a/b"}, "events[0].delete: a Node has no namespace; write node/b"),
    ({"delete": "pod/a/b/c"}, 'events[0].delete: "pod/a/b/c" is not of the form'),
    ({"label": "pod/a", "with": {"a": 1}}, "events[0].with: a must be text; put it in quotes"),
    ({"label": "pod/a", "with": {"a": "/"}}, "events[0].with: a: a valid label must be"),
    ({"label": "pod/a"}, "events[0].with: must be a mapping; write with: {zone: b}"),
    ({"setUsage": "pod/a", "to": {"cpu": "much"}}, "events[0].to: "),
    ({"setImage": "job/a", "to": {"a": "b"}}, "events[0].setImage: must be about one of deployment, replicaset,"),
    ({"setImage": "pod/a", "to": "nginx"}, "events[0].to: must be a mapping; write to: {web: nginx:1.29}"),
    ({"setImage": "pod/a", "to": {"a": None}}, "events[0].to: a must be text"),
    ({"taint": "n"}, "events[0].with: must be a taint, or a list of taints; write with: dedicated=db:NoSchedule"),
    ({"taint": "n", "with": "a"}, "events[0].with: a taint needs an effect"),
    (
        {"taint": "n", "with": "a:NoExecut"},
        'events[0].with: "NoExecut" is no effect of a taint; did you mean "NoExecute"?',
    ),
    ({"taint": "n", "with": "a b:NoExecute"}, "events[0].with: name part"),
    ({"taint": "zone=", "with": []}, "events[0].with: must be a taint"),
    ({"cordon": ""}, "events[0].cordon: is empty"),
    ({"cordon": "zone in a"}, "events[0].cordon: "),
    ({"apply": 3}, "events[0].apply: an object here: not a Kubernetes object"),
    ({"apply": {"kind": "Pod"}}, "events[0].apply: an object without apiVersion"),
    ({"apply": "nope.yaml"}, "events[0].apply: "),
    ({"at": "-1s", "cordon": "n"}, "events[0].at: must not be before the start"),
    ({"at": 10, "cordon": "n"}, "events[0].at: must be a duration such as 1h30m, not a number"),
    ({"cordn": "n"}, 'events[0].cordn: unknown field "cordn"; did you mean "cordon"?'),
]


@pytest.mark.parametrize(("written", "sentence"), ODD_EVENTS, ids=lambda each: str(each)[:50])
def test_an_event_that_means_nothing(refusal, written, sentence):
    (found,) = refusal(events=[{"at": "0s"} | written])
    assert found.startswith(sentence)
