"""The commands of how-tos, typed in their order on a real cluster by somebody who has the files that they name.

What needs a kubelet (``kubectl cp``, ``port-forward``) or other programs (Prometheus, a metrics server) is left out here;
the manifests of ``deploy/`` have tests of their own.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from builders.policies import as_yaml, strategy_policy
from docs.console import examples
from docs.pages import ROOT, blocks, files
from e2e.answering import page_of
from e2e.binaries import tool
from e2e.child import Child
from e2e.control_plane import ControlPlane
from e2e.ports import HOST, free_ports
from e2e.shell import Shell, answered, with_restow
from e2e.waiting import wait_until
from e2e.workloads import deployment, stateful_set, wait_for_ready
from restow.errors import InputError
from restow.kube.timestamps import format_time
from restow.recordings.reading import read_recording
from restow.recordings.writing import segments

pytestmark = pytest.mark.e2e

HOW_TOS = ROOT / "docs/how-to"
PAGES = (
    *("apply-a-plan", "move-to-restow", "plan-a-live-cluster", "plan-from-a-dump", "plan-many-clusters"),
    *("push-node-memory", "record-and-replay", "review-a-policy", "see-what-was-done", "tune-a-policy"),
    *("watch-a-cluster", "watch-others-evict"),
)
#: Commands in code blocks of lists and paragraphs, which continue after a backslash.
_INDENTED = re.compile(r"^ {4,}(restow (?:.*\\\n)*.*)$", re.MULTILINE)
_LEFT_OUT = ("prometheus:9090", "prometheus.{context}", "metrics.k8s.io", "usage.json", "kubectl -n", "kubectl apply")
#: Statuses other than 0 with which what is asked for is answered.
_ANSWERS = {"restow diff": {3}, "--exit-code": {3}, "--compare": {3}, "jq -e": {1}, "diff old": {1}}
_MOMENTS = ("2026-11-21T09:00:00Z", "2026-11-21T10:00:00Z")
_PATIENCE = 120.0


@pytest.fixture(scope="module")
def cluster(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Four nodes, the workloads that the pages name, and a Descheduler's policy; one node has one replica too many."""
    with ControlPlane(tmp_path_factory.mktemp("how-tos")) as plane:
        plane.add_nodes(1)
        plane.namespace("shop")
        plane.admin.create_all([deployment("web", 3, namespace="shop"), stateful_set("db", 1, namespace="shop")])
        wait_for_ready(plane.admin, "web", 3, "shop", timeout=_PATIENCE)
        plane.add_nodes(3)
        policy = {"policy.yaml": as_yaml(strategy_policy("RemoveDuplicates")).decode()}
        metadata = {"name": "descheduler", "namespace": "kube-system"}
        plane.admin.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": policy})
        yield plane


