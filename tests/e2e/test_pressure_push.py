"""`restow pressure push` to a real Pushgateway, with the memory of the machine that runs the tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from e2e.answering import page_of
from e2e.child import Child
from e2e.ports import HOST
from e2e.pushgateway import a_gateway
from e2e.waiting import wait_until
from restow.pressure.pushing import JOB, METRIC, node_memory

pytestmark = pytest.mark.e2e

GIB = 2**30


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Pushgateway."""
    with a_gateway(tmp_path_factory.mktemp("gateway")) as port:
        yield f"http://{HOST}:{port}"


def samples(gateway: str) -> dict[str, float]:
    """What the gateway has of each instance."""
    families = text_string_to_metric_families(page_of(gateway, "metrics") or "")
    found = (sample for family in families for sample in family.samples if sample.name == METRIC)
    return {each.labels["instance"]: each.value for each in found if each.labels["job"] == JOB}


def push(*arguments: object) -> list[str]:
    command = (sys.executable, "-c", "from restow.cli.main import main; main()", "pressure", "push", *arguments)
    return [str(each) for each in command]


def test_once_pushes_this_machines_memory(gateway: str) -> None:
    subprocess.run(push("--gateway", gateway, "--instance", "10.0.0.7"), check=True, timeout=300)
    figure = samples(gateway)["10.0.0.7"]
    assert abs(figure - node_memory().available) < 4 * GIB
    assert 0 < figure <= node_memory().capacity


def test_again_and_again_and_nothing_is_left_behind(gateway: str, tmp_path: Path) -> None:
    child = Child(push("-g", gateway, "--instance", "n1", "--interval", "1s"), tmp_path / "push.log")
    child.start()
    try:
        wait_until("a figure is pushed", lambda: "n1" in samples(gateway), 120)
        child.terminate()
    finally:
        child.kill()
    assert "n1" not in samples(gateway)


def test_a_gateway_that_refuses_is_a_sentence(gateway: str) -> None:
    """A path that is not the gateway's."""
    ended = subprocess.run(
        push("--gateway", f"{gateway}/nowhere"), capture_output=True, text=True, check=False, timeout=300
    )
    assert (ended.returncode, ended.stderr) == (1, f"restow failed: {gateway}/nowhere answered 404: Not Found\n")
