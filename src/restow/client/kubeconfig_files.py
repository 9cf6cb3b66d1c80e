"""The files of a kubeconfig, read once, checked, and merged: of a name that several have, the first counts.

A file is checked before anything of it is used, so that whatever it holds ends in a sentence, and is read only once,
so that it may be a pipe. Its parts are then nodes of the official package, which knows what to do with them.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from restow.client.kubeconfig_shape import KUBECONFIG, check_shape
from restow.client.official import config_modules
from restow.documents.document import read_document
from restow.documents.writing import write_yaml
from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.small_files import read_small_file


@dataclass(slots=True)
class _File:
    path: str
    #: Changed where tokens are.
    config: dict[str, Any]
    saved: dict[str, Any]


@dataclass(slots=True, frozen=True)
class KubeconfigFiles:
    """All files as one; entries by name, as nodes of the official package that know their file."""

    files: Sequence[_File]
    clusters: Mapping[str, Any]
    contexts: Mapping[str, Any]
    users: Mapping[str, Any]
    #: That of the first file that names one.
    current_context: str | None

    def save(self) -> None:
        """Write back the files whose settings have changed; OSError where one may not be written."""
        for file in self.files:
            if file.config != file.saved:
                Path(file.path).write_text(write_yaml(file.config), encoding="utf-8")
                file.saved = copy.deepcopy(file.config)


def read_kubeconfig_files(paths: str) -> KubeconfigFiles:
    """The files of a list as in KUBECONFIG, of which some may be missing; InputError in a sentence with file and field."""
    each = [os.path.expanduser(path) for path in paths.split(os.pathsep) if path]  # noqa: PTH111
    try:
        present = [path for path in each if Path(path).exists()]
    except OSError as error:
        raise InputError(f"{paths}: the kubeconfig cannot be read: {error.strerror or error}") from error
    if not present:
        raise InputError(f"{paths}: no such kubeconfig; name one with --kubeconfig or KUBECONFIG")
    configs = [(path, _read(path)) for path in present]
    return KubeconfigFiles(
        files=[_File(path, config, copy.deepcopy(config)) for path, config in configs],
        clusters=_by_name(configs, "clusters"),
        contexts=_by_name(configs, "contexts"),
        users=_by_name(configs, "users"),
        current_context=next(filter(None, (config.get("current-context") for _, config in configs)), None),
    )


def _read(path: str) -> dict[str, Any]:
    try:
        text = read_small_file(path)
    except OSError as error:
        raise InputError(f"{path}: the kubeconfig cannot be read: {error.strerror or error}") from error
    document = read_document(text, path, KUBECONFIG)
    check_shape(document)
    return document.data


def _by_name(configs: Sequence[tuple[str, dict[str, Any]]], kind: str) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    node = config_modules().kube_config.ConfigNode
    for path, config in configs:
        for entry in config.get(kind) or ():
            entries.setdefault(entry["name"], node(f"{kind}[name={excerpt(entry['name'])}]", entry, path))
    return entries
