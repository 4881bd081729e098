"""Check whether everything in a git repository is committed and pushed."""

import os
from pathlib import Path
from typing import Final

#: seconds; a repository whose check takes longer counts as clean
_TIMEOUT: Final = 5
#: with these, git changes nothing, not even its index, and asks nothing
_GIT_ENVIRONMENT: Final = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def find_unsaved_work(folder: str) -> str | None:
    """Return what is not committed or not pushed; None if nothing is, or without a repository or git."""
    path = Path(folder or ".").absolute()
    if not any((parent / ".git").exists() for parent in (path, *path.parents)):
        return None
    status = _run_git(path, "status", "--porcelain=v2", "--branch", "--untracked-files=normal")
    if status is None:
        return None
    headers = dict(line[2:].partition(" ")[::2] for line in status if line.startswith("# "))
    changed_count = sum(not line.startswith("# ") for line in status)
    if changed_count:
        return f"{changed_count} {'file is' if changed_count == 1 else 'files are'} not committed"
    ahead_count = headers.get("branch.ab", "").partition(" ")[0].removeprefix("+")
    if "branch.upstream" not in headers and headers.get("branch.oid") != "(initial)" and _run_git(path, "remote"):
        # There is no upstream branch: a commit that no remote has is not pushed.
        ahead_count = (_run_git(path, "rev-list", "--count", "HEAD", "--not", "--remotes") or ["0"])[0]
    if ahead_count not in ("", "0"):
        return f"{ahead_count} {'commit is' if ahead_count == '1' else 'commits are'} not pushed"
    return None


def _run_git(folder: Path, *arguments: str) -> list[str] | None:
    """Return the lines that git prints; None if it fails."""
    import subprocess  # not light, and most checks end before

    try:
        result = subprocess.run(  # noqa: S603 (fixed arguments, and a folder)
            ["git", "-C", str(folder), "-c", "core.fsmonitor=false", *arguments],  # noqa: S607 (the user's own git)
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
            env={**os.environ, **_GIT_ENVIRONMENT},
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.splitlines() if result.returncode == 0 else None
