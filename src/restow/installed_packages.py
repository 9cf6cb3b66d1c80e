"""What other packages add to restow, found by their entry points: each by its name, in the group of its kind.

A package is imported only when what it adds is used, so a broken one does no harm elsewhere. Whatever is wrong with it
is reported in one sentence that names the entry point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from restow.errors import InputError
from restow.kube.excerpts import described

T = TypeVar("T")

#: Everything that a package's code may raise, including attempts to end the process.
FAULTS = (Exception, SystemExit)


class UnusablePackageError(InputError):
    """A package is at fault, not the user's input; each sentence names what the package adds."""


@cache
def installed(group: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    """The entry points of a group by name, in order; several of one name are of several packages."""
    found: dict[str, list[EntryPoint]] = {}
    for each in sorted(entry_points(group=group), key=lambda point: point.name):
        same = found.setdefault(each.name, [])
        if each not in same:
            same.append(each)
    return {name: tuple(points) for name, points in found.items()}


def load(group: str, name: str) -> Any:
    """Import what an entry point names; UnusablePackageError where that fails, or two packages have the same name."""
    point, *others = installed(group)[name]
    if others:
        raise unusable(group, name, "is registered by two packages; uninstall one")
    try:
        return point.load()
    except FAULTS as error:
        raise unusable(group, name, f"cannot be imported: {described(error)}") from error


def unusable(group: str, name: str, why: str) -> UnusablePackageError:
    """The exception about what a package adds: why it cannot be used."""
    return UnusablePackageError(f"entry point {group}: {name} {why}")


def taken(group: str, name: str, what: str) -> UnusablePackageError:
    """The exception about a name that no package can have, because it is ``what``: "a form of restow itself"."""
    return unusable(group, name, f"is {what}; uninstall the package or choose another name in it")


@dataclass(slots=True, frozen=True)
class Extensible(Mapping[str, T], Generic[T]):
    """Restow's own parts by name, then those of installed packages, each imported when it is looked up.

    Looking one up raises UnusablePackageError where its package is at fault.
    """

    group: str
    own: Mapping[str, T]
    #: What the own ones are: "a plugin of restow itself".
    own_is: str
    #: What a package offers under a name, checked; UnusablePackageError where it is of no use.
    checked: Callable[[str, Any], T]

    def __getitem__(self, name: str) -> T:
        if name not in self.own:
            if name not in installed(self.group):
                raise KeyError(name)
            return self.checked(name, load(self.group, name))
        if name in installed(self.group):
            raise taken(self.group, name, self.own_is)
        return self.own[name]

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in installed(self.group)

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from (name for name in installed(self.group) if name not in self.own)

    def __len__(self) -> int:
        return sum(1 for _ in self)
