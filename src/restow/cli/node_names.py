"""Nodes as people name them on the command line."""

from __future__ import annotations

from difflib import get_close_matches

from restow.cluster.nodes import Nodes
from restow.errors import InputError


def find_node(nodes: Nodes, name: str, where: str) -> int:
    """The node of that name; InputError, which begins with ``where``, names a similar one where there is none."""
    found = nodes.index.get(name)
    if found is not None:
        return found
    short = [each for each in nodes.names if each.partition(".")[0] == name]
    near = next(iter(short or get_close_matches(name, nodes.names, n=1)), "")
    raise InputError(f"{where}: the input holds no node {name}{f'; did you mean {near}?' if near else ''}")
