"""Sessions of guests. The hooks of their programs make them known."""

from typing import Literal, Self, cast

from gatepost.api.access import Anybody
from gatepost.api.fields import Time
from gatepost.api.operation import Request, View, read
from gatepost.core.session import GuestSession
from gatepost.core.times import format_rfc3339
from gatepost.errors import NotFound

SessionState = Literal["working", "idle", "ended"]


class SessionView(View):
    id: str
    agent: str
    host: str
    state: SessionState
    started_at: Time
    seen_at: Time

    @classmethod
    def of(cls, session: GuestSession) -> Self:
        return cls(
            id=session.session,
            agent=session.agent,
            host=session.host,
            state=cast("SessionState", session.state),
            started_at=format_rfc3339(session.started_at),
            seen_at=format_rfc3339(session.seen_at),
        )


@read("GET /api/sessions/{id}", access=Anybody(), errors=(NotFound,))
class ShowSession(Request[SessionView]):
    """Show a session of the caller, by the id that its program gave it: whose it is, and what it is doing."""

    id: str