@pytest.fixture(scope="module")
def reader(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of somebody whose kubeconfig has several contexts; all of them are the same cluster."""
    home = tmp_path_factory.mktemp("reader")
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    (context,) = config["contexts"]
    names = ("here", "staging", "prod-1", "prod-2")
    config |= {"contexts": [{"name": each, "context": context["context"]} for each in names], "current-context": "here"}
    (home / "kubeconfig").write_text(yaml.safe_dump(config))
    environment = with_restow(home / "bin")
    path = os.pathsep.join((environment["PATH"], str(tool("kubectl").parent)))
    return environment | {"PATH": path, "KUBECONFIG": str(home / "kubeconfig")}


@pytest.fixture(scope="module")
def provided(reader: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the files that the pages name."""
    here = tmp_path_factory.mktemp("provided")
    for name in ("policy", "main", "old", "today", "upstream"):
        (here / f"{name}.yaml").write_bytes(as_yaml(strategy_policy("RemoveDuplicates")))
    for name in ("branch", "new", "proposed"):
        (here / f"{name}.yaml").write_bytes(as_yaml(strategy_policy("RemoveDuplicates", maxNoOfPodsToEvictPerNode=1)))
    shutil.copytree(ROOT / "examples", here / "examples")
    for name in ("shop.yaml", "duplicates.yaml"):
        shutil.copy(ROOT / "examples/scenarios" / name, here)
    shutil.copy(ROOT / "examples/scenarios/maintenance.yaml", here / "scenario.yaml")
    with Shell(here, reader) as shell:
        for command in (
            "restow snapshot -o cluster.json.gz && mkdir dumps && cp cluster.json.gz dumps",
            "restow snapshot -o staging.json && cp staging.json prod.json && cp staging.json cluster.json",
            "restow plan --policy-config-file main.yaml -o json > yesterday.json && cp yesterday.json today.json",
        ):
            said = shell.typed(command)
            assert shell.status == 0, said
    return here


def commands_of(text: str) -> list[str]:
    """The commands of a page in their order, but for those that are left out."""
    found: list[tuple[int, str]] = []
    outside = text
    for block in blocks(text):
        outside = outside[: block.start] + " " * (block.end - block.start) + outside[block.end :]
        if block.language == "console":
            found += ((block.start + number, each.command) for number, each in enumerate(examples(block)))
    found += ((each.start(), each[1].replace("\\\n", " ")) for each in _INDENTED.finditer(outside))
    return [command for _, command in sorted(found) if not any(each in command for each in _LEFT_OUT)]


class Reader:
    """Types the commands of one page."""

    def __init__(self, place: Path, environment: dict[str, str], cluster: ControlPlane) -> None:
        self._place, self._environment, self._cluster = place, environment, cluster
        self._shell = Shell(place, environment)
        self._number = 0

    def close(self) -> None:
        self._shell.end()

    def type(self, command: str) -> None:
        """Type a command, and see that it does what the page says: it ends, or it goes on until Ctrl-C."""
        command = self._here(command)
        if command.startswith("restow run"):
            port = free_ports(1)[0]
            self._go_on(f"{command} --secure-port {port}", partial(self._has_begun, command))
        elif command.startswith("restow serve"):
            port = free_ports(1)[0]
            self._go_on(f"{command} --port {port}", lambda: page_of(f"http://{HOST}:{port}", "") is not None)
        elif command.startswith("restow record"):
            self._go_on(command, self._has_recorded)
        elif command.startswith("restow apply"):
            status, said = answered(command, "y", self._place, self._environment)
            # A replacement may land elsewhere, so that the next move does not hold.
            assert status in (0, 1), said
            assert "Traceback" not in said
        else:
            said = self._shell.typed(command)
            fine = {0}.union(*(codes for part, codes in _ANSWERS.items() if part in command))
            assert self._shell.status in fine, f"{command}: {self._shell.status}\n{said}"
            assert "Traceback" not in said

    def _here(self, command: str) -> str:
        """A command with what differs here: moments that were recorded, a digest, and fewer trials."""
        recording = self._place / "recording"
        if recording.exists():
            span = read_recording(str(recording), None, None)
            for moment, at in zip(_MOMENTS, (span.begins, span.ends), strict=True):
                command = command.replace(moment, format_time(at * 1_000_000))
        if "sha256:..." in command:
            digest = hashlib.sha256((self._place / "plan.json").read_bytes()).hexdigest()
            command = command.replace("sha256:...", f"sha256:{digest}")
        if command.startswith("restow tune"):
            command = f"{re.sub(r'--(trials|seeds) [0-9]+', '', command)} --trials 4 --seeds 3"
        return command

    def _go_on(self, command: str, is_there: Callable[[], bool]) -> None:
        self._number += 1
        log = self._place / f"terminal-{self._number}.log"
        bash = ["/bin/bash", "-c", f"cd {self._place} && exec {command}"]
        child = Child(bash, log, environment=self._environment)
        self._log = log
        child.start()
        try:
            wait_until(command, partial(_checked, child, is_there), _PATIENCE)
            child.send(signal.SIGINT)
            assert child.wait(_PATIENCE) in (0, 130), child.tail()
        finally:
            child.kill()
        assert "Traceback" not in log.read_text(), child.tail()

    def _has_begun(self, command: str) -> bool:
        """Whether a descheduler plans; with a history, whether that has a cycle."""
        if "--history" not in command:
            return "replacements are not steered" in self._log.read_text()
        return re.search(r"^cycles +[1-9]", self._shell.typed("restow history restow.db"), re.MULTILINE) is not None

    def _has_recorded(self) -> bool:
        found = self._place / "recording"
        if not (found.exists() and segments(found)):
            return False
        self._cluster.admin.patch("Deployment", "web", {"spec": {"replicas": 4}}, "shop")
        wait_for_ready(self._cluster.admin, "web", 4, "shop", timeout=_PATIENCE)
        try:
            return len(read_recording(str(found), None, None).changes) > 0
        except InputError:
            return False


def _checked(child: Child, is_there: Callable[[], bool]) -> bool:
    child.check()
    return is_there()


@pytest.mark.parametrize("name", PAGES)
def test_what_a_how_to_says_can_be_typed(
    name: str, provided: Path, reader: dict[str, str], cluster: ControlPlane, tmp_path: Path
) -> None:
    place = tmp_path / "here"
    shutil.copytree(provided, place)
    text = (HOW_TOS / f"{name}.md").read_text()
    for file, content in files(text).items():
        (place / file).write_text(content)
    if name in ("tune-a-policy", "record-and-replay"):
        # The space is for the bundled policy.
        shutil.copy(ROOT / "examples/policies/default.yaml", place / "policy.yaml")
        (place / "space.yaml").write_text(files((HOW_TOS / "tune-a-policy.md").read_text())["space.yaml"])
    commands = commands_of(text)
    assert commands
    typist = Reader(place, reader, cluster)
    try:
        for command in commands:
            typist.type(command)
    finally:
        typist.close()
