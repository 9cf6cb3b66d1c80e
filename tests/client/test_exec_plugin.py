"""Programs that give credentials: what they are told, and that none of them holds anything up."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import select
from pathlib import Path
from typing import Any

import pytest
import trustme

from client.configurations import a_kubeconfig
from restow.client import exec_plugin
from restow.client.connection import kubeconfig_endpoint
from restow.client.credentials import Credentials, Identity
from restow.client.errors import NoCredentials
from restow.errors import InputError

pytestmark = pytest.mark.asyncio

GOOD = '{"apiVersion": "v1", "kind": "ExecCredential", "status": {"token": "t"}}'
AUTHORITY = trustme.CA().cert_pem.bytes()


def a_shell(directory: Path, script: str, exec_fields: dict[str, Any] | None = None, **cluster: Any) -> Credentials:
    """Credentials of a script in a folder."""
    section = {"apiVersion": "v1", "command": "sh", "args": ["-c", f"cd {directory}; {script}"]} | (exec_fields or {})
    return kubeconfig_endpoint(a_kubeconfig(directory / "config", {"exec": section}, **cluster), None, {}).credentials


async def processes_of(script: Path, asking: asyncio.Future[Identity]) -> list[int]:
    """The processes whose numbers a script writes to pipes, as what can be waited for."""
    numbers = [await asyncio.to_thread((script / name).read_text) for name in ("own", "child")]
    assert not asking.done()
    return [os.pidfd_open(int(each)) for each in numbers]


def has_ended(process: int) -> bool:
    ready, _, _ = select.select([process], [], [], 30)
    os.close(process)
    return bool(ready)


WITH_A_CHILD = "sleep 600 & echo $$ > own; echo $! > child; wait"


async def test_a_program_that_does_not_answer_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exec_plugin, "PATIENCE", 2.0)
    for name in ("own", "child"):
        os.mkfifo(tmp_path / name)
    asking = asyncio.ensure_future(a_shell(tmp_path, WITH_A_CHILD).identity())
    processes = await processes_of(tmp_path, asking)

    with pytest.raises(NoCredentials, match="sh did not answer within 2 s and was killed"):
        await asking
    assert [has_ended(each) for each in processes] == [True, True]


async def test_a_program_whose_answer_nobody_waits_for_is_ended_with_its_children(tmp_path: Path) -> None:
    for name in ("own", "child"):
        os.mkfifo(tmp_path / name)
    asking = asyncio.ensure_future(a_shell(tmp_path, WITH_A_CHILD).identity())
    processes = await processes_of(tmp_path, asking)

    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert [has_ended(each) for each in processes] == [True, True]


async def test_a_program_that_is_given_up_while_it_starts_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs before the event loop has connected its pipes."""
    loop, given_up = asyncio.get_running_loop(), asyncio.Event()
    connect = loop.connect_read_pipe

    async def late(*arguments: Any) -> Any:
        await given_up.wait()
        return await connect(*arguments)

    monkeypatch.setattr(loop, "connect_read_pipe", late)
    for name in ("own", "child"):
        os.mkfifo(tmp_path / name)
    asking = asyncio.ensure_future(a_shell(tmp_path, WITH_A_CHILD).identity())
    processes = await processes_of(tmp_path, asking)

    asking.cancel()
    given_up.set()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert [has_ended(each) for each in processes] == [True, True]


async def test_much_on_stderr_holds_nothing_up_and_its_end_is_told(tmp_path: Path) -> None:
    flood = "head -c 300000 /dev/zero | tr '\\0' x >&2; echo log in first >&2"
    assert (await a_shell(tmp_path, f"{flood}; echo '{GOOD}'").identity()).headers

    with pytest.raises(NoCredentials, match=r"log in first$") as raised:
        await a_shell(tmp_path, f"{flood}; exit 1").identity()
    assert len(str(raised.value)) < 1_500


async def test_an_answer_without_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoCredentials, match="its output is longer than 1,048,576 bytes"):
        await a_shell(tmp_path, "exec cat /dev/zero").identity()


