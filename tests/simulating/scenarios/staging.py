"""Scenarios that play in tests, with somebody who watches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import yaml

from builders import a_node
from restow.kube.manifests import manifest_of
from restow.policies.policy import Policy
from restow.simulating.scenarios.folder import Folder
from restow.simulating.scenarios.reading import read_scenario
from restow.simulating.scenarios.running import begin, config_of
from simulating.scenes import START, Scene


class Staged(Scene):
    """A scene in which a scenario plays; beside what it brings there are nodes called n1, n2..."""

    def __init__(self, *, nodes: int = 3, folder: Path = Path(), **scenario) -> None:
        head = {"apiVersion": "restow.dev/v1alpha1", "kind": "Scenario"}
        read = read_scenario(yaml.safe_dump(head | scenario).encode(), "s.yaml", Folder(folder))
        more = [manifest_of(a_node(f"n{number}", cpu="4", memory="8Gi")) for number in range(1, nodes + 1)]
        run = begin(replace(read, start=(*more, *read.start)), config_of(read, Folder(folder), Policy()), START)
        self.simulation, self.kubelets = run.simulation, run.actors.kubelets
        self.store, self.clock = self.simulation.store, self.simulation.clock
        self.applier, self.observer, self.recorder = run.applier, run.observer, run.recorder
        self.descheduler = run.descheduler

    def node(self, name: str):
        """A node."""
        return self.store.get("Node", "", name)

    def outcomes(self) -> list[tuple[str, float]]:
        """What came of each expectation, and when, in seconds."""
        return [(each.outcome, each.time / 10**9) for each in self.observer.finish()]
