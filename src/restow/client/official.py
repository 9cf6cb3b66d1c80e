"""The configuration modules of the official Kubernetes package, without its models.

The package's own ``__init__`` imports every model and API class: 0.5 s and 20 MiB (measured with 37.0.2) of which
nothing is used here. So the parent packages are stood in for by empty ones while the few configuration modules are
imported, and the stand-ins are taken away again. Called by ``connect`` only, so no other command pays for it.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from restow.errors import InputError

_ROOT = "kubernetes"
#: Parents of the configuration modules, with the names that these import from them and that nothing here calls.
_PARENTS = {"kubernetes": (), "kubernetes.aio": (), "kubernetes.aio.client": ("ApiClient", "Configuration")}
_CONFIG = "kubernetes.aio.config"


@dataclass(slots=True, frozen=True)
class ConfigModules:
    """The four modules; typed as Any, for the package's annotations end at its models."""

    kube_config: Any
    exec_provider: Any
    openid: Any
    incluster_config: Any
    #: Raised by all of them for a configuration that cannot be used.
    failure: type[Exception]


@cache
def config_modules() -> ConfigModules:
    """The modules, imported once; InputError says how to install the package where it is missing."""
    spec = importlib.util.find_spec(_ROOT)
    if spec is None or not spec.submodule_search_locations:
        raise InputError("live clusters need the package kubernetes: pip install 'kubernetes>=37'")
    with _stand_ins(spec.submodule_search_locations[0]):
        return ConfigModules(
            kube_config=importlib.import_module(f"{_CONFIG}.kube_config"),
            exec_provider=importlib.import_module(f"{_CONFIG}.exec_provider"),
            openid=importlib.import_module(f"{_CONFIG}.openid"),
            incluster_config=importlib.import_module(f"{_CONFIG}.incluster_config"),
            failure=importlib.import_module(f"{_CONFIG}.config_exception").ConfigException,
        )


@contextmanager
def _stand_ins(directory: str) -> Iterator[None]:
    """``import kubernetes...`` finds the files of the package, and runs no ``__init__`` of a parent."""
    before = {name: module for name, module in sys.modules.items() if _is_ours(name)}
    for name in before:
        del sys.modules[name]
    for parent, names in _PARENTS.items():
        module = ModuleType(parent)
        module.__path__ = [directory + parent.removeprefix(_ROOT).replace(".", "/")]
        vars(module).update(dict.fromkeys(names, object))
        sys.modules[parent] = module
    try:
        yield
    finally:
        for name in [name for name in sys.modules if _is_ours(name)]:
            del sys.modules[name]
        sys.modules.update(before)


def _is_ours(name: str) -> bool:
    return name == _ROOT or name.startswith(f"{_ROOT}.")
