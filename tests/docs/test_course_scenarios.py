"""The scenarios of the course go as they expect, and only because of what their manifests say."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from docs.pages import ROOT
from restow.kube.timestamps import parse_time
from restow.policies.policy import Policy
from restow.simulating.scenarios.folder import Folder
from restow.simulating.scenarios.reading import read_scenario
from restow.simulating.scenarios.running import RunEnding, begin, config_of, run_out

COURSE = ROOT / "examples" / "course"
SCENARIOS = sorted(path for path in COURSE.glob("*/*.yaml") if "\nkind: Scenario\n" in path.read_text())
TERM = "- {key: track, operator: NotIn, values: [debug]}"

#: By scenario: a file, a text in it, and what stands there instead; then some expectation must fail.
CAUSES = {
    "deployment/scenario": [
        ("web-2.yaml", "maxUnavailable: 0", "maxUnavailable: 2"),
        ("web-2.yaml", "maxSurge: 1", "maxSurge: 2"),
        ("web-3.yaml", "ready-delay: 24h", "ready-delay: 1s"),
        ("scenario.yaml", "at: 15m\n  apply: web-2.yaml", "at: 15m\n  apply: web-3.yaml"),
    ],
    "replicasets/scenario": [
        ("scenario.yaml", "  cascade: orphan\n", ""),
        ("set.yaml", f"    {TERM}\n", ""),
        ("set.yaml", "values: [web, shop]", "values: [web]"),
        ("stray.yaml", '"-1"', '"1"'),
    ],
    "node-selector/scenario": [
        ("db.yaml", "disk: ssd", "kubernetes.io/hostname: node-3"),
        ("report.yaml", "      nodeSelector: {disk: nvme}\n", ""),
        ("scenario.yaml", "with: {disk: hdd}", "with: {disk: ssd}"),
    ],
    "node-affinity/scenario": [
        ("operators.yaml", "operator: In,", "operator: NotIn,"),
        ("operators.yaml", "operator: NotIn, values: [ssd, hdd]", "operator: NotIn, values: [hdd]"),
        ("operators.yaml", "operator: Exists", "operator: DoesNotExist"),
        ("operators.yaml", "operator: DoesNotExist", "operator: Exists"),
        ("operators.yaml", "operator: Gt", "operator: Lt"),
        ("operators.yaml", "operator: Lt", "operator: Gt"),
        ("terms.yaml", "values: [ssd]", "values: [hdd]"),
        (
            "terms.yaml",
            '        - {key: generation, operator: Lt, values: ["2"]}\n',
            "        - {key: x, operator: Exists}\n",
        ),
        ("terms.yaml", "      nodeSelector: {zone: a}\n", "      nodeSelector: {zone: b}\n"),
        ("preferred.yaml", "values: [ssd]", "values: [hdd]"),
        ("scenario.yaml", "with: {gpu: null}", "with: {gpu: still}"),
    ],
    "pod-affinity/scenario": [
        ("cache.yaml", "topology.kubernetes.io/zone", "kubernetes.io/hostname"),
        ("web.yaml", "matchLabels: {app: cache}", "matchLabels: {app: web}"),
        ("group.yaml", "podAffinity", "podAntiAffinity"),
        ("quiet.yaml", "matchLabels: {app: batch}", "matchLabels: {app: other}"),
        ("near-2.yaml", "namespaces: [default]", "namespaces: [front]"),
    ],
    "taints/scenario": [
        ("nodes.yaml", "spec: {taints: [{key: dedicated, value: db, effect: NoSchedule}]}\n", ""),
        ("dedicated.yaml", "value: db", "value: cache"),
        ("dedicated.yaml", "key: nvidia.com/gpu", "key: amd.com/gpu"),
        ("dedicated.yaml", "- {operator: Exists}", "- {key: dedicated, operator: Exists}"),
        ("leaving.yaml", "tolerationSeconds: 60", "tolerationSeconds: 90"),
        ("leaving.yaml", "- {key: maintenance, operator: Exists}\n", "- {key: other, operator: Exists}\n"),
        ("quick.yaml", "tolerationSeconds: 30", "tolerationSeconds: 300"),
        ("scenario.yaml", "maintenance:NoExecute", "maintenance:NoSchedule"),
    ],
    "priority/scenario": [
        ("urgent.yaml", "priorityClassName: urgent", "priorityClassName: low"),
        ("running.yaml", "priorityClassName: low", "priorityClassName: urgent"),
        ("classes.yaml", "preemptionPolicy: Never\n", ""),
        ("classes.yaml", "globalDefault: true", "globalDefault: false"),
    ],
    "priority/race": [
        ("race.yaml", "- configuration: batch-scheduler.yaml\n", ""),
        ("urgent.yaml", "priorityClassName: urgent", "priorityClassName: low"),
    ],
    "priority/one-scheduler": [
        ("urgent.yaml", "priorityClassName: urgent", "priorityClassName: low"),
    ],
    "daemonsets/scenario": [
        ("agent.yaml", "- {operator: Exists}", "- {key: other, operator: Exists}"),
        ("agent-2.yaml", "maxUnavailable: 1", "maxUnavailable: 3"),
        ("storage-2.yaml", "type: OnDelete", "type: RollingUpdate"),
        ("storage.yaml", "      nodeSelector: {storage: local}\n", ""),
        ("node-5.yaml", ", storage: local", ""),
    ],
    "jobs/scenario": [
        ("fixed.yaml", "parallelism: 2", "parallelism: 3"),
        ("fixed.yaml", "completions: 6", "completions: 7"),
        ("queue.yaml", "parallelism: 3", "completions: 4\n  parallelism: 3"),
        ("indexed.yaml", "  completionMode: Indexed\n", ""),
        ("failing.yaml", "backoffLimit: 1", "backoffLimit: 2"),
    ],
    "cronjobs/scenario": [
        ("overlapping.yaml", "concurrencyPolicy: Allow", "concurrencyPolicy: Forbid"),
        ("overlapping.yaml", "concurrencyPolicy: Forbid", "concurrencyPolicy: Allow"),
        ("overlapping.yaml", "concurrencyPolicy: Replace", "concurrencyPolicy: Allow"),
        ("history.yaml", "successfulJobsHistoryLimit: 2", "successfulJobsHistoryLimit: 3"),
    ],
    "custom-scheduler/scenario": [
        ("packed.yaml", "      schedulerName: packing\n", ""),
        ("packing.yaml", "MostAllocated", "LeastAllocated"),
        ("packing.yaml", ", {name: PodTopologySpread}", ""),
        ("lost.yaml", "      schedulerName: nobody\n", ""),
    ],
}


def name_of(path: Path) -> str:
    """A scenario as the table of causes calls it."""
    return path.relative_to(COURSE).with_suffix("").as_posix()


def outcomes(path: Path) -> list[str]:
    """What came of each expectation of a scenario, which nobody has to be told anything about."""
    folder = Folder(path.parent)
    scenario = read_scenario(path.read_bytes(), path.name, folder)
    assert scenario.duration
    begins = parse_time("2026-11-21T00:00:00Z") if scenario.begins is None else scenario.begins
    run = begin(scenario, config_of(scenario, folder, Policy()), begins)
    finished = run_out(replace(scenario, findings=()), run, RunEnding(scenario.duration, False), lambda _: None)
    assert finished.failed_events == []
    return [each.outcome for each in finished.verdicts]


@pytest.mark.parametrize("path", SCENARIOS, ids=name_of)
def test_a_scenario_goes_as_it_expects(path):
    assert set(outcomes(path)) == {"met"}
    assert read_scenario(path.read_bytes(), path.name, Folder(path.parent)).findings == ()


def test_every_scenario_has_causes():
    assert {*CAUSES} == {name_of(path) for path in SCENARIOS}


@pytest.mark.parametrize(
    ("scenario", "cause"),
    [(scenario, cause) for scenario, causes in CAUSES.items() for cause in causes],
    ids=lambda each: each if isinstance(each, str) else f"{each[0]}: {each[1].strip()[:40]}",
)
def test_without_its_cause_an_expectation_fails(scenario, cause, tmp_path):
    path = COURSE / f"{scenario}.yaml"
    folder = shutil.copytree(path.parent, tmp_path / "course")
    file, text, instead = cause
    written = (folder / file).read_text()
    assert text in written
    (folder / file).write_text(written.replace(text, instead, 1))
    assert "failed" in outcomes(folder / path.name)
