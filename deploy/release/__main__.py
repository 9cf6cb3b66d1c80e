"""Makes everything that a release has, below ``build/release``; the same commit gives the same bytes.

    python deploy/release --repository https://github.com/OWNER/restow

sdist, wheel, charts, the plugin for krew with its manifest, a bill of materials, checksums, and provenance. Nothing is
published and nothing signed: README.md beside this file tells how that is done.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path
from string import Template

import statement
import tree

ROOT = Path(__file__).resolve().parents[2]
#: Where pinned packages are listed.
_PINNED = ("deploy/requirements.txt", "deploy/requirements-build.txt", "deploy/krew/requirements.txt")
#: What krew's archive holds beside the sdist.
_PLUGIN = ("deploy/krew/kubectl-restow", "deploy/krew/requirements.txt", "deploy/requirements-build.txt", "LICENSE")


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 made, 1 something failed, 2 unusable arguments."""
    given = _parser().parse_args(arguments)
    repository = given.repository.rstrip("/")
    if not repository.startswith("https://"):
        sys.stderr.write("--repository: give the address of the repository, such as https://github.com/OWNER/restow\n")
        return 2
    if shutil.which(given.helm) is None:
        sys.stderr.write(f"--helm: there is no program {given.helm}; name Helm 4\n")
        return 2
    if given.out.exists() and any(given.out.iterdir()) and not (given.out / statement.CHECKSUMS).exists():
        sys.stderr.write(f"--out: {given.out} has other files than those of a release; name a directory of its own\n")
        return 2
    try:
        with tempfile.TemporaryDirectory() as place:
            made = _make(Path(place), repository, given.commit, given.out, given.helm)
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"{' '.join(map(str, error.cmd))} failed: {_said(error)}\n")
        return 1
    print("".join(f"{each.relative_to(given.out)}\n" for each in made), end="")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python deploy/release", description=__doc__, allow_abbrev=False)
    parser.add_argument("--repository", required=True, metavar="URL", help="where the repository will be")
    parser.add_argument("--commit", default="HEAD", help="what is released (default HEAD)")
    parser.add_argument("--out", type=Path, default=ROOT / "build/release", metavar="DIRECTORY")
    parser.add_argument("--helm", default="helm", metavar="PROGRAM", help="Helm 4 (default: helm of PATH)")
    return parser


def _said(error: subprocess.CalledProcessError) -> str:
    text = error.stderr or b""
    return (text.decode(errors="replace") if isinstance(text, bytes) else text).strip()


def _make(place: Path, repository: str, commit: str, out: Path, helm: str) -> list[Path]:
    """Make all files below an empty directory; return them by name."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    source, moment = _git("rev-parse", f"{commit}^{{commit}}"), _git("show", "-s", "--format=%ct", commit)
    tree.take(ROOT, source, place)
    tree.address(place, repository)
    version = tree.version_of(place)
    programs = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    environment = os.environ | {"SOURCE_DATE_EPOCH": moment, "PATH": programs}
    _run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(place)], environment)
    _widen_wheel(out, environment)
    for chart in sorted((place / "deploy/helm").iterdir()):
        _run([helm, "package", str(chart), "--destination", str(out / "charts")], environment)
    bill = subprocess.run([sys.executable, str(place / "deploy/sbom.py")], check=True, capture_output=True).stdout
    (out / "sbom.cdx.json").write_bytes(bill)
    _add_plugin(place, out, repository, version, int(moment))
    found = sorted(each for each in out.rglob("*") if each.is_file())
    (out / statement.CHECKSUMS).write_text(statement.checksums(found, out))
    made_of = statement.predicate(repository, version, source, {each: place / each for each in _PINNED})
    (out / statement.PROVENANCE).write_text(json.dumps(made_of, indent=1) + "\n")
    return sorted(each for each in out.rglob("*") if each.is_file())


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def _run(command: list[str], environment: dict[str, str]) -> None:
    subprocess.run(command, env=environment, check=True, capture_output=True)


def _widen_wheel(out: Path, environment: dict[str, str]) -> None:
    """Name all platforms with a C library on which a Linux wheel runs: a package index takes no other."""
    for wheel in out.glob("*-linux_*.whl"):
        _run([sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(out), str(wheel)], environment)
        wheel.unlink()


def _add_plugin(place: Path, out: Path, repository: str, version: str, moment: int) -> None:
    """The archive that krew unpacks, and the manifest that names it with its digest."""
    archive = out / f"kubectl-restow-v{version}.tar.gz"
    files = [*(place / each for each in _PLUGIN), out / f"restow-{version}.tar.gz"]
    archive.write_bytes(_packed(files, moment))
    told = {"VERSION": version, "REPOSITORY": repository, "ARCHIVE": archive.name, "SHA256": statement.digest(archive)}
    manifest = Template((place / "deploy/krew/restow.yaml").read_text(encoding="utf-8"))
    (out / "restow.yaml").write_text(manifest.substitute(told), encoding="utf-8")


def _packed(files: list[Path], moment: int) -> bytes:
    """Files side by side in a tar file, packed, with nothing of the machine that made it."""
    packed = BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=moment) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for file in sorted(files, key=lambda each: each.name):
            entry = tarfile.TarInfo(file.name)
            entry.size, entry.mtime = file.stat().st_size, moment
            entry.mode = 0o755 if os.access(file, os.X_OK) else 0o644
            archive.addfile(entry, BytesIO(file.read_bytes()))
    return packed.getvalue()


if __name__ == "__main__":
    sys.exit(main())
