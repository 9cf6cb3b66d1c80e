"""``restow serve`` in a real browser: of dumps, and of the real control plane while restow moves pods there."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import a_list, a_node, a_pod
from e2e.browser import Page
from e2e.control_plane import ControlPlane
from e2e.running import Descheduler
from e2e.served import serving, violations
from e2e.shipped import kubeconfig_of_restow
from e2e.steered import DONE, PACK, install, nodes_of, spread_out
from e2e.workloads import deployment

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio]

#: ``RESTOW_E2E_SERVED_MOVES=500`` makes it longer.
MOVES = int(os.environ.get("RESTOW_E2E_SERVED_MOVES", "30"))
DEMO = Path(__file__).parents[2] / "examples" / "clusters" / "demo.json"
PLACES = ("/", "/plan", "/what-if", "/history")
_NODES = "[...document.querySelectorAll('.node-bar title')].map(each => each.textContent).sort().join()"
_HEADLINE = "document.querySelector('#now h1')?.textContent ?? ''"
#: Seconds, on busy cores.
_PATIENCE = 60.0


async def until(page: Page, condition: str) -> None:
    """Wait until something is so on a page."""
    async with asyncio.timeout(_PATIENCE):
        while not await page.evaluate(condition):  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def planned(page: Page, base: str) -> None:
    await page.open(f"{base}/", 1200)
    await until(page, "document.body.textContent.includes('The plan of the next cycle')")


async def test_each_page_fits_every_screen_breaks_no_rule_and_logs_no_error(tab: Page, tmp_path: Path) -> None:
    with serving(tmp_path, "-f", str(DEMO)) as base:
        await planned(tab, base)
        for place in PLACES:
            for width, dark in ((360, True), (1000, False), (1280, True)):
                await tab.open(base + place, width, dark=dark)
                name = f"serve{place.replace('/', '-')}-{width}-{'dark' if dark else 'light'}"
                assert await tab.fits(name), (place, width)
                assert await violations(tab) == [], (place, width)
        assert tab.errors == []


async def test_links_lead_from_page_to_page(tab: Page, tmp_path: Path) -> None:
    with serving(tmp_path, "-f", str(DEMO)) as base:
        await planned(tab, base)
        for place in (*PLACES[1:], "/"):
            await tab.evaluate(f"document.querySelector('nav.site a[href=\"{place}\"]').click()")
            await until(tab, f"location.pathname === '{place}' && document.readyState === 'complete'")
        assert tab.errors == []


#: What dragging an element onto another one comes to.
_DRAG = """((from, to, make) => {
  const transfer = new DataTransfer();
  make?.(transfer);
  from?.dispatchEvent(new DragEvent("dragstart", { dataTransfer: transfer, bubbles: true }));
  for (const kind of ["dragover", "drop"]) to.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
})"""


async def test_a_node_that_is_dragged_out_is_planned_without(tab: Page, tmp_path: Path) -> None:
    with serving(tmp_path, "-f", str(DEMO)) as base:
        await planned(tab, base)
        await tab.open(f"{base}/what-if", 1200)
        node, field = (
            "document.querySelector('[data-node=\"general-a-1\"]')",
            "document.querySelector('[data-field={}]')",
        )
        await tab.evaluate(f"{_DRAG}({node}, {field.format('gone')})")
        await tab.evaluate(f"{_DRAG}({node.replace('a-1', 'a-2')}, {field.format('more')})")
        filled = "[...document.querySelectorAll('#what-if input')].map(each => each.value)"
        assert await tab.evaluate(filled) == ["general-a-1", "", "1 general-a-2"]
        await tab.evaluate("document.querySelector('#what-if button').click()")
        await until(tab, "!!document.querySelector('#supposed')")
        told = await tab.evaluate("document.querySelector('#supposed').textContent")
        assert "24 pods lose their node, 24 find another." in told
        await until(tab, "document.readyState === 'complete'")
        assert await tab.evaluate("document.querySelector('#play') !== null")
        assert await violations(tab) == []
        assert tab.errors == []


async def test_a_dump_that_is_dropped_is_planned(tab: Page, tmp_path: Path) -> None:
    dump = json.dumps(a_list(a_node("dropped-node"), a_pod("p", node="dropped-node")))
    with serving(tmp_path, "-f", str(DEMO)) as base:
        await planned(tab, base)
        await tab.open(f"{base}/what-if", 1200)
        make = f"(transfer) => transfer.items.add(new File([{json.dumps(dump)}], 'dump.json'))"
        await tab.evaluate(f"{_DRAG}(null, document.querySelector('#drop'), {make})")
        await until(tab, "location.pathname === '/dump' && document.readyState === 'complete'")
        assert await tab.evaluate("document.querySelector('#cluster').textContent.startsWith('Cluster1 node, 1 pod.')")
        assert tab.errors == []


async def test_five_thousand_nodes_are_shown_within_two_seconds(tab: Page, tmp_path: Path) -> None:
    zones = ("a", "b", "c")
    nodes = [a_node(f"n-{at}", labels={"topology.kubernetes.io/zone": zones[at % 3]}) for at in range(5000)]
    pods = [a_pod(f"p-{at}", node=f"n-{at % 5000}", cpu=f"{at % 4000}m") for at in range(10_000)]
    (tmp_path / "large.json").write_text(json.dumps(a_list(*nodes, *pods)))
    with serving(tmp_path, "-f", str(tmp_path / "large.json")) as base:
        await planned(tab, base)
        for place in ("/", "/plan"):
            began = time.monotonic()
            await tab.open(base + place, 1200)
            took = time.monotonic() - began
            assert took < 2.0, f"{place} took {took:.1f} s"
        assert tab.errors == []


@pytest.fixture(scope="module")
def cluster(kustomize: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("served")) as plane:
        plane.add_nodes(5, cpu="4", pods=MOVES + 100)
        install(plane)
        yield plane


@pytest.fixture(scope="module")
def reading(cluster: ControlPlane) -> Path:
    """A kubeconfig with the rights to read, and no others."""
    token = cluster.service_account("page", roles=("restow-reading",))
    return cluster.kubeconfig_for(token, "page")


async def test_moves_are_seen_as_they_go_and_history_says_where_they_landed(
    tab: Page, cluster: ControlPlane, reading: Path, tmp_path: Path
) -> None:
    history = tmp_path / "restow.db"
    flags = ("--descheduling-interval=1h", "--v=3", f"--history={history}")
    web = deployment("web", MOVES, cpu="1m", memory="1Mi", annotations={"test/delete-delay": "2s"})
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps(PACK))
    options = ("--kubeconfig", str(reading), "--every", "1", "--plan-every", "2", "--steering", "nominate")
    more = ("--history", str(history), "--policy-config-file", str(policy))
    with spread_out(cluster, web), serving(tmp_path, *options, *more) as base:
        await until_planned(tab, base)
        before = await tab.evaluate(_NODES)
        kubeconfig = kubeconfig_of_restow(cluster)
        with Descheduler(tmp_path, policy=PACK, kubeconfig=kubeconfig, flags=flags) as restow:
            seen = await headlines(tab, restow)
            restow.send(signal.SIGTERM)
            assert await asyncio.to_thread(restow.wait) == 0
        await until(tab, f"{_HEADLINE}.endsWith('all is quiet')")
        assert any("ending" in each or "on their way" in each for each in seen), seen
        assert await tab.evaluate(_NODES) != before
        assert await tab.evaluate("document.querySelectorAll('#time canvas').length") == 3
        assert nodes_of(cluster, "web").keys() <= {"node-1", "node-2"}

        await tab.open(f"{base}/history", 1200)
        told = await tab.evaluate("document.querySelector('h1').textContent")
        assert told == f"{MOVES} pods moved: {MOVES} to their targets"
        assert await violations(tab) == []
        await tab.open(f"{base}/plan", 1200)
        await until(tab, "document.querySelector('#plan-news') !== null")
        cluster.admin.create(deployment("more", 3, cpu="10m"))
        await until(tab, "!document.querySelector('#newer').hidden")
        assert tab.errors == []
        assert (tmp_path / "serve.log").read_text().count("\n") <= 3


async def test_a_page_says_when_the_api_server_is_gone_and_when_it_is_back(
    tab: Page, cluster: ControlPlane, reading: Path, tmp_path: Path
) -> None:
    with serving(tmp_path, "--kubeconfig", str(reading), "--every", "1") as base:
        await planned(tab, base)
        await asyncio.to_thread(cluster.kill, "kube-apiserver")
        await until(tab, "document.querySelector('#now aside')?.textContent.includes('does not answer') ?? false")
        assert "CPU" in await tab.evaluate(_NODES)
        await asyncio.to_thread(cluster.restart, "kube-apiserver")
        await until(tab, "document.querySelector('#now aside') === null")


async def until_planned(page: Page, base: str) -> None:
    """The first page, once it says how many moves there are."""
    await page.open(f"{base}/", 1200)
    await until(page, f"document.body.textContent.includes('The plan of the next cycle: {MOVES} move')")


async def headlines(page: Page, restow: Descheduler) -> set[str]:
    """What the first line of the page says until a cycle is done."""
    waiting, seen = asyncio.create_task(asyncio.to_thread(restow.wait_for_line, DONE)), set()
    while not waiting.done():
        seen.add(await page.evaluate(_HEADLINE))
        await asyncio.sleep(0.2)
    await waiting
    return seen
