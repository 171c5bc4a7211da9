"""Says what a release still needs, and how to supply it.

    make release-check                     (or, without the builds and tests: python .ci/release_check.py --quick)

Each line is one requirement. The exit code is 0 if all of them are met, else 1. Nothing is changed, tagged or uploaded,
except that `make docs` and `make wheel` write the files that they always write.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
Check = Callable[[], str]
"""A requirement: returns what is missing and how to supply it, or an empty string."""

VERSIONS = {
    "pyproject.toml": r'^version = "([^"]+)"',
    "CITATION.cff": r'^version: "?([^"\n]+)"?$',
}
HEADING = re.compile(r"^## \[([^\]]+)\](?: - (\d{4}-\d\d-\d\d))?$", re.MULTILINE)


def text(name: str, root: Path = ROOT) -> str:
    """Return the text of a file of the repository."""
    return (root / name).read_text()


def first_group(pattern: str, name: str, root: Path = ROOT) -> str | None:
    """Return the first group of a pattern's first match in a file, or None."""
    found = re.search(pattern, text(name, root), re.MULTILINE)
    return found[1] if found else None


def versions(root: Path = ROOT) -> dict[str, str]:
    """Return the version that each file states; a file that leaves it to another one is not listed."""
    found = {name: first_group(pattern, name, root) for name, pattern in VERSIONS.items()}
    return {name: version for name, version in found.items() if version is not None}


def one_version(root: Path = ROOT) -> str:
    """Check that every file that states a version states the same one."""
    stated = versions(root)
    listed = ", ".join(f"{name} {version}" for name, version in stated.items())
    return (
        "" if len(set(stated.values())) == 1 else f"the files disagree ({listed}); write one version into all of them"
    )


def changelog(root: Path = ROOT) -> str:
    """Check that the changelog's topmost section is the dated one of this version."""
    version = versions(root)["pyproject.toml"]
    headings = HEADING.findall(text("CHANGELOG.md", root))
    name, date = headings[0] if headings else ("", "")
    if name != version:
        return f"the topmost heading of CHANGELOG.md is [{name}]; rename it to '## [{version}] - YYYY-MM-DD'"
    return "" if date else f"the heading [{version}] of CHANGELOG.md has no date; append ' - YYYY-MM-DD'"


def citation(root: Path = ROOT) -> str:
    """Check that the citation gives the changelog's date."""
    stated = first_group(r'^date-released: "?([\d-]+)"?$', "CITATION.cff", root)
    headings = HEADING.findall(text("CHANGELOG.md", root))
    date = headings[0][1] if headings else ""
    if date and stated != date:
        return f"date-released is {stated or 'missing'} in CITATION.cff; CHANGELOG.md says {date}: write that date"
    return "" if date else "CHANGELOG.md gives no date to compare date-released of CITATION.cff with"


def golden_models(root: Path = ROOT) -> str:
    """Check that models of the present file format are kept for later versions to load."""
    version = first_group(r"^FORMAT = (\d+)", "src/podium/artifact/file.py", root)
    if any((root / "tests/golden/models").glob(f"*-{version}.podium")):
        return ""
    return f"tests/golden/models has no file of format {version}; run python tests/golden/make_models.py and commit"


def git(*words: str) -> str:
    """Return what a git command prints."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def clean_tree() -> str:
    """Check that everything is committed."""
    changed = git("status", "--porcelain").splitlines()
    return f"{len(changed)} files differ from the last commit; commit or remove them" if changed else ""


def free_tag() -> str:
    """Check that the version's tag is not taken by another commit."""
    tag = f"v{versions()['src/podium/__init__.py']}"
    if not git("tag", "--list", tag) or git("rev-list", "-n1", tag) == git("rev-parse", "HEAD"):
        return ""
    return f"the tag {tag} names another commit; raise the version"


def make(target: str) -> str:
    """Run a target of the Makefile; its last lines are the reason if it fails."""
    done = subprocess.run(["make", target], cwd=ROOT, capture_output=True, text=True, check=False)
    last = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
    return "" if done.returncode == 0 else f"make {target} failed:\n{last}"


def generated_pages() -> str:
    """Check that the docs build strictly and that what is generated in them is up to date."""
    before = git("diff")
    if problem := make("docs"):
        return problem
    return "" if git("diff") == before else "make docs changed files that are committed; look at git diff and commit"


QUICK: dict[str, Check] = {
    "one version everywhere": one_version,
    "a dated section in CHANGELOG.md": changelog,
    "the same date in CITATION.cff": citation,
    "golden models of the file format": golden_models,
    "a clean working tree": clean_tree,
    "a free tag": free_tag,
}
LONG: dict[str, Check] = {
    "docs that build strictly and are up to date": generated_pages,
    "a wheel that installs and works without a compiler": lambda: make("wheel"),
    "lint and tests": lambda: make("test"),
    "the tests with PyTorch": lambda: make("test-torch"),
}


def report(checks: dict[str, Check]) -> Iterator[bool]:
    """Run the checks one by one, say what each found, and yield whether it is met."""
    for title, check in checks.items():
        problem = check()
        print(f"{'NEEDED' if problem else 'ok':8}{title}" + f"\n{'':8}{problem}" * bool(problem), flush=True)
        yield not problem


def main() -> int:
    """Run the checks and return the exit code."""
    parser = argparse.ArgumentParser(description="Say what a release still needs.")
    parser.add_argument("--quick", action="store_true", help="leave out the docs, the wheel and the tests")
    met = list(report(QUICK if parser.parse_args().quick else QUICK | LONG))
    print(f"\n{met.count(True)} of {len(met)} requirements are met.")
    if all(met):
        print("Tag the commit, push the tag, and upload what is in dist/.")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
