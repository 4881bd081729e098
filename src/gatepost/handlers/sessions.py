"""Sessions of guests."""

from gatepost.actions import sessions
from gatepost.api.access import Caller
from gatepost.api.sessions import SessionView, ShowSession
from gatepost.ports import Reader


@ShowSession.handler
def show_session(tx: Reader, request: ShowSession, caller: Caller) -> SessionView:
    return SessionView.of(sessions.find(tx, request.id, agent=caller.entity))
