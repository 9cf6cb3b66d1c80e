"""The pods of a large dump are read by two processes, and nothing shows it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from builders import a_list, a_node, a_pod
from restow.forked import cores

#: Where test support is imported from.
TESTS = Path(__file__).parents[1]
#: Enough to be worth a copy.
MANY = 24_000
#: Reads a dump beside a timer, which leaves copies possible, then beside another thread, where none is made. Prints how
#: many copies there were after each, whether all is the same, what was replaced, and what was left out.
PROGRAM = """
import os, sys, threading
from live.contents import contents_of
from restow.sources.documents import load_cluster
copies = []
os.register_at_fork(before=lambda: copies.append(1))
timer, waiting = threading.Timer(3600, print), threading.Event()
timer.daemon = True
timer.start()
apart, told = load_cluster([sys.argv[1]])
first = len(copies)
threading.Thread(target=waiting.wait, daemon=True).start()
whole, told_whole = load_cluster([sys.argv[1]])
assert contents_of(apart) == contents_of(whole)
assert told == told_whole
print(first, len(copies), told.replaced, *told.left_out.values(), sep="|")
"""

pytestmark = pytest.mark.skipif(cores() < 2, reason="there is one processor")


def read(tmp_path, pods):
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps(a_list(a_node("n0"), a_node("n1"), *pods)))
    command = [sys.executable, "-c", PROGRAM, dump]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=TESTS)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip().split("|")


def pods(count=MANY):
    return [
        a_pod(
            f"p{number}",
            namespace=f"ns-{number % 7}",
            node=f"n{number % 3}" if number % 5 else None,
            labels={"app": f"a{number % 1000}"},
            cpu=f"{number % 11 + 1}m",
        )
        for number in range(count)
    ]


def test_a_copy_reads_what_this_process_would_have_read(tmp_path):
    assert read(tmp_path, pods()) == ["1", "1", "0"]


def test_the_last_of_one_name_counts_whoever_has_read_it(tmp_path):
    again = [a_pod(f"p{number}", namespace=f"ns-{number % 7}", node="n1", cpu="2") for number in range(500)]
    assert read(tmp_path, [*pods(), *again]) == ["1", "1", "500"]


def test_where_a_pod_cannot_be_read_all_are_read_here(tmp_path):
    """So it is left out in the same words."""
    bad = a_pod("bad", node="n1", cpu="much")
    copies, more, replaced, why = read(tmp_path, [*pods(), bad])
    assert (copies, more, replaced) == ("1", "1", "0")
    assert "default/bad" in why


def test_few_pods_are_not_worth_a_copy(tmp_path):
    assert read(tmp_path, pods(1_000)) == ["0", "0", "0"]