async def test_a_child_that_stays_holds_up_nobody(tmp_path: Path) -> None:
    """Some programs leave an agent behind, which inherits what they write to."""
    identity = await a_shell(tmp_path, f"sleep 600 & echo $! > child; echo '{GOOD}'").identity()

    assert identity.headers == (("Authorization", "Bearer t"),)
    os.kill(int((tmp_path / "child").read_text()), 9)


LONG = "x" * 100_000


@pytest.mark.parametrize(
    "section",
    [
        pytest.param({"command": LONG}, id="command"),
        pytest.param({"command": f"/{LONG}"}, id="path"),
        pytest.param({"command": "sh", "args": [LONG]}, id="argument"),
        pytest.param({"command": "sh", "args": ["-c", f"echo {LONG} >&2; exit 1"]}, id="told"),
        pytest.param({"command": "sh", "args": [LONG * 20]}, id="too-much"),
        pytest.param({"apiVersion": LONG, "command": "sh", "args": ["-c", f"echo '{GOOD}'"]}, id="version"),
    ],
)
async def test_what_a_section_says_at_length_is_repeated_by_its_beginning(
    tmp_path: Path, section: dict[str, Any]
) -> None:
    with pytest.raises(NoCredentials) as raised:
        await a_shell(tmp_path, "", section).identity()
    assert len(str(raised.value)) < 800


@pytest.mark.parametrize(
    ("section", "field"),
    [
        ({"command": "a\0b"}, "command"),
        ({"args": ["fine", "a\0b"]}, r"args\[1\]"),
        ({"env": [{"name": "A", "value": "a\0b"}]}, r"env\[0\]"),
        ({"env": [{"name": "A", "value": "b"}, {"name": "A\0", "value": ""}]}, r"env\[1\]"),
    ],
)
async def test_a_character_that_no_program_can_be_given_is_named_with_its_field(
    tmp_path: Path, section: dict[str, Any], field: str
) -> None:
    sentence = (
        rf"^{tmp_path}/config, context \S+: users\[name=\S+\]/user/exec/{field} holds a NUL character; remove it$"
    )
    with pytest.raises(InputError, match=sentence):
        a_shell(tmp_path, "", section)


async def test_a_program_has_no_input(tmp_path: Path) -> None:
    assert (await a_shell(tmp_path, f"cat; echo '{GOOD}'").identity()).headers


async def told(directory: Path, **fields: Any) -> Any:
    script = f"echo \"$KUBERNETES_EXEC_INFO\" > info; echo '{GOOD}'"
    cluster = fields.pop("cluster", {})
    await a_shell(directory, script, fields, **cluster).identity()
    return json.loads((directory / "info").read_text())


async def test_a_program_is_told_nothing_of_the_cluster_unless_it_asks(tmp_path: Path) -> None:
    assert await told(tmp_path) == {
        "apiVersion": "v1",
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }


async def test_a_program_that_asks_is_told_of_the_cluster(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(AUTHORITY)
    settings = {"audience": "restow"}
    cluster = {
        "certificate_authority": "ca.pem",
        "tls_server_name": "inner",
        "proxy_url": "http://proxy:1",
        "extensions": [
            {"name": "other", "extension": {}},
            {"name": "client.authentication.k8s.io/exec", "extension": settings},
        ],
    }
    info = await told(tmp_path, provideClusterInfo=True, cluster=cluster)

    assert info["spec"]["cluster"] == {
        "server": "https://api.example.com:6443",
        "tls-server-name": "inner",
        "proxy-url": "http://proxy:1",
        "certificate-authority-data": base64.b64encode(AUTHORITY).decode(),
        "config": settings,
    }


async def test_a_program_that_must_ask_somebody_needs_a_terminal(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"exec\.interactiveMode is Always, but standard input is not a terminal"):
        a_shell(tmp_path, "", {"interactiveMode": "Always"})


async def test_a_token_that_no_header_can_hold(tmp_path: Path) -> None:
    bad = GOOD.replace('"t"', '"t\\\\r\\\\nX-Evil: 1"')
    with pytest.raises(NoCredentials, match="the token contains characters that are not allowed in an HTTP header"):
        await a_shell(tmp_path, f"printf '%b' '{bad}'").identity()
