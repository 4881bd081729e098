"""
Who runs a command, and whom it is about if that is not said.

The current agent is the agent of the session in which the command runs, if its hooks have recorded one, else the agent
that is set (GATEPOST_AGENT, or `agent` in the settings file).
"""

import os
from typing import Final

from gatepost.errors import Invalid
from gatepost.guests.hooks.session_state import Session, find_guest
from gatepost.settings import Configuration

#: the variables in which hosts name the guest session to the commands that they run
_SESSION_VARIABLES: Final = ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "CODEX_SESSION_ID", "OPENCODE_SESSION_ID")


def find_session(configuration: Configuration) -> str | None:
    """
    Return the guest session in which this command runs. Hosts name it to the commands that they run, except Gemini and
    Cursor.

    There may be several: one program runs another, and a helper in Codex has a thread of its own, whose hooks are those
    of the session. Then the one counts whose hooks have written something last.
    """
    ids = list(dict.fromkeys(id for name in _SESSION_VARIABLES if (id := os.environ.get(name))))
    if len(ids) < 2:
        return ids[0] if ids else None
    revisions = {id: guest.revision for id in ids if (guest := find_guest(configuration.home, id)) is not None}
    return max(revisions, key=lambda id: revisions[id], default=ids[0])


def find_current_agent(configuration: Configuration) -> str | None:
    """Return the agent of this guest session, if its hooks have said who that is, else the agent that is set."""
    session = find_session(configuration)
    agent = Session(configuration.home, session).read().agent if session else None
    return agent or configuration.settings.agent


def find_session_agent(configuration: Configuration) -> str | None:
    """Return the agent of this guest session, if the store knows it: what this command pushes is from that agent."""
    session = find_session(configuration)
    state = Session(configuration.home, session).read() if session else None
    return state.agent if state is not None and state.registered else None


def choose_actor(name: str | None, configuration: Configuration) -> str:
    """Return who acts: the entity that `--as` names, else the current agent, else the administrator."""
    from gatepost.directory.entity_actions import ADMINISTRATOR

    return name or find_current_agent(configuration) or ADMINISTRATOR


def choose_agent(name: str | None, option: str, configuration: Configuration, *, otherwise: str) -> str:
    """Return the entity that the option names, else the current agent; raise Invalid (`otherwise`) if there is none."""
    agent = name or find_current_agent(configuration)
    if agent is None:
        raise Invalid(otherwise, hint=f"give {option} NAME, or set GATEPOST_AGENT, or `agent` in gatepost.toml")
    return agent


def choose_recipient(to: str | None, configuration: Configuration) -> str:
    """Return whose inbox is meant: that of the entity that `--to` names, else that of the current agent."""
    return choose_agent(to, "--to", configuration, otherwise="no address is given, and no current agent is set")
