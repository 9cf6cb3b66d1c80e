"""The kubectl command that makes a dump asks for all that restow reads, and is the same in every text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from restow.client.resources import RESOURCES
from restow.live.reading import METRICS, OPTIONAL, READ
from restow.scheduling.framework.coscheduled_groups import KIND as COSCHEDULED_GROUPS
from restow.scheduling.loop.missing_data import KINDS
from restow.sources.kubectl import COSCHEDULED, DUMP, DUMPED, MIGRATIONS, USAGE, printing

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "src").rglob("*.py")),
]
#: The texts that tell a person how a dump is made.
NAMING_THE_COMMAND = (
    "README.md",
    "docs/how-to/plan-from-a-dump.md",
    "docs/how-to/find-out-why-a-pod-is-pending.md",
    "src/restow/cli/plan.py",
    "src/restow/cli/schedule.py",
)
#: A dump goes to a file or, through filters or not, to a command that takes a cluster.
OWN_DUMP = re.compile(r"kubectl get [^`|>]*(?:\| (?!restow )[^`|>]*)*(?:> [\w-]+\.json|\| restow (?!operator|apply))")


def one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("\\\n", " ")).replace("( ", "(")


def written(text: str) -> str:
    """A page without what programs print in its consoles."""
    return re.sub(r"(?ms)^```console\n(.*?)^```", lambda block: "\n".join(re.findall(r"(?m)^\$ .*", block[1])), text)


def path_of(kind: str) -> str:
    resource = RESOURCES[kind]
    root = f"/apis/{resource.group}" if resource.group else "/api"
    return f"{root}/{resource.version}/{resource.plural}"


def test_a_dump_holds_what_a_live_cluster_is_read_for() -> None:
    assert set(DUMPED) == set(READ) - {COSCHEDULED_GROUPS}
    assert set(KINDS) <= set(DUMPED)


@pytest.mark.parametrize("kind", DUMPED)
def test_a_list_is_asked_for_where_the_api_server_has_it(kind: str) -> None:
    asked = printing((kind,), "x.json")
    quiet = " 2>/dev/null" if kind in OPTIONAL else ""
    assert asked == f"kubectl get --raw {path_of(kind)}{quiet} > x.json" or re.fullmatch(
        r"kubectl get -A -o json [a-z]+(\.scheduling\.k8s\.io)?( 2>/dev/null)? > x\.json", asked
    )


def test_groups_of_coscheduling_are_asked_for_apart() -> None:
    """Few clusters have them."""
    assert f"kubectl get --raw {path_of(COSCHEDULED_GROUPS)} > groups.json" == COSCHEDULED


def test_usage_is_asked_for_where_the_api_server_has_it() -> None:
    assert re.findall(r"--raw (\S+?)[;)]", USAGE) == [path_of(kind) for kind in METRICS]


def test_a_part_of_the_command_adds_what_is_missing_into_one_file() -> None:
    assert printing(["Service", "Namespace"], "more.json") == "kubectl get -A -o json svc,ns > more.json"
    assert printing(["PodDisruptionBudget"], "more.json") == (
        "kubectl get --raw /apis/policy/v1/poddisruptionbudgets > more.json"
    )
    assert printing(["Service", "StorageClass"], "more.json") == (
        "(kubectl get -A -o json svc; kubectl get --raw /apis/storage.k8s.io/v1/storageclasses) > more.json"
    )


@pytest.mark.parametrize("name", NAMING_THE_COMMAND)
def test_a_text_with_the_command_has_all_of_it(name: str) -> None:
    assert DUMP in one_line((ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_has_a_command_of_its_own(path: Path) -> None:
    """What is written to a file or piped into restow as a cluster; single objects that somebody looks at are no dump."""
    if path.name == "kubectl.py":
        return
    rest = (
        one_line(written(path.read_text(encoding="utf-8")))
        .replace(DUMP, "")
        .replace(USAGE, "")
        .replace(MIGRATIONS, "")
        .replace(COSCHEDULED, "")
    )
    assert not OWN_DUMP.search(rest)
