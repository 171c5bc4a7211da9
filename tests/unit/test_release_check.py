"""`make release-check` notices each requirement that a release does not meet, and says how to meet it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
FILES = {
    "pyproject.toml": '[project]\nversion = "1.2.0"\n',
    "CITATION.cff": "cff-version: 1.2.0\nversion: 1.2.0\ndate-released: 2026-01-31\n",
    "CHANGELOG.md": "# Changelog\n\n## [1.2.0] - 2026-01-31\n\n## [1.1.0] - 2025-12-01\n",
    "src/podium/artifact/file.py": "FORMAT = 3\n",
    "tests/golden/models/net-3.podium": "",
}


@pytest.fixture
def release_check(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    import release_check

    return release_check


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_release_that_has_everything_gets_no_complaint(release_check: ModuleType, root: Path) -> None:
    checks = (release_check.one_version, release_check.changelog, release_check.citation, release_check.golden_models)
    assert [check(root) for check in checks] == [""] * 4


@pytest.mark.parametrize(
    ("check", "name", "text", "told"),
    [
        ("one_version", "pyproject.toml", 'version = "1.1.9"\n', "pyproject.toml 1.1.9, CITATION.cff 1.2.0"),
        ("one_version", "CITATION.cff", 'version: "1.1.9"\n', "CITATION.cff 1.1.9"),
        ("changelog", "CHANGELOG.md", "## [Unreleased]\n\n## [1.2.0] - 2026-01-31\n", "[Unreleased]"),
        ("changelog", "CHANGELOG.md", "## [1.2.0]\n", "no date"),
        ("citation", "CITATION.cff", "date-released: 2026-01-30\n", "2026-01-31"),
        ("citation", "CITATION.cff", "version: 1.2.0\n", "missing"),
        ("golden_models", "src/podium/artifact/file.py", "FORMAT = 4\n", "format 4"),
    ],
)
def test_what_is_missing_is_named(
    release_check: ModuleType, root: Path, check: str, name: str, text: str, told: str
) -> None:
    (root / name).write_text(text)
    assert told in getattr(release_check, check)(root)


def test_the_files_of_this_repository_state_one_version(release_check: ModuleType) -> None:
    assert release_check.one_version() == ""
    assert len(release_check.versions()) >= 2
