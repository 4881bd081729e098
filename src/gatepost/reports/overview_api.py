"""The overview: what waits for an entity, who is thinking, and what happened lately."""

from typing import Annotated

from msgspec import Meta, Struct

from gatepost.core.times import Instant
from gatepost.errors import NotFound
from gatepost.gates.decision_api import DecisionView
from gatepost.inbox.event_api import ItemView
from gatepost.operations.access import ActAs
from gatepost.operations.fields import Count, RecordView, Source, Time, describe
from gatepost.operations.operation import Request, View, read
from gatepost.residents.runs.api import RunView
from gatepost.residents.usage_api import UsageView
from gatepost.spaces.api import MessageView

#: the group of these operations in OpenAPI
TAG = "overview"

UpTo = Annotated[int, Meta(ge=0, le=1000, description="counted up to 1,000")]


class ThinkingAgent(Struct, frozen=True, kw_only=True):
    """An agent with an open run."""

    agent: str
    display: str
    run: str
    cause: str
    started_at: Instant


class UnreadSpace(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    unread: int


class ThinkingView(RecordView[ThinkingAgent]):
    """An agent that thinks now. Its run is shown to itself and the administrator."""

    agent: str
    display_name: Annotated[str, Source("display")]
    since: Annotated[Time, Source("started_at")]
    run: str | None
    cause: str | None


class UnreadSpaceView(RecordView[UnreadSpace]):
    id: str
    name: str
    unread: Count


class WaitingView(View):
    """What waits for an entity: the first few of each kind, and how many there are."""

    decision_count: UpTo
    decisions: Annotated[list[DecisionView], describe("open decisions that it may answer, the most urgent first")]
    item_count: UpTo
    items: Annotated[list[ItemView], describe("pending items, the most urgent first")]
    alert_count: UpTo
    alerts: Annotated[list[ItemView], describe("pending alerts, the newest first; they are items too")]
    spaces: Annotated[list[UnreadSpaceView], describe("spaces with unread messages")]


class RecentView(View):
    """What happened since a time: the last few of each kind, the newest first."""

    since: Time
    usage: Annotated[UsageView, describe("of the runs that started")]
    runs: Annotated[list[RunView], describe("runs that started")]
    message_count: Count
    messages: list[MessageView]
    decisions: Annotated[list[DecisionView], describe("decisions that were asked or answered")]


class OverviewView(View):
    name: str
    at: Time
    waiting: WaitingView
    thinking: list[ThinkingView]
    recent: RecentView


@read("GET /api/overview", access=ActAs("name", default="admin"), errors=(NotFound,))
class ShowOverview(Request[OverviewView]):
    """
    Show what waits for the caller, which agents are thinking, and what happened lately. The administrator sees what
    happened everywhere, and what waits for `admin` or for another entity.
    """

    name: Annotated[str | None, describe("for whom; default: the caller")] = None
    since: (
        Annotated[str, Meta(max_length=300, description="what happened since this time; default: an hour ago")] | None
    ) = None
    limit: Annotated[int, Meta(ge=1, le=100, description="maximum number of entries of each kind")] = 10
