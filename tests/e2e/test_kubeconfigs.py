"""A kubeconfig means to restow what it means to kubectl, and both refuse the same; every difference is documented."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.binaries import ROOT, tool
from e2e.kubeconfig_cases import CLUSTERS, ENVIRONMENTS, USERS, Kubeconfigs, a_file
from e2e.kubeconfig_files_cases import FILES, YAML
from e2e.kubeconfig_site import Site
from e2e.recorder import Recorder, a_recorder

pytestmark = pytest.mark.e2e

PAGE = (ROOT / "docs" / "reference" / "differences.md").read_text()
_FAR = {"server": "https://api.test.invalid:6443/c", "certificate-authority-data": "$CA"}


def a_case(value: object, *, cluster: bool = False) -> Kubeconfigs:
    """A section alone, or with the row of its difference."""
    section, differs = value if isinstance(value, tuple) else (value, "")
    config = a_file({"token": "t"}, section) if cluster else a_file(section)
    if cluster:
        config["clusters"][0]["cluster"] = section
    return Kubeconfigs({"config": config}, differs=differs)


CASES = {
    **{f"user: {name}": a_case(value) for name, value in USERS.items()},
    **{f"cluster: {name}": a_case(value, cluster=True) for name, value in CLUSTERS.items()},
    **{
        f"environment: {name}": Kubeconfigs({"config": a_file({"token": "t"}, _FAR)}, environ=environ)
        for name, environ in ENVIRONMENTS.items()
    },
    **{f"files: {name}": case for name, case in FILES.items()},
    **{f"YAML: {name}": case for name, case in YAML.items()},
}


@pytest.fixture(scope="module")
def recorder() -> Iterator[Recorder]:
    try:
        tool("kubectl")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    with a_recorder() as recorder:
        yield recorder


@pytest.mark.parametrize("name", CASES)
def test_both_programs_ask_the_same_in_the_same_name_or_refuse(recorder: Recorder, tmp_path: Path, name: str) -> None:
    case = CASES[name]

    kubectl, kubectl_said, restow, restow_said = Site(recorder, tmp_path).outcomes(case)

    if case.differs:
        assert kubectl != restow
        assert f"| {case.differs} |" in PAGE
    else:
        assert restow == kubectl, f"\nkubectl: {kubectl_said}\nrestow: {restow_said}"
    assert all(str(tmp_path) in line for line in restow_said.splitlines()), "no file in a sentence"


def test_each_documented_difference_is_tried() -> None:
    section = PAGE.partition("## Kubeconfigs")[2].partition("\n## ")[0]
    rows = [line.removeprefix("| ").partition(" |")[0] for line in section.splitlines() if line.startswith("| ")]
    assert set(rows[1:]) == {case.differs for case in CASES.values() if case.differs}
