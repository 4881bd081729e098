"""Whether everything in a git repository is committed and pushed."""

import os
from pathlib import Path
from typing import Final

#: seconds; a repository that takes longer to look at is not looked at
_PATIENCE: Final = 5
#: so that looking changes nothing, not even git's own notes, and runs nothing
_QUIETLY: Final = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def unsaved(folder: str) -> str | None:
    """What is not committed or not pushed there; None if nothing is, or if there is no repository, or no git."""
    here = Path(folder or ".").absolute()
    if not any((each / ".git").exists() for each in (here, *here.parents)):
        return None
    status = _git(here, "status", "--porcelain=v2", "--branch", "--untracked-files=normal")
    if status is None:
        return None
    facts = dict(line[2:].partition(" ")[::2] for line in status if line.startswith("# "))
    changed = sum(not line.startswith("# ") for line in status)
    if changed:
        return f"{changed} {'file is' if changed == 1 else 'files are'} not committed"
    ahead = facts.get("branch.ab", "").partition(" ")[0].removeprefix("+")
    if "branch.upstream" not in facts and facts.get("branch.oid") != "(initial)" and _git(here, "remote"):
        # Nothing says where to push: what no remote has is not pushed.
        ahead = (_git(here, "rev-list", "--count", "HEAD", "--not", "--remotes") or ["0"])[0]
    if ahead not in ("", "0"):
        return f"{ahead} {'commit is' if ahead == '1' else 'commits are'} not pushed"
    return None


def _git(folder: Path, *arguments: str) -> list[str] | None:
    """The lines that git prints; None if it cannot say."""
    import subprocess  # not light, and most looks end before

    try:
        done = subprocess.run(  # noqa: S603 (words of ours, and a folder)
            ["git", "-C", str(folder), "-c", "core.fsmonitor=false", *arguments],  # noqa: S607 (the user's own git)
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            env={**os.environ, **_QUIETLY},
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.splitlines() if done.returncode == 0 else None
