"""Golden outputs: what every command prints, before a change that must not change it and after.

    python tests/goldens.py main~3     compare this tree with another commit, command by command

Runs each command below with the sources of both trees on the same inputs, and compares stdout, stderr and exit status byte
for byte. A change of behaviour that is meant shows here as well; the commit says so then.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
BUILD: Final = ROOT / "build" / "goldens"
_PROGRAM: Final = "from restow.cli.main import main; main()"
_NOW: Final = "2026-11-21T00:00:00Z"
_CLUSTERS: Final = ("examples/clusters/demo.json", "examples/clusters/database.yaml", "examples/clusters/pending.yaml")
#: Seconds that a command took.
_SECONDS: Final = re.compile(rb"\b\d+\.\d+ s\b")
#: Lines of a difference that are shown.
_SHOWN: Final = 40


@dataclass(slots=True, frozen=True)
class Printed:
    """What a command printed, and its exit status."""

    status: int
    stdout: bytes
    stderr: bytes

    def lines(self) -> list[str]:
        """All of it, as lines."""
        told = {"stdout": self.stdout, "stderr": self.stderr}
        parts = [f"{name}: {line}" for name, text in told.items() for line in text.decode().splitlines()]
        return [f"exit status {self.status}", *parts]


def commands() -> Iterator[str]:
    """The command lines: every help page, every command on the examples, and mistakes."""
    yield from _help_pages()
    yield from _plans()
    yield from _simulations()
    yield from _policies()
    yield from _mistakes()


def _help_pages() -> Iterator[str]:
    names = "plan,explain,explain pod,explain node,explain scheduling,schedule,policy,policy validate,policy lint,policy convert"
    more = "apply,run,scheduler,snapshot,pressure,pressure check,pressure push,release,generate,simulate,simulate check"
    operator = "operator,operator render,operator soft-tainter,operator uninstall"
    yield "--help"
    yield "--version"
    for name in f"{names},{more},{operator}".split(","):
        yield f"{name} --help"


def _plans() -> Iterator[str]:
    policies = sorted(each.relative_to(ROOT).as_posix() for each in (ROOT / "examples/policies").glob("*.yaml"))
    for cluster in _CLUSTERS:
        for form in ("table", "wide", "json", "yaml", "html"):
            yield f"plan -f {cluster} --now {_NOW} -o {form}"
        for options in ("--steering nominate", "--steering fence", "--steering prefer", "--placement upstream", "-v 1"):
            yield f"plan -f {cluster} --now {_NOW} {options}"
        yield f"schedule -f {cluster} --now {_NOW}"
        yield f"schedule -f {cluster} --now {_NOW} -o json --scores-for all"
        yield f"schedule -f {cluster} --now {_NOW} -v 1"
    for policy in policies:
        yield f"plan -f {_CLUSTERS[0]} --now {_NOW} --policy-config-file {policy} -o json"
    for scheduler in ("by-load", "packing"):
        yield f"plan -f {_CLUSTERS[0]} --now {_NOW} --scheduler-config examples/schedulers/{scheduler}.yaml"
        yield f"schedule -f {_CLUSTERS[2]} --now {_NOW} --scheduler-config examples/schedulers/{scheduler}.yaml"
    for resource in sorted((ROOT / "examples/kubedeschedulers").glob("*.yaml")):
        name = resource.relative_to(ROOT).as_posix()
        yield f"plan -f {_CLUSTERS[0]} --now {_NOW} --kubedescheduler {name}"
        yield f"operator render -f {name}"
    yield from _explanations()


def _explanations() -> Iterator[str]:
    demo = f"-f {_CLUSTERS[0]} --now {_NOW} --policy-config-file examples/policies/demo.yaml"
    for pod in ("shop/cart-0", "shop/web-0", "kube-system/dns-0"):
        yield f"explain pod {pod} {demo}"
        yield f"explain pod {pod} {demo} -o json -v 1"
    for node in ("node-1", "node-2", "node-3"):
        yield f"explain node {node} {demo}"
        yield f"explain node {node} {demo} -o json"
    for pod in ("default/db-0", "shop/web-1"):
        yield f"schedule -f {_CLUSTERS[2]} --now {_NOW} --pod {pod}"


def _simulations() -> Iterator[str]:
    scenarios = sorted(each.relative_to(ROOT).as_posix() for each in (ROOT / "examples/scenarios").glob("*.yaml"))
    for scenario in scenarios:
        yield f"simulate check -f {scenario}"
        for form in ("table", "json", "html"):
            yield f"simulate -f {scenario} --now {_NOW} -o {form}"
    policies = "examples/policies/default.yaml examples/policies/lifetime.yaml"
    yield f"simulate -f {scenarios[0]} --now {_NOW} --seeds 2 --compare {policies}"
    yield f"simulate -f {scenarios[0]} --now {_NOW} --seeds 2 --compare {policies} -o json"
    yield f"simulate -f {_CLUSTERS[1]} --now {_NOW} --until stable --for 1h"


def _policies() -> Iterator[str]:
    for each in sorted((ROOT / "examples/policies").glob("*.yaml")):
        name = each.relative_to(ROOT).as_posix()
        yield f"policy validate {name}"
        yield f"policy lint {name}"
        yield f"policy lint --strict {name} -o json"
        yield f"policy convert {name}"
    yield "generate --nodes 3 --pods 5"
    yield "generate --nodes 3 --pods 5 --usage 1h"
    yield "generate --policy"


def _mistakes() -> Iterator[str]:
    demo = _CLUSTERS[0]
    yield from ("", "plann", "plan extra", "plan --nonsense", "plan -f", "plan -f nowhere.json", "plan -o picture")
    yield f"plan -f {demo} --now yesterday"
    yield f"plan -f {demo} --context prod"
    yield f"plan -f {demo} --policy-config-file {demo}"
    yield f"plan -f {demo} --policy-config-file nowhere.yaml"
    yield f"plan -f {demo} --policy-config-file examples/policies/default.yaml --kubedescheduler x.yaml"
    yield f"plan -f - -f - -f {demo}"
    yield f"plan -f {demo} --scheduler-config {demo}"
    yield f"schedule -f {demo} --pod nobody"
    yield f"schedule -f {demo} --pod shop/nobody"
    yield f"explain pod nobody -f {demo}"
    yield f"explain node nowhere -f {demo}"
    yield from ("explain scheduling a/b", "explain scheduling ab --scheduler-url http://127.0.0.1:1")
    yield from ("apply nowhere.json", f"apply {demo}", "apply nowhere.json --digest abc")
    yield from ("simulate", "simulate -f nowhere.yaml", "simulate --replay nowhere.json --at 3h", "simulate --at 3h")
    yield from (
        "simulate --replay a.json --seed 3",
        f"simulate -f {demo} --seeds 3",
        f"simulate -f {demo} --compare a.yaml",
    )
    yield from ("policy validate nowhere.yaml", "policy lint", "generate --profile none", "generate --usage 3")
    yield from ("snapshot -f nowhere.json", f"snapshot -f {demo} --usage 24h", "operator render -f nowhere.yaml")
    yield from (
        "run --nonsense",
        "run --policy-config-file nowhere.yaml",
        "scheduler --nonsense",
        "pressure --nonsense",
    )


def printed(command: str, tree: Path) -> Printed:
    """What a command prints with the sources of a tree, run where the examples are."""
    environment = os.environ | {"PYTHONPATH": str(tree / "src"), "COLUMNS": "120", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    environment |= {"KUBECONFIG": os.devnull}
    arguments = [sys.executable, "-c", _PROGRAM, *command.split()]
    ran = subprocess.run(
        arguments, cwd=ROOT, env=environment, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    shown = (_SECONDS.sub(b"N s", text.replace(bytes(tree), b"")) for text in (ran.stdout, ran.stderr))
    return Printed(ran.returncode, *shown)


def difference(command: str, before: Path, after: Path) -> list[str]:
    """The lines in which the outputs of two trees differ."""
    old, new = printed(command, before), printed(command, after)
    return list(difflib.unified_diff(old.lines(), new.lines(), "before", "after", n=0, lineterm=""))


def tree_of(revision: str) -> Path:
    """The sources of a commit, below build/."""
    commit = _git("rev-parse", revision).decode().strip()
    tree = BUILD / commit
    if not tree.exists():
        with tarfile.open(fileobj=BytesIO(_git("archive", commit, "src"))) as archive:
            archive.extractall(tree, filter="data")
    return tree


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout


def main() -> int:
    """Compare, print every difference; the exit status is 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("against", help="the commit to compare with")
    parser.add_argument("--only", default="", help="the commands that begin so")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    wanted = [each for each in commands() if each.startswith(given.only)]
    compare = partial(difference, before=tree_of(given.against), after=ROOT)
    changed = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for command, lines in zip(wanted, pool.map(compare, wanted), strict=True):
            if lines:
                changed += 1
                print("\n".join([f"restow {command}", *lines[:_SHOWN], ""]))
    print(f"{len(wanted)} commands, {changed} of them print something else than at {given.against}")
    return int(changed > 0)


if __name__ == "__main__":
    sys.exit(main())
