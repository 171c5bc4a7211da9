"""The diffs that docs/contributing.md prints, applied to a copy of the repository, and the core built with them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from podium import _core

ROOT = Path(__file__).parents[2]
COPIED = ("src", "core", "tests", "docs")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.so", "reproduced", "images", "fuzz")
# Imports the package of the folder that follows, in place of the installed one.
FIRST_LINES = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
sys.path[:0] = [sys.argv.pop(1) + "/src", "docs"]
"""


@dataclass(frozen=True)
class Section:
    """One section of the page: the files that it lists, and its diff.

    Attributes:
        written: files that the diff changes, as the table lists them.
        generated: pages that `make docs` writes, as the table lists them.
        diff: all diffs of the section.
    """

    written: frozenset[str]
    generated: frozenset[str]
    diff: str


def section(name: str) -> Section:
    """Read the section `Add a …` of the page."""
    page = (ROOT / "docs" / "contributing.md").read_text()
    (text,) = re.findall(rf"^## Add an? {name}\n(.*?)(?=^## )", page, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| (`.*?`) \| (.*) \|$", text, re.MULTILINE)
    written = {file for files, what in rows if "make docs" not in what for file in re.findall(r"`([^`]+)`", files)}
    generated = {file for files, what in rows if "make docs" in what for file in re.findall(r"`([^`]+)`", files)}
    diffs = re.findall(r"^```diff\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return Section(frozenset(written), frozenset(generated), "".join(diffs))


def changed_files(diff: str) -> frozenset[str]:
    """The files that a diff changes or adds."""
    return frozenset(re.findall(r"^\+\+\+ b/(.+)$", diff, re.MULTILINE))


class Copy:
    """A copy of the repository with a diff applied."""

    def __init__(self, folder: Path, diff: str) -> None:
        self.folder = folder
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=LEFT_OUT)
        shutil.copy(ROOT / "pyproject.toml", folder)
        shutil.copy(_core.__file__, folder / "src" / "podium")
        self._run(["git", "apply", "--verbose", "-"], input=diff)

    def _run(self, command: list[str], *, input: str | None = None, cwd: Path | None = None) -> str:
        environment = {**os.environ, "PODIUM_PACKAGE": str(self.folder / "src"), "GIT_CEILING_DIRECTORIES": "/"}
        done = subprocess.run(
            command, input=input, cwd=cwd or self.folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def python(self, code: str) -> str:
        """Run code with the package of the copy, and return what it prints."""
        return self._run([sys.executable, "-c", FIRST_LINES + code, str(self.folder)])

    def podium(self, *words: str) -> str:
        """Run a command of the copy, and return what it prints."""
        return self.python(f"import sys; sys.argv[1:] = {list(words)!r}; from podium.cli import main; main()")

    def tests(self, *words: str) -> None:
        """Run tests of the copy; at least one must be chosen, and all must pass."""
        self._run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", *words])

    def pages_that_change(self, *, laws: bool) -> frozenset[str]:
        """The pages that `make docs` would write differently in the copy."""
        code = f"""
from pathlib import Path
import reference, setting_tables
pages = {{path: setting_tables.filled(path.read_text()) for path in Path("docs").glob("*.md")}}
pages[Path("docs/settings.md")] = setting_tables.settings_page()
pages[Path("docs/cli.md")] = reference.command_page()
pages[Path("docs/api.md")] = reference.names_page()
pages[Path("src/podium/__init__.pyi")] = reference.stub()
pages[Path("docs/metrics.md")] = reference.metrics_page(Path("docs/metrics.md").read_text())
if {laws}:
    pages[Path("docs/laws.md")] = reference.laws_page(Path("docs/laws.md").read_text())
print(*sorted(str(path) for path, text in pages.items() if text != path.read_text()))
"""
        return frozenset(self.python(code).split())

    def build_core(self) -> None:
        """Compile the sources that the diff changed, and link them with the objects of the last build of the core.

        The diffs of the page change no header, so that all other objects are as they would be after a whole build.
        """
        build = last_build()
        objects = []
        for source in sorted(file for file in self.changed if file.endswith(".cpp")):
            objects.append(self.folder / f"{Path(source).stem}.o")
            self._run(self._compile_command(build, source, objects[-1]), cwd=build)
        (module,) = build.glob("_core*.so")
        link = shlex.split(ninja(build, "commands", module.name).splitlines()[-1])
        link = link[link.index("&&") + 1 : len(link) - 1 - link[::-1].index("&&")]
        link[link.index("-o") + 1] = str(self.folder / "src" / "podium" / module.name)
        self._run([link[0], *map(str, objects), *link[1:]], cwd=build)

    @property
    def changed(self) -> list[str]:
        """The files of the core that differ from those of the repository."""
        files = [path.relative_to(self.folder).as_posix() for path in (self.folder / "core").rglob("*.?pp")]
        return [file for file in files if (ROOT / file).read_bytes() != (self.folder / file).read_bytes()]

    def _compile_command(self, build: Path, source: str, target: Path) -> list[str]:
        lines = ninja(build, "commands").splitlines()
        (line,) = [line for line in lines if line.endswith(f" -c {ROOT / source}")]
        words = shlex.split(line.replace(str(ROOT / "core"), str(self.folder / "core")))
        words[words.index("-o") + 1] = str(target)
        words[words.index("-MF") + 1] = f"{target}.d"
        return words


def last_build() -> Path:
    """The folder of the last build of the core."""
    builds = [path.parent for path in (ROOT / "build").glob("*/build.ninja") if list(path.parent.glob("_core*.so"))]
    builds = [build for build in builds if build.name != "sanitize"]
    if not builds:
        pytest.skip("the core was not built in this folder")
    return max(builds, key=lambda build: (build / "build.ninja").stat().st_mtime)


def ninja(build: Path, *words: str) -> str:
    """What `ninja -t` says about a build."""
    program = shutil.which("ninja") or str(Path(sys.executable).with_name("ninja"))
    if not Path(program).exists():
        pytest.skip("ninja is not installed")
    return subprocess.run([program, "-C", str(build), "-t", *words], capture_output=True, text=True, check=True).stdout
