"""The engine of the how-to page comes to what restow's own come to."""

from __future__ import annotations

import json

from docs.console import folder_for, output_of
from docs.page_packages import PagePackage
from docs.pages import ROOT

PAGE = ROOT / "docs/how-to/simulate-on-many-machines.md"
_POLICIES = "examples/policies/careful.yaml examples/policies/default.yaml"
_COMPARE = f"restow simulate -f examples/scenarios/maintenance.yaml --compare {_POLICIES} --seeds 2 --for 10m"


def test_an_engine_of_a_package_comes_to_the_same(tmp_path):
    command = f"{_COMPARE} --now 2026-11-21T00:00:00Z -o json"
    with PagePackage(PAGE, ("executor_engine",)).installed(tmp_path), folder_for(PAGE) as folder:
        (folder / "engine.yaml").write_text("executor: concurrent.futures:ThreadPoolExecutor")
        own = output_of(f"{command} --engine executor --engine-config engine.yaml --workers 2", folder)
        assert json.loads(own) == json.loads(output_of(command, folder))
