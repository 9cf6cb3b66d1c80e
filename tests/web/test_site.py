"""The pages of ``restow serve``, over HTTP: what each shows, and that it needs and lets in nothing from elsewhere."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from html import unescape
from pathlib import Path

import aiohttp
import pytest

from builders import a_list, a_node, a_pod
from history.records import a_cycle, a_move
from restow.application.clusters import ClusterSource, instant
from restow.application.planning import PlanRequest
from restow.application.policies import bundled_text
from restow.errors import InputError
from restow.history.file import HistoryFile
from restow.kube.timestamps import SECOND
from restow.web.server import SiteSettings
from web.sites import DEMO, a_site

PLACES = ("/", "/plan", "/what-if", "/history")
#: What the content security policy would not let a browser run or apply.
_INLINE = re.compile(r"<script(?![^>]*(src=|application/json))|<style|\sstyle=|\son[a-z]+=|javascript:", re.IGNORECASE)
_LOADED = re.compile(r'(?:src|href)="([^"#]+)"')


@pytest.mark.asyncio
async def test_each_page_is_there_and_loads_only_what_is_there_too() -> None:
    async with a_site() as browser:
        for place in PLACES:
            page = await browser.get(place)
            assert (page.status, page.headers["Cache-Control"]) == (200, "no-store")
            assert "default-src 'none'; script-src 'self'" in page.headers["Content-Security-Policy"]
            assert not _INLINE.findall(page.text)
            for address in _LOADED.findall(page.text):
                assert address == "data:," or (await browser.get(address)).status == 200, address


@pytest.mark.asyncio
async def test_the_first_page_says_how_full_the_cluster_is_and_what_the_plan_is() -> None:
    async with a_site() as browser:
        page = (await browser.get("/")).text
        assert "36 nodes, 354 pods: 2 without a node" in page
        assert "The plan of the next cycle: 52 moves" in page
        assert page.count("node-bar") == 36
        assert "batch/forecast-64nnj" in page


@pytest.mark.asyncio
async def test_thousands_of_nodes_are_cells_and_their_page_is_small(tmp_path: Path) -> None:
    nodes = [a_node(f"n-{number}", labels={"topology.kubernetes.io/zone": "abc"[number % 3]}) for number in range(3000)]
    file = tmp_path / "many.json"
    file.write_text(json.dumps(a_list(*nodes, a_pod("p", node="n-1", cpu="4"))))
    async with a_site(file) as browser:
        page = (await browser.get("/")).text
    assert "One cell per node" in page
    assert sum(path.count("M") for path in re.findall(r'class="level-\d" d="([^"]*)"', page)) == 3000
    assert 'class="level-9" d="M' in page
    assert len(page) < 100_000


@pytest.mark.asyncio
async def test_the_plan_is_the_report_and_can_be_saved() -> None:
    async with a_site() as browser:
        page = await browser.get("/plan")
        assert page.text.count("<h1") == 1
        assert 'id="moves"' in page.text
        plan = await browser.get("/plan.json")
        assert json.loads(plan.text)["kind"] == "Plan"
        assert len(json.loads(plan.text)["moves"]) == 52
        assert "plan.json" in plan.headers["Content-Disposition"]


@pytest.mark.asyncio
async def test_news_begin_with_all_that_is_known() -> None:
    async with a_site() as browser, browser.session.get(browser.base + "/events?of=now") as news:
        events = [(await news.content.readuntil(b"\n\n")).decode() for _ in range(3)]
    assert [each.splitlines()[0] for each in events[:2]] == ["event: plan", "event: sample"]
    assert events[2].startswith("data: <header>")
    assert json.loads(events[1].splitlines()[1].removeprefix("data: ")).keys() == {
        "time",
        "cpu",
        "memory",
        "cpuSpread",
        "memorySpread",
        "pending",
        "moving",
    }


@pytest.mark.asyncio
async def test_samples_are_columns() -> None:
    async with a_site() as browser:
        samples = json.loads((await browser.get("/samples.json")).text)
    assert {len(each) for each in samples.values()} == {1}
    assert samples["pending"] == [2]


@pytest.mark.asyncio
async def test_a_supposition_is_planned_and_compared() -> None:
    async with a_site() as browser:
        asked = {"gone": "general-a-1", "cordoned": "", "more": "2 general-a-2, general-a-3", "policy": ""}
        page = await browser.post("/what-if", data=asked)
        assert page.status == 200
        assert "If node general-a-1 is gone, 2 more nodes like general-a-2, 1 more node like general-a-3" in page.text
        assert "24 pods lose their node, 24 find another." in page.text
        assert "38 nodes" in page.text
        assert 'value="general-a-1"' in page.text


@pytest.mark.asyncio
async def test_the_form_has_the_policy_as_it_is_and_another_one_only_if_that_is_changed() -> None:
    async with a_site() as browser:
        form = (await browser.get("/what-if")).text
        policy = unescape(re.findall(r"<textarea[^>]*>([^<]*)</textarea>", form)[0])
        assert policy == bundled_text().decode().rstrip("\n")
        same = await browser.post("/what-if", data={"policy": policy.replace("\n", "\r\n")})
        assert (same.status, "nothing is supposed" in same.text) == (400, True)
        other = await browser.post("/what-if", data={"policy": policy.replace("cpu: 20", "cpu: 1")})
        assert (other.status, "If another policy" in other.text) == (200, True)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({}, "nothing is supposed"),
        ({"gone": "general-a-9"}, "no node general-a-9; did you mean general-a-"),
        ({"more": "many general-a-1"}, "many general-a-1 is not a number and the name of a node"),
        ({"policy": "profiles: {"}, "the policy on the page"),
        ({"policy": "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\ntresholds: 1"}, "tresholds"),
        ({"gone": "<script>alert(1)</script>"}, "&lt;script&gt;"),
    ],
)
@pytest.mark.asyncio
async def test_what_cannot_be_supposed_is_said_above_the_form(asked: dict[str, str], problem: str) -> None:
    async with a_site() as browser:
        page = await browser.post("/what-if", data=asked)
    assert page.status == 400
    assert 'role="alert"' in page.text
    assert problem in page.text
    assert not _INLINE.findall(page.text)


@pytest.mark.asyncio
async def test_a_dump_that_is_dropped_on_the_page_is_planned_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    file = json.dumps(a_list(a_node("other"), a_pod("p", node="other"))).encode()
    async with a_site() as browser:
        for name, content in (("dump.json", file), ("dump.json.gz", gzip.compress(file)), ("../../x", file)):
            form = aiohttp.FormData()
            form.add_field("dump", content, filename=name)
            page = await browser.post("/dump", data=form)
            assert (page.status, "1 node, 1 pod" in page.text) == (200, True)
        assert "36 nodes" in (await browser.get("/")).text
    assert left_in(tmp_path) == []


@pytest.mark.asyncio
async def test_a_dump_that_cannot_be_read_is_said_in_a_sentence() -> None:
    async with a_site() as browser:
        form = aiohttp.FormData()
        form.add_field("dump", b"{", filename="broken.json")
        page = await browser.post("/dump", data=form)
        assert (page.status, 'role="alert"' in page.text) == (400, True)
        form = {"Content-Type": "multipart/form-data"}
        broken = await browser.post("/dump", data=b"x", headers=form)
        assert (broken.status, "what was sent is no form" in broken.text) == (400, True)
        nothing = await browser.post("/dump", data={"dump": ""})
        assert (nothing.status, "choose the file of a dump first" in nothing.text) == (400, True)


def left_in(directory: Path) -> list[Path]:
    return list(directory.iterdir())


@pytest.mark.asyncio
async def test_history_shows_what_was_to_land_where_and_where_it_did(tmp_path: Path) -> None:
    path = str(tmp_path / "restow.db")
    file, at = HistoryFile(path, 30.0, pytest.fail), instant(None) / SECOND - 60
    for begin, after in ((at - 3600, 0.3), (at, 0.1)):
        spread = {"cpu": (0.3, after), "memory": (0.2, 0.2)}
        file.put_cycle(a_cycle(begin, begin + 5, spread=spread))
    known = {"certainty": "certain", "steered": True, "target": "n-2", "landed_at": at + 1, "ready_at": at + 4.5}
    file.put_move(a_move("a", at, "moved", landing="target", landed="n-2", **known))
    file.put_move(a_move("b", at, "moved", landing="missed", landed="n-9", **known))
    file.close()
    async with a_site(history=path) as browser:
        page = (await browser.get("/history?since=8h")).text
        refused = await browser.get("/history?since=yesterday")
    assert "2 pods moved: 1 to their targets, 1 missed" in page
    assert "CPU 0.30 → 0.10; memory 0.20 → 0.20" in page
    assert "Spread after each cycle: CPU 0.30 → 0.10, memory 0.20 → 0.20" in page
    assert "1 landed where planned, 1 elsewhere (below)" in page
    assert "shop/Deployment/web" in page
    assert "n-2 (certain), steered" in page
    assert "ready in 4.5 s" in page
    assert (refused.status, "write a duration such as 24h" in refused.text) == (400, True)


@pytest.mark.asyncio
async def test_without_a_history_the_page_says_how_to_keep_one() -> None:
    async with a_site() as browser:
        assert "restow run --history FILE" in (await browser.get("/history")).text


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "10.1.2.3:8080"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
@pytest.mark.asyncio
async def test_pages_of_others_are_refused(headers: dict[str, str]) -> None:
    async with a_site() as browser:
        for path in ("/", "/plan.json", "/events"):
            assert (await browser.get(path, headers=headers)).status == 403
        assert (await browser.post("/what-if", headers=headers, data={"gone": "general-a-1"})).status == 403


@pytest.mark.asyncio
async def test_a_form_of_another_site_is_refused_whatever_it_says_of_its_origin() -> None:
    async with a_site() as browser:
        crossing = {"Sec-Fetch-Site": "cross-site"}
        assert (await browser.post("/what-if", headers=crossing, data={"gone": "general-a-1"})).status == 403


@pytest.mark.asyncio
async def test_a_cluster_that_cannot_be_read_ends_it_with_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "broken.json"
    file.write_text("{")
    with pytest.raises(InputError, match=r"broken\.json"):
        async with a_site(file):
            pass


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.1", "example.org"])
def test_addresses_that_others_reach_are_refused(address: str) -> None:
    settings = SiteSettings(PlanRequest(ClusterSource((str(DEMO),))), address)
    with pytest.raises(InputError, match="kubectl port-forward"):
        settings.checked()


@pytest.mark.asyncio
async def test_more_questions_than_can_wait_are_asked_to_come_again() -> None:
    async with a_site() as browser:
        asked = [browser.post("/what-if", data={"gone": "general-a-1"}) for _ in range(12)]
        statuses = [each.status for each in await asyncio.gather(*asked)]
    assert set(statuses) == {200, 503}
    assert statuses.count(200) >= 4
