"""
Sessions in a background service: such a service has the environment of the first terminal that needed it, so the name
of the agent in GATEPOST_AGENT may belong to another terminal. The person is warned of that once in a session.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:  # a hook that only forwards imports this module, and has to start fast
    from collections.abc import Mapping

    from gatepost.guests.hooks.hook_context import HookContext

#: how many parent processes may be Codex, counted from this one: there can be shells between
_MAX_PARENTS = 3
#: the name under which a session records that its user was warned; no gate has this name
_WARNING_NAME = "_daemon"


def is_agent_inherited(environ: "Mapping[str, str]", host: str) -> bool:
    """
    Return True if GATEPOST_AGENT was inherited from a background service. Claude Code sets a variable for background
    sessions; what its `env` setting sets was not inherited. Codex sets none, but our parent is its server, perhaps with
    a shell between: /proc shows that, where there is one.
    """
    if host == "claude" and "CLAUDE_JOB_DIR" in environ:
        inherited = _read_process(environ.get("CLAUDE_PID", ""), "environ")
        return not inherited or f"GATEPOST_AGENT={environ['GATEPOST_AGENT']}" in inherited
    parent = str(os.getppid())
    for _ in range(_MAX_PARENTS if host == "codex" else 0):
        words = _read_process(parent, "cmdline")
        if "app-server" in words and "--listen" in words:
            return True
        fields = " ".join(_read_process(parent, "stat")).rpartition(")")[2].split()
        parent = fields[1] if len(fields) > 1 else ""
    return False


def build_warnings(ctx: "HookContext") -> list[str]:
    """Return a warning, once in a session, about an agent name that may belong to another terminal."""
    try:
        if ctx.session.has_warned(_WARNING_NAME):
            return []
        ctx.session.record_warning(_WARNING_NAME)
    except OSError:  # then the warning is repeated
        pass
    return [
        f"Gatepost takes this session for one of {ctx.options.agent!r}, because GATEPOST_AGENT says so in the"
        " environment of a background service that all terminals share."
        " `gatepost hooks install --agent NAME` says it for sure."
    ]


def _read_process(id: str, name: str) -> list[str]:
    """Return the strings of a file in /proc; none if it cannot be read."""
    try:
        with open(f"/proc/{id}/{name}", "rb") as file:  # noqa: PTH123 (pathlib is slow to import)
            return file.read().decode(errors="replace").split("\0")
    except OSError:
        return []
