"""Sessions of guests. The hooks of their programs make them known."""

from typing import Annotated, Literal

from gatepost.api.access import Anybody
from gatepost.api.fields import RecordView, Source, Time
from gatepost.api.operation import Request, read
from gatepost.core.session import GuestSession
from gatepost.errors import NotFound

SessionState = Literal["working", "idle", "ended"]


class SessionView(RecordView[GuestSession]):
    id: Annotated[str, Source("session")]
    agent: str
    host: str
    state: SessionState
    started_at: Time
    seen_at: Time


@read("GET /api/sessions/{id}", access=Anybody(), errors=(NotFound,))
class ShowSession(Request[SessionView]):
    """Show a session of the caller, by the id that its program gave it: whose it is, and what it is doing."""

    id: str
