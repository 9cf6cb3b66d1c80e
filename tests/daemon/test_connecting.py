"""A daemon tells which cluster it has, and what is odd about the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from descheduler.hearing import Heard
from restow.daemon.connecting import ApiSettings, connected
from restow.errors import InputError

pytestmark = pytest.mark.asyncio

_KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: there
contexts: [{name: there, context: {cluster: there, user: me}}]
clusters: [{name: there, cluster: {server: "https://10.0.0.1:6443", insecure-skip-tls-verify: true}}]
users: [{name: me, user: {token: t}}]
"""


async def test_the_log_says_which_cluster_it_is(tmp_path: Path) -> None:
    file, heard = tmp_path / "config", Heard()
    file.write_text(_KUBECONFIG)
    async with connected(ApiSettings(kubeconfig=str(file)), heard.log) as api:
        assert api.endpoint.server == "https://10.0.0.1:6443"
    assert heard.messages[-1] == f"The cluster is https://10.0.0.1:6443 ({api.endpoint.origin})"
    assert heard.messages[:-1] == [*api.endpoint.warnings] != []


async def test_a_configuration_that_is_not_there_is_told_to_the_user(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none"):
        async with connected(ApiSettings(kubeconfig=str(tmp_path / "none")), Heard().log):
            pass
