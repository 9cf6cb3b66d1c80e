"""Control planes for the tests: one of the whole session, and fresh ones for classes that break things."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from e2e.binaries import binaries, tool
from e2e.browser import Page, a_page, browser
from e2e.compared_runs import ended, started
from e2e.control_plane import ControlPlane
from restow.operator.resource import NAMESPACE

#: Of the session's control plane.
NODES = 5
_COUNTER = itertools.count(1)


@pytest_asyncio.fixture
async def tab() -> AsyncIterator[Page]:
    """A tab of a browser, which keeps the errors of its pages."""
    try:
        browser()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    async with a_page() as page:
        await page.listen()
        yield page


@pytest.fixture(scope="session")
def built() -> Path:
    """The directory of the programs; without them there is nothing to test."""
    try:
        return binaries()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def kustomize(built: Path) -> None:
    """What renders the manifests that are shipped; without it they are not tested."""
    try:
        tool("kustomize")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def plane(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One control plane of five nodes for all tests that leave nodes and programs alone and have their own namespace."""
    with ControlPlane(tmp_path_factory.mktemp("plane")) as plane:
        plane.add_nodes(NODES)
        yield plane


@pytest.fixture(scope="class")
def own_plane(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane without nodes for the tests of one class, or for one test, to do with as they like."""
    with ControlPlane(tmp_path_factory.mktemp("own-plane")) as plane:
        yield plane


@pytest.fixture(scope="session")
def operators_namespace(plane: ControlPlane) -> str:
    """The namespace of the session's control plane where a KubeDescheduler counts."""
    return plane.namespace(NAMESPACE)


@pytest.fixture
def namespace(plane: ControlPlane) -> Iterator[str]:
    """A new namespace of the session's control plane; its workloads are gone before the next test."""
    name = plane.namespace(f"test-{next(_COUNTER)}")
    yield name
    plane.clear(name)


@pytest.fixture(scope="session")
def expected() -> str:
    """What a comparison comes to whose futures run in processes of this machine."""
    status, out, err = ended(started())
    assert (status, err) == (0, "")
    return out
