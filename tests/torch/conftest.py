"""The tests of this folder need the extra `torch`; where it is not installed they are not collected."""

from __future__ import annotations

from importlib.util import find_spec

# This folder itself passes for a package of that name, but has no file of origin. Nothing is imported to find out: others
# look for torch among the loaded modules.
_found = find_spec("torch")
if _found is None or _found.origin is None:
    collect_ignore_glob = ["test_*.py"]
