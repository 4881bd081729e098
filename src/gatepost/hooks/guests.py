"""The guests of this machine: whose sessions are on disk, and have not ended."""

from collections.abc import Collection
from pathlib import Path
from typing import Final

from gatepost.core.guest import ENDED, IDLE, Guest
from gatepost.core.session import decode_filename
from gatepost.core.times import DAY, Instant
from gatepost.errors import Unavailable
from gatepost.hooks.session import SESSIONS_FOLDER, Session

#: how long a session counts of which nothing was heard: its host may have been killed. One that is back is seen again.
_MAX_SILENCE: Final = 7 * DAY


def list_guests(home: Path, names: Collection[str] | None = None, *, now: Instant) -> list[Guest]:
    """The live sessions of an agent, by whichever of its names its hooks know it; without names, of all agents."""
    try:
        folders = sorted((home / SESSIONS_FOLDER).iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Unavailable(f"the sessions in {str(home)!r} cannot be read: {error.strerror}") from None
    ids = [id for id in map(decode_filename, (folder.name for folder in folders)) if id is not None]
    live_guests = [guest for id in ids if (guest := find_guest(home, id, since=now - _MAX_SILENCE)) is not None]
    return [guest for guest in live_guests if names is None or guest.agent in names]


def find_guest(home: Path, id: str, *, since: Instant = 0) -> Guest | None:
    """A session whose hooks have noted something since then, and not that it has ended."""
    session = Session(home, id)
    try:
        noted_at = (session.folder / "state.json").stat().st_mtime_ns // 1_000
    except OSError:
        return None
    if noted_at <= since:
        return None
    state = session.read()
    if state.agent is None or state.state == ENDED:
        return None
    return Guest(session=id, agent=state.agent, is_idle=state.state == IDLE, revision=noted_at)


def has_ended(home: Path, id: str) -> bool:
    """Whether its hooks have noted that it has."""
    return Session(home, id).read().state == ENDED
